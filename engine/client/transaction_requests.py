"""What a transactional producer asks of the coordinators, in Kafka's order of urgency.

    FindCoordinator       which broker answers for this transactional.id, or for this group
    InitProducerId        an id and an epoch; the coordinator fences older producers of this name
    AddPartitionsToTxn    these partitions will get records      transaction protocol 1 only
    AddOffsetsToTxn       this group's offsets will be committed   transaction protocol 1 only
    TxnOffsetCommit       the offsets, to the group's coordinator
    EndTxn                commit or abort
    InitProducerId        again, after an abort, for a new epoch (KIP-360)

In protocol 2 (KIP-890) the brokers add a partition themselves when its first batch arrives, and the
group's coordinator adds the group.  The version of a request says which protocol is meant: Produce
up to 11, TxnOffsetCommit up to 4 and EndTxn up to 4 belong to protocol 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from engine.client.connections import Asked
from engine.client.metadata import Place
from engine.wire import messages as m

GROUP, TRANSACTION = 0, 1
"""The types of coordinators, as FindCoordinator numbers them."""
ADD_PARTITIONS_OF_CLIENTS = 3
"""The last version of AddPartitionsToTxn for clients; later ones are for brokers."""
PRODUCE_1, OFFSET_COMMIT_1, END_TXN_1 = 11, 4, 4
"""The last versions that belong to transaction protocol 1."""
Identity = tuple[int, int]


class Priority(IntEnum):
    """The lower goes first."""

    FIND_COORDINATOR = 0
    INIT_PRODUCER_ID = 1
    ADD_PARTITIONS_OR_OFFSETS = 2
    END_TXN = 3
    EPOCH_BUMP = 4


@dataclass(frozen=True, slots=True)
class Offset:
    """An offset to commit: the next record to read."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """The consumer whose offsets are committed.  With its generation and its member id the
    coordinator refuses a member that the group has removed (KIP-447)."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


@dataclass(slots=True, eq=False)
class Result:
    """The result of a call; `error` says why it failed, empty if it did not."""

    operation: str
    is_done: bool = False
    error: str = ""

    def close(self, error: str = "") -> None:
        """The first outcome counts."""
        if not self.is_done:
            self.is_done, self.error = True, error


@dataclass(slots=True, eq=False)
class Wanted:
    """A request in the queue.  `coordinator` is the type of the broker that it must go to, None
    for any; a request that `is_retry` waits before it leaves."""

    body: Asked
    priority: Priority
    result: Result
    coordinator: int | None = TRANSACTION
    version_max: int | None = None
    is_retry: bool = False
    backoff_ms: int | None = None
    offsets: dict[Place, Offset] = field(default_factory=dict)
    """What AddOffsetsToTxn makes room for."""
    group: GroupMetadata | None = None

    @property
    def api(self) -> str:
        return type(self.body).__name__.removesuffix("Request")

    @property
    def about(self) -> str:
        """What it is about, in a few words: for the trace."""
        match self.body:
            case m.FindCoordinatorRequest():
                return str(self.body.coordinator_keys[0])
            case m.AddPartitionsToTxnRequest():
                return ", ".join(f"{topic}-{index}" for topic, index in self.adds)
            case m.EndTxnRequest():
                return "commit" if self.body.committed else "abort"
        return self.group.group_id if self.group else ""

    @property
    def adds(self) -> list[Place]:
        """The partitions that it adds to the transaction."""
        if not isinstance(self.body, m.AddPartitionsToTxnRequest):
            return []
        topics = self.body.v3_and_below_topics
        return [(topic.name, index) for topic in topics for index in topic.partitions]

    @property
    def is_end(self) -> bool:
        return isinstance(self.body, m.EndTxnRequest)

    @property
    def is_bump(self) -> bool:
        return self.priority == Priority.EPOCH_BUMP


def find_coordinator(kind: int, key: str) -> Wanted:
    body = m.FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    return Wanted(body, Priority.FIND_COORDINATOR, Result("FindCoordinator"), None)


def init_producer_id(name: str, timeout_ms: int, bumps: Identity | None) -> Wanted:
    """The first time without an identity; with one it asks for the next epoch of it."""
    body = m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=timeout_ms)
    if bumps is not None:
        body.producer_id, body.producer_epoch = bumps
    priority = Priority.INIT_PRODUCER_ID if bumps is None else Priority.EPOCH_BUMP
    return Wanted(body, priority, Result("InitProducerId"))


def add_partitions(name: str, identity: Identity, places: Iterable[Place]) -> Wanted:
    request = m.AddPartitionsToTxnRequest
    body = request(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=identity[0],
        v3_and_below_producer_epoch=identity[1],
        v3_and_below_topics=[
            request.AddPartitionsToTxnTopic(name=topic, partitions=indexes)
            for topic, indexes in _by_topic(places).items()
        ],
    )
    priority = Priority.ADD_PARTITIONS_OR_OFFSETS
    return Wanted(body, priority, Result("AddPartitionsToTxn"), TRANSACTION,
                  ADD_PARTITIONS_OF_CLIENTS)  # fmt: skip


def add_offsets(
    name: str, identity: Identity, offsets: Mapping[Place, Offset], group: GroupMetadata
) -> Wanted:
    body = m.AddOffsetsToTxnRequest(
        transactional_id=name, producer_id=identity[0], producer_epoch=identity[1],
        group_id=group.group_id,
    )  # fmt: skip
    wanted = Wanted(body, Priority.ADD_PARTITIONS_OR_OFFSETS, Result("AddOffsetsToTxn"))
    wanted.offsets, wanted.group = dict(offsets), group
    return wanted


def offset_commit(
    name: str, identity: Identity, offsets: Mapping[Place, Offset], group: GroupMetadata,
    result: Result, is_v2: bool,
) -> Wanted:  # fmt: skip
    request = m.TxnOffsetCommitRequest
    topics: dict[str, m.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = {}
    for (topic, index), each in offsets.items():
        at = topics.setdefault(topic, request.TxnOffsetCommitRequestTopic(name=topic))
        at.partitions.append(
            request.TxnOffsetCommitRequestPartition(
                partition_index=index, committed_offset=each.offset,
                committed_leader_epoch=each.leader_epoch, committed_metadata=each.metadata,
            )
        )  # fmt: skip
    body = request(
        transactional_id=name, group_id=group.group_id, producer_id=identity[0],
        producer_epoch=identity[1], generation_id=group.generation, member_id=group.member_id,
        group_instance_id=group.group_instance_id, topics=list(topics.values()),
    )  # fmt: skip
    wanted = Wanted(body, Priority.ADD_PARTITIONS_OR_OFFSETS, result, GROUP)
    wanted.version_max = None if is_v2 else OFFSET_COMMIT_1
    wanted.group = group
    return wanted


def end_txn(name: str, identity: Identity, commits: bool, is_v2: bool) -> Wanted:
    body = m.EndTxnRequest(
        transactional_id=name, producer_id=identity[0], producer_epoch=identity[1],
        committed=commits,
    )  # fmt: skip
    wanted = Wanted(body, Priority.END_TXN, Result(f"EndTxn({str(commits).lower()})"))
    wanted.version_max = None if is_v2 else END_TXN_1
    return wanted


def _by_topic(places: Iterable[Place]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, index in places:
        found.setdefault(topic, []).append(index)
    return found
