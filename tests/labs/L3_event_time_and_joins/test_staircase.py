"""The picture of a watermark: which records are crosses, and which windows are grey."""

from __future__ import annotations

from xml.etree import ElementTree

from labs.L3_event_time_and_joins.arrivals import clock, in_order, minute_of, on_time, tunnel
from labs.L3_event_time_and_joins.progress import Batch, Run
from labs.L3_event_time_and_joins.staircase import Staircase

STORY = in_order(tunnel("truck-07", [3, 6, 12], leaves=21), on_time("truck-01", [1, 11, 21, 33]))


def row(key: str, start: int, count: int) -> dict:
    return {"key": key, "window": {"start": f"2026-03-02T{clock(start):0>5}:00Z"}, "count": count}


def drawn(*rows: dict) -> Staircase:
    """Two records to a micro-batch, windows of ten minutes, a delay of none."""
    batches = [
        Batch(0, 2, None, 2, 0),
        Batch(1, 2, 11, 2, 0),
        Batch(2, 2, 11, 2, 0),
        Batch(3, 1, 21, 2, 0),
        Batch(4, 0, 33, 1, 0),
    ]
    return Staircase(
        "a story", STORY, Run([(3, each) for each in rows], batches, ""), "truck-07", 10
    )


def test_a_record_that_no_window_counts_is_dropped() -> None:
    picture = drawn(
        row("truck-01", 0, 1), row("truck-01", 10, 1), row("truck-01", 20, 1),
        row("truck-07", 0, 1), row("truck-07", 10, 1),
    )  # fmt: skip
    assert [clock(STORY[offset].event) for offset in sorted(picture.dropped)] == ["8:06"]
    assert picture.svg().count('stroke="var(--bad)"') == 2  # the cross, and its sign in the key
    assert "micro-batch 1: watermark 8:11, 2 records, dropped: 8:06" in picture.text


def test_a_window_that_is_still_open_at_the_end_has_dropped_nothing() -> None:
    everything = drawn(
        row("truck-01", 0, 1), row("truck-01", 10, 1), row("truck-01", 20, 1),
        row("truck-07", 0, 2), row("truck-07", 10, 1),
    )  # fmt: skip
    assert everything.dropped == set()


def test_windows_close_one_micro_batch_after_the_watermark() -> None:
    assert drawn().closed[:4] == [0, 0, 10, 10]


def test_the_picture_is_well_formed_and_says_all_in_words() -> None:
    picture = drawn()
    root = ElementTree.fromstring(picture.svg())
    assert root.get("aria-label", "").split() == picture.text.split()
    assert repr(picture) == picture.text


def test_minutes_and_clocks_are_one_the_other() -> None:
    assert minute_of("2026-03-02T08:04:00.000Z") == 4
    assert minute_of("2026-03-02T07:55:00Z") == -5
    assert (clock(4), clock(-5), clock(75)) == ("8:04", "7:55", "9:15")
