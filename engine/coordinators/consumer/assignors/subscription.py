"""What an assignor is asked, and what it answers.

A member's last target goes in, not what it owns now: a member on its way to its target is not
there yet, and an assignor that looked at what it owns would send partitions back and forth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Partitions = dict[bytes, tuple[int, ...]]
"""Topic id -> its partitions, in order."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """One member: the ids of its topics, which exist, and its last target."""

    topics: tuple[bytes, ...]
    instance_id: str | None = None
    target: Mapping[bytes, tuple[int, ...]] = field(default_factory=dict)


Members = Mapping[str, Subscription]
"""Member id -> what it subscribes to, in a fixed order."""

Topics = Mapping[bytes, int]
"""Topic id -> how many partitions it has."""

Target = dict[str, Partitions]
"""Member id -> what it shall own."""
