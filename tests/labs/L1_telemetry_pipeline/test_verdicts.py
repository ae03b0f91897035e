"""What Spark and the topics hold decides which prediction is right; another rule, another one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit import lab
from tests.lessons.verdicts import seen_by, settled


@pytest.fixture
def engine_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Engines that end with the test."""
    monkeypatch.setattr(lab, "_kernel", lab._Kernel())
    yield
    lab._kernel.close()


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("spark", "engine_alone")
@pytest.mark.full
def test_the_rule_decides_which_records_are_refused() -> None:
    """A time that is no time is refused; a truck that is a number is not."""
    other = ('{"speed_kmh": -5}', '{"event_time": "soon"}')
    assert settled("L1-6", seen_by("L1", "six-records", change=other)) == "1 2 4"


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("spark", "engine_alone")
@pytest.mark.full
def test_a_delay_longer_than_the_morning_keeps_every_id() -> None:
    longer = ("delay_min, batch_records = 20, 600", "delay_min, batch_records = 300, 2_500")
    seen = seen_by("L1", "state", change=longer)
    assert seen["ids kept within the watermark"] == seen["ids kept by dropDuplicates"]
    assert settled("L1-7", seen) == "a"


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("spark", "engine_alone")
@pytest.mark.full
def test_a_driver_that_dies_between_the_table_and_the_commit_repeats_nothing() -> None:
    seen = seen_by("L1", "crash", change=('"planned", True', '"written", True'))
    assert seen["rows after"] == seen["records in bronze"] == 6_000
    assert settled("L1-5", seen) == "6000"


@pytest.mark.parametrize(("kept", "letter"), [(5800, "a"), (1300, "b"), (2800, "c"), (0, "d")])
def test_the_ids_that_are_kept_decide(kept, letter) -> None:
    seen = {"events": 5800, "minutes of events": 100, "watermark minutes": 20}
    assert settled("L1-7", seen | {"ids kept within the watermark": kept}) == letter


@pytest.mark.parametrize(
    ("in_gold", "dropped", "letter"),
    [([14, 50], 0, "a"), ([14], 1, "b"), ([], 2, "d"), ([], 0, "d"), ([50], 1, ""), ([14], 0, "")],
)
def test_what_gold_has_of_two_late_positions_decides(in_gold, dropped, letter) -> None:
    seen = {"minutes late": [14, 50], "minutes late in gold": in_gold}
    assert settled("L1-1", seen | {"dropped by the watermark": dropped}) == letter


@pytest.mark.parametrize(
    ("bronze", "once", "changed", "letter"),
    [(1990, 1990, True, "a"), (2030, 2000, True, "b"), (1400, 1400, False, "c"),
     (2000, 2000, True, "d"), (2000, 1990, True, "")],
)  # fmt: skip
def test_the_rows_of_bronze_decide(bronze, once, changed, letter) -> None:
    seen = {"acknowledged": 2000, "bronze": bronze, "leader changed": changed}
    assert settled("L1-8", seen | {"in bronze once": once}) == letter


@pytest.mark.parametrize(
    ("read", "groups", "took_ms", "letter"),
    [(2100, 0, 2800, "a"), (2100, 1, 2800, "b"), (3000, 0, 2800, "c"), (900, 0, 2800, "d"),
     (2100, 0, 700, "")],
)  # fmt: skip
def test_a_slow_micro_batch_decides(read, groups, took_ms, letter) -> None:
    seen = {"interval ms": 1000, "micro-batch ms": took_ms, "records": 2100, "records read": read}
    assert settled("L1-9", seen | {"groups of that name": groups}) == letter


@pytest.mark.parametrize(("times", "letter"), [(1, "a"), (2, "b"), (12, "c"), (0, "")])
def test_the_plan_decides_how_often_a_text_is_parsed(times, letter) -> None:
    assert settled("L1-12", {"all": 1, "filtered": times, "observed, filtered": 1}) == letter


@pytest.mark.parametrize(
    ("zero", "without", "letter"),
    [(90, 90, "a"), ("an error", 90, "b"), (30, 90, "c"), ("an error", 0, "d")],
)
def test_what_a_new_query_reads_of_a_cleaned_log(zero, without, letter) -> None:
    seen = {"from the version": zero, "without a version": without, "in bronze": 90}
    assert settled("L1-13", seen) == letter


def test_a_free_answer_is_what_the_run_saw() -> None:
    assert settled("L1-5", {"rows after": 10_000}) == "10000"
