"""The process from which all applications are forked.

A fork of the kernel would copy locks that its threads hold at that moment.  The stage has no
thread and no client: it has imported what an application needs, and nothing else.  So a fork of it
is safe, and takes a few milliseconds where a new Python takes 0.2 s.

    kernel ══ pipes ══ stage ─┬─ trial ─┬─ application A
                              │         └─ application B
                              └─ trial …

It has a session of its own.  When the pipe from the kernel closes, however the kernel ended, the
stage ends the whole session.
"""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kit.course import PROJECT
from kit.crashes.application import Plan
from kit.crashes.shipping import unpack
from kit.crashes.tape import Trial
from kit.crashes.trial import Conductor

AT_ONCE = 6
"""Trials at the same time; most of their time they wait for a broker."""
COMMAND = [sys.executable, "-m", "kit.crashes.stage"]


class StageLost(RuntimeError):
    """The stage has ended before its trials; the loop must have ended it."""


class Stage:
    """The kernel's end: plays trials and waits for them."""

    def __init__(self, plan: Plan) -> None:
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=PROJECT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)},
            start_new_session=True,
        )
        self._send(plan)

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *error: object) -> None:
        """Ends the stage, its trials and their applications, at once."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def play(self, trials: Sequence[Trial], seen: Callable[[Trial], Sequence[Trial]]) -> None:
        """Plays trials, several at a time.  As each one ends, `seen` may order more."""
        self._send(list(trials))
        open_trials = {trial.number: trial for trial in trials}
        assert self._process.stdout is not None
        while open_trials:
            line = self._process.stdout.readline()
            if not line:
                raise StageLost(
                    "The loop ended the process that runs it: it may end itself, as in "
                    "sys.exit(), and must leave other processes alone."
                )
            more = seen(open_trials.pop(json.loads(line)))
            if more:
                self._send(list(more))
                open_trials |= {trial.number: trial for trial in more}

    def _send(self, what: Plan | list[Trial]) -> None:
        assert self._process.stdin is not None
        parcel = pickle.dumps(what)
        try:
            self._process.stdin.write(len(parcel).to_bytes(4, "big") + parcel)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise StageLost("The process that runs the loop did not start; see: kafkalab doctor"
                            ) from None  # fmt: skip


# -- the other end


@dataclass
class _Backstage:
    plan: Plan
    answers: int
    """A file descriptor to the kernel; applications do not have it."""
    waiting: list[Trial] = field(default_factory=list)
    running: dict[int, Trial] = field(default_factory=dict)

    def serve(self) -> None:
        loop = unpack(self.plan.parcel)
        while True:
            if select.select([0], [], [], 0.005 if self.running else None)[0]:
                self.waiting += _receive()
            while self.waiting and len(self.running) < AT_ONCE:
                self._begin(self.waiting.pop(0), loop)
            self._reap()

    def _begin(self, trial: Trial, loop: object) -> None:
        pid = os.fork()
        if pid:
            self.running[pid] = trial
            return
        try:
            os.close(self.answers)
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(nothing, descriptor)
            Conductor(self.plan, trial, loop).run()  # type: ignore[arg-type]
        finally:
            os._exit(0)

    def _reap(self) -> None:
        for pid in list(self.running):
            if os.waitpid(pid, os.WNOHANG) != (0, 0):
                trial = self.running.pop(pid)
                os.write(self.answers, f"{trial.number}\n".encode())


def _receive() -> Any:
    """One parcel from the kernel; EOFError when its end is closed."""
    size = int.from_bytes(_exactly(4), "big")
    return pickle.loads(_exactly(size))


def _exactly(size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def main() -> None:
    """Reads a plan, then lists of trials, until the kernel's end closes."""
    import confluent_kafka  # noqa: F401  (before the forks, once for all)

    import kit.crashes.watched  # noqa: F401

    answers = os.dup(1)
    os.set_inheritable(answers, False)
    os.dup2(2, 1)
    try:
        _Backstage(_receive(), answers).serve()
    finally:
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
