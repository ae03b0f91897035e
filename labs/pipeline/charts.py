"""The dashboard's charts: each from what a run measured, with the same numbers as a table.

Colours are Okabe and Ito's, and a symbol or a dash says the same as each colour.  Lines, texts and
grids have no colour here: the page gives them the reader's light or dark one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kit.tables import Table
from labs.fleet.records import TOPICS
from labs.pipeline.balance import Equation
from labs.pipeline.progress import MicroBatch
from labs.pipeline.storage import Compaction

if TYPE_CHECKING:
    import plotly.graph_objects as go

BLUE, VERMILION, GREEN, ORANGE, SKY, PURPLE = (
    "#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7",
)  # fmt: skip
LOOKS = {
    "bronze": (BLUE, "circle", "solid"),
    "silver positions": (VERMILION, "square", "solid"),
    "silver orders": (VERMILION, "square-open", "dash"),
    "silver payments": (VERMILION, "square-dot", "dot"),
    "dead letters": (PURPLE, "diamond", "dot"),
    "gold minutes": (GREEN, "triangle-up", "dash"),
    "gold orders": (ORANGE, "triangle-down", "dash"),
    "gold paid": (SKY, "x", "dash"),
}
"""By query: colour, symbol, dash."""
TOPIC_LOOKS = dict(zip(TOPICS, ((BLUE, "solid"), (VERMILION, "dash"), (GREEN, "dot")), strict=True))
FORGETS = 0.9
"""Ids kept per record read, below which ids were forgotten: copies and rejects are 3 of 100."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at a time: "killed broker 103"."""

    at: float
    """Seconds since 1970."""
    text: str


@dataclass(frozen=True)
class Chart:
    """A figure, what it shows in a sentence, and its numbers."""

    title: str
    says: str
    figure: go.Figure
    table: Table


def layers(equations: Sequence[Equation]) -> Chart:
    """Every number of the run on the truth's: a dot in its ring."""
    go = _go()
    names = [each.name.split(" = ")[0] for each in equations][::-1]
    truth = [each.truth for each in equations][::-1]
    found = [each.found for each in equations][::-1]
    figure = go.Figure()
    rings = {"size": 15, "symbol": "circle-open", "color": ORANGE, "line": {"width": 2.5}}
    figure.add_scatter(x=truth, y=names, mode="markers", name="truth", marker=rings)
    dots = {"size": 7, "color": BLUE}
    figure.add_scatter(x=found, y=names, mode="markers", name="found", marker=dots)
    figure.update_xaxes(type="log", dtick=1, title="records or rows")
    figure.update_layout(height=120 + 21 * len(names))
    held = sum(each.holds for each in equations)
    rows = [[each.name, f"{each.found:,}", f"{each.truth:,}", "✓" if each.holds else "✗"]
            for each in equations]  # fmt: skip
    return Chart(
        "Each number beside the truth",
        f"{held} of {len(equations)} numbers are the generator's. A dot in its ring is right.",
        figure,
        Table("", ["number", "found", "truth", "holds"], rows),
    )


def lag(batches: Sequence[MicroBatch], marks: Iterable[Mark]) -> Chart:
    """What each topic still had to give, after each micro-batch of bronze."""
    go = _go()
    read = [batch for batch in batches if batch.lag]
    start = _start(batches)
    figure = go.Figure()
    for topic in TOPICS:
        colour, dash = TOPIC_LOOKS[topic]
        x = [batch.ended - start for batch in read]
        y = [sum(batch.lag.get(topic, {}).values()) for batch in read]
        most = [max(batch.lag.get(topic, {"": 0}).values()) for batch in read]
        figure.add_scatter(
            x=x, y=y, name=topic, mode="lines+markers", line={"color": colour, "dash": dash},
            customdata=most,
            hovertemplate="%{y:,} behind, %{customdata:,} of them in one partition",
        )  # fmt: skip
    _over_time(figure, start, marks, "records not read yet")
    rows = [
        [str(batch.number), topic, number, f"{behind:,}"]
        for batch in read
        for topic, partitions in sorted(batch.lag.items())
        for number, behind in sorted(partitions.items())
    ]
    return Chart(
        "Lag",
        "Records in the topics that bronze had not read at the end of each of its micro-batches.",
        figure,
        Table("", ["micro-batch", "topic", "partition", "behind"], rows),
    )


def rates(batches: Sequence[MicroBatch], marks: Iterable[Mark]) -> Chart:
    """How fast each query was."""
    figure, start = _go().Figure(), _start(batches)
    for query, (colour, symbol, dash) in LOOKS.items():
        of = [batch for batch in batches if batch.query == query]
        if of:
            figure.add_scatter(
                x=[batch.ended - start for batch in of],
                y=[batch.rows_per_second for batch in of],
                name=query, mode="lines+markers",
                line={"color": colour, "dash": dash}, marker={"symbol": symbol, "size": 8},
                hovertemplate="%{y:,.0f} rows/s",
            )  # fmt: skip
    _over_time(figure, start, marks, "rows per second")
    figure.update_yaxes(type="log", dtick=1)
    rows = [
        [batch.query, str(batch.number), f"{batch.rows:,}", f"{batch.seconds:.1f}",
         f"{batch.rows_per_second:,.0f}"]
        for batch in batches
    ]  # fmt: skip
    return Chart(
        "Rows per second",
        "Each point is a micro-batch. A gap is a time in which no driver ran.",
        figure,
        Table("", ["query", "micro-batch", "rows", "seconds", "rows/s"], rows),
    )


def state(batches: Sequence[MicroBatch], marks: Iterable[Mark]) -> Chart:
    """What silver has to keep of positions, beside what it has seen; and its watermark."""
    from plotly.subplots import make_subplots

    of = [batch for batch in batches if batch.query == "silver positions"]
    start = _start(batches)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.09)
    x = [batch.ended - start for batch in of]
    seen, total = [], 0
    for batch in of:
        total += batch.rows
        seen.append(total)
    kept = [batch.ids_kept for batch in of]
    watermarks = [_clock(batch.watermark) for batch in of]
    figure.add_scatter(
        x=x, y=seen, name="records read", mode="lines+markers",
        line={"color": SKY, "dash": "dot"}, row=1, col=1,
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=kept, name="event ids kept", mode="lines+markers",
        line={"color": VERMILION}, marker={"symbol": "square"}, row=1, col=1,
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=watermarks, name="watermark", mode="lines+markers",
        line={"color": GREEN, "dash": "dash"}, marker={"symbol": "diamond"}, row=2, col=1,
    )  # fmt: skip
    _over_time(figure, start, marks, "")
    figure.update_xaxes(title="", row=1, col=1)
    figure.update_yaxes(title="rows", row=1, col=1)
    figure.update_yaxes(title="event time", row=2, col=1)
    figure.update_layout(height=470)
    rows = [
        [str(batch.number), f"{read:,}", f"{batch.ids_kept:,}", clock or "none yet",
         f"{batch.too_late:,}"]
        for batch, read, clock in zip(of, seen, watermarks, strict=True)
    ]  # fmt: skip
    says = "Silver keeps the id of each position until the watermark has passed it. "
    if kept and kept[-1] < FORGETS * seen[-1]:
        says += "Then it forgets the id, so the state stops growing while the records go on."
    else:
        says += "This run is too short for that: no id, or hardly one, was forgotten."
    return Chart(
        "State and watermark",
        says,
        figure,
        Table("", ["micro-batch", "records read", "ids kept", "watermark", "behind it"], rows),
    )


def refused(letters: Iterable[tuple[str, str, int]], late: int, too_late: int) -> Chart:
    """Why records did not become events, by topic."""
    go = _go()
    counts = sorted(letters)
    figure = go.Figure()
    reasons = sorted({reason for _, reason, _ in counts})
    for topic in TOPICS:
        numbers = {reason: n for of, reason, n in counts if of == topic}
        colour, _ = TOPIC_LOOKS[topic]
        pattern = {"shape": ("", "/", ".")[TOPICS.index(topic)]}
        figure.add_bar(
            y=reasons, x=[numbers.get(reason, 0) for reason in reasons], name=topic,
            orientation="h", marker={"color": colour, "pattern": pattern},
        )  # fmt: skip
    figure.update_layout(barmode="stack", xaxis_title="dead letters")
    rows = [[topic, reason, f"{n:,}"] for topic, reason, n in counts]
    return Chart(
        "Late and rejected",
        f"{late:,} records came late and were taken in; {too_late:,} came behind the watermark and "
        "are kept apart. What the parser refused lies in the dead letters, by reason:",
        figure,
        Table("", ["topic", "reason", "dead letters"], rows),
    )


def skew(partitions: Iterable[tuple[str, int, int]], keys: Iterable[tuple[str, int]]) -> Chart:
    """Which partitions and keys have the most records."""
    from plotly.subplots import make_subplots

    by_partition, by_key = sorted(partitions), list(keys)
    figure = make_subplots(rows=1, cols=2, subplot_titles=("by partition", "by key"))
    for topic in TOPICS:
        colour, _ = TOPIC_LOOKS[topic]
        of = [(number, n) for name, number, n in by_partition if name == topic]
        figure.add_bar(
            x=[f"{topic.removeprefix('fleet.')} {number}" for number, _ in of],
            y=[n for _, n in of], name=topic, marker={"color": colour}, row=1, col=1,
        )  # fmt: skip
    figure.add_bar(
        x=[key for key, _ in by_key], y=[n for _, n in by_key], name="positions of a truck",
        marker={"color": SKY}, row=1, col=2,
    )  # fmt: skip
    figure.update_xaxes(tickangle=-50)
    figure.update_layout(height=400, showlegend=False)
    rows = [[f"{topic}, partition {number}", f"{n:,}"] for topic, number, n in by_partition]
    rows += [[f"key {key}", f"{n:,}"] for key, n in by_key]
    return Chart(
        "Skew",
        "A key's records lie in one partition, and one task reads it: the longest bar decides.",
        figure,
        Table("", ["where", "records"], rows),
    )


def files(compacted: Sequence[Compaction]) -> Chart:
    """What compaction made of the small files."""
    figure = _go().Figure()
    tables = [each.table for each in compacted]
    times = [tables[:number].count(table) for number, table in enumerate(tables)]
    names = [table + " again" * n for table, n in zip(tables, times, strict=True)][::-1]
    before = [each.files_before for each in compacted][::-1]
    after = [each.files_after for each in compacted][::-1]
    striped = {"color": ORANGE, "pattern": {"shape": "/"}}
    figure.add_bar(y=names, x=before, name="before", orientation="h", marker=striped)
    figure.add_bar(y=names, x=after, name="after", orientation="h", marker={"color": BLUE})
    figure.update_layout(barmode="group", xaxis_title="files", height=120 + 42 * len(names))
    rows = [
        [each.table, str(each.files_before), str(each.files_after),
         f"{each.bytes_before / 1e6:.2f}", f"{each.bytes_after / 1e6:.2f}"]
        for each in compacted
    ]  # fmt: skip
    says = "Each micro-batch leaves files behind; compaction writes them into few large ones."
    if not compacted:
        says = "Parquet files stay as they were written: this format has no compaction."
    table = Table("", ["table", "files before", "after", "MB before", "after"], rows)
    return Chart("Small files", says, figure, table)


def _go() -> Any:
    import plotly.graph_objects as go

    return go


def _start(batches: Sequence[MicroBatch]) -> float:
    return min((batch.began for batch in batches), default=0.0)


def _clock(time: float | None) -> str | None:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S") if time else None


def _over_time(figure: Any, start: float, marks: Iterable[Mark], upward: str) -> None:
    """Seconds along the bottom, and a line with a word for each mark."""
    figure.update_xaxes(title="seconds since the first micro-batch")
    figure.update_yaxes(title=upward, rangemode="tozero")
    ends = max((max(trace.x) for trace in figure.data if trace.x), default=0.0)
    for at, text in _apart([(mark.at - start, mark.text) for mark in marks], ends * 0.06):
        if at <= ends:
            word = {"text": text, "textangle": -90, "yanchor": "top", "font": {"size": 11}}
            line = {"color": PURPLE, "dash": "dot", "width": 1.5}
            figure.add_vline(x=at, line=line, annotation=word)


def _apart(marks: Iterable[tuple[float, str]], least: float) -> list[tuple[float, str]]:
    """Marks that are too close for two lines of text share one."""
    shown: list[tuple[float, str]] = []
    for at, text in marks:
        if shown and at - shown[-1][0] < least:
            shown[-1] = shown[-1][0], f"{shown[-1][1]}; {text}"
        else:
            shown.append((at, text))
    return shown
