"""One table of cluster settings, for every provider.

Comparing the engine with a real Kafka compares rules only if both run under the same
settings.  So the settings are here once; the local provider writes them into
`server.properties`, `docker-compose.yml` into the environment of its containers, and the
engine takes them as its own.  A test compares this table with what a live cluster
answers to DescribeConfigs, and with the compose file.

Everything that is not listed is left at Kafka 4.3's default.
"""

from __future__ import annotations

from dataclasses import dataclass

CONTROLLER = 100
BROKERS = (101, 102, 103)
RACKS = {101: "a", 102: "b", 103: "c"}


@dataclass(frozen=True)
class Setting:
    """A broker or controller setting of Kafka, by Kafka's name, and why it is set."""

    name: str
    value: str
    why: str


SETTINGS = (
    Setting("broker.session.timeout.ms", "3000", "a killed broker is noticed in 3 s, not 9"),
    Setting("broker.heartbeat.interval.ms", "500", "several heartbeats fit in a session"),
    Setting("replica.lag.time.max.ms", "5000", "a cut follower leaves the ISR within a cell"),
    Setting("replica.high.watermark.checkpoint.interval.ms", "1000", "its file is read in a cell"),
    Setting("log.retention.check.interval.ms", "250", "old segments go within a cell"),
    Setting("log.cleaner.backoff.ms", "250", "a compacted log is cleaned within a cell"),
    Setting(
        "replica.selector.class",
        "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "a consumer that names its rack is sent to a replica there",
    ),
    Setting("auto.leader.rebalance.enable", "false", "no election without a cause"),
    Setting("unclean.leader.election.enable", "false", "the default, which lessons use"),
    Setting("min.insync.replicas", "1", "topics that need more say so"),
    Setting("default.replication.factor", "3", "one replica on each broker"),
    Setting("num.partitions", "1", "one log, unless a topic says more"),
    Setting("auto.create.topics.enable", "false", "a misspelt name is an error, not a topic"),
    Setting("offsets.topic.replication.factor", "3", "groups survive a broker"),
    Setting("offsets.topic.num.partitions", "5", "created in a moment, shown on one screen"),
    Setting("transaction.state.log.replication.factor", "3", "transactions survive a broker"),
    Setting("transaction.state.log.num.partitions", "5", "created in a moment"),
    Setting("transaction.state.log.min.isr", "2", "the default"),
    Setting("share.coordinator.state.topic.replication.factor", "3", "the default"),
    Setting("share.coordinator.state.topic.num.partitions", "5", "created in a moment"),
    Setting("group.initial.rebalance.delay.ms", "0", "a first member need not wait for others"),
    Setting("group.min.session.timeout.ms", "1000", "allows a short session.timeout.ms"),
    Setting("group.consumer.session.timeout.ms", "6000", "a dead member is noticed in a cell"),
    Setting("group.consumer.min.session.timeout.ms", "1000", "bounds the one above"),
    Setting("group.consumer.heartbeat.interval.ms", "1000", "several heartbeats in a session"),
    Setting("group.consumer.min.heartbeat.interval.ms", "500", "bounds the one above"),
)

FEATURES = {
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}
"""Feature levels that a new 4.3 cluster is formatted with, metadata.version apart."""


def as_dict() -> dict[str, str]:
    """The settings by name: what the engine takes."""
    return {setting.name: setting.value for setting in SETTINGS}


def as_environment() -> dict[str, str]:
    """The settings as the official container image wants them."""
    return {environment_name(setting.name): setting.value for setting in SETTINGS}


def environment_name(setting: str) -> str:
    """`broker.session.timeout.ms` as `KAFKA_BROKER_SESSION_TIMEOUT_MS`."""
    spelled = setting.upper().replace("_", "__").replace("-", "___").replace(".", "_")
    return f"KAFKA_{spelled}"
