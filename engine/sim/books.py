"""What the invariants remember of one partition, from event to event."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from engine.sim.chains import Chain, Link


@dataclass(slots=True)
class Books:
    """What is known of one partition of one topic id.

    `kept` is the promise (offset, partition epoch) that all its keepers were seen to hold; a
    restart or a truncation puts it in doubt again.
    """

    name: str
    key: tuple[str, int]
    topic_id: bytes
    chains: dict[int, Chain] = field(default_factory=dict)
    known: dict[tuple[int, int], bytes] = field(default_factory=dict)
    promised: Link | None = None
    kept: tuple[int, int] | None = None
    unsettled: list[tuple[int, int]] = field(default_factory=list)
    leaders: dict[int, int] = field(default_factory=dict)
    high_watermarks: dict[int, tuple[int, int]] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    told: dict[tuple[Any, int], tuple[int, int]] = field(default_factory=dict)
    latest: dict[Any, int] = field(default_factory=dict)
    unclean_at: int = -1
