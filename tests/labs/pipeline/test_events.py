"""The parser: whatever stands in a record, the query goes on, and each record has its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.authoring.sources import read_source
from kit.course import PROJECT
from labs.fleet.records import NOT_JSON, NULL_FIELD, POSITIONS, START_MS, WRONG_TYPE
from labs.pipeline.events import FIRST, MENDED, PARSERS, parsed

pytestmark = pytest.mark.spark

MILLIS = START_MS
TIMES: dict[Any, tuple[str, ...]] = {
    MILLIS: (FIRST.name, MENDED.name),
    str(MILLIS): (FIRST.name, MENDED.name),
    "2026-03-02T08:00:00.123Z": (MENDED.name,),
    MILLIS * 1_000: (),
    MILLIS * 1_000_000: (),
    10**30: (),
    MILLIS / 1_000: (),
    5: (),
    -MILLIS: (),
    "2026-03-02T08:00:00Z": (MENDED.name,),
    "2026-03-02T09:00:00.123+01:00": (MENDED.name,),
    "9999-12-31T00:00:00Z": (),
    "0001-01-01T00:00:00Z": (),
    "1999-12-31T23:59:59Z": (),
    "2026-03-02": (),
    "2026-03-02T08:00:00": (),
    "12:30": (),
    "yesterday": (),
    "": (),
    True: (),
}
"""What stands for the event's time, and the parsers that take it."""


@pytest.mark.parametrize("parser", PARSERS)
def test_a_time_is_read_or_refused_and_ends_no_query(spark, parser) -> None:
    events = [
        {"event_id": "e", "truck": "t", "event_time": time, "speed_kmh": 83} for time in TIMES
    ]
    rows = [(POSITIONS, bytearray(json.dumps(event), "utf8")) for event in events]
    records = spark.createDataFrame(rows, "topic STRING, value BINARY").coalesce(1)
    found = parsed(records, PARSERS[parser]).select("event_time", "reason").collect()
    taken = {time: reason is None for time, (_, reason) in zip(TIMES, found, strict=True)}
    assert taken == {time: parser in by for time, by in TIMES.items()}
    assert {reason for _, reason in found} == {None, WRONG_TYPE}
    assert all((time is None) == (reason is not None) for time, reason in found)


L1 = PROJECT / "labs/L1_telemetry_pipeline/source/L1_telemetry_pipeline.py"
GOOD = {"event_id": "e", "truck": "t", "event_time": MILLIS, "speed_kmh": 83}
CHANGED = (
    *({"speed_kmh": speed} for speed in (
        "83", 83.0, "83.0", " 83 ", True, 1e2, 83.5, 2**31, None, [83], {"a": 1}, "fast")),
    *({"event_time": time} for time in TIMES),
    *({"event_id": value} for value in (5, None, "", {"a": 1})),
    *({"heading": value} for value in (12, "12", 12.0, "x", None)),
)  # fmt: skip
WHOLE = json.dumps(GOOD)
TEXTS = (
    *(json.dumps(GOOD | change) for change in CHANGED),
    WHOLE, f"{WHOLE} x", WHOLE * 2, f"[{WHOLE}]", f"{WHOLE}}}", f"\ufeff{WHOLE}", f"{WHOLE}\n",
    WHOLE.replace("83", "083"), WHOLE.replace("83", "NaN"), WHOLE.replace('"', "'"), WHOLE[:-1],
    f'{WHOLE[:-1]}, "speed_kmh": 1}}', '{"a": 1}', "", " ", "null", "5",
)  # fmt: skip


def test_the_labs_rule_and_the_pipelines_parser_agree(spark) -> None:
    from pyspark.sql import functions

    lesson: dict[str, Any] = {"F": functions}
    exec(next(cell.text for cell in read_source(L1) if cell.name == "rule"), lesson)
    rows = [(POSITIONS, number, bytearray(text, "utf8")) for number, text in enumerate(TEXTS)]
    records = spark.createDataFrame(rows, "topic STRING, number INT, value BINARY")
    columns = ("reason", "event_id", "truck", "event_time", "speed_kmh", "heading")

    def judged(frame: Any) -> dict[str, tuple[Any, ...]]:
        found = frame.select("number", *columns).collect()
        return {TEXTS[n]: tuple(row) if not row[0] else row[:1] for n, *row in found}

    ours = judged(parsed(records, MENDED))
    assert ours == judged(lesson["parse"](records))
    assert [text for text in TEXTS if ours[text][0] is None and '"speed_kmh": "' in text] == []
    assert {reason for reason, *_ in ours.values()} >= {None, WRONG_TYPE, NULL_FIELD, NOT_JSON}


@pytest.mark.parametrize("judged", ["reason IS NULL", "reason IS NOT NULL"])
def test_a_filter_by_the_reason_parses_no_text_a_second_time(spark, judged) -> None:
    """Below the parser it would parse the text for each field that a reason asks for."""
    records = spark.createDataFrame([(POSITIONS, bytearray())], "topic STRING, value BINARY")
    plan = parsed(records, MENDED).where(judged)._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("from_json(") == 1
