"""How many records were acknowledged by when, around a failure: a line for each side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from kit.drawings.chart import Chart
from kit.probes.background_load import BackgroundLoad

STEP_S = 0.05
BEFORE_S = 0.8


def acknowledged_over_time(loads: Mapping[str, BackgroundLoad]) -> Chart:
    """`loads` by the name of the cluster they ran on; time 0 is the first event of each."""
    names = sorted(loads, key=lambda name: name != "engine")
    event = loads[names[0]].events[0][1]
    return Chart(
        f"Records acknowledged before and after {event}",
        {name: so_far(loads[name]) for name in names},
        x="seconds",
        y="records so far",
        marks={0: event},
    )


def so_far(load: BackgroundLoad) -> list[tuple[float, float]]:
    """(seconds after the first event, records acknowledged by then); flat where there is a gap."""
    zero, end = load.events[0][0], load.moments[-1]
    steps = round((end - zero) / STEP_S) + 1
    moments = sorted(load.moments)
    points = [zero + n * STEP_S for n in range(-round(BEFORE_S / STEP_S), steps + 1)]
    return [(round(at - zero, 3), bisect_right(moments, at)) for at in points]
