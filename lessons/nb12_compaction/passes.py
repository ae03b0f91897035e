"""Lets retention and the cleaner do their work, and waits until they have done it.

    wait_for_retention(cluster, "orders")     a look at every log's age has begun and ended
    clean(cluster, "users")                   the cleaner may begin, and is through

How far a log is clean stands in `cleaner-offset-checkpoint`.  Retention leaves no sign where it
deletes nothing, so a second topic of the same broker has a record that must go: its broker's logs
are looked at one after the other, and when two such records have gone in two looks, the whole of
the second look came after the call.
"""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)

from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster
from kit.probes import clients
from kit.segment_panel.files import Folder
from kit.segment_panel.folder import Replica, look
from lessons.nb12_compaction.records import PATIENCE_S, write

CLEANED = "cleaner-offset-checkpoint"
EXPIRED = "expired-at-once"
DAY = 24 * 60


def replica(cluster: Cluster, topic: str, partition: int = 0) -> Replica:
    """The leader's folder of a partition at this moment."""
    root = data_dir(cluster, cluster.leader(topic, partition))
    return look(Folder(root), f"{topic}-{partition}")


def segments(cluster: Cluster, topic: str, partition: int = 0) -> list[int]:
    """The base offsets that the names of the .log files give."""
    names = [each.name for each in files(cluster, topic, partition)]
    return sorted(int(name.partition(".")[0]) for name in names if name.endswith(".log"))


def size(cluster: Cluster, topic: str, partition: int = 0) -> int:
    """The bytes of its .log files."""
    found = files(cluster, topic, partition)
    return sum(each.stat().st_size for each in found if each.name.endswith(".log"))


def files(cluster: Cluster, topic: str, partition: int = 0) -> list[Path]:
    folder = data_dir(cluster, cluster.leader(topic, partition)) / f"{topic}-{partition}"
    return sorted(folder.iterdir())


def first_offset(cluster: Cluster, topic: str, partition: int = 0) -> int:
    """Where the log starts for a consumer."""
    admin = clients.admin(cluster)
    place = TopicPartition(topic, partition)
    (found,) = admin.list_offsets({place: OffsetSpec.earliest()}).values()
    return int(found.result(PATIENCE_S).offset)


# -- settings and deletions, by the admin client


def alter(cluster: Cluster, topic: str, **config: object) -> None:
    """Sets a topic's configs; `_` stands for a dot: min_cleanable_dirty_ratio=0."""
    entries = [
        ConfigEntry(name.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = clients.admin(cluster)  # kept: without it the future never ends
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


def delete_before(cluster: Cluster, topic: str, offset: int) -> int:
    """DeleteRecords: the log's new start, as the broker answers it.

    Kafka cuts the leader's epoch file some milliseconds later; this waits for it.
    """
    admin = clients.admin(cluster)
    place = TopicPartition(topic, 0, offset)
    start = int(admin.delete_records([place])[place].result(PATIENCE_S).low_watermark)
    leader = cluster.leader(topic)

    def are_cut(seen: Cluster) -> bool:
        epochs = clients.partition(seen, topic)["logs"][leader]["epochs"]
        return bool(epochs) and epochs[0][1] >= start

    cluster.wait_until(are_cut, PATIENCE_S, "the epochs to be cut")
    return start


# -- retention


def wait_for_retention(cluster: Cluster, topic: str, policy: str = "delete") -> None:
    """Returns when the leader has looked at all its logs, from a moment after the call on.

    Logs whose `policy` has `compact` in it are looked at by the cleaner.
    """
    leader = cluster.leader(topic)
    config = {"retention.ms": 1, "cleanup.policy": policy}
    cluster.create_topic(EXPIRED, assignment={0: [leader]}, config=config)
    for count in (1, 2):
        write(cluster, EXPIRED, [("key", "value")], [DAY])
        _wait_for_start(cluster, EXPIRED, count)
    cluster.delete_topic(EXPIRED)


def _wait_for_start(cluster: Cluster, topic: str, offset: int) -> None:
    def has_gone(seen: Cluster) -> bool:
        return first_offset(seen, topic) >= offset

    cluster.wait_until(has_gone, PATIENCE_S, "a look at the logs' age")


# -- the cleaner


def cleaned_to(cluster: Cluster, topic: str) -> int:
    """Up to which offset the leader's log is clean; 0 if it never was cleaned."""
    disk = Folder(data_dir(cluster, cluster.leader(topic)))
    if CLEANED not in disk.list(""):
        return 0
    text = disk.read(CLEANED, 0, 1 << 20).decode()
    lines = (line.rsplit(" ", 2) for line in text.splitlines()[2:])
    return next((int(at) for name, index, at in lines if (name, index) == (topic, "0")), 0)


def clean(cluster: Cluster, topic: str) -> None:
    """Allows the cleaner to begin however little is dirty, and waits until it is through.

    It is through when the log is clean up to its active segment.
    """
    alter(cluster, topic, min_cleanable_dirty_ratio=0)
    wait_until_clean(cluster, topic)


def wait_until_clean(cluster: Cluster, topic: str) -> None:
    active = segments(cluster, topic)[-1]
    cluster.wait_until(
        lambda c: cleaned_to(c, topic) >= active, PATIENCE_S, "the cleaner to be through"
    )
