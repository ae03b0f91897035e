"""The verdicts of notebook 01 come from its runs: change a rule or a value, and they change."""

from __future__ import annotations

from typing import Any

import pytest

from lessons.nb01_events import call_chain
from tests.lessons.verdicts import seen_by, settled


def slow_service() -> str:
    return settled("01-1", seen_by("01", "slow-service"))


def test_one_slow_service_takes_down_pages_that_do_not_call_it() -> None:
    assert slow_service() == "c"


def test_a_server_that_holds_no_thread_while_it_waits_gives_another_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = call_chain.Threads.__init__

    def without_limit(self: Any, threads: int, *others: Any) -> None:
        start(self, 10_000, *others)

    monkeypatch.setattr(call_chain.Threads, "__init__", without_limit)
    assert slow_service() == "a"


def test_a_service_that_stays_fast_gives_another_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_chain.Threads, "slow", lambda *ignored, **times: None)
    assert slow_service() == "d"


CHANNELS = {
    "queue: stock, mail, report": [3, 3, 0],
    "pub/sub: stock, mail, report": [6, 6, 0],
    "log: stock, mail, report": [6, 6, 6],
}
TRIMMED = {"lag after the deletion": 6, "then it read": ["8", "9"], "never read": list("4567")}


@pytest.mark.parametrize(
    ("exercise_id", "seen", "right"),
    [
        ("01-2", CHANNELS, "3 6 6"),
        ("01-2", CHANNELS | {"queue: stock, mail, report": [6, 0, 0]}, "6 6 6"),
        ("01-3", {"first run read": 0, "second run read": 0}, "0"),
        ("01-3", {"first run read": 6, "second run read": 4}, "10"),
        ("01-4", {"consumer group › workers that got orders": 3}, "3"),
        ("01-5", TRIMMED, "6"),
        ("01-5", TRIMMED | {"lag after the deletion": 2}, "2"),
        ("01-6", {"schema 1 reads the amount": 1999}, "1999"),
        ("01-7", {"orders that the fixed payment service processes": 3}, "3"),
        ("01-7", {"orders that the fixed payment service processes": 6}, "6"),
    ],
)
def test_the_verdict_follows_what_was_seen(exercise_id: str, seen: Any, right: str) -> None:
    assert settled(exercise_id, seen) == right
