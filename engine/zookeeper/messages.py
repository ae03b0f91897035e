"""What travels between a broker and the ensemble, and between its members.

ZooKeeper has a wire format of its own (Jute); here messages are objects.  A broker's session is one
connection at a time, with a number that the broker counts up: a notice or an answer of a former
connection says nothing any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from engine.metadata.image import BrokerImage, PartitionImage
from engine.wire import schema
from engine.wire.structures import Message, RequestMessage
from engine.zookeeper.tree import Operation, Result, Tree, Write
from engine.zookeeper.watches import Watch


class _NoKafka:
    """These are none of Kafka's APIs: no key, and one version."""

    API_KEY: ClassVar[int] = -1
    LATEST: ClassVar[int] = 0
    VERSIONS: ClassVar[schema.Versions] = schema.Versions(0, 0)


# -- from a broker to a member


@dataclass(slots=True)
class Connected(_NoKafka, Message):
    """`session` is 0 if the one asked for is over; `is_served` is False: try another member."""

    is_served: bool
    session: int = 0
    timeout_ms: int = 0


@dataclass(slots=True)
class Connect(_NoKafka, RequestMessage[Connected]):
    """`session` 0 asks for a new one; `seen` is the last zxid of which the client knows."""

    session: int
    connection: int
    timeout_ms: int
    seen: int = 0
    watches: list[Watch] = field(default_factory=list)


@dataclass(slots=True)
class Answers(_NoKafka, Message):
    """One result for each operation, in order; None means that the connection is lost."""

    results: list[Result] | None
    zxid: int = 0


@dataclass(slots=True)
class Operations(_NoKafka, RequestMessage[Answers]):
    """A batch, all reads or all writes; an empty one is a ping."""

    session: int
    connection: int
    operations: list[Operation]


@dataclass(slots=True)
class Stay(_NoKafka, RequestMessage[Answers]):
    """The connection itself: it is answered when the other side gives the connection up."""

    session: int
    connection: int


@dataclass(slots=True)
class Heard(_NoKafka, Message):
    """A client has taken a notice."""


@dataclass(slots=True)
class Notice(_NoKafka, RequestMessage[Heard]):
    """From a member to a client: a watch has fired, and is used up."""

    connection: int
    what: str
    path: str
    zxid: int


# -- between members


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change with its number; `origin` is (member, request) of the client that waits for it."""

    zxid: int
    session: int = 0
    write: Write | None = None
    origin: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Granted(_NoKafka, Message):
    epoch: int
    granted: bool


@dataclass(slots=True)
class Vote(_NoKafka, RequestMessage[Granted]):
    """`last` is the zxid at which the candidate's log ends; `pre` asks without promising."""

    epoch: int
    last: int
    pre: bool


@dataclass(slots=True)
class Followed(_NoKafka, Message):
    """`last` is where this log ends; `heard` are the sessions heard of since."""

    epoch: int
    is_level: bool
    last: int
    heard: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Follow(_NoKafka, RequestMessage[Followed]):
    """The leader's proposals after `after`, and how far they are committed; also its heartbeat."""

    epoch: int
    after: int
    proposals: list[Proposal]
    committed: int


@dataclass(slots=True)
class State(_NoKafka, RequestMessage[Followed]):
    """Everything, for a member whose log is none of the leader's."""

    epoch: int
    tree: Tree
    applied: int
    pending: list[Proposal]
    committed: int


@dataclass(slots=True)
class Taken(_NoKafka, Message):
    """Whether the leader has proposed what a member passed on."""

    is_taken: bool


@dataclass(slots=True)
class PassOn(_NoKafka, RequestMessage[Taken]):
    """A client's writes, for the leader."""

    session: int
    writes: list[Write]
    number: int


OF_MEMBERS = (Vote, Follow, State)


# -- from the controller to a broker, and from a broker to the controller.  Kafka removed these APIs
# in 4.0; keys and meaning are those of 3.9, what a version may carry is not modelled.

LEADER_DURING_DELETE = -2
"""Stands for the leader of a partition that is being deleted."""


@dataclass(slots=True)
class Ordered(_NoKafka, Message):
    """The answer to an order: an error for all of it, or one for each partition refused."""

    error_code: int = 0
    partition_errors: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(slots=True)
class PartitionState:
    """A partition as the controller decided it; `controller_epoch` is that of its last change."""

    topic: str
    topic_id: bytes
    index: int
    image: PartitionImage
    controller_epoch: int


@dataclass(slots=True)
class LeaderAndIsrRequest(_NoKafka, RequestMessage[Ordered]):
    """Lead these partitions, follow those."""

    API_KEY: ClassVar[int] = 4
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    partitions: list[PartitionState]


@dataclass(slots=True)
class StopReplicaRequest(_NoKafka, RequestMessage[Ordered]):
    """Lead and follow these no more: (topic, partition, leader epoch); delete them, or not."""

    API_KEY: ClassVar[int] = 5
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    partitions: list[tuple[str, int, int]]
    delete: bool


@dataclass(slots=True)
class UpdateMetadataRequest(_NoKafka, RequestMessage[Ordered]):
    """What to answer clients: every live broker, and the partitions that have changed."""

    API_KEY: ClassVar[int] = 6
    controller_id: int
    controller_epoch: int
    broker_epoch: int
    live_brokers: list[BrokerImage]
    partitions: list[PartitionState]


@dataclass(slots=True)
class ControlledShutdownResponse(_NoKafka, Message):
    """The partitions that the broker still leads."""

    error_code: int = 0
    remaining: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class ControlledShutdownRequest(_NoKafka, RequestMessage[ControlledShutdownResponse]):
    """A broker wants to stop."""

    API_KEY: ClassVar[int] = 7
    broker_id: int
    broker_epoch: int


Order = LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest
HISTORIC_APIS = {"LeaderAndIsr": 4, "StopReplica": 5, "UpdateMetadata": 6, "ControlledShutdown": 7}
"""Keys of the APIs that Kafka 4.0 removed."""
