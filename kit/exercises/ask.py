"""Carries a question from the kernel to a judge and the reply back.

By default the judge is a child process that lives for one check, in a session of its own, so
that interrupting a cell never leaves it half way.  In grading the judge already runs outside
the sandbox and listens on a Unix socket named by KAFKALAB_JUDGE.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ADDRESS_VARIABLE = "KAFKALAB_JUDGE"
TIMEOUT_S = 90.0
PROJECT = Path(__file__).resolve().parents[2]


class JudgeFailed(Exception):
    """There is no verdict; the text is one sentence for the learner."""


def ask(question: str, **details: Any) -> dict[str, Any]:
    """The judge's reply.  Raises JudgeFailed with a sentence where there is none."""
    with one_judge() as asked:
        return asked(question, **details)


@contextlib.contextmanager
def one_judge() -> Iterator[Callable[..., dict[str, Any]]]:
    """Asks the same judge several questions: it marks results on the inputs that it gave."""
    if address := os.environ.get(ADDRESS_VARIABLE):
        yield lambda question, **details: _reply(lambda: _connected(address), question, details)
        return
    with _child() as judge:
        yield lambda question, **details: _reply(
            lambda: contextlib.nullcontext(judge), question, details
        )


def announce(cluster: Any) -> None:
    """Tells a judge in grading that the notebook has started a cluster."""
    if os.environ.get(ADDRESS_VARIABLE):
        with contextlib.suppress(JudgeFailed):  # then the check says what is wrong
            ask("cluster", id="", bootstrap=cluster.bootstrap)


def _reply(
    judge: Callable[[], contextlib.AbstractContextManager[socket.socket]],
    question: str,
    details: dict[str, Any],
) -> dict[str, Any]:
    line = json.dumps({"ask": question, **details})
    try:
        with judge() as connection, connection.makefile("r", encoding="utf-8") as answers:
            connection.sendall(line.encode() + b"\n")
            answer = answers.readline()
    except TimeoutError as error:
        raise JudgeFailed(
            f"The judge gave no verdict within {TIMEOUT_S:.0f} s; is the cluster running? "
            "See: kafkalab status"
        ) from error
    except OSError as error:
        raise JudgeFailed(
            f"The judge could not be reached ({error}); run the cell again."
        ) from error
    try:
        reply: dict[str, Any] = json.loads(answer)
    except json.JSONDecodeError as error:
        raise JudgeFailed("The judge stopped without a verdict; see: kafkalab doctor") from error
    if "error" in reply:
        raise JudgeFailed(reply["error"])
    return reply


@contextlib.contextmanager
def _child() -> Iterator[socket.socket]:
    ours, its = socket.socketpair()
    ours.settimeout(TIMEOUT_S)
    with ours:
        with its:
            process = subprocess.Popen(
                [sys.executable, "-m", "kit.exercises.judge"],
                stdin=its.fileno(),
                stdout=its.fileno(),
                stderr=subprocess.DEVNULL,
                cwd=PROJECT,
                start_new_session=True,
            )
        try:
            yield ours
        finally:
            process.kill()
            process.wait()


def _connected(address: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(TIMEOUT_S)
    connection.connect(address)
    return connection
