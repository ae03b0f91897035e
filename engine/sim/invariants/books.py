"""What the invariants remember of one partition, from event to event."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.cluster.items import NodeId
from engine.sim.invariants.chains import Chain, Link


class Violation(AssertionError):
    """An invariant is broken; the message starts with its name."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A record that a client heard of; -1 or "" for what it does not know."""

    offset: int
    epoch: int
    value: str
    in_transaction: bool = False
    """A reader with read_committed was given it."""


@dataclass(slots=True)
class Books:
    """What is known of one partition of one topic id.

    `kept` is the promise (offset, partition epoch) that all its keepers were seen to hold; a
    restart or a truncation puts it in doubt again.  Traced deletions have reached `deleted_to`:
    a log may start there but no later, and below it nothing is promised any more.
    """

    name: str
    key: tuple[str, int]
    topic_id: bytes
    chains: dict[int, Chain] = field(default_factory=dict)
    known: dict[tuple[int, int], bytes] = field(default_factory=dict)
    promised: Link | None = None
    kept: tuple[int, int] | None = None
    unsettled: list[Heard] = field(default_factory=list)
    leaders: dict[int, int] = field(default_factory=dict)
    bounds: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    received: dict[tuple[NodeId, int], tuple[int, int]] = field(default_factory=dict)
    latest: dict[NodeId, int] = field(default_factory=dict)
    indexed: dict[int, int] = field(default_factory=dict)
    """By replica: the last marker that its aborted index was compared with."""
    reread: dict[int, None] = field(default_factory=dict)
    """Replicas that have read their log again, or cut it."""
    highest: dict[int, int] = field(default_factory=dict)
    """By replica: the highest high watermark that it had."""
    openings: list[tuple[int, int, int]] = field(default_factory=list)
    """Transactions that began and are not replicated: offset, producer id, epoch."""
    is_compacted: bool = False
    """Whether the cleaner has begun a pass over one of the copies."""
    unclean_at: int = -1
    unclean_epoch: int = -1
    deleted_to: int = 0
    is_successor: bool = False
    """Whether there was a topic of this name before."""
    is_late: bool = False
    """Whether a broker was seen that still had that one."""

    def removed(self, node: int, now: int) -> None:
        """A broker has removed its replica, perhaps that of a former topic of this name."""
        for known in (self.chains, self.bounds, self.epochs, self.indexed, self.highest):
            known.pop(node, None)
        self.reread.pop(node, None)
        self.kept = None
        if self.is_successor:
            self.unclean_at = now
