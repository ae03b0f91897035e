"""The verdicts of notebook 11 come from what its runs observe."""

from __future__ import annotations

from typing import Any

import pytest

from engine.coordinators.transactions.transaction_shard import TransactionShard
from engine.storage.log import Log
from kit.exercises import settling
from kit.transaction_panel import producers
from lessons.nb11_transactions import film
from lessons.nb11_transactions.exercises.fencing import fencing
from lessons.nb11_transactions.exercises.predictions import PREDICTIONS
from lessons.nb11_transactions.exercises.read_committed import read_committed
from lessons.nb11_transactions.exercises.stable_offset import last_stable_offset
from tests.lessons.verdicts import settled

DEFINED = {each.id: each for each in PREDICTIONS}
TWICE, ONCE = "at least once", "exactly once"


def counted(together: str, again: float = 0) -> dict[str, Any]:
    """What the crash test of the loop `together` found."""
    return {"together, each transfer counts": together, "together, transfers polled again": again}


ABORTED = {
    "the log of partition 0": ["Alice -10", "ABORT", "Alice -10", "COMMIT"],
    "offset and value, read_committed": [[2, "Alice -10"]],
}


@pytest.mark.parametrize(
    ("question", "seen", "right"),
    [
        ("11-1", {"debits": 1, "credits": 1}, "1 1"),
        ("11-2", {"offset and value, read_committed": [[1, "Alice -10"]]}, "1"),
        ("11-2", {"offset and value, read_committed": []}, "none"),
        ("11-4", {"the first teller's commit": "NONE", "the second teller's commit": "NONE"}, "a"),
        ("11-4", {"the first teller's commit": "NONE", "the second teller's commit": "_FENCED"},
         "b"),
        ("11-5", counted(ONCE), "a"),
        ("11-5", counted(ONCE, 6), "b"),
        ("11-5", counted(TWICE, 6), "c"),
        ("11-5", counted("at most once"), "d"),
        ("11-5", counted("loses and repeats", 6), ""),
    ],
)  # fmt: skip
def test_a_changed_scenario_makes_another_answer_right(
    question: str, seen: dict[str, Any], right: str
) -> None:
    assert settled(question, seen) == right


@pytest.mark.parametrize(
    ("question", "answer", "seen", "says"),
    [
        ("11-1", "1 1", {"debits": 2, "credits": 1}, "the first debit stayed in the log"),
        ("11-2", "0", ABORTED, "was aborted"),
        ("11-2", "1", ABORTED, "the abort marker has an offset too"),
        ("11-3", "4 5", {"last stable offset": 1, "high watermark": 5}, "not behind the last"),
        ("11-3", "1 4", {"last stable offset": 1, "high watermark": 5}, "the marker takes"),
        ("11-5", "a", counted(ONCE, 6.0), "handed out 6 transfers a second time"),
        ("11-5", "c", counted(ONCE, 6.0), "belongs to an aborted transaction"),
    ],
)
def test_a_wrong_answer_hears_what_this_run_showed(
    question: str, answer: str, seen: dict[str, Any], says: str
) -> None:
    prediction = DEFINED[question]
    given = settling.answer_of(prediction, answer)
    assert says in settling.settle(prediction, given, {"": seen}).because


def test_a_marker_counts_when_it_is_replicated() -> None:
    assert last_stable_offset([(1, 5)], 5) == 1
    assert last_stable_offset([(1, 5)], 6) == 6


def test_a_reader_skips_what_is_aborted_and_stops_at_what_is_open() -> None:
    log = [("p", "a"), ("", "b"), ("p", "ABORT"), ("q", "c"), ("", "d")]
    assert read_committed(log) == ["b"]


def test_each_name_has_its_own_epochs() -> None:
    calls = [("init", "till"), ("init", "till"), ("init", "desk"), ("write", "till", 0)]
    assert fencing(calls) == [0, 1, 0, "fenced"]


# -- rules of the engine, broken


def behind_an_open_transaction() -> dict[str, Any]:
    """`held` stays open, `paid` is committed: the offsets of the leader, in virtual time."""
    world = film.bank()
    for name, value in (("slow", "held"), ("quick", "paid")):
        producers.start(world, name, name)
        producers.wait(world, name)
        producers.act(world, "begin", name)
        producers.send(world, name, "accounts", value, 0)
        world.run(for_s=0.5)
    producers.act(world, "commit", "quick")
    producers.wait(world, "quick")
    world.run(for_s=0.5)
    replica = world.replica(world.leader("accounts", 0), "accounts", 0)
    return {
        "last stable offset": replica.last_stable_offset,
        "high watermark": replica.high_watermark,
    }


def test_a_log_without_a_stable_offset_changes_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settled("11-3", behind_an_open_transaction()) == "0 3"
    monkeypatch.setattr(Log, "last_stable_offset", lambda self, high_watermark: high_watermark)
    assert settled("11-3", behind_an_open_transaction()) == "3 3"


def states() -> list[str]:
    return [row[2] for row in film.coordinator_dies().rows if " " not in row[2]]


def test_a_successor_that_finishes_nothing_leaves_the_transaction_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert states()[-3:] == ["PrepareCommit", "CompleteCommit", "Ongoing"]
    monkeypatch.setattr(TransactionShard, "loaded", lambda self, now: None)
    assert states()[-1] == "PrepareCommit"


def test_a_partition_is_written_down_before_its_record_is_in_the_log() -> None:
    rows = [row[2:] for row in film.coordinator_dies().rows]
    for value, places in (
        ("Alice -10", ("accounts-0", "accounts-0")),
        ("Bob +10", ("accounts-0 accounts-1", "accounts-1")),
    ):
        ongoing, written = rows.index(("Ongoing", places[0])), (f"{value} is in the log", places[1])
        assert rows[ongoing + 1] == written
