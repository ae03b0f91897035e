"""Which controllers are voters: a set that is data in the log, and so can change (KIP-853).

    voter   directory id             endpoint                      kraft.version
    100     J8aAPcfLQt2bqs1JT_rMgQ   CONTROLLER 127.0.0.1:9100     0 to 1

A voter is a disk as much as a node: one that comes back under its id with another directory has
neither the log nor the votes of the former one, so it is no voter.  With kraft.version 0 there are
no directory ids, and an id alone is a voter.

Source: VoterSet of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from engine.wire import messages as m
from engine.wire import uuids

LISTENER = "CONTROLLER"
SUPPORTED = (0, 1)
"""The levels of kraft.version that this engine can act by."""


class ReplicaKey(NamedTuple):
    """A replica of the log: a node, and the directory that it has the log in."""

    id: int
    directory: bytes = uuids.ZERO

    def __str__(self) -> str:
        return f"{self.id} ({uuids.to_text(self.directory)})"


class Endpoint(NamedTuple):
    """Where a listener can be reached."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Voter:
    """One voter: who it is, where it is, and which levels of kraft.version it knows."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...] = ()
    supported: tuple[int, int] = SUPPORTED

    def has_listener(self) -> bool:
        """Whether the others could reach it."""
        return any(each.name == LISTENER for each in self.endpoints)


@dataclass(frozen=True)
class VoterSet:
    """Voters, in the order of their ids; no id appears twice."""

    voters: tuple[Voter, ...] = ()

    @classmethod
    def of(cls, voters: Iterable[Voter]) -> VoterSet:
        return cls(tuple(sorted(voters, key=lambda each: each.key)))

    @classmethod
    def of_ids(cls, ids: Iterable[int]) -> VoterSet:
        """Of kraft.version 0, without directory ids."""
        return cls.of(Voter(ReplicaKey(each)) for each in ids)

    @classmethod
    def of_record(cls, record: m.VotersRecord) -> VoterSet:
        return cls.of(
            Voter(
                ReplicaKey(each.voter_id, each.voter_directory_id),
                tuple(Endpoint(at.name, at.host, at.port) for at in each.endpoints),
                (
                    each.kraft_version_feature.min_supported_version,
                    each.kraft_version_feature.max_supported_version,
                ),
            )
            for each in record.voters
        )

    def record(self) -> m.VotersRecord:
        record = m.VotersRecord
        rows = [
            record.Voter(
                *each.key,
                [record.Endpoint(*at) for at in each.endpoints],
                record.KRaftVersionFeature(*each.supported),
            )
            for each in self.voters
        ]
        return record(0, rows)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(each.key.id for each in self.voters)

    @property
    def keys(self) -> tuple[ReplicaKey, ...]:
        return tuple(each.key for each in self.voters)

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def key_of(self, node_id: int) -> ReplicaKey:
        """With a directory id if it is a voter that has one."""
        found = self.find(node_id)
        return ReplicaKey(node_id) if found is None else found.key

    def find(self, node_id: int) -> Voter | None:
        return next((each for each in self.voters if each.key.id == node_id), None)

    def is_voter(self, key: ReplicaKey) -> bool:
        """A voter without a directory id is one by its id alone."""
        found = self.find(key.id)
        return found is not None and found.key.directory in (uuids.ZERO, key.directory)

    def with_voter(self, voter: Voter) -> VoterSet:
        """One more, or another one under the same id."""
        others = [each for each in self.voters if each.key.id != voter.key.id]
        return VoterSet.of((*others, voter))

    def without(self, key: ReplicaKey) -> VoterSet:
        return VoterSet(tuple(each for each in self.voters if each.key != key))
