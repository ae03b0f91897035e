"""What the metadata log says, as a data structure: the cluster at one offset.

Since KIP-500 the truth about a Kafka cluster is a log of small records ("topic orders
exists", "partition 0 is led by 102 in epoch 5").  Every node that applies them in order
has the same picture at the same offset; the controller and each broker keep one of these:

    offset 41  TopicRecord            orders
    offset 42  PartitionRecord        orders-0  replicas 101 102 103, leader 101
    offset 43  PartitionChangeRecord  orders-0  leader 102, isr 102 103

Two numbers order the changes of a partition.  The *leader epoch* grows with each change
of the leader (also to "none") and fences off messages of former leaders.  The *partition
epoch* grows with every change and makes ISR updates compare-and-set (KIP-497).

Simplified: records of features that the engine does not have (ACLs, delegation tokens) are
unknown here, replicas that are being added or removed and cordoned directories are not kept, and
metadata transactions (KIP-868) are applied as they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from engine.metadata.quota_entities import Quotas, entity
from engine.metadata.records import LeaderChange, MetadataRecord
from engine.wire import messages as m

T = TypeVar("T")
NO_LEADER = -1
LEADER_UNCHANGED = -2
RECOVERED, RECOVERING = 0, 1
"""Leader recovery states: a leader elected uncleanly is RECOVERING until it says otherwise."""

TOPIC, BROKER = 2, 4
"""Types of config resources; a broker resource with an empty name is the whole cluster."""

KRAFT_FEATURE = "kraft.version"

Configs = dict[tuple[int, str], dict[str, str]]

_NOT_IN_THE_IMAGE = (
    m.NoOpRecord,
    m.BeginTransactionRecord,
    m.EndTransactionRecord,
    m.VotersRecord,
    m.SnapshotHeaderRecord,
    m.SnapshotFooterRecord,
)


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """One partition.  `leader` is -1 if there is none; `replicas[0]` is the preferred leader.

    `isr` holds the replicas that have everything committed.  `elr` holds those that left
    the ISR while it was below min.insync.replicas; they still have everything committed
    (KIP-966).  `last_known_elr` holds the last leader, once there is none.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader: int = NO_LEADER
    leader_epoch: int = 0
    partition_epoch: int = 0
    leader_recovery_state: int = RECOVERED
    directories: tuple[bytes, ...] = ()

    def merge(self, record: m.PartitionChangeRecord) -> PartitionImage:
        """This partition after a PartitionChangeRecord."""

        def changed(new: Sequence[T] | None, old: tuple[T, ...]) -> tuple[T, ...]:
            return old if new is None else tuple(new)

        new_leader = record.leader != LEADER_UNCHANGED
        recovery = record.leader_recovery_state
        return PartitionImage(
            replicas=changed(record.replicas, self.replicas),
            isr=changed(record.isr, self.isr),
            elr=changed(record.eligible_leader_replicas, self.elr),
            last_known_elr=changed(record.last_known_elr, self.last_known_elr),
            leader=record.leader if new_leader else self.leader,
            leader_epoch=self.leader_epoch + new_leader,
            partition_epoch=self.partition_epoch + 1,
            leader_recovery_state=self.leader_recovery_state if recovery < 0 else recovery,
            directories=changed(record.directories, self.directories),
        )


@dataclass(slots=True)
class TopicImage:
    """A topic and its partitions by index.  A topic created again has another id."""

    name: str
    id: bytes
    partitions: dict[int, PartitionImage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A registered broker.  `epoch` is new with each incarnation.

    `host` and `port` are what the first of its `end_points` advertises.
    """

    id: int
    epoch: int
    incarnation: bytes
    host: str = ""
    port: int = 0
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[bytes, ...] = ()
    end_points: tuple[m.RegisterBrokerRecord.BrokerEndpoint, ...] = ()
    features: tuple[m.RegisterBrokerRecord.BrokerFeature, ...] = ()


@dataclass(slots=True)
class MetadataImage:
    """The cluster's metadata.  `offset` is the next to apply, `epoch` the controller's."""

    brokers: dict[int, BrokerImage] = field(default_factory=dict)
    controllers: dict[int, m.RegisterControllerRecord] = field(default_factory=dict)
    topics: dict[bytes, TopicImage] = field(default_factory=dict)
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    configs: Configs = field(default_factory=dict)
    quotas: Quotas = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    kraft_version: int = 0
    next_producer_id: int = 0
    offset: int = 0
    epoch: int = 0

    def topic(self, name: str) -> TopicImage | None:
        topic_id = self.topic_ids.get(name)
        return None if topic_id is None else self.topics[topic_id]

    @property
    def levels(self) -> dict[str, int]:
        """The finalised level of each feature; kraft.version has no FeatureLevelRecord."""
        return {**self.features, KRAFT_FEATURE: self.kraft_version}

    def apply(self, record: MetadataRecord) -> None:
        """Applies one record of the log.  The caller keeps `offset`, which only it knows."""
        match record:
            case m.PartitionChangeRecord():
                partitions = self.topics[record.topic_id].partitions
                partitions[record.partition_id] = partitions[record.partition_id].merge(record)
            case m.PartitionRecord():
                partitions = self.topics[record.topic_id].partitions
                partitions[record.partition_id] = _partition(record)
            case m.TopicRecord():
                self.topics[record.topic_id] = TopicImage(record.name, record.topic_id)
                self.topic_ids[record.name] = record.topic_id
            case m.RemoveTopicRecord():
                topic = self.topics.pop(record.topic_id)
                del self.topic_ids[topic.name]
                self.configs.pop((TOPIC, topic.name), None)
            case m.ConfigRecord():
                self._apply_config(record)
            case m.ClientQuotaRecord():
                self._apply_quota(record)
            case m.ClearElrRecord():
                self._clear_elr(record.topic_name)
            case m.FeatureLevelRecord():
                self.features[record.name] = record.feature_level
                if record.feature_level == 0:
                    del self.features[record.name]
            case m.ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case LeaderChange():
                self.epoch = record.epoch
            case m.KRaftVersionRecord():
                self.kraft_version = record.kraft_version
            case _:
                self._apply_to_broker(record)

    def _apply_to_broker(self, record: m.Message) -> None:
        match record:
            case m.RegisterBrokerRecord():
                self.brokers[record.broker_id] = _broker(record)
            case m.BrokerRegistrationChangeRecord():
                broker = self.brokers[record.broker_id]
                self.brokers[record.broker_id] = replace(
                    broker,
                    # 1 fences, -1 unfences, 0 leaves it as it is.
                    fenced=record.fenced > 0 if record.fenced else broker.fenced,
                    in_controlled_shutdown=(
                        broker.in_controlled_shutdown or record.in_controlled_shutdown > 0
                    ),
                    directories=tuple(record.log_dirs) or broker.directories,
                )
            case m.UnregisterBrokerRecord():
                del self.brokers[record.broker_id]
            case m.RegisterControllerRecord():
                self.controllers[record.controller_id] = record
            case m.FenceBrokerRecord() | m.UnfenceBrokerRecord():
                fenced = isinstance(record, m.FenceBrokerRecord)
                self.brokers[record.id] = replace(self.brokers[record.id], fenced=fenced)
            case _ if not isinstance(record, _NOT_IN_THE_IMAGE):
                name = type(record).__name__
                raise ValueError(
                    f"the metadata log holds a {name}, which this engine does not know"
                )

    def _apply_config(self, record: m.ConfigRecord) -> None:
        key = (record.resource_type, record.resource_name)
        configs = self.configs.setdefault(key, {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value
        if not configs:
            del self.configs[key]

    def _apply_quota(self, record: m.ClientQuotaRecord) -> None:
        whose = entity((each.entity_type, each.entity_name) for each in record.entity)
        limits = self.quotas.setdefault(whose, {})
        if record.remove:
            limits.pop(record.key, None)
        else:
            limits[record.key] = record.value
        if not limits:
            del self.quotas[whose]

    def _clear_elr(self, topic_name: str) -> None:
        """Empties the ELRs of one topic or (empty name) of all.

        With another min.insync.replicas, other replicas would have been eligible.
        """
        names = [topic_name] if topic_name else list(self.topic_ids)
        for name in names:
            partitions = self.topics[self.topic_ids[name]].partitions
            for index, partition in partitions.items():
                if partition.elr or partition.last_known_elr:
                    partitions[index] = replace(
                        partition,
                        elr=(),
                        last_known_elr=(),
                        partition_epoch=partition.partition_epoch + 1,
                    )


def _partition(record: m.PartitionRecord) -> PartitionImage:
    return PartitionImage(
        replicas=tuple(record.replicas),
        isr=tuple(record.isr),
        elr=tuple(record.eligible_leader_replicas or ()),
        last_known_elr=tuple(record.last_known_elr or ()),
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        leader_recovery_state=record.leader_recovery_state,
        directories=tuple(record.directories),
    )


def _broker(record: m.RegisterBrokerRecord) -> BrokerImage:
    listener = record.end_points[0] if record.end_points else None
    return BrokerImage(
        id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation=record.incarnation_id,
        host=listener.host if listener else "",
        port=listener.port if listener else 0,
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        directories=tuple(record.log_dirs),
        end_points=tuple(record.end_points),
        features=tuple(record.features),
    )
