"""The verdicts of notebook 12 come from what its runs observe."""

from __future__ import annotations

from typing import Any

import pytest

from engine.records import batch
from engine.sim.world.world import World
from engine.storage import retention
from engine.storage.cleaner.log_to_clean import LogToClean
from engine.storage.cleaner.record_filter import RecordFilter
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.memory_disk import MemoryDisk
from kit.exercises import settling
from lessons.nb12_compaction import virtual_runs
from lessons.nb12_compaction.exercises.deleted import deleted
from lessons.nb12_compaction.exercises.left_by_a_pass import left_by_a_pass
from lessons.nb12_compaction.exercises.next_to_clean import next_to_clean
from lessons.nb12_compaction.exercises.predictions import PREDICTIONS
from tests.lessons.verdicts import seen_by, settled

DEFINED = {each.id: each for each in PREDICTIONS}
# -- a rule of the engine is broken, and another answer is right


def a_log(ages: list[int], value: bytes = b"x", **config: Any) -> Log:
    """Records of so many minutes ago, in the newest log; retention has looked once."""
    now_ms = 1_700_000_000_000
    log = Log(MemoryDisk(), "orders-0", LogConfig(**config), now_ms * 1000)
    for age in ages:
        record = batch.Record(0, now_ms - age * 60_000, None, value)
        log.append_as_leader(batch.encode([record]), 0, now_ms * 1000)
    log.delete_old_segments(now_ms * 1000, log.log_end_offset)
    return log


AGES = [300, 290, 280, 5, 200, 190, 180, 170, 160]
HOURLY = {"segment_bytes": 150, "retention_ms": 3_600_000}


def test_retention_by_the_oldest_record_would_delete_a_young_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert a_log(AGES, **HOURLY).log_start_offset == 2

    def by_the_first(segment: Any, config: LogConfig, now_ms: int) -> bool:
        return bool(now_ms - segment.first_timestamp > config.retention_ms)

    monkeypatch.setattr(retention, "_is_old", by_the_first)
    assert a_log(AGES, **HOURLY).log_start_offset == 9


def begun_at() -> str:
    seen = seen_by("12", "dirty-ratio")
    return settled("12-4", seen)


def test_a_cleaner_that_begins_at_the_ratio_begins_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    assert begun_at() == "5"
    monkeypatch.setattr(LogToClean, "is_due", property(lambda self: self.dirty_ratio >= 0.5))
    assert begun_at() == "4"


def left_of_bert() -> str:
    world = World(12, settings={"log.cleaner.backoff.ms": 500}, checked=False)
    config = {"cleanup.policy": "compact", "internal.segment.bytes": 200, "delete.retention.ms": 0}
    world.create_topic("cities", assignment={0: [101]}, config=config)
    history = [("anna", "Rome"), ("bert", "Oslo"), ("bert", None), ("anna", "Bern")]
    virtual_runs.put(world, "cities", [*history, ("carl", "Bonn")])
    world.run(until=lambda w: bool(virtual_runs.passes(w, "cities")), for_s=30)
    left = virtual_runs.held(world, "cities")
    values = [each.value or "a tombstone" for each in left if each.key == "bert"]
    return settled("12-5", {"of bert, after one pass": values})


def test_a_cleaner_without_a_delete_horizon_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert left_of_bert() == "b"
    kept = RecordFilter._kept

    def at_once(self: RecordFilter, header: Any, records: list[Any]) -> list[Any]:
        found = kept(self, header, records)
        return [record for record in found if not record[2]]  # its tombstone flag

    monkeypatch.setattr(RecordFilter, "_kept", at_once)
    assert left_of_bert() == "c"


# -- what each observation makes right, and what a wrong answer hears

SEEN: list[tuple[str, dict[str, Any], str]] = [
    ("12-5", {"of bert, after one pass": ["Oslo"]}, "d"),
    ("12-5", {"of bert, after one pass": ["Oslo", "a tombstone"]}, "a"),
    ("12-7", {"the leader holds": "ABCDEFGHIJKL", "101 holds": "ABCDEFxyzJKL"}, "c"),
    ("12-7", {"the leader holds": "ABCDEFGHIJKL", "101 holds": "ABCDEFGHIJKL"}, "b"),
    ("12-7", {"the leader holds": "KL", "101 holds": "KL"}, "a"),
    ("12-13", {"the table by the loop": ["anna=Rome", "bert=Oslo", "carl="]}, "b"),
    ("12-13", {"the table by the loop": []}, ""),
]


@pytest.mark.parametrize(("question", "seen", "letter"), SEEN)
def test_another_observation_makes_another_choice_right(
    question: str, seen: dict[str, Any], letter: str
) -> None:
    assert settled(question, seen) == letter


@pytest.mark.heavy
@pytest.mark.parametrize(("check", "letter"), [("not message", "c"), ("message is None", "a")])
def test_a_loop_that_asks_for_truth_takes_a_tombstone_for_nothing(
    monkeypatch: pytest.MonkeyPatch, check: str, letter: str
) -> None:
    monkeypatch.setenv("KAFKALAB_REAL", "off")
    change = ("if not message:", f"if {check}:")
    assert settled("12-13", seen_by("12", "python-table", change=change)) == letter


@pytest.mark.parametrize("passes", [0, 1])
def test_a_cleaner_that_has_not_begun_gives_no_number(passes: int) -> None:
    assert settled("12-4", {**NEVER, "passes": passes}) == "none"


SIZED = {"first offset that a consumer gets": 8, "bytes left": 2040, "limit": 1500}
AGED = {"first offset": 2, "end of the log": 9, "older than an hour": 6}
LEFT = {"offsets left": [3, 4, 5, 7, 8], "active segment from": 8}
RATIO = {"dirty segments": 5, "clean": 4, "ratio": 0.5, "passes": 2}
NEVER = {"dirty segments": 20, "clean": 4, "ratio": 0.9, "passes": 1}
NOTHING_CLEAN = {"dirty segments": 0, "clean": 4, "ratio": 1, "passes": 0}
READ = {"records that the new service reads": 25, "of them in the active segment": 20,
        "users": 5, "records written": 300}  # fmt: skip

BERT = {"of bert, after one pass": ["a tombstone"], "of bert, after another": []}


@pytest.mark.parametrize(
    ("question", "answer", "seen", "says"),
    [
        ("12-1", "12", SIZED, "only if the others still hold"),
        ("12-1", "0", SIZED, "Whole segments go"),
        ("12-2", "9", AGED, "stops at the first segment"),
        ("12-2", "3", AGED, "No single record"),
        ("12-2", "0", AGED, "so it went"),
        ("12-2", "5", AGED, "still there"),
        ("12-2", "2", {**AGED, "first offset": 9}, "the active one too"),
        ("12-3", "0 1 2 3", LEFT, "offsets never change"),
        ("12-3", "5 7 8", LEFT, "does not look into"),
        ("12-3", "3 4 5 7", LEFT, "no pass touches it"),
        ("12-3", "8 7 5 4 3", LEFT, "order of the log"),
        ("12-3", "none", LEFT, "as numbers"),
        ("12-5", "a", BERT, "got a tombstone: the tombstone is the last"),
        ("12-5", "c", BERT, "after another no record"),
        ("12-13", "a", {"the table by the loop": ["anna=Rome", "bert=Oslo"]}, "as no message"),
        ("12-13", "b", {"the table by the loop": ["anna=Rome", "carl="]}, "bert is gone"),
        ("12-4", "4", RATIO, "has to be above"),
        ("12-4", "2", RATIO, "divided by all bytes"),
        ("12-4", "20", NEVER, "20 of 24 segments are a ratio of 0.83"),
        ("12-4", "0", NOTHING_CLEAN, "No pass came at all"),
        ("12-6", "5", READ, "no pass touches"),
        ("12-6", "300", READ, "had removed"),
        ("12-6", "6", READ, "closed segments"),
    ],
)
def test_a_wrong_answer_hears_what_this_run_showed(
    question: str, answer: str, seen: dict[str, Any], says: str
) -> None:
    prediction = DEFINED[question]
    given = settling.answer_of(prediction, answer)
    assert says in settling.settle(prediction, given, {"": seen}).because


# -- the exercises' references, beside the engine


@pytest.mark.parametrize("limit", [-1, 0, 140, 150, 290, 400, 10_000])
@pytest.mark.parametrize("minutes", [-1, 60, 285, 400])
def test_the_judge_deletes_what_the_engine_deletes(limit: int, minutes: int) -> None:
    before = a_log(AGES, segment_bytes=150, retention_ms=-1, retention_bytes=-1)
    newest = [5 if base == 2 else AGES[base] for base in (s.base_offset for s in before.segments)]
    segments = [[s.size, age] for s, age in zip(before.segments, newest, strict=True)]
    bases = [s.base_offset for s in before.segments] + [9]
    retention_ms = minutes * 60_000 if minutes >= 0 else -1
    after = a_log(AGES, segment_bytes=150, retention_ms=retention_ms, retention_bytes=limit)
    expected = deleted([[size, age] for size, age in segments], limit, minutes)
    assert after.log_start_offset == bases[expected]


def test_the_judge_of_a_pass_keeps_what_the_engine_keeps() -> None:
    history: list[Any] = [(k, v) for k, v in zip("ababcab", "1112341", strict=True)]
    history[2] = ("a", None)
    _, decided = virtual_runs.inside(history)
    stays = [int(row[0]) for row in decided.rows if row[2] == "stays"]
    given = [[offset, *pair] for offset, pair in enumerate(history)]
    assert left_by_a_pass(given, 4) == stays == [2, 3, 4, 5, 6]


def test_the_judge_of_the_next_log_knows_exactly_half() -> None:
    assert next_to_clean({"a": [500, 500]}, 0.5) is None
    assert next_to_clean({"a": [500, 500], "b": [1, 2]}, 0.5) == "b"


# -- runs in virtual time


def test_lags_move_the_first_pass() -> None:
    rows = virtual_runs.lags().rows
    assert [row[1] for row in rows] == ["1 min", "11 min", "never", "21 min"]
    assert [row[3] for row in rows] == ["16", "16", "16", "17"]


def test_the_filthiest_log_is_cleaned_first_and_one_below_the_ratio_waits() -> None:
    rows = virtual_runs.order().rows
    assert [row[0] for row in rows] == ["users-1", "users-3", "users-0", "users-2", "young-0"]
    assert [row[2].startswith("waits") for row in rows] == [False, False, False, True, True]
    assert "16 records" in rows[-1][2]


def test_a_lower_ratio_cleans_more_often_and_leaves_less() -> None:
    *rows, large = virtual_runs.ratios().rows
    assert int(large[4].replace(",", "")) > int(rows[1][4].replace(",", ""))
    counts = [int(row[1]) for row in rows]
    assert counts == sorted(counts, reverse=True)
    left = [int(row[3]) for row in rows]
    assert left == sorted(left)


def test_a_quiet_topic_keeps_records_for_twice_the_retention() -> None:
    assert 11 < max(age for _, age in virtual_runs.quiet().ages) < 15
    assert max(age for _, age in virtual_runs.quiet(roll_days=1).ages) < 9


# -- tiered storage


def test_only_the_start_of_the_local_log_moves_when_segments_go_to_the_store() -> None:
    world = World(12, settings=virtual_runs.TIERED)
    config = {"remote.storage.enable": "true", "local.retention.bytes": 300, "retention.ms": -1}
    world.create_topic("orders", config={**config, "internal.segment.bytes": 150})
    virtual_runs.put(world, "orders", [("a", "1")] * 9)
    world.run(for_s=10)
    assert virtual_runs.in_store(world, "orders") == [0, 2, 4, 6]
    assert virtual_runs.on_disk(world, "orders") == [4, 6, 8]
    assert virtual_runs.fetched(world, "orders", 0) == (list(range(9)), "")
    assert virtual_runs.offset(world, "orders", virtual_runs.EARLIEST) == 0
    virtual_runs.alter(world, "orders", retention_bytes=450)
    world.run(for_s=10)
    assert virtual_runs.in_store(world, "orders") == [2, 4, 6]
    assert virtual_runs.fetched(world, "orders", 0) == ([], "OFFSET_OUT_OF_RANGE")
