"""A run of the pipeline as one HTML page that needs no network.

`page(run)` is the page, `text(run)` says the same in a terminal.  Plotly's script is in the page,
once.  The charts take their colors for text and lines from the page, so they follow the reader's
light or dark scheme; each has its numbers below it as a table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from kit.tables import Table
from labs.fleet.truth import Truth
from labs.pipeline import charts
from labs.pipeline.balance import Equation
from labs.pipeline.charts import Chart, Mark
from labs.pipeline.progress import MicroBatch
from labs.pipeline.storage import Compaction

CLUSTERS = {"engine": "the engine", "local": "a local Kafka", "docker": "Kafka in Docker"}
_STYLE = Path(__file__).with_name("dashboard.css")


@dataclass(frozen=True)
class Run:
    """What a run of the pipeline measured."""

    source: str
    format: str
    truth: Truth
    tables: dict[str, Any]
    """See `balance.read`."""
    equations: Sequence[Equation]
    batches: Sequence[MicroBatch]
    compacted: Sequence[Compaction]
    marks: Sequence[Mark] = ()
    seconds: float = 0.0
    """From the topics to gold, with each start of Spark."""

    @property
    def late(self) -> int:
        return sum(counts.late for counts in self.truth.counts.values())

    @property
    def too_late(self) -> int:
        return sum(self.tables["late"].values())


def charts_of(run: Run) -> list[Chart]:
    tables = run.tables
    return [
        charts.layers(run.equations),
        charts.lag(run.batches, run.marks),
        charts.rates(run.batches, run.marks),
        charts.state(run.batches, run.marks),
        charts.refused([tuple(row) for row in tables["dead letters"]], run.late, run.too_late),
        charts.skew([tuple(row) for row in tables["partitions"]], tables["keys"]),
        charts.files(run.compacted),
    ]


def text(run: Run) -> str:
    """The page's facts and tables, without its pictures."""
    parts = [f"{label}: {number}" for label, number, _ in _facts(run)]
    for chart in charts_of(run):
        table = Table(chart.title, chart.table.columns, chart.table.rows)
        parts += ["", *([repr(table)] if table.rows else [chart.title]), chart.says]
    return "\n".join(parts)


def page(run: Run) -> str:
    """The whole page."""
    from plotly.offline import get_plotlyjs

    shown = charts_of(run)
    facts = "".join(
        f'<div class="{look}"><b>{escape(number)}</b><span>{escape(label)}</span></div>'
        for label, number, look in _facts(run)
    )
    figures = "".join(_figure(number, chart) for number, chart in enumerate(shown))
    data = json.dumps([json.loads(chart.figure.to_json()) for chart in shown])
    data = data.replace("</", "<\\/")  # so that no text ends the script
    happened = "; ".join(mark.text for mark in run.marks)
    title = f"The fleet from the topics of {CLUSTERS[run.source]} to gold"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE.read_text()}</style></head><body><main>"
        f"<h1>{escape(title)}</h1><p>Tables in {run.format.capitalize()}. "
        f"{escape(_sentence(happened))}</p>"
        f'<div class="facts">{facts}</div><div class="charts">{figures}</div></main>'
        f"<script>{get_plotlyjs()}</script>"
        f"<script>const figures = {data};\n{_DRAWN}</script></body></html>"
    )


def _facts(run: Run) -> list[tuple[str, str, str]]:
    """Label, number, and whether it is good or bad."""
    held = sum(each.holds for each in run.equations)
    right = "good" if held == len(run.equations) else "bad"
    letters = sum(n for _, _, n in run.tables["dead letters"])
    silver = sum(run.tables["silver"].values())
    return [
        ("records produced", f"{run.truth.produced:,}", ""),
        ("numbers as in the truth", f"{held} of {len(run.equations)}", right),
        ("events in silver, each once", f"{silver:,}", ""),
        ("dead letters", f"{letters:,}", ""),
        ("too late, kept apart", f"{run.too_late:,}", "bad" if run.too_late else "good"),
        ("seconds with Spark's start", f"{run.seconds:,.0f}", ""),
    ]


def _sentence(happened: str) -> str:
    return f"On the way: {happened}." if happened else "The command killed nothing on the way."


def _figure(number: int, chart: Chart) -> str:
    numbers = ""
    if chart.table.rows:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in chart.table.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in chart.table.rows
        )
        numbers = (
            '<details><summary>The numbers</summary><div class="numbers" tabindex="0"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></details>"
        )
    wide = ' class="wide"' if number == 0 else ""
    plot = f'<div class="plot" id="chart-{number}" role="img" aria-label="{escape(chart.title)}">'
    drawn = f"{plot}</div>" if numbers else ""
    return (
        f"<figure{wide}><h2>{escape(chart.title)}</h2><p>{escape(chart.says)}</p>"
        f"{drawn}{numbers}</figure>"
    )


_DRAWN = """
const dark = matchMedia("(prefers-color-scheme: dark)");
function look(layout) {
  const of = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = { gridcolor: of("--line"), zerolinecolor: of("--line"), linecolor: of("--line"),
                 automargin: true };
  const drawn = structuredClone(layout);
  for (const name of Object.keys(drawn))
    if (/^[xy]axis/.test(name)) drawn[name] = { ...drawn[name], ...axis };
  return { ...drawn, template: null, xaxis: { ...drawn.xaxis, ...axis },
    yaxis: { ...drawn.yaxis, ...axis }, paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)", font: { family: "system-ui, sans-serif", size: 12,
    color: of("--text") }, margin: { l: 8, r: 12, t: 26, b: 8 }, autosize: true,
    hovermode: "closest", legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 } };
}
function draw() {
  figures.forEach((figure, number) => {
    const place = document.getElementById("chart-" + number);
    if (place)
      Plotly.react(place, figure.data, look(figure.layout),
                   { responsive: true, displayModeBar: false });
  });
}
draw();
dark.addEventListener("change", draw);
"""
