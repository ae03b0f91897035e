"""The bars of notebook 09 are the pauses that the members reported, and nothing else."""

from __future__ import annotations

import re

from kit.group_panel.ownership import Pause
from lessons.nb09_groups.drawn import Stops

SECOND = 1_000_000


def pause(partition: int, start_s: float, end_s: float | None) -> Pause:
    end_us = None if end_s is None else int(end_s * SECOND)
    return Pause(("orders", partition), int(start_s * SECOND), end_us)


def stops() -> Stops:
    found = Stops(3)
    found.note("engine", "consumer", 0, [pause(2, 1.0, 1.5)], 1)
    found.note("engine", "range", 0, [pause(each, 1.0, 5.0) for each in range(3)], 1, 3.9)
    found.note("engine", "cooperative-sticky", 0, [pause(0, 1.0, 5.0), pause(1, 2.0, None)], 2)
    return found


def bars(svg: str) -> list[tuple[float, float]]:
    """Place and width of each bar."""
    found = re.findall(r'<rect x="([\d.]+)"[^>]*width="([\d.]+)"[^>]*fill="var\(--bar\)"', svg)
    return [(float(x), float(width)) for x, width in found]


def test_sums_and_order() -> None:
    assert stops().text.splitlines() == [
        "range, engine: 3 partitions stopped, 12.0 s added up, 1 generation; "
        "no member read for 3.9 s at most",
        "cooperative-sticky, engine: 1 partition stopped, 4.0 s added up, 2 generations; "
        "no member read for 0.0 s at most",
        "consumer, engine: 1 partition stopped, 0.5 s added up, 1 generation; "
        "no member read for 0.0 s at most",
    ]


def test_a_bar_is_as_long_as_its_pause() -> None:
    places = bars(stops().svg())
    assert len(places) == 5
    (_, eager), (_, short) = places[0], places[-1]
    assert eager / short == 8
    assert len({x for x, _ in places}) == 1  # all began at the same time


def test_a_pause_that_has_begun_before_is_cut_at_the_axis() -> None:
    late = Stops(1)
    late.note("engine", "range", 2 * SECOND, [pause(0, 1.0, 4.0)], 1)
    early = Stops(1)
    early.note("engine", "range", 0, [pause(0, 0.0, 2.0)], 1)
    assert bars(late.svg()) == bars(early.svg())
