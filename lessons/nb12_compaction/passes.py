"""Lets retention and the cleaner do their work, and waits until they have done it.

    wait_for_retention(cluster, "orders")     a look at every log's age has begun and ended
    clean(cluster, "users")                   the cleaner may begin, and is through

On a loaded machine a broker can lose its leadership at any moment.  So each look at a log asks for
its leader again, and a wait that another broker would have to begin from the start does so.

Retention leaves no sign where it deletes nothing, so a second topic of the same broker has a record
that must go: its broker's logs are looked at one after the other, and when two such records have
gone in two looks, the whole of the second look came after the call.  The cleaner's part is in
`kit.probes.cleaner`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients
from kit.probes.cleaner import alter as alter
from kit.probes.cleaner import clean as clean
from kit.probes.cleaner import cleaned as cleaned
from kit.probes.cleaner import led_by as led_by
from kit.probes.cleaner import wait_until_clean as wait_until_clean
from kit.segment_panel.files import Folder
from kit.segment_panel.folder import Replica, look
from lessons.nb12_compaction.records import PATIENCE_S, write

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


def size(cluster: Cluster, topic: str, partition: int = 0, broker: int = -1) -> int:
    """The bytes of the .log files of a replica, the leader's unless a broker is named."""
    found = files(cluster, topic, partition, broker)
    return sum(each.stat().st_size for each in found if each.name.endswith(".log"))


def files(cluster: Cluster, topic: str, partition: int = 0, broker: int = -1) -> list[Path]:
    """The files of a replica, the leader's unless a broker is named."""
    by = led_by(cluster, topic, partition) if broker < 0 else broker
    folder = data_dir(cluster, by) / f"{topic}-{partition}"
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


def _wait_for_start(cluster: Cluster, topic: str, offset: int) -> None:
    offsets = _Offsets(cluster, topic)

    def has_gone(_: Cluster) -> bool:
        return offsets.ask(OffsetSpec.earliest()) >= offset

    cluster.wait_until(has_gone, PATIENCE_S, "a look at the logs' age")
