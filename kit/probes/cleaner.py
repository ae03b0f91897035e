"""Lets the log cleaner do its work on a topic, and waits until it is through.

    clean(cluster, "users")                   the cleaner may begin, and is through
    wait_until_clean(cluster, "users")        it was allowed to before

`cleaner-offset-checkpoint`, in the directory of each broker, says how far a log is clean.  On a
loaded machine a broker can lose its leadership at any moment, so each look asks for the leader
again.
"""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from kit.clusters import broker_log
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster, ClusterError, WaitTimeout
from kit.probes import clients
from kit.segment_panel.files import Folder

CLEANED = "cleaner-offset-checkpoint"
PATIENCE_S = 60.0


class Cleaned(NamedTuple):
    """How far one broker's replica is clean, and where its active segment begins."""

    broker: int
    to: int
    active: int

    def __str__(self) -> str:
        return (
            f"On broker {self.broker} it is clean up to {self.to}; its active segment begins at "
            f"{self.active}"
        )


def clean(cluster: Cluster, topic: str) -> None:
    """Allows the cleaner to begin however little is dirty, and waits until it is through.

    It is through when each partition is clean up to its active segment.
    """
    if "compact" not in (policy := _config_of(cluster, topic, "cleanup.policy")):
        raise ClusterError(f"No cleaner comes to {topic}: its cleanup.policy is {policy}.")
    alter(cluster, topic, min_cleanable_dirty_ratio=0)
    wait_until_clean(cluster, topic)


def wait_until_clean(cluster: Cluster, topic: str) -> None:
    """WaitTimeout says how far the cleaner came, and what its broker's log has about it."""
    for partition in sorted(cluster.snapshot()["topics"][topic]["partitions"]):
        _wait_for_partition(cluster, topic, partition)


def cleaned(cluster: Cluster, topic: str, partition: int = 0) -> Cleaned:
    """The leader's replica, at one moment; clean up to 0 if it never was cleaned."""
    leader = led_by(cluster, topic, partition)
    disk = Folder(data_dir(cluster, leader))
    names = [name for name in disk.list(f"{topic}-{partition}") if name.endswith(".log")]
    active = max((int(name.partition(".")[0]) for name in names), default=0)
    text = disk.read(CLEANED, 0, 1 << 20).decode() if CLEANED in disk.list("") else ""
    lines = (line.rsplit(" ", 2) for line in text.splitlines()[2:])
    place = (topic, str(partition))
    to = next((int(at) for name, index, at in lines if (name, index) == place), 0)
    return Cleaned(leader, to, active)


def alter(cluster: Cluster, topic: str, **config: object) -> None:
    """Sets a topic's configs; `_` stands for a dot: min_cleanable_dirty_ratio=0."""
    entries = [
        ConfigEntry(name.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = clients.admin(cluster)  # kept: without it the future never ends
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


def led_by(cluster: Cluster, topic: str, partition: int = 0) -> int:
    """The partition's leader, as soon as it has one."""
    found = [-1]

    def has_leader(seen: Cluster) -> bool:
        found.append(seen.leader(topic, partition))
        return found[-1] != -1

    cluster.wait_until(has_leader, PATIENCE_S, f"a leader of {topic}-{partition}")
    return found[-1]


def _wait_for_partition(cluster: Cluster, topic: str, partition: int) -> None:
    seen = Cleaned(-1, 0, 0)

    def is_clean(now: Cluster) -> bool:
        nonlocal seen
        seen = cleaned(now, topic, partition)
        return seen.to >= seen.active

    try:
        cluster.wait_until(is_clean, PATIENCE_S, "the cleaner to be through")
    except WaitTimeout as failure:
        raise WaitTimeout(f"{failure} {seen}. {_cleaner_failed(cluster, seen.broker)}") from None


def _config_of(cluster: Cluster, topic: str, name: str) -> str:
    """A broker that has just come back may not know the topic yet: it is asked again."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    admin = clients.admin(cluster)
    found = ""

    def is_known(_: Cluster) -> bool:
        nonlocal found
        try:
            answer = admin.describe_configs([resource])[resource].result(clients.ANSWER_S)
        except (KafkaException, TimeoutError) as failure:
            raise ClusterError(str(failure)) from None
        found = str(answer[name].value)
        return True

    cluster.wait_until(is_known, PATIENCE_S, f"the configs of {topic}")
    return found


def _cleaner_failed(cluster: Cluster, broker: int) -> str:
    """What a broker says that could keep its cleaner from going on."""
    words = ("uncleanable", "OutOfMemoryError", "kafka-log-cleaner-thread")
    try:
        found = [line for word in words for line in broker_log.find(cluster, broker, word, 1).lines]
    except ClusterError as failure:
        return str(failure)
    return f"Its log: {'; '.join(found) or 'no word of a cleaner that failed'}."
