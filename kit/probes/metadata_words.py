"""Puts the records of the metadata log into words, for every view of it.

    words = MetadataWords(names)            # names of topics by id, as far as they are known
    words.say(record).full                  partition orders-0: leader 102, ISR 102 103
    words.say(record).brief                 orders-0
    words.say(record).kind                  partition

A partition's record names its topic by id.  The name comes from the topic's own record, which is
earlier in the log, so records are said in the log's order.

    leader       leader change: 200, epoch 3
    topic        topic orders created; topic orders deleted
    partition    partition orders-0: no leader, ISR 102, ELR 103
    broker       broker 101 registers, fenced; broker 101 unfenced; controller 200 registers
    fence        broker 101 fenced
    config       topic orders: min.insync.replicas = 2
    feature      metadata.version is 30
    ids          producer ids below 1000 given out, the last of them to broker 101
    quota        quota of user alice: producer_byte_rate = 1024
    quiet        nothing new (NoOp)
    other        ACL: allow READ of topic payroll to User:alice; ACL removed; and a record of
                 a later version of Kafka, by its name
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.metadata.image import BROKER, LEADER_UNCHANGED, TOPIC
from engine.metadata.records import LeaderChange, MetadataRecord
from engine.wire import messages as m
from engine.wire import uuids

RESOURCES = {TOPIC: "topic", BROKER: "broker", 16: "client metrics", 32: "group"}
PROTECTED = {2: "topic", 3: "group", 4: "cluster", 5: "transactional.id", 6: "delegation token"}
PERMITTED = {2: "deny", 3: "allow"}
OPERATIONS = (
    "UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE",
    "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS",
    "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
)  # fmt: skip
"""Of ACLs, by their numbers (AclOperation and its siblings of Kafka 4.3.1)."""
KINDS = (
    "leader", "topic", "partition", "broker", "fence", "config", "feature", "ids", "quota",
    "quiet", "other",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """A record in words: one of KINDS, a word or two for a small picture, and a phrase."""

    kind: str
    brief: str
    full: str


class MetadataWords:
    """Says records, and learns the topics' names from them; `names` are those known before."""

    def __init__(self, names: Mapping[bytes, str] | None = None) -> None:
        self.names = dict(names or {})

    def say(self, record: MetadataRecord) -> Said:
        match record:
            case LeaderChange(leader_id, epoch):
                return Said("leader", str(leader_id), f"leader change: {leader_id}, epoch {epoch}")
            case m.TopicRecord():
                self.names[record.topic_id] = record.name
                return Said("topic", record.name, f"topic {record.name} created")
            case m.RemoveTopicRecord():
                name = self._topic(record.topic_id)
                return Said("topic", f"− {name}", f"topic {name} deleted")
            case m.PartitionRecord() | m.PartitionChangeRecord():
                return self._partition(record)
            case m.ClearElrRecord():
                of = f"topic {record.topic_name}" if record.topic_name else "every topic"
                return Said("partition", record.topic_name or "all", f"{of}: no ELR any more")
            case m.ConfigRecord():
                return _config(record)
            case m.FeatureLevelRecord():
                said = f"{record.name} is {record.feature_level}"
                return Said("feature", record.name, said)
            case m.ProducerIdsRecord():
                below, broker = record.next_producer_id, record.broker_id
                said = f"producer ids below {below} given out, the last of them to broker {broker}"
                return Said("ids", f"< {below}", said)
            case m.ClientQuotaRecord():
                return _quota(record)
            case m.KRaftVersionRecord():
                said = f"kraft.version is {record.kraft_version}"
                return Said("feature", "kraft.version", said)
            case m.VotersRecord():
                voters = _ids([each.voter_id for each in record.voters])
                return Said("leader", voters, f"voters {voters}")
            case m.NoOpRecord():
                return Said("quiet", "", "nothing new (NoOp)")
            case m.AccessControlEntryRecord():
                return _acl(record)
            case m.RemoveAccessControlEntryRecord():
                return Said("other", "− ACL", "ACL removed")
            case _:
                return _node(record) or _other(record)

    def _topic(self, topic_id: bytes) -> str:
        return self.names.get(topic_id) or uuids.to_text(topic_id)

    def _partition(self, record: m.PartitionRecord | m.PartitionChangeRecord) -> Said:
        name = f"{self._topic(record.topic_id)}-{record.partition_id}"
        facts = ", ".join(_facts(record)) or "replicas keep their places"
        return Said("partition", name, f"partition {name}: {facts}")


def _facts(record: m.PartitionRecord | m.PartitionChangeRecord) -> Iterator[str]:
    """What a record says of its partition: of a change, what is new."""
    is_new = isinstance(record, m.PartitionRecord)
    if record.leader >= 0:
        yield f"leader {record.leader}"
    elif record.leader != LEADER_UNCHANGED:
        yield "no leader"
    if record.isr is not None:
        yield f"ISR {_ids(record.isr)}"
    replicas = record.replicas or ()
    if replicas and not (is_new and sorted(replicas) == sorted(record.isr or ())):
        yield f"replicas {_ids(replicas)}"
    for word, named in (
        ("ELR", record.eligible_leader_replicas),
        ("last known ELR", record.last_known_elr),
        ("adding", record.adding_replicas),
        ("removing", record.removing_replicas),
    ):
        if named or (named is not None and not is_new):
            yield f"{word} {_ids(named)}"
    if record.leader_recovery_state > 0:
        yield "the leader recovers from an unclean election"


def _node(record: MetadataRecord) -> Said | None:
    """A broker or a controller comes, goes, or changes its state."""
    match record:
        case m.RegisterBrokerRecord():
            rack = f", rack {record.rack}" if record.rack else ""
            fenced = ", fenced" if record.fenced else ""
            said = f"broker {record.broker_id} registers{fenced}{rack}"
            return Said("broker", str(record.broker_id), said)
        case m.BrokerRegistrationChangeRecord():
            state, kind = [], "broker"
            if record.fenced:
                state, kind = ["fenced" if record.fenced > 0 else "unfenced"], "fence"
            if record.in_controlled_shutdown:
                state, kind = [*state, "shuts down"], "fence"
            if record.log_dirs:
                state.append("has other log directories")
            if record.cordoned_log_dirs is not None:
                count = len(record.cordoned_log_dirs)
                state.append(f"has {count or 'no'} cordoned log directories")
            changed = ", ".join(state) or "is unchanged"
            kind = "broker" if state == ["unfenced"] else kind
            return Said(kind, str(record.broker_id), f"broker {record.broker_id} {changed}")
        case m.FenceBrokerRecord():
            return Said("fence", str(record.id), f"broker {record.id} fenced")
        case m.UnfenceBrokerRecord():
            return Said("broker", str(record.id), f"broker {record.id} unfenced")
        case m.UnregisterBrokerRecord():
            said = f"broker {record.broker_id} unregistered"
            return Said("broker", f"− {record.broker_id}", said)
        case m.RegisterControllerRecord():
            said = f"controller {record.controller_id} registers"
            return Said("broker", str(record.controller_id), said)
    return None


def _config(record: m.ConfigRecord) -> Said:
    resource = RESOURCES.get(record.resource_type, f"resource {record.resource_type}")
    of = f"{resource} {record.resource_name}" if record.resource_name else f"every {resource}"
    value = "the default again" if record.value is None else record.value
    return Said("config", record.name, f"{of}: {record.name} = {value}")


def _quota(record: m.ClientQuotaRecord) -> Said:
    of = ", ".join(
        f"{each.entity_type} {each.entity_name or '(default)'}" for each in record.entity
    )
    value = "none" if record.remove else f"{record.value:g}"
    return Said("quota", record.key, f"quota of {of}: {record.key} = {value}")


def _acl(record: m.AccessControlEntryRecord) -> Said:
    permission = PERMITTED.get(record.permission_type, f"permission {record.permission_type}")
    resource = PROTECTED.get(record.resource_type, f"resource {record.resource_type}")
    of = f"{OPERATIONS[record.operation]} of {resource} {record.resource_name}"
    at = "" if record.host in ("", "*") else f" at {record.host}"
    return Said("other", "ACL", f"ACL: {permission} {of} to {record.principal}{at}")


def _other(record: MetadataRecord) -> Said:
    """By the name of its class: `KRaftVersionRecord` is a KRaft version."""
    name = type(record).__name__.removesuffix("Record").removesuffix("Message")
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return Said("other", words.split()[0], words[0] + words[1:].lower().replace("raft", "Raft"))


def _ids(nodes: Sequence[int]) -> str:
    return " ".join(map(str, nodes)) or "none"
