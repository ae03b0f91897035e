"""A run as a page and as text: both carry the run's own numbers, and the page needs no network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from labs.fleet.records import ORDERS, PAYMENTS, POSITIONS, Fleet, records
from labs.fleet.truth import Tally
from labs.pipeline import dashboard
from labs.pipeline.balance import Equation
from labs.pipeline.charts import Mark
from labs.pipeline.dashboard import Run
from labs.pipeline.progress import MicroBatch, micro_batch, note, noted
from labs.pipeline.storage import Compaction

START = 1_800_000_000.0
BRONZE = MicroBatch("bronze", 0, START, 2.0, 4_000, lag={POSITIONS: {"0": 700, "1": 51}})
SILVER = MicroBatch("silver positions", 1, START + 4, 2.0, 4_000, {}, 3_977, 13, START)


def run() -> Run:
    tally = Tally()
    for record in records(Fleet(events=2_000)):
        tally.add(record)
    return Run(
        source="engine",
        format="delta",
        truth=tally.truth(),
        tables={
            "silver": {POSITIONS: 1_700, ORDERS: 200, PAYMENTS: 70},
            "late": {POSITIONS: 12},
            "dead letters": [[POSITIONS, "not JSON", 17]],
            "partitions": [[POSITIONS, 0, 1_717]],
            "keys": [["truck-01", 411]],
        },
        equations=[Equation("positions: silver", 1_700, 1_700)],
        batches=[BRONZE, SILVER],
        compacted=[Compaction("bronze", 23, 1, 2_000_000, 1_900_000)],
        marks=[Mark(START + 1, "killed broker 103")],
        seconds=31,
    )


def test_the_text_says_what_the_page_draws() -> None:
    said = dashboard.text(run())
    said = " ".join(said.split())
    for number in (
        "numbers as in the truth: 1 of 1", "too late, kept apart: 12", "0 fleet.positions 1 51",
        "1 4,000 3,977", "fleet.positions not JSON 17", "key truck-01 411", "bronze 23 1 2.00 1.90",
    ):  # fmt: skip
        assert number in said, number


def test_the_page_needs_no_network_and_says_what_was_killed() -> None:
    page = dashboard.page(run())
    assert "killed broker 103" in page
    for loaded in ("<script src", "<link", "@import", "<img"):
        assert loaded not in page.split("<script>")[0]
        assert page.count(loaded) == page.split("<script>")[1].count(loaded)
    assert "Small files" in page
    assert "prefers-color-scheme: dark" in page


def test_a_number_that_is_wrong_stands_out() -> None:
    broken = replace(run(), equations=[Equation("positions: silver", 1_699, 1_700)])
    assert '<div class="bad"><b>0 of 1</b>' in dashboard.page(broken)
    assert '<div class="good"><b>1 of 1</b>' in dashboard.page(run())


def progress(**more: Any) -> dict[str, Any]:
    """Spark's report of a micro-batch, as far as it is read."""
    return {
        "name": "bronze", "batchId": 3, "timestamp": "2026-03-02T08:00:01.500Z",
        "durationMs": {"triggerExecution": 2_500}, "numInputRows": 5_000,
        "eventTime": {}, "stateOperators": [], "sources": [], "observedMetrics": {},
    } | more  # fmt: skip


def test_the_lag_is_what_was_there_and_not_read() -> None:
    source = {
        "description": "KafkaV2[Subscribe[fleet.orders]]",
        "endOffset": '{"fleet.orders":{"0":40}}',
        "latestOffset": '{"fleet.orders":{"0":100,"1":7}}',
    }
    batch = micro_batch(progress(sources=[source]))
    assert batch.lag == {"fleet.orders": {"0": 60, "1": 7}}
    assert batch.rows_per_second == 2_000
    assert micro_batch(progress(sources=[{"description": "DeltaSource[x]"}])).lag == {}


def test_refused_records_are_those_that_the_query_observed() -> None:
    batch = micro_batch(progress(observedMetrics={"parsed": {"refused": 12}}))
    assert str(batch) == "bronze 3: 5,000 rows, 12 refused"
    assert str(micro_batch(progress())) == "bronze 3: 5,000 rows"


def test_a_watermark_before_the_first_event_is_none() -> None:
    before = micro_batch(progress(eventTime={"watermark": "1970-01-01T00:00:00.000Z"}))
    after = micro_batch(progress(eventTime={"watermark": "1970-01-01T00:00:09.000Z"}))
    assert (before.watermark, after.watermark) == (None, 9.0)


def test_half_a_line_of_a_killed_driver_is_passed_over(tmp_path: Path) -> None:
    note(tmp_path, BRONZE)
    with (tmp_path / "progress.jsonl").open("a") as file:
        file.write('{"query": "silv\n')
    note(tmp_path, SILVER)
    assert noted(tmp_path) == ([BRONZE, SILVER], [])
