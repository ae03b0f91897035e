"""A measured surface: what two settings do to two measurements, as Plotly draws it.

    Surface(
        ("linger.ms", [0, 5, 20]), ("batch.size", [1_000, 16_000]),
        {"records/s": {"engine": rows, "Kafka": rows}, "ms": {...}},
    )

`rows` has a row for each value of the second setting and in it a number for each of the first.  The
two settings are on category axes: their values are far apart, and only the order matters.  The
upward axis is logarithmic, so every measurement must be above 0.  The text form is a table, so that
the numbers can be read without Plotly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

from kit.drawings.axes import spoken

Axis = tuple[str, Sequence[float]]
Rows = Sequence[Sequence[float]]
SCALES = (("#9fd0ee", "#0072b2"), ("#f5c48f", "#d55e00"))
"""Okabe and Ito's blue for the first side, vermilion for the second."""
LOOK = {"eye": {"x": 1.75, "y": 1.75, "z": 0.95}, "center": {"x": 0, "y": 0, "z": -0.12}}
GRID = "#a4abb5"
LIGHT = {"ambient": 0.85, "diffuse": 0.35, "specular": 0.05}


class Surface:
    """One scene for each measurement, one surface in it for each side."""

    def __init__(
        self, first: Axis, second: Axis, measured: Mapping[str, Mapping[str, Rows]]
    ) -> None:
        self.first, self.second, self.measured = first, second, measured

    @property
    def text(self) -> str:
        (name, values), (other, others) = self.first, self.second
        lines = []
        for unit, sides in self.measured.items():
            for side, rows in sides.items():
                lines.append(f"{unit}, {side}, by {other} (rows) and {name} (columns)")
                table = [[other, *(f"{value:g}" for value in values)]]
                table += [
                    [f"{value:g}", *map(spoken, row)]
                    for value, row in zip(others, rows, strict=True)
                ]
                widths = [max(map(len, column)) for column in zip(*table, strict=True)]
                lines += [
                    "  "
                    + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
                    for row in table
                ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text

    def figure(self) -> Any:
        """Plotly's figure; Plotly is loaded only here."""
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots

        units = list(self.measured)
        (name, values), (other, others) = self.first, self.second
        figure = make_subplots(1, len(units), specs=[[{"type": "scene"}] * len(units)],
                               subplot_titles=units, horizontal_spacing=0.02)  # fmt: skip
        for column, (unit, sides) in enumerate(self.measured.items(), start=1):
            for (side, rows), (low, high) in zip(sides.items(), SCALES, strict=False):
                figure.add_trace(
                    go.Surface(
                        x=[f"{value:g}" for value in values], y=[f"{value:g}" for value in others],
                        z=[[round(float(z), 2) for z in row] for row in rows], name=side,
                        surfacecolor=[[log10(float(z)) for z in row] for row in rows],
                        colorscale=[[0, low], [1, high]], showscale=False, lighting=LIGHT,
                        showlegend=column == 1,
                        contours={"z": {"show": True, "color": "#888", "width": 1}},
                        hovertemplate=f"{name} %{{x}}, {other} %{{y}}: %{{z:.4~g}} {unit}"
                        f"<extra>{side}</extra>",
                    ),
                    row=1, col=column,
                )  # fmt: skip
        axes = {"type": "category", "color": "#808895", "gridcolor": GRID}
        figure.update_scenes(
            xaxis={"title": {"text": name}, **axes}, yaxis={"title": {"text": other}, **axes},
            zaxis={"title": {"text": ""}, "type": "log", "dtick": 1, "color": "#808895",
                   "gridcolor": GRID},
            camera=LOOK, bgcolor="rgba(0,0,0,0)",
        )  # fmt: skip
        figure.update_layout(
            template="none", height=480, margin={"l": 0, "r": 0, "t": 36, "b": 0},
            paper_bgcolor="rgba(0,0,0,0)", font={"color": "#808895"},
            legend={"x": 0, "y": 1, "orientation": "h"},
        )  # fmt: skip
        return figure

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, Any]:
        return {
            "text/plain": self.text,
            "application/vnd.plotly.v1+json": self.figure().to_plotly_json() | {"config": {}},
        }
