"""What a fetcher asks its leader: the tokens by which an answer finds its way back.

Each names the leader that was asked and the generation of the fetcher, so that an answer to a
fetcher that has ended is not taken for one to its successor.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.replication.follower_session import Key


@dataclass(frozen=True, slots=True)
class FetchRound:
    """Asks for records of all partitions that are followed at `leader`."""

    leader: int
    generation: int


@dataclass(frozen=True, slots=True)
class EpochQuestion:
    """Asks where the last epochs of some partitions end (OffsetForLeaderEpoch)."""

    leader: int
    generation: int


@dataclass(frozen=True, slots=True)
class OffsetQuestion:
    """Asks where the leader's log of one partition ends or starts: `which` says (ListOffsets)."""

    leader: int
    generation: int
    key: Key
    which: int


Question = FetchRound | EpochQuestion | OffsetQuestion


@dataclass(frozen=True, slots=True)
class FetcherTimer:
    """Rings when a partition followed at `leader` may be asked for again."""

    leader: int
