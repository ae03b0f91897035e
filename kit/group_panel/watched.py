"""Consumers of the notebook itself that a panel watches.

    panel.watch(consumer, "mine")

A confluent-kafka consumer answers from any thread what it has been assigned and how far it has
read.  So it is asked at every look, and what happened is the difference to the look before: its
times are those of the looks.  A closed consumer has left.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from kit.film.source import Line
from kit.group_panel.view import Belief

Keys = tuple[tuple[str, int], ...]


@dataclass
class Watched:
    """One consumer, and what it said last."""

    name: str
    consumer: Any
    belief: Belief = field(default_factory=lambda: Belief(""))
    owned: Keys = ()
    read: dict[tuple[str, int], None] = field(default_factory=dict)

    def look(self) -> list[Line]:
        """Asks it; returns what has happened since the last time."""
        if self.belief.state == "left":
            return []
        now_us = time.time_ns() // 1000
        try:
            given = self.consumer.assignment()
            member_id = self.consumer.memberid() or ""
            at = {(each.topic, each.partition): each.offset
                  for each in (self.consumer.position(given) if given else ())}  # fmt: skip
        except RuntimeError:  # closed
            self.belief = Belief(self.belief.member_id, "left")
            return [self._line(now_us, "left", ())]
        keys = tuple(sorted((each.topic, each.partition) for each in given))
        lines = []
        if gone := tuple(each for each in self.owned if each not in keys):
            lines.append(self._line(now_us, "revoked", gone))
        if new := tuple(each for each in keys if each not in self.owned):
            lines.append(self._line(now_us, "assigned", new))
        self.read = {each: None for each in self.read if each in keys and each not in new}
        if begun := tuple(each for each in keys if at[each] >= 0 and each not in self.read):
            self.read |= dict.fromkeys(begun)
            lines.append(self._line(now_us, "reads", begun))
        owned: dict[str, list[int]] = {}
        positions: dict[str, dict[int, int]] = {}
        for topic, index in keys:
            owned.setdefault(topic, []).append(index)
            if at[topic, index] >= 0:
                positions.setdefault(topic, {})[index] = at[topic, index]
        self.owned = keys
        self.belief = Belief(member_id, owned=owned, positions=positions)
        return lines

    def _line(self, now_us: int, kind: str, keys: Keys) -> Line:
        partitions = tuple(f"{topic}-{index}" for topic, index in keys)
        return Line(now_us, -1, kind, "", {"client": self.name, "partitions": partitions})
