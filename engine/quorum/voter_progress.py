"""What a leader knows of the other voters, and of the brokers that read its log.

    voter   log end offset
    100     57   the leader, as far as it has flushed
    200     57
    300     41                 high watermark 57: two of three have it

The high watermark moves only with a record of the leader's own epoch.  Records of earlier epochs
are committed with it, not by being counted (figure 8 of the Raft paper).

A leader that a majority no longer fetches from resigns (check-quorum): it could commit nothing, and
clients would wait for it while others have a leader that can.

Source: LeaderState of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

UNKNOWN = -1


@dataclass(slots=True)
class Reader:
    """How far one has read, by its last fetch; times in microseconds, -1 for never."""

    offset: int = UNKNOWN
    fetched_at: int = UNKNOWN
    caught_up_at: int = UNKNOWN


class VoterProgress:
    """Readers by id, of an epoch whose leader is `node_id` and that begins at `epoch_start`."""

    def __init__(self, node_id: int, voters: Sequence[int], epoch_start: int, now: int) -> None:
        self.node_id = node_id
        self.epoch_start = epoch_start
        self.voters = {each: Reader() for each in voters if each != node_id}
        self.observers: dict[int, Reader] = {}
        self.heard: set[int] = set()
        self.heard_at = now

    @property
    def others_needed(self) -> int:
        """So many of the other voters make a majority with the leader."""
        return (len(self.voters) + 1) // 2

    def fetched(self, now: int, reader: int, offset: int, high_watermark: int) -> None:
        """A reader has everything below `offset`; a negative id is no reader of the cluster."""
        if reader < 0:
            return
        seen = self.voters.get(reader) or self.observers.setdefault(reader, Reader())
        seen.offset, seen.fetched_at = offset, now
        if offset >= high_watermark:
            seen.caught_up_at = now
        self.heard_from(now, reader)

    def heard_from(self, now: int, reader: int) -> None:
        """A voter that asks for anything takes this leader for one."""
        if reader in self.voters:
            self.heard.add(reader)
            if len(self.heard) >= self.others_needed:
                self.heard.clear()
                self.heard_at = now

    def high_watermark(self, flushed_to: int) -> int | None:
        """What a majority has, the leader's own disk included; None while none of this epoch."""
        ends = sorted((flushed_to, *(each.offset for each in self.voters.values())), reverse=True)
        offset = ends[self.others_needed]
        return offset if offset > self.epoch_start else None

    def successors(self) -> list[int]:
        """The other voters, the one with the longest log first."""
        return sorted(self.voters, key=lambda each: (-self.voters[each].offset, each))

    def unaware(self, now: int, silent_us: int) -> list[int]:
        """Voters that do not fetch from this leader: they may not know of it."""
        return [
            each
            for each, seen in self.voters.items()
            if seen.fetched_at == UNKNOWN or now - seen.fetched_at >= silent_us
        ]
