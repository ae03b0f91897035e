"""Lets retention and the cleaner do their work, and waits until they have done it.

    wait_for_retention(cluster, "orders")     a look at every log's age has begun and ended
    clean(cluster, "users")                   the cleaner may begin, and is through

On a loaded machine a broker can lose its leadership at any moment.  So each look at a log asks for
its leader again, and a wait that another broker would have to begin from the start does so.

How far a log is clean stands in `cleaner-offset-checkpoint`.  Retention leaves no sign where it
deletes nothing, so a second topic of the same broker has a record that must go: its broker's logs
are looked at one after the other, and when two such records have gone in two looks, the whole of
the second look came after the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)

from kit.clusters import broker_log
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster, ClusterError, WaitTimeout
from kit.probes import clients
from kit.segment_panel.files import Folder
from kit.segment_panel.folder import Replica, look
from lessons.nb12_compaction.records import PATIENCE_S, write

CLEANED = "cleaner-offset-checkpoint"
EXPIRED = "expired-at-once"
DAY = 24 * 60


def replica(cluster: Cluster, topic: str, partition: int = 0) -> Replica:
    """The leader's folder of a partition at this moment."""
    root = data_dir(cluster, led_by(cluster, topic, partition))
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
    folder = data_dir(cluster, led_by(cluster, topic, partition)) / f"{topic}-{partition}"
    return sorted(folder.iterdir())


def first_offset(cluster: Cluster, topic: str, partition: int = 0) -> int:
    """Where the log starts for a consumer."""
    return _Offsets(cluster, topic, partition).ask(OffsetSpec.earliest())


def wait_for_transactions(cluster: Cluster, topic: str) -> None:
    """Returns when no transaction is open: a commit is answered before its marker is written."""
    offsets = _Offsets(cluster, topic)

    def all_ended(_: Cluster) -> bool:
        stable = offsets.ask(OffsetSpec.latest(), IsolationLevel.READ_COMMITTED)
        return stable == offsets.ask(OffsetSpec.latest())

    cluster.wait_until(all_ended, PATIENCE_S, f"the transactions of {topic} to end")


class _Offsets:
    """Asks one partition's leader for offsets, by one client."""

    def __init__(self, cluster: Cluster, topic: str, partition: int = 0) -> None:
        self.cluster = cluster
        self.place = TopicPartition(topic, partition)
        self.admin = clients.admin(cluster)

    def ask(
        self, spec: OffsetSpec, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> int:
        def asked() -> int:
            future = self.admin.list_offsets({self.place: spec}, isolation_level=isolation)
            return int(future[self.place].result(clients.ANSWER_S).offset)

        def again() -> None:
            self.admin = clients.admin(self.cluster)

        return _asked_until_led(self.cluster, asked, again, f"a leader of {self.place.topic}")


LEADERLESS = {
    "FENCED_LEADER_EPOCH", "KAFKA_STORAGE_ERROR", "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_OR_FOLLOWER", "OFFSET_NOT_AVAILABLE", "REQUEST_TIMED_OUT",
    "UNKNOWN_LEADER_EPOCH", "_NOENT", "_TIMED_OUT", "_TRANSPORT",
}  # fmt: skip
"""What an admin client hears while a partition's leader changes."""


def _asked_until_led(
    cluster: Cluster, ask: Callable[[], int], again: Callable[[], None], what: str
) -> int:
    """The first answer that is not about a leader that changes.

    `again` makes a new client: librdkafka's goes on to send the leader epoch that it knows.
    """
    answers: list[int] = []

    def answered(_: Cluster) -> bool:
        try:
            answers.append(ask())
        except KafkaException as failure:
            if clients.name(failure.args[0]) not in LEADERLESS:
                raise
            again()
            raise ClusterError(str(failure)) from None
        except TimeoutError:
            again()
            raise ClusterError(f"No answer in {clients.ANSWER_S:g} s.") from None
        return True

    cluster.wait_until(answered, PATIENCE_S, what)
    return answers[0]


# -- topics, settings and deletions


def create(
    cluster: Cluster,
    topic: str,
    config: Mapping[str, object] | None = None,
    partitions: int = 1,
    broker: int = 101,
) -> None:
    """One broker has all of the topic: one wait is enough, and no other broker can lead it.

    Kafka refuses to place a topic on a broker that is fenced at that moment; this waits.
    """
    assignment = {index: [broker] for index in range(partitions)}

    def is_there(seen: Cluster) -> bool:
        seen.create_topic(topic, assignment=assignment, config=config)
        return True

    cluster.wait_until(is_there, PATIENCE_S, f"{topic} to be made on broker {broker}")


def alter(cluster: Cluster, topic: str, **config: object) -> None:
    """Sets a topic's configs; `_` stands for a dot: min_cleanable_dirty_ratio=0."""
    entries = [
        ConfigEntry(name.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    admin = clients.admin(cluster)  # kept: without it the future never ends
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)


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


def delete_before(cluster: Cluster, topic: str, offset: int) -> int:
    """DeleteRecords: the log's new start, as the broker answers it.

    Kafka cuts the leader's epoch file some milliseconds later; this waits for it.
    """
    place = TopicPartition(topic, 0, offset)

    admin = clients.admin(cluster)

    def asked() -> int:
        return int(admin.delete_records([place])[place].result(clients.ANSWER_S).low_watermark)

    def again() -> None:
        nonlocal admin
        admin = clients.admin(cluster)

    start = _asked_until_led(cluster, asked, again, f"a leader of {topic}")

    def are_cut(seen: Cluster) -> bool:
        found = clients.partition(seen, topic)
        epochs = found["logs"].get(found["leader"], {}).get("epochs")
        return bool(epochs) and epochs[0][1] >= start

    cluster.wait_until(are_cut, PATIENCE_S, "the epochs to be cut")
    return start


# -- retention


def wait_for_retention(cluster: Cluster, topic: str, policy: str = "delete") -> None:
    """Returns when the leader has looked at all its logs, from a moment after the call on.

    Logs whose `policy` has `compact` in it are looked at by the cleaner.
    """
    leader = -1
    while leader != (leader := led_by(cluster, topic)):
        create(cluster, EXPIRED, {"retention.ms": 1, "cleanup.policy": policy}, broker=leader)
        for count in (1, 2):
            write(cluster, EXPIRED, [("key", "value")], [DAY])
            _wait_for_start(cluster, EXPIRED, count)
        cluster.delete_topic(EXPIRED)


def led_by(cluster: Cluster, topic: str, partition: int = 0) -> int:
    """The partition's leader, as soon as it has one."""
    found = [-1]

    def has_leader(seen: Cluster) -> bool:
        found.append(seen.leader(topic, partition))
        return found[-1] != -1

    cluster.wait_until(has_leader, PATIENCE_S, f"a leader of {topic}-{partition}")
    return found[-1]


def _wait_for_start(cluster: Cluster, topic: str, offset: int) -> None:
    offsets = _Offsets(cluster, topic)

    def has_gone(_: Cluster) -> bool:
        return offsets.ask(OffsetSpec.earliest()) >= offset

    cluster.wait_until(has_gone, PATIENCE_S, "a look at the logs' age")


# -- the cleaner


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


def cleaned(cluster: Cluster, topic: str) -> Cleaned:
    """The leader's replica, at one moment; clean up to 0 if it never was cleaned."""
    leader = led_by(cluster, topic)
    disk = Folder(data_dir(cluster, leader))
    names = [name for name in disk.list(f"{topic}-0") if name.endswith(".log")]
    active = max((int(name.partition(".")[0]) for name in names), default=0)
    text = disk.read(CLEANED, 0, 1 << 20).decode() if CLEANED in disk.list("") else ""
    lines = (line.rsplit(" ", 2) for line in text.splitlines()[2:])
    to = next((int(at) for name, index, at in lines if (name, index) == (topic, "0")), 0)
    return Cleaned(leader, to, active)


def clean(cluster: Cluster, topic: str) -> None:
    """Allows the cleaner to begin however little is dirty, and waits until it is through.

    It is through when the log is clean up to its active segment.
    """
    if "compact" not in (policy := _config_of(cluster, topic, "cleanup.policy")):
        raise ClusterError(f"No cleaner comes to {topic}: its cleanup.policy is {policy}.")
    alter(cluster, topic, min_cleanable_dirty_ratio=0)
    wait_until_clean(cluster, topic)


def wait_until_clean(cluster: Cluster, topic: str) -> None:
    """WaitTimeout says how far the cleaner came, and what its broker's log has about it."""
    seen = Cleaned(-1, 0, 0)

    def is_clean(now: Cluster) -> bool:
        nonlocal seen
        seen = cleaned(now, topic)
        return seen.to >= seen.active

    try:
        cluster.wait_until(is_clean, PATIENCE_S, "the cleaner to be through")
    except WaitTimeout as failure:
        raise WaitTimeout(f"{failure} {seen}. {_cleaner_failed(cluster, seen.broker)}") from None


def _cleaner_failed(cluster: Cluster, broker: int) -> str:
    """What a broker says that could keep its cleaner from going on."""
    words = ("uncleanable", "OutOfMemoryError", "kafka-log-cleaner-thread")
    try:
        found = [line for word in words for line in broker_log.find(cluster, broker, word, 1).lines]
    except ClusterError as failure:
        return str(failure)
    return f"Its log: {'; '.join(found) or 'no word of a cleaner that failed'}."
