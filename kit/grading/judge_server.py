"""The judge in grading: it listens outside the sandbox and keeps every verdict to itself.

Learners' code writes the requests, so their length and number are limited.  A reply holds
no verdict, no expected value and no hint, so that asking again does not help to find an
answer.  The last answer to an exercise counts.  The grader chooses the seed of its inputs.
"""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import fields
from pathlib import Path

from kit.exercises.cluster_log import NoCluster
from kit.exercises.exercise import Verdict
from kit.exercises.judge import reply_to
from kit.exercises.known_clusters import FirstStarted
from kit.exercises.plain import LARGEST_ANSWER

MOST_REQUESTS = 500
ASKED_FREELY = ("question", "inputs")
JUDGED = ("check", "quiz")


class JudgeServer:
    """Serves one submission on a Unix socket, in a thread of its own."""

    def __init__(self, address: Path, seed: str) -> None:
        self.verdicts: dict[str, Verdict] = {}
        """By exercise id: what the judge said about the last answer."""
        self._seed = seed
        self._clusters = FirstStarted()
        self._requests = 0
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(address))
        address.chmod(0o666)  # the sandbox has a user of its own
        self._listener.listen(16)
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
                connection.settimeout(10)
                try:
                    line = connection.makefile("rb").readline(LARGEST_ANSWER + 10_000)
                    connection.sendall(self._reply(line).encode() + b"\n")
                except OSError:
                    continue

    def _reply(self, line: bytes) -> str:
        self._requests += 1
        if self._requests > MOST_REQUESTS:
            return json.dumps({"error": "Too many questions for one submission."})
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


def _verdict(reply: str) -> Verdict:
    """An answer that the judge could not read is wrong; the reason is the message."""
    said = json.loads(reply)
    if "error" in said:
        return Verdict(False, str(said["error"]))
    return Verdict(**{field.name: said[field.name] for field in fields(Verdict)})
