"""Carries a question from the kernel to a judge and the reply back.

By default the judge is a child process that lives for one question, in a session of its
own, so that interrupting a cell never leaves it half way.  In grading the judge already
runs outside the sandbox and listens on a Unix socket named by KAFKALAB_JUDGE.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

TIMEOUT_S = 90.0
PROJECT = Path(__file__).resolve().parents[2]


class JudgeFailed(Exception):
    """There is no verdict; the text is one sentence for the learner."""


def ask(question: str, **details: Any) -> dict[str, Any]:
    """The judge's reply.  Raises JudgeFailed with a sentence where there is none."""
    line = json.dumps({"ask": question, **details})
    address = os.environ.get("KAFKALAB_JUDGE")
    try:
        answer = _over_socket(address, line) if address else _from_child(line)
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        raise JudgeFailed(
            f"The judge gave no verdict within {TIMEOUT_S:.0f} s; is the cluster running? "
            "See: kafkalab status"
        ) from error
    except OSError as error:
        raise JudgeFailed(
            f"The judge could not be reached ({error}); run the cell again."
        ) from error
    try:
        reply = json.loads(answer)
    except json.JSONDecodeError as error:
        raise JudgeFailed("The judge stopped without a verdict; see: kafkalab doctor") from error
    if "error" in reply:
        raise JudgeFailed(reply["error"])
    return reply


def _from_child(line: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kit.exercises.judge"],
        input=line + "\n",
        capture_output=True,
        text=True,
        cwd=PROJECT,
        start_new_session=True,
        timeout=TIMEOUT_S,
    )
    return done.stdout


def _over_socket(address: str, line: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.connect(address)
        connection.sendall(line.encode() + b"\n")
        with connection.makefile("r", encoding="utf-8") as answers:
            return answers.readline()
