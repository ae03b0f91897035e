"""Starts the applications of a trial, restarts and ends them.

This runs in a process of its own for each trial, forked from the stage; the applications are its
children.  A crashed application is restarted, and one that ended with an exception, too, as a
supervisor does.  When nothing more happens, all are killed: what counts is in the journal.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType

from kit.crashes import application, results
from kit.crashes.application import Plan
from kit.crashes.journal import Journal, Reading
from kit.crashes.tape import Trial

STARTS, STARTS_OF_TWO = 4, 2
"""Of one application, restarts included."""
QUIET_S = 0.35
STUCK_S, STUCK_WRITING_S = 4.0, 20.0
"""Without news a loop hangs; one that writes waits for answers, which a busy machine delays."""
FIRST_RECORD_S = 20.0
"""A loop that polls and has no record yet waits for the cluster, and that is no fault of its."""
LONGEST_S, LONGEST_WRITING_S = 15.0, 60.0
PACE_S = 0.01
STATES = {"polls": "joining", "inits": "joining", "idle": "idle", "freeze": "frozen"}
"""What an application notes, and the state that it is in from then on."""


@dataclass
class Application:
    """A process of the trial; `state` is running, joining, frozen, idle or gone.

    It is joining from its first poll to its first record.
    """

    name: str
    starts: int = 0
    pid: int = 0
    state: str = "gone"
    joined: bool = False
    how: str = ""

    @property
    def who(self) -> str:
        return f"{self.name}{self.starts}"


@dataclass
class Conductor:
    """One trial while it runs."""

    plan: Plan
    trial: Trial
    loop: FunctionType
    applications: list[Application] = field(default_factory=list)
    done: int = 0

    def run(self) -> None:
        """Plays the trial to its end; no application outlives it."""
        path = self.plan.journal(self.trial.number)
        self.journal, self.reading = Journal(path, "trial"), Reading(path)
        if self.plan.producing is not None:
            topic = self.plan.results(self.trial)
            _aside(lambda: results.create(self.plan.bootstrap, topic, self.plan.replicas))
        self.applications = [Application("A")]
        self._start(self.applications[0])
        writes = self.plan.producing is not None
        stuck_s = STUCK_WRITING_S if writes else STUCK_S
        longest_s = LONGEST_WRITING_S if writes else LONGEST_S
        heard = before = time.monotonic()
        reading_s = 0.0
        try:
            while True:
                heard_something = self._look()
                now = time.monotonic()
                heard = now if heard_something else heard
                joining = any(each.state == "joining" for each in self.applications)
                reading_s += 0.0 if joining else now - before
                before = now
                self._reap()
                self._second()
                if self._is_over(now - heard):
                    return
                patience_s = FIRST_RECORD_S if joining else stuck_s
                if now - heard > patience_s or reading_s > longest_s or self.reading.is_full:
                    self.journal.note("stuck")
                    return
                time.sleep(PACE_S)
        finally:
            for each in self.applications:
                self._kill(each)
            if self.plan.producing is not None:
                _aside(self._note_results)

    def _look(self) -> bool:
        """Whether anything new happened; a line that runs again is nothing new."""
        notes = self.reading.look()
        for note in notes:
            self._hear(note.who, note.kind)
        return any(note.kind != "line" for note in notes)

    def _hear(self, who: str, kind: str) -> None:
        self.done += kind in ("done", "wrote")
        mine = [each for each in self.applications if each.who == who]
        for each in mine:
            if kind in STATES:
                each.state = STATES[kind]
            elif kind in ("returned", "raised", "crash", "printed"):
                each.how = kind if kind != "printed" else each.how
            elif kind not in ("line", "error", "settled") and each.state == "idle":
                each.state = "running"
            if kind in ("got", "error", "ready") and each.state == "joining":
                each.state = "running"
            each.joined = each.joined or kind == "assigned"

    def _start(self, each: Application) -> None:
        each.starts += 1
        each.state, each.how, each.joined = "running", "", False
        each.pid = os.fork()
        if each.pid == 0:
            try:
                application.run(self.plan, self.trial, each.who, self.loop)
            finally:
                os._exit(0)

    def _second(self) -> None:
        """The second application joins, and a frozen one goes on when the second has read all."""
        after = self.trial.situation.second_after
        alone = len(self.applications) == 1 and self.applications[0].joined
        if alone and 0 <= after <= self.done:
            self.applications.append(Application("B"))
            self._start(self.applications[1])
        frozen = [each for each in self.applications if each.state == "frozen"]
        if frozen and self.applications[-1].state == "idle":
            frozen[0].state = "running"
            os.kill(frozen[0].pid, signal.SIGCONT)

    def _reap(self) -> None:
        for each in self.applications:
            if not each.pid or os.waitpid(each.pid, os.WNOHANG) == (0, 0):
                continue
            self._look()
            each.pid, each.state = 0, "gone"
            self.journal.note("ended", each.who, each.how or "killed itself")
            if self._shall_restart(each):
                self._start(each)

    def _shall_restart(self, each: Application) -> bool:
        """An application that is alone is restarted; otherwise the other one takes over."""
        if self.reading.is_full:
            return False
        alone = not any(other.pid for other in self.applications)
        starts = STARTS if self.trial.situation.second_after < 0 else STARTS_OF_TWO
        return alone and each.how != "returned" and each.starts < starts

    def _is_over(self, quiet_s: float) -> bool:
        """Whether all that live have read everything; one may have no partition to read."""
        alive = [each for each in self.applications if each.pid]
        expected = 1 + (self.trial.situation.second_after >= 0)
        if not alive:
            return True
        if len(self.applications) < expected and self.applications[0].state != "idle":
            return False
        settled = QUIET_S if expected == 2 else 0.0
        return all(each.state == "idle" for each in alive) and quiet_s >= settled

    def _kill(self, each: Application) -> None:
        if each.pid:
            os.kill(each.pid, signal.SIGKILL)
            os.waitpid(each.pid, 0)
            each.pid = 0

    def _note_results(self) -> None:
        """Reads what the applications have left in their topic."""
        plan, trial = self.plan, self.trial
        settings = {name: value for name, value in plan.producer(trial, "A").items()
                    if name in ("bootstrap.servers", "log_level")}  # fmt: skip
        names = [each.name for each in self.applications]
        ids = [plan.producer(trial, name).get("transactional.id") for name in names]
        results.note_all(
            settings,
            [each for each in ids if each],
            plan.results(trial),
            plan.inputs[trial.situation.partitions],
            self.journal,
        )


def _aside(work: Callable[[], None]) -> None:
    """Does it in a process of its own: a client's threads must not be there at the next fork."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
