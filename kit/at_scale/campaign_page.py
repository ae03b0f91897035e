"""`campaign.html`: violations, elections and truncations over the seeds, and what ran where."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

from engine.sim.campaign.play import Outcome
from kit.at_scale import page as parts
from kit.at_scale.tasks import Done
from kit.drawings.chart import Chart
from kit.grading.document import document

MOST_POINTS = 60


def page(ordered: Sequence[Done[Outcome]], master: str) -> str:
    """The page of one run, in the order of its seeds."""
    played = [done.value for done in ordered]
    broken = [outcome for outcome in played if outcome.violation]
    return document(
        "Campaign on Spark",
        f"{parts.STYLE}<h1>Campaign on Spark</h1>{parts.summed_up(ordered, 'schedules', master)}"
        f"{_violations(broken)}"
        f"<h2>Over the seeds</h2>{_over_seeds(played, broken)}"
        f"<h2>What ran where</h2>{parts.lanes(ordered, _name)}"
        "<p class='quiet'>A block is a schedule; point at it for its seed.</p>",
    )


def _name(done: Done[Outcome]) -> str:
    return f"seed {done.value.setup.seed}"


def _violations(broken: Sequence[Outcome]) -> str:
    if not broken:
        return "<p class='right'>No schedule violated an invariant.</p>"
    rows = "".join(
        f"<tr><th scope='row'>{outcome.setup.seed}</th>"
        f"<td class='said'>{escape(outcome.violation)}</td></tr>"
        for outcome in broken
    )
    return (
        f"<p class='wrong'>{len(broken)} {'schedule' if len(broken) == 1 else 'schedules'} "
        "violated an invariant:</p>"
        f"<div class='scroll'><table><tbody>{rows}</tbody></table></div>"
    )


def _over_seeds(played: Sequence[Outcome], broken: Sequence[Outcome]) -> str:
    """Means over as many seeds as make one point; a violation is a mark at its seed."""
    wide = math.ceil(len(played) / MOST_POINTS)
    per = f"mean of {wide} seeds" if wide > 1 else "per seed"
    marks = {float(outcome.setup.seed): "violation" for outcome in broken[:8]}

    def points(count: Callable[[Outcome], int]) -> list[tuple[float, float]]:
        slices = [played[at : at + wide] for at in range(0, len(played), wide)]
        return [(s[0].setup.seed, sum(map(count, s)) / len(s)) for s in slices]

    series = {
        "elections": points(lambda outcome: outcome.elections),
        "truncations": points(lambda outcome: outcome.truncations),
    }
    chart = Chart("Elections and truncations", series, x="seed", y=per, kind="step", marks=marks)
    return chart.svg()
