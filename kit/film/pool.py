"""Packs frames for a browser: each thing once, each trace line with its place in the source.

Most of a scene is the same as in the step before.  So its parts are kept in pools, and a step
only names their places.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from kit.film import source_lines
from kit.film.source import Line
from kit.film.source_lines import SourceLine


@dataclass
class Pool:
    """Things by place; the same thing has the same place."""

    things: list[Any] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def place(self, thing: Any) -> int:
        key = json.dumps(thing, sort_keys=True)
        if key not in self.places:
            self.places[key] = len(self.things)
            self.things.append(thing)
        return self.places[key]


def line_with_source(line: Line, says: str, sources: dict[str, Any]) -> list[Any]:
    """Node, words, why, rule, and the key of its source; "" if it is not in the engine.

    The source itself, with its surroundings, goes into `sources` under that key.
    """
    place = source_lines.find(line.rule, line.kind)
    reason = source_lines.find_reason(line.kind, line.why)
    key = f"{line.rule} {line.kind}" if place else ""
    if place and reason:
        decided = f"why {reason.place}"
        key = f"{key} {decided}"
        sources.setdefault(decided, {**_source(reason), "also": key, "says": "reported here"})
        sources.setdefault(key, {**_source(place), "also": decided, "says": "decided here"})
    elif place:
        sources.setdefault(key, _source(place))
    return [line.node, says, line.why, line.rule, key]


def _source(place: SourceLine) -> dict[str, Any]:
    return {
        "place": place.place,
        "function": place.function,
        "start": place.start,
        "line": place.line,
        "lines": source_lines.excerpt(place),
    }
