"""One application: a process that runs the learner's loop, until it ends or is crashed.

A crash is SIGKILL, sent by the process to itself, after a statement of the loop is complete.
Nothing that a client does on close can happen: no last commit, no leaving of the group.  Before
it comes a short stall, in which Python stops and the client's own thread goes on.  So an
asynchronous commit that the loop has started is sent, and an automatic commit that is due is
made: a loop must be right in that case, too.  The stall holds the interpreter's lock, so the
loop's other threads make no progress in it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from confluent_kafka import KafkaException

from kit.crashes.effects import Effects, Progress
from kit.crashes.journal import Journal
from kit.crashes.statements import codes
from kit.crashes.tape import PRODUCING, SETTINGS, STALL_S, Moment, Trial, auto_commit_s
from kit.crashes.watched import WatchedConsumer
from kit.crashes.writing import WatchedProducer

PRINTED = 2_000
CPU_S, MEMORY = 30, 4 << 30


@dataclass(frozen=True)
class Plan:
    """What all trials of one judgement have in common."""

    parcel: bytes
    """The loop, packed."""
    statements: Mapping[int, int]
    bootstrap: str
    topics: Mapping[int, str]
    """Number of partitions -> topic."""
    ends: Mapping[int, Mapping[int, int]]
    """Number of partitions -> where each partition ends."""
    group: str
    settings: Mapping[str, Any]
    folder: str
    producing: Mapping[str, Any] | None = None
    """The producer's settings, if the loop's effects are records in another topic."""
    replicas: int = 1
    inputs: Mapping[int, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """Number of partitions -> value of each record -> its partition and offset."""

    def journal(self, number: int) -> Path:
        return Path(self.folder) / f"{number}.journal"

    def client(self, trial: Trial, who: str) -> dict[str, Any]:
        """The settings of one application's consumer; later ones win."""
        settings = {
            **SETTINGS,
            **trial.situation.settings,
            "bootstrap.servers": self.bootstrap,
            "group.id": f"{self.group}-{trial.number}",
            "client.id": f"{who[0].lower()}-{self.group}",  # the assignor sorts members by it
        }
        if trial.situation.second_after < 0:
            settings["group.instance.id"] = who[0]
        return settings | dict(self.settings)

    def results(self, trial: Trial) -> str:
        """The topic that the trial's results go to."""
        return f"{self.results_of}{trial.number}"

    @property
    def results_of(self) -> str:
        """How the topics of all trials' results begin."""
        return f"{self.group}-results-"

    def producer(self, trial: Trial, who: str) -> dict[str, Any]:
        """The settings of one application's producer; a restart has the same transactional.id."""
        settings = {**PRODUCING, "bootstrap.servers": self.bootstrap, **(self.producing or {})}
        if own := settings.get("transactional.id"):
            settings["transactional.id"] = f"{own}-{self.group}-{trial.number}-{who[0]}"
        return settings


class Prints:
    """Takes what the loop prints, up to a limit, and drops what comes later."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        if len(self.text) < PRINTED:
            self.text += str(text)[:PRINTED]
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


class Tracer:
    """Follows the statements of the loop and of the functions inside it, in all threads."""

    def __init__(
        self,
        own: list[CodeType],
        statements: Mapping[int, int],
        complete: Callable[[int, int], None],
    ) -> None:
        self._codes = own
        self._statements = statements
        self._complete = complete
        self._count: dict[int, int] = {}
        heads = list(statements.values())
        self._single = {head for head in heads if heads.count(head) == 1}

    def install(self) -> None:
        threading.settrace(self)
        sys.settrace(self)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if frame.f_code not in self._codes:
            return None
        last = 0

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "exception":
                last = 0
            elif event == "return":
                self._done(last)
            elif event == "line":
                now = self._statements.get(frame.f_lineno, 0)
                if now != last or now in self._single:
                    self._done(last)
                last = now
            return local

        return local

    def _done(self, statement: int) -> None:
        if statement:
            count = self._count[statement] = self._count.get(statement, 0) + 1
            self._complete(statement, count)


def run(plan: Plan, trial: Trial, who: str, loop: FunctionType) -> None:
    """Runs the loop once in this process, which does not return from it."""
    prints = Prints()
    sys.stdout = sys.stderr = prints
    sys.stdin = open(os.devnull)  # noqa: SIM115
    _limit()
    journal = Journal(plan.journal(trial.number), who)
    settings = plan.client(trial, who)
    progress = Progress(plan.ends[trial.situation.partitions])
    own = list(codes(loop.__code__))

    def line() -> int:
        frames = traceback.walk_stack(sys._getframe())
        return next((number for frame, number in frames if frame.f_code in own), 0)

    situation = trial.situation
    given: list[Any]
    try:
        consumer = WatchedConsumer(settings, journal, progress, line, situation.late_listener_s)
        topic = plan.topics[situation.partitions]
        if plan.producing is None:
            given = [consumer, topic, Effects(journal, progress, situation, line)]
        else:
            own_settings = plan.producer(trial, who)
            producer = WatchedProducer(own_settings, journal, progress, situation, line)
            given = [consumer, producer, topic, plan.results(trial)]
    except KafkaException as refusal:
        journal.note("refused", refusal.args[0].str())
        return
    stall_s = STALL_S + auto_commit_s(settings)

    def complete(statement: int, count: int) -> None:
        if trial.notes_lines and count < 1000:
            journal.note("line", statement, count)
        at = trial.moment
        if who == "A1" and at is not None and statement == at.line and reached(at, progress):
            crash(journal, statement, stall_s)

    Tracer(own, plan.statements, complete).install()
    try:
        loop(*given)
        sys.settrace(None)
        journal.note("returned")
    except BaseException as failure:
        sys.settrace(None)
        journal.note("raised", type(failure).__name__, str(failure)[:300], _line(failure, own))
    threading.settrace(None)
    if prints.text:
        journal.note("printed", prints.text)
    threading._shutdown()  # type: ignore[attr-defined]  # a program waits for its threads
    consumer.abandon()


def reached(at: Moment, progress: Progress) -> bool:
    """Whether so much has been read, processed and committed."""
    seen = (progress.got, progress.done, progress.commits)
    return all(now >= then for now, then in zip(seen, (at.got, at.done, at.commits), strict=True))


def crash(journal: Journal, line: int, stall_s: float) -> None:
    """Stands still for a moment, and dies."""
    journal.note("crash", line)
    ctypes.PyDLL(None).usleep(int(stall_s * 1e6))  # keeps the interpreter's lock
    os.kill(os.getpid(), signal.SIGKILL)


def _limit() -> None:
    """A loop that goes wild hurts itself only."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _line(failure: BaseException, own: list[CodeType]) -> int:
    """The line of the loop in which the exception came out; 0 if it was elsewhere."""
    lines = [line for frame, line in traceback.walk_tb(failure.__traceback__)
             if frame.f_code in own]  # fmt: skip
    return lines[-1] if lines else 0
