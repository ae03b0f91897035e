"""What a consumer reads: the topics it wants, the partitions it has, and how far each is.

    wanted      subscribe(topics): the group decides which partitions.  assign(partitions): we do
    assigned    the partitions it has now, and believes to own
    position    per partition: the offset of the next record that `poll` returns

A new partition has no position.  First the committed offset is asked for; without one,
auto.offset.reset decides.  Then it is fetched:

    NO_POSITION ──committed──> (VALIDATING) ──> FETCHING ──out of range──> RESETTING ──> FETCHING
         └────────nothing committed───────────────────────────────────────────^

A position also has the leader epoch of the last record before it.  If the leader changes, the
consumer asks the new leader where that epoch ended there: a log that was truncated below our
position would otherwise go unnoticed (KIP-320).  That is VALIDATING.

The position moves when `poll` returns records, not when the application has processed them.  A
commit without offsets takes the positions, so it is up to the loop to commit only after the work.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from engine.client.metadata import Place

NO_POSITION, VALIDATING, RESETTING, FETCHING = "no position", "validating", "resetting", "fetching"
NO_EPOCH = -1


@dataclass(frozen=True)
class Position:
    """The next offset, the epoch of the record before it, and the leader epoch it was seen in."""

    offset: int
    epoch: int = NO_EPOCH
    leader_epoch: int = NO_EPOCH


@dataclass(frozen=True)
class OffsetAndMetadata:
    """What is committed: the offset to go on from, its record's epoch, and a note."""

    offset: int
    epoch: int = NO_EPOCH
    metadata: str = ""


@dataclass
class PartitionState:
    """One assigned partition.  `asked` is true while a request about its position is in flight."""

    state: str = NO_POSITION
    position: Position = Position(-1)
    strategy: str = ""
    """What a reset is to: earliest, latest or by_duration."""
    paused: bool = False
    giving_back: bool = False
    """It is about to be revoked: nothing more of it is returned."""
    asked: bool = False
    retry_at: int = 0
    high_watermark: int = -1
    log_start: int = -1
    nearest: int = -1
    """A follower in our rack that the leader named to fetch from (KIP-392)."""

    @property
    def is_fetchable(self) -> bool:
        return self.state == FETCHING and not self.paused and not self.giving_back

    def seek(self, position: Position) -> None:
        self.state = FETCHING
        self.position = position
        self.asked = False

    def reset(self, strategy: str) -> None:
        self.state, self.strategy, self.asked = RESETTING, strategy, False


@dataclass
class Subscription:
    """`topics` None means that partitions were assigned by hand."""

    topics: tuple[str, ...] | None = None
    pattern: str = ""
    """A regular expression for the broker (KIP-848)."""
    assigned: dict[Place, PartitionState] = field(default_factory=dict)

    @property
    def is_group(self) -> bool:
        """Whether the group assigns the partitions."""
        return self.topics is not None

    @property
    def owned(self) -> tuple[Place, ...]:
        return tuple(sorted(self.assigned))

    def assign(self, places: tuple[Place, ...]) -> None:
        """Exactly these from now on; those that stay keep their position."""
        self.assigned = {
            place: self.assigned.get(place) or PartitionState() for place in sorted(places)
        }

    def consumed(self) -> dict[Place, OffsetAndMetadata]:
        """What a commit without offsets commits: all positions."""
        return {
            place: OffsetAndMetadata(each.position.offset, each.position.epoch)
            for place, each in self.assigned.items()
            if each.state in (FETCHING, VALIDATING)
        }

    def lacking(self) -> list[Place]:
        """The partitions that have no position yet."""
        return [p for p, each in self.assigned.items() if each.state == NO_POSITION]

    def has_all_positions(self) -> bool:
        return all(each.state == FETCHING for each in self.assigned.values())

    def moved(self, place: Place, offset: int, epoch: int) -> None:
        """`poll` returns records up to here."""
        state = self.assigned[place]
        state.position = replace(state.position, offset=offset, epoch=epoch)


def name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


def names(places: tuple[Place, ...] | list[Place]) -> str:
    return " ".join(map(name, sorted(places))) or "none"
