"""The judge in grading: it listens outside the sandbox and keeps every verdict to itself.

Learners' code writes the requests.  So each is limited in length and in the time it may take
to arrive, and all together in number and bytes; verdicts are kept for the exercises of the
notebook alone, each text cut to a page.  What one request needs is freed before the next is
read.  A reply holds no verdict, no expected value and no hint, so that asking again does not
help to find an answer.  The last answer to an exercise counts.  The grader chooses the seed of
its inputs.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path

from kit.exercises.cluster_log import NoCluster
from kit.exercises.exercise import Verdict
from kit.exercises.judge import reply_to
from kit.exercises.known_clusters import FirstStarted
from kit.exercises.plain import LARGEST_ANSWER

MOST_REQUESTS = 500
MOST_BYTES = 40_000_000
"""Of all requests of one run: ten of the largest answers."""
LONGEST_REQUEST = LARGEST_ANSWER + 10_000
LONGEST_TEXT = 4_000
"""Characters of each text of a verdict."""
PATIENCE_S = 10.0
"""For a whole request to arrive."""
WAITING = 16
"""Connections that the kernel keeps until their turn."""
ASKED_FREELY = ("question", "inputs")
JUDGED = ("check", "quiz")


class JudgeServer:
    """Serves one submission on a Unix socket, in a thread of its own."""

    def __init__(self, address: Path, seed: str, exercises: Collection[str]) -> None:
        self.verdicts: dict[str, Verdict] = {}
        """By exercise id: what the judge said about the last answer."""
        self._seed = seed
        self._exercises = frozenset(exercises)
        self._clusters = FirstStarted()
        self._requests = self._bytes = 0
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(address))
        address.chmod(0o666)  # the sandbox has a user of its own
        self._listener.listen(WAITING)
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.sendall(self._answer_to(connection).encode() + b"\n")
                except (OSError, MemoryError):
                    continue

    def _answer_to(self, connection: socket.socket) -> str:
        line = _line(connection)  # of a refused request, too: unread, it would reset the answer
        self._requests += 1
        self._bytes += len(line)
        if self._requests > MOST_REQUESTS:
            return json.dumps({"error": "Too many questions for one submission."})
        if self._bytes > MOST_BYTES:
            return json.dumps({"error": "The answers of this submission are too large together."})
        if not line.endswith(b"\n"):
            return json.dumps({"error": "The judge could not read this: it is too long or cut."})
        return self._reply(line)

    def _reply(self, line: bytes) -> str:
        try:
            request = json.loads(line)
            kind, exercise_id = request["ask"], str(request["id"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return json.dumps({"error": "The judge could not read this."})
        if kind == "cluster":
            return self._announced(str(request.get("bootstrap")))
        if kind in ASKED_FREELY:
            return self._judged(request)
        if kind not in JUDGED:
            return json.dumps({"error": "This is not available while a submission is marked."})
        if exercise_id not in self._exercises:
            return json.dumps({"error": "This exercise is not in the notebook that is marked."})
        self.verdicts[exercise_id] = _verdict(self._judged(request))
        return json.dumps({"passed": False, "title": "", "message": "Recorded.", "hints": []})

    def _judged(self, request: object) -> str:
        return reply_to(json.dumps(request), self._seed, self._clusters)

    def _announced(self, bootstrap: str) -> str:
        try:
            self._clusters.announced(bootstrap)
        except NoCluster as reason:
            return json.dumps({"error": str(reason)})
        return json.dumps({})


def _line(connection: socket.socket) -> bytes:
    """One line, or what came of it.  Raises OSError if it does not arrive in time."""
    deadline = time.monotonic() + PATIENCE_S
    line = bytearray()
    while not line.endswith(b"\n") and len(line) < LONGEST_REQUEST:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        part = connection.recv(min(65_536, LONGEST_REQUEST - len(line)))
        if not part:
            break
        line += part
    return bytes(line)


def _verdict(reply: str) -> Verdict:
    """An answer that the judge could not read is wrong; the reason is the message."""
    said = json.loads(reply)
    if "error" in said:
        return _short(Verdict(False, str(said["error"])))
    return _short(Verdict(**{field.name: said[field.name] for field in fields(Verdict)}))


def _short(verdict: Verdict) -> Verdict:
    return Verdict(
        verdict.passed,
        _cut(verdict.message),
        _cut(verdict.expected),
        _cut(verdict.seen),
        _cut(verdict.counter_example),
    )


def _cut(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]} … ({len(text):,} characters)"
