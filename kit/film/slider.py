"""A picture that follows sliders: each position is a run of its own.

    def killed(crash_after=8, interval_ms=1_000):
        world = lab.world(seed=10)
        ...
        return picture

    lab.slider(killed, crash_after=range(13), interval_ms=(300, 1_000, 3_000))

The function's defaults are the first position.  What it returns has `text` and `svg()`, as a
`Chart` has.  A position is run when a slider comes there, and kept.  The arrow keys, the Home and
the End key work; `.move(crash_after=3)` does the same from a cell, and `.picture` is what the
function returned for the present position.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import traitlets

from kit.film.output import Panel

HERE = Path(__file__).parent
MOST = 60
"""Positions of one slider: more are too close for a hand."""


class Picture(Protocol):
    """What is drawn, and the same in words."""

    @property
    def text(self) -> str: ...

    def svg(self) -> str: ...


class Slider(Panel):
    """`values`: for each argument of `draw` the values that its slider has, in order."""

    _esm = HERE / "slider.js"
    _css = HERE / "slider.css"
    names: traitlets.List[str] = traitlets.List().tag(sync=True)
    labels: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    places: traitlets.List[int] = traitlets.List().tag(sync=True)
    """Of each slider the number of its value."""
    call = traitlets.Unicode().tag(sync=True)
    words = traitlets.Unicode().tag(sync=True)
    drawn = traitlets.Unicode().tag(sync=True)

    def __init__(self, draw: Callable[..., Picture], values: Mapping[str, Sequence[Any]]) -> None:
        self._draw, self._values = draw, {name: list(each) for name, each in values.items()}
        self._kept: dict[tuple[int, ...], Picture] = {}
        super().__init__(
            names=list(values),
            labels=[[_spoken(each) for each in row] for row in self._values.values()],
            places=_first(draw, self._values),
        )
        self._show()
        self.observe(lambda change: self._follow(), ["places"])

    @property
    def picture(self) -> Any:
        """What the function returned for the present position."""
        place = tuple(self.places)
        if place not in self._kept:
            self._kept[place] = self._draw(**self.arguments)
        return self._kept[place]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the present position."""
        rows = zip(self._values.items(), self.places, strict=True)
        return {name: row[place] for (name, row), place in rows}

    def move(self, **values: Any) -> Slider:
        """Sets sliders to values that they have."""
        places = list(self.places)
        for name, value in values.items():
            if name not in self._values:
                raise ValueError(f"There is no slider {name}; there are {', '.join(self.names)}.")
            places[self.names.index(name)] = _place(name, self._values[name], value)
        self.places = places
        return self

    @property
    def text(self) -> str:
        return f"{self.call}\n{self.words}"

    def __repr__(self) -> str:
        return self.text

    @traitlets.validate("places")
    def _within(self, proposal: Any) -> list[int]:
        rows = zip(proposal["value"], self._values.values(), strict=True)
        return [min(max(int(place), 0), len(row) - 1) for place, row in rows]

    def _follow(self) -> None:
        """A run that fails leaves the last picture, and says why."""
        try:
            self._show()
        except Exception as error:
            self.notice = f"{self._called()}: {type(error).__name__}: {error}"

    def _show(self) -> None:
        picture = self.picture
        with self.hold_sync():
            self.notice, self.call = "", self._called()
            self.words, self.drawn = picture.text, picture.svg()

    def _called(self) -> str:
        rows = zip(self.names, self.labels, self.places, strict=True)
        arguments = ", ".join(f"{name}={row[place]}" for name, row, place in rows)
        return f"{self._draw.__name__}({arguments})"

    def _picture(self) -> str:
        return self.drawn


def _spoken(value: Any) -> str:
    return f"{value:_}" if isinstance(value, int) else repr(value)


def _place(name: str, row: Sequence[Any], value: Any) -> int:
    if value not in row:
        raise ValueError(f"The slider {name} has no {value!r}: it has {', '.join(map(str, row))}.")
    return row.index(value)


def _first(draw: Callable[..., Picture], values: Mapping[str, Sequence[Any]]) -> list[int]:
    """Where the function's defaults are."""
    parameters = inspect.signature(draw).parameters
    places = []
    for name, row in values.items():
        if not 2 <= len(row) <= MOST:
            raise ValueError(f"The slider {name} has {len(row)} values: give it 2 to {MOST}.")
        if name not in parameters or parameters[name].default is inspect.Parameter.empty:
            raise ValueError(f"Give {draw.__name__} an argument {name} with a default.")
        places.append(_place(name, row, parameters[name].default))
    return places
