"""What learners' code can make the judge read, do and keep is bounded."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from kit.exercises.plain import LARGEST_ANSWER
from kit.grading import judge_server
from kit.grading.judge_server import JudgeServer

SAMPLE = Path(__file__).parents[1] / "sample_course"
RIGHT = {"object": {"replicas": 3, "min.insync.replicas": 2}}
pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def judge(tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))
    server = JudgeServer(tmp_path / "socket", "seed", ("99-2", "99-3"))
    yield server
    server.close()


def asked(folder: Path, line: bytes) -> dict:
    """The judge's reply; empty if it closed the connection in the middle of the request."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(str(folder / "socket"))
        try:
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            return json.loads(connection.makefile("rb").readline() or b"{}")
        except OSError:
            return {}


def check(folder: Path, exercise: str, answer: object) -> dict:
    line = json.dumps({"ask": "check", "id": exercise, "answer": answer, "bootstrap": None})
    return asked(folder, line.encode() + b"\n")


def test_a_hundred_large_requests_leave_one_short_verdict(judge, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(judge_server, "MOST_BYTES", 2_000_000)
    replies = [check(tmp_path, "99-3", "x" * 100_000) for _ in range(100)]
    assert replies[0]["message"] == "Recorded."
    assert "too large together" in replies[-1]["error"]
    assert len(judge.verdicts) == 1
    assert len(judge.verdicts["99-3"].seen) < judge_server.LONGEST_TEXT + 100


def test_a_request_beyond_the_largest_answer_is_not_judged(judge, tmp_path) -> None:
    assert check(tmp_path, "99-3", "x" * (LARGEST_ANSWER + 100_000)).get("message") is None
    assert judge.verdicts == {}
    assert check(tmp_path, "99-3", RIGHT)["message"] == "Recorded."
    assert judge.verdicts["99-3"].passed


def test_a_request_that_is_cut_is_not_judged(judge, tmp_path) -> None:
    assert "cut" in asked(tmp_path, b'{"ask": "check", "id": "99-3"')["error"]
    assert "could not read" in asked(tmp_path, b"[" * 100_000 + b"\n")["error"]


def test_no_verdict_is_kept_for_exercises_that_the_notebook_lacks(judge, tmp_path) -> None:
    for number in range(50):
        assert "not in the notebook" in check(tmp_path, f"98-{number}", "x")["error"]
    assert judge.verdicts == {}


def test_the_number_of_questions_is_limited(judge, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(judge_server, "MOST_REQUESTS", 3)
    replies = [check(tmp_path, "99-3", RIGHT) for _ in range(5)]
    assert [reply.get("message") for reply in replies[:3]] == ["Recorded."] * 3
    assert "Too many questions" in replies[4]["error"]


def test_a_caller_who_sends_nothing_does_not_keep_the_judge(judge, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(judge_server, "PATIENCE_S", 0.2)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(tmp_path / "socket"))
        silent.sendall(b'{"ask"')
        assert check(tmp_path, "99-3", RIGHT)["message"] == "Recorded."
