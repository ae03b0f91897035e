"""What a leader knows of the other voters, and of the observers that read its log.

    voter   log end offset
    100     57   the leader, as far as it has flushed
    200     57
    300     41                 high watermark 57: two of three have it

The high watermark moves only with a record of the leader's own epoch.  Records of earlier epochs
are committed with it, not by being counted (figure 8 of the Raft paper).

Voters may come and go (KIP-853): one that is added was an observer before.  A leader that is no
voter any more leads on until that is committed, and does not count itself.

A leader that a majority no longer fetches from resigns (check-quorum): it could commit nothing, and
clients would wait for it while others have a leader that can.

Source: LeaderState of Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.quorum.voters import ReplicaKey, VoterSet
from engine.wire import uuids

UNKNOWN = -1


@dataclass(slots=True)
class Reader:
    """How far one has read, by its last fetch; times in microseconds, -1 for never."""

    offset: int = UNKNOWN
    fetched_at: int = UNKNOWN
    caught_up_at: int = UNKNOWN


class VoterProgress:
    """Readers, of an epoch that begins at `epoch_start`.

    `voters` has the other voters by id, `observers` all who only read.
    """

    def __init__(self, leader: ReplicaKey, voters: VoterSet, epoch_start: int, now: int) -> None:
        self.leader = leader
        self.epoch_start = epoch_start
        self.current = voters
        self.voters = {each.id: Reader() for each in voters.keys if each.id != leader.id}
        self.observers: dict[ReplicaKey, Reader] = {}
        self.heard: set[int] = set()
        self.heard_at = now

    def use_voters(self, now: int, voters: VoterSet) -> None:
        """Others are voters from now on; what is known of how far they are stays."""
        known = {self.current.key_of(each): seen for each, seen in self.voters.items()}
        known |= self.observers
        self.current = voters
        keys = [each for each in voters.keys if each != self.leader]
        self.voters = {each.id: known.pop(each, Reader()) for each in keys}
        self.observers = known
        self.heard.clear()
        self.heard_at = now

    @property
    def counts_itself(self) -> bool:
        """Whether the leader is a voter."""
        return self.current.is_voter(self.leader)

    @property
    def others_needed(self) -> int:
        """So many of the other voters make a majority, with the leader if it is a voter."""
        return self.current.majority - self.counts_itself

    def fetched(
        self,
        now: int,
        reader: int,
        offset: int,
        high_watermark: int,
        directory: bytes = uuids.ZERO,
    ) -> None:
        """A reader has everything below `offset`; a negative id is no reader of the cluster."""
        if reader < 0:
            return
        seen = self.reader(ReplicaKey(reader, directory))
        seen.offset, seen.fetched_at = offset, now
        if offset >= high_watermark:
            seen.caught_up_at = now
        self.heard_from(now, reader, directory)

    def reader(self, key: ReplicaKey) -> Reader:
        """What is known of a reader; a node with another directory than the voter's is another."""
        if key.id in self.voters and self.current.is_voter(key):
            return self.voters[key.id]
        return self.observers.setdefault(key, Reader())

    def heard_from(self, now: int, reader: int, directory: bytes = uuids.ZERO) -> None:
        """A voter that asks for anything takes this leader for one."""
        if reader in self.voters and self.current.is_voter(ReplicaKey(reader, directory)):
            self.heard.add(reader)
            if len(self.heard) >= self.others_needed:
                self.heard.clear()
                self.heard_at = now

    def high_watermark(self, flushed_to: int) -> int | None:
        """What a majority has, the leader's own disk included; None while none of this epoch."""
        ends = [each.offset for each in self.voters.values()]
        if self.counts_itself:
            ends.append(flushed_to)
        offset = sorted(ends, reverse=True)[self.current.majority - 1]
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
