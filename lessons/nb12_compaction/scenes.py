"""Scenarios of notebook 12 for `lab.both`: each takes a cluster and returns what it saw."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import ConfigResource

from kit.both.outcomes import measured
from kit.clusters import broker_metrics
from kit.clusters.engine import EngineProvider
from kit.clusters.interface import Cluster, ClusterError, NotOffered
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.local import LocalProvider
from kit.probes import clients, requests
from kit.probes.raw_client import RawClient
from kit.tables import Table
from lessons.nb12_compaction import passes, records

Seen = Mapping[str, Any]
TWO = {"internal.segment.bytes": 150}
"""Two records of a key and a value of one letter each in a segment."""
HOUR_MS = 60 * records.MINUTE_MS
NEVER = {"min.cleanable.dirty.ratio": 1}
"""A ratio that no log is above: the cleaner waits until a lesson lets it begin."""


def _pairs(text: str) -> list[records.Pair]:
    """`a1 b1` -> a=1, b=1; `a-` is a tombstone."""
    return [(each[0], None if each[1] == "-" else each[1]) for each in text.split()]


# -- policies


def both_policies(cluster: Cluster) -> Seen:
    """Users that were written long ago and lately, under three policies."""
    found: dict[str, Any] = {}
    policies = ("delete", "compact", "compact,delete")
    for number, policy in enumerate(policies):
        config = {**TWO, **NEVER, "cleanup.policy": policy, "retention.ms": -1}
        passes.create(cluster, f"users-{number}", config)
        ages = [90, 90, 90, 90, 5, 5, 5]
        records.write(cluster, f"users-{number}", _pairs("a1 b1 a2 c1 a3 d1 d2"), ages)
        found |= {"before": _held(cluster, number), "before: segments": _begins(cluster, number)}
        if "compact" in policy:
            passes.clean(cluster, f"users-{number}")
        passes.alter(cluster, f"users-{number}", retention_ms=HOUR_MS)
    passes.wait_for_retention(cluster, "users-0")
    passes.wait_for_retention(cluster, "users-2", "compact,delete")
    for number, policy in enumerate(policies):
        found[f"{policy}: left"] = _held(cluster, number)
        found[f"{policy}: segments"] = _begins(cluster, number)
    return found


def _held(cluster: Cluster, number: int) -> list[str]:
    return [str(each) for each in records.read(cluster, f"users-{number}")]


def _begins(cluster: Cluster, number: int) -> list[int]:
    return passes.segments(cluster, f"users-{number}")


def keyless(cluster: Cluster) -> Seen:
    """A record without a key, with an empty key, and a keyed one, by the topic's policy."""
    found = {}
    for policy in ("delete", "compact", "compact,delete"):
        passes.create(cluster, "users", {"cleanup.policy": policy})
        sent = records.write(cluster, "users", [(None, "x"), ("", "x"), ("a", "x")])
        for label, outcome in zip(("no key", "an empty key", "a key"), sent, strict=True):
            taken = "taken" if outcome.isdigit() else outcome
            found[f"{policy}: {label}"] = taken
    return found


def clocks(cluster: Cluster) -> Seen:
    """retention.ms is an hour; the log's start after a look, for other ages of the records."""
    found = {}
    logs: dict[str, tuple[Sequence[float], Mapping[str, object]]] = {
        "all of yesterday": ([1440] * 5, {}),
        "all in one segment, one of them young": (
            [1440] * 4 + [5], {"internal.segment.bytes": 1_000},
        ),
        "the first one of tomorrow": ([-1440, *[1440] * 4], {}),
        "all of yesterday, LogAppendTime": (
            [1440] * 5, {"message.timestamp.type": "LogAppendTime"},
        ),
        "all of yesterday, retention.ms=-1": ([1440] * 5, {"retention.ms": -1}),
    }  # fmt: skip
    ahead = {"message.timestamp.after.max.ms": 48 * HOUR_MS}
    for number, (ages, config) in enumerate(logs.values()):
        own = {**TWO, "retention.ms": -1, **ahead, **config}
        passes.create(cluster, f"orders-{number}", own)
        records.write(cluster, f"orders-{number}", _pairs("a1 a2 a3 a4 a5"), ages)
        if "retention.ms" not in config:
            passes.alter(cluster, f"orders-{number}", retention_ms=HOUR_MS)
    passes.wait_for_retention(cluster, "orders-0")
    for number, label in enumerate(logs):
        found[label] = f"starts at {passes.first_offset(cluster, f'orders-{number}')} of 5"
    passes.create(cluster, "orders")
    (sent,) = records.write(cluster, "orders", _pairs("a1"), [-90])
    found["90 minutes ahead, default settings"] = "taken" if sent.isdigit() else sent
    return found


def per_partition(cluster: Cluster) -> Seen:
    """retention.bytes on three partitions with three replicas; one gets most of the records."""
    counts, limit, replicas = {0: 12, 1: 3, 2: 1}, 150, (101, 102, 103)
    config = {**TWO, "retention.ms": -1}
    assignment = {partition: list(replicas) for partition in counts}
    cluster.create_topic("orders", assignment=assignment, config=config)
    for partition, count in counts.items():
        records.write(cluster, "orders", [("a", "1")] * count, partition=partition)
    before = [passes.size(cluster, "orders", each) for each in counts]
    passes.alter(cluster, "orders", retention_bytes=limit)
    passes.wait_for_retention(cluster, "orders")
    after = [passes.size(cluster, "orders", each) for each in counts]

    def on(broker: int) -> int:
        return sum(passes.size(cluster, "orders", each, broker) for each in counts)

    def have_followed(_: Cluster) -> bool:
        with contextlib.suppress(FileNotFoundError):  # one that is deleted at this moment
            return all(on(broker) == sum(after) for broker in replicas)
        return False

    cluster.wait_until(have_followed, records.PATIENCE_S, "the followers to delete, too")
    most = most_bytes(len(counts), limit, TWO["internal.segment.bytes"], len(replicas))
    everything = sum(on(broker) for broker in replicas)
    return {
        "bytes before, by partition": before,
        "retention.bytes": limit,
        "bytes after": after,
        "bytes on all three brokers": everything,
        "partitions × (retention.bytes + a segment) × replicas": most,
        "the topic is within it": everything <= most,
        "first offsets": [passes.first_offset(cluster, "orders", each) for each in counts],
    }


def most_bytes(partitions: int, retention_bytes: int, segment_bytes: int, replicas: int) -> int:
    """The bytes that a topic may have after a check; what arrives until the next one is more."""
    return partitions * (retention_bytes + segment_bytes) * replicas


def calculator(topics: Sequence[tuple[int, int, int, int]]) -> Table:
    """What topics may take: partitions, retention.bytes, segment.bytes and replicas of each."""
    rows = []
    for partitions, limit, segment, replicas in topics:
        alone = partitions * limit * replicas
        most = most_bytes(partitions, limit, segment, replicas)
        numbers = (partitions, limit, segment, replicas, alone, most)
        rows.append([f"{number:,}" for number in numbers])
    columns = ("partitions", "retention.bytes", "segment.bytes", "replicas",
               "bytes by the limit alone", "with a segment for each")  # fmt: skip
    return Table("Calculator: how large may a topic become?", columns, rows)


BURST, TAKEN = 40, 10


def burst(cluster: Cluster) -> Seen:
    """A consumer pauses while a burst arrives, and goes on: its lag, and what it has missed."""
    place = TopicPartition("orders", 0, 0)
    passes.create(cluster, "orders")
    records.write(cluster, "orders", [(None, "before")] * 5)
    with contextlib.closing(records.reader(cluster)) as consumer:
        consumer.assign([place])
        read = _taken(consumer, 5)
        before = _lag(consumer, place)
        consumer.pause([place])
        records.write(cluster, "orders", [(None, "burst")] * BURST)
        meanwhile = [each for each in consumer.consume(BURST, 0.5) if each.error() is None]
        lags = [_lag(consumer, place)]
        consumer.resume([place])
        for _ in range(BURST // TAKEN):
            read += _taken(consumer, TAKEN)
            lags.append(_lag(consumer, place))
    return {
        "lag before the pause": before,
        f"records that it gets in the pause, of a burst of {BURST}": len(meanwhile),
        f"lag after the burst, and after each {TAKEN} records": lags,
        "records that it has read in the end": len(read),
        "offsets that it has missed": sorted(set(range(5 + BURST)) - set(read)),
    }


def _taken(consumer: Consumer, count: int) -> list[int]:
    """The offsets of the next records, so many of them."""
    offsets: list[int] = []
    while len(offsets) < count:
        found = consumer.consume(count - len(offsets), records.PATIENCE_S)
        if not found:
            raise ClusterError(f"No record came within {records.PATIENCE_S:g} s.")
        offsets += [int(each.offset() or 0) for each in found if each.error() is None]
    return offsets


def _lag(consumer: Consumer, place: TopicPartition) -> int:
    """What is left for this consumer: the log's end, less its position."""
    _, end = consumer.get_watermark_offsets(place, records.PATIENCE_S)
    (position,) = consumer.position([place])
    return int(end - position.offset)


def read_or_not(cluster: Cluster) -> Seen:
    """A group that has read everything, one that is new, and a topic of its own retention."""
    for topic in ("kept", "short"):
        config = {**TWO, "retention.ms": -1}
        passes.create(cluster, topic, config)
        records.write(cluster, topic, _pairs("a1 a2 a3 a4 a5"), [90] * 5)
        records.commit(cluster, topic, "billing", 5)
    size = passes.size(cluster, "kept")
    again = len(records.read(cluster, "kept"))
    same = passes.size(cluster, "kept") == size
    passes.alter(cluster, "short", retention_ms=HOUR_MS)
    passes.wait_for_retention(cluster, "short")
    fetch = requests.fetching(clients.topic_id(cluster, "short"), 0)
    answer = clients.ask(cluster, cluster.leader("short"), fetch)
    return {
        "committed by a group": 5,
        "records that another reader gets": again,
        "bytes as before": same,
        "first offset, retention.ms=-1": passes.first_offset(cluster, "kept"),
        "first offset, retention.ms of an hour": passes.first_offset(cluster, "short"),
        "a fetch of offset 0": requests.refusal(requests.first_partition(answer)),
    }


# -- requests and settings


def delete_records(cluster: Cluster) -> Seen:
    """DeleteRecords below offset 3 of 5, then below the high watermark, then beyond it."""
    passes.create(cluster, "orders", TWO)
    records.write(cluster, "orders", _pairs("a1 a2 a3 a4 a5"))
    answer = passes.delete_before(cluster, "orders", 3)
    fetch = requests.fetching(clients.topic_id(cluster, "orders"), 2)
    refused = clients.ask(cluster, cluster.leader("orders"), fetch)
    passes.wait_for_retention(cluster, "orders")
    files = passes.segments(cluster, "orders")
    everything = passes.delete_before(cluster, "orders", -1)
    try:
        beyond = str(passes.delete_before(cluster, "orders", 99))
    except KafkaException as failure:
        beyond = clients.name(failure.args[0])
    passes.create(cluster, "users", {"cleanup.policy": "compact"})
    records.write(cluster, "users", _pairs("a1 a2"))
    try:
        compacted = str(passes.delete_before(cluster, "users", 1))
    except KafkaException as failure:
        compacted = clients.name(failure.args[0])
    return {
        "below 3: the log starts at": answer,
        "a fetch of offset 2": requests.refusal(requests.first_partition(refused)),
        "segments that are left": files,
        "below -1, which is the high watermark": everything,
        "below 99": beyond,
        "in a topic that is compacted only": compacted,
    }


TOPIC_SETTINGS = (
    "cleanup.policy", "retention.ms", "retention.bytes", "segment.ms", "segment.bytes",
    "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "max.compaction.lag.ms",
    "delete.retention.ms", "file.delete.delay.ms",
)  # fmt: skip
BROKER_SETTINGS = (
    "log.retention.hours", "log.retention.minutes", "log.retention.ms", "log.roll.hours",
    "log.roll.ms", "log.retention.bytes", "log.cleaner.enable", "log.cleaner.threads",
    "log.cleaner.dedupe.buffer.size",
)  # fmt: skip


def topic_settings(cluster: Cluster) -> Seen:
    """What a new topic has, and one that keeps its records forever."""
    cluster.create_topic("orders")
    cluster.create_topic("kept", config={"retention.ms": -1})
    return {
        **_settings(cluster, ConfigResource.Type.TOPIC, "orders", TOPIC_SETTINGS),
        "retention.ms of a topic that keeps forever": config_of(cluster, "kept", "retention.ms"),
    }


def config_of(cluster: Cluster, topic: str, name: str) -> Any:
    """One setting of a topic."""
    return _settings(cluster, ConfigResource.Type.TOPIC, topic, [name])[name]


def broker_settings(cluster: Cluster) -> Seen:
    """What a broker has, `unset` where the coarser setting counts; then log.retention.ms is set."""
    seen = _settings(cluster, ConfigResource.Type.BROKER, "101", BROKER_SETTINGS)
    cluster.create_topic("orders")
    before = config_of(cluster, "orders", "retention.ms")
    try:
        clients.set_broker_config(cluster, "", "log.retention.ms", str(HOUR_MS))
        shorter = _another_retention(cluster, before)
    finally:
        clients.set_broker_config(cluster, "", "log.retention.ms", None)
    _another_retention(cluster, shorter)
    return {
        **seen,
        "log.retention.ms set to an hour: retention.ms of a topic": shorter,
    }


def _another_retention(cluster: Cluster, before: str) -> str:
    """The retention.ms of `orders`, as soon as the broker that answers has heard of a change."""
    found = [before]

    def has_changed(seen: Cluster) -> bool:
        found.append(str(config_of(seen, "orders", "retention.ms")))
        return found[-1] != before

    cluster.wait_until(has_changed, records.PATIENCE_S, "another retention.ms")
    return found[-1]


CLEANER_THREAD = "kafka-log-cleaner-thread"


def cleaner_threads(cluster: Cluster) -> Seen:
    """log.cleaner.threads is set to 2 while broker 103 runs, which cleans, and back to 1.

    New threads take new buffers.  The default of 128 MB does not fit twice into a broker of this
    course: Kafka would go on without a cleaner, with a line in its log.  So 103 gets a small
    buffer first, and keeps it.
    """
    clients.set_broker_config(cluster, "103", "log.cleaner.dedupe.buffer.size", str(16 << 20))
    running, outcomes = [_threads(cluster, 1)], []
    passes.create(cluster, "users", {**TWO, **NEVER, "cleanup.policy": "compact"}, broker=103)
    records.write(cluster, "users", [("a", "1")] * 5)
    held = [len(records.read(cluster, "users"))]
    setting = "log.cleaner.threads"
    try:
        outcomes.append(clients.set_broker_config(cluster, "103", setting, "2"))
        running.append(_threads(cluster, 2))
        passes.clean(cluster, "users")
        held.append(len(records.read(cluster, "users")))
    finally:
        outcomes.append(clients.set_broker_config(cluster, "103", setting, "1"))
    running.append(_threads(cluster, 1))
    threads = running if all(running) else "it is not a Java process"
    return {
        "log.cleaner.threads set to 2, then to 1": outcomes,
        f"{CLEANER_THREAD}: how many in 103's process": threads,
        "records before, and after a pass with two threads": held,
    }


def _threads(cluster: Cluster, expected: int) -> int:
    """How many cleaner threads a Java process lists, as soon as they are so many; 0 for none."""
    try:
        broker_metrics.thread_names(cluster, 103)
    except NotOffered:
        return 0

    def are_there(seen: Cluster) -> bool:
        return broker_metrics.thread_names(seen, 103).get(CLEANER_THREAD) == expected

    cluster.wait_until(are_there, records.PATIENCE_S, f"{expected} cleaner threads")
    return expected


def _settings(cluster: Cluster, kind: Any, name: str, wanted: Sequence[str]) -> Seen:
    resource = ConfigResource(kind, name)
    admin = clients.admin(cluster)  # kept: without it the future never ends
    found = admin.describe_configs([resource])[resource].result(records.PATIENCE_S)
    values = {each: found[each].value if each in found else None for each in wanted}
    return {each: "unset" if value is None else value for each, value in values.items()}


# -- segments


def rolls(cluster: Cluster) -> Seen:
    """Where segments begin, for records of 0, 30, 90 and 120 minutes, by segment.ms."""
    found = {}
    ages = [180, 150, 90, 60]
    for label, config in {
        "defaults": {},
        "segment.ms of an hour": {"segment.ms": HOUR_MS},
        "segment.ms of a minute": {"segment.ms": records.MINUTE_MS},
    }.items():
        passes.create(cluster, "orders", config)
        records.write(cluster, "orders", _pairs("a1 a2 a3 a4"), ages)
        found[f"{label}: segments begin at"] = passes.segments(cluster, "orders")
    passes.create(cluster, "orders", {"retention.ms": -1})
    week = [8 * 24 * 60, 5]
    records.write(cluster, "orders", _pairs("a1 a2"), week)
    found["defaults, eight days between two records"] = passes.segments(cluster, "orders")
    return found


def small_segments(cluster: Cluster) -> Seen:
    """100 records in one segment and in fifty: files, and fetches to read them all."""
    found: dict[str, Any] = {}
    for label, size in (("one segment", 1 << 20), ("fifty", 150)):
        config = {"internal.segment.bytes": size}
        passes.create(cluster, "orders", config)
        records.write(cluster, "orders", [("a", "1")] * 100)
        names = [each.name for each in passes.files(cluster, "orders")]
        of_segments = [n for n in names if n.endswith((".log", ".index", ".timeindex"))]
        found[f"{label}: files of segments"] = len(of_segments)
        found[f"{label}: fetches to read 100 records"] = _fetches(cluster, "orders")
        found |= {f"{label}: {what}": each for what, each in _held_open(cluster, "orders").items()}
    return found


def _held_open(cluster: Cluster, topic: str) -> Seen:
    """Files and memory maps of a topic that its leader's process has; Linux tells."""
    leader = passes.led_by(cluster, topic)
    provider = cluster.provider if isinstance(cluster, KafkaCluster) else None
    if isinstance(provider, LocalProvider):
        pid = provider.pid(leader)
    elif isinstance(provider, EngineProvider):
        pid = provider.pid()
    else:
        return {}
    process, folder = Path(f"/proc/{pid}"), f"/{leader}/{topic}-0/"
    if not process.exists():
        return {}
    handles = [link for each in (process / "fd").iterdir() if folder in (link := _target(each))]
    maps = [line for line in (process / "maps").read_text().splitlines() if folder in line]
    return {
        "files that the leader holds open": measured(len(handles), "files"),
        "memory maps of them": measured(len(maps), "maps"),
    }


def _target(link: Path) -> str:
    with contextlib.suppress(OSError):  # closed meanwhile
        return str(link.readlink())
    return ""


def _fetches(cluster: Cluster, topic: str) -> int:
    """Fetch requests until the end: each brings records of one segment at most."""
    count = offset = 0
    with RawClient(cluster, passes.led_by(cluster, topic), "lesson-12") as client:
        while read := requests.records_in(client.ask(requests.fetching(topic, offset))):
            count, offset = count + 1, offset + read
    return count


def files_of_a_pass(cluster: Cluster) -> Seen:
    """The .log files after a pass, and the checkpoint."""
    config = {**TWO, **NEVER, "cleanup.policy": "compact"}
    passes.create(cluster, "users", config)
    records.write(cluster, "users", _pairs("a1 a2 a3 b1 a4"))
    active = passes.files(cluster, "users")
    before = {each.name: each.read_bytes() for each in active if each.name.endswith(".log")}
    passes.clean(cluster, "users")
    after = passes.files(cluster, "users")
    logs = {each.name: each.read_bytes() for each in after if each.name.endswith(".log")}
    newest = max(logs)
    return {
        "segments": [name.removesuffix(".log").lstrip("0") or "0" for name in sorted(logs)],
        "old ones, .log.deleted": sum(each.name.endswith(".log.deleted") for each in after),
        "left of .cleaned and .swap": sum(
            each.name.endswith((".cleaned", ".swap")) for each in after
        ),
        "the active segment is as before": logs[newest] == before[newest],
        "cleaner-offset-checkpoint": passes.cleaned(cluster, "users").to,
        "a batch of five, before and after": _one_batch(cluster),
    }


def _one_batch(cluster: Cluster) -> list[str]:
    """Five records in one batch: its offsets and its records, before a pass and after it."""
    passes.create(cluster, "together", {**TWO, **NEVER, "cleanup.policy": "compact"})
    settings = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 1_000, "log_level": 0}
    producer = Producer(settings)
    for key, value in _pairs("a1 b1 a2 a3 b2"):
        producer.produce("together", value, key, partition=0)
    producer.flush(records.PATIENCE_S)
    records.write(cluster, "together", _pairs("c1 c2 c3"))
    found = [records.batches(cluster, "together", 0)[0]]
    passes.clean(cluster, "together")
    found.append(records.batches(cluster, "together", 0)[0])
    return [f"{each.offset} to {each.last}, {each.records} records" for each in found]


# -- transactions


ABORT_MARKER = 3
"""Its offset: each transaction has one record and a marker."""


def transactions(cluster: Cluster) -> Seen:
    """a=1 is committed, a=2 aborted, b=1 committed; then two passes."""
    config = {**TWO, **NEVER, "cleanup.policy": "compact"}
    passes.create(cluster, "paid", config)
    settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "lesson-12"}
    producer = Producer({**settings, "log_level": 0})
    producer.init_transactions(records.PATIENCE_S)
    for key, value, commits in (("a", "1", True), ("a", "2", False), ("b", "1", True)):
        producer.begin_transaction()
        producer.produce("paid", value, key, partition=0)
        producer.flush(records.PATIENCE_S)
        if commits:
            producer.commit_transaction(records.PATIENCE_S)
        else:
            producer.abort_transaction(records.PATIENCE_S)
    passes.wait_for_transactions(cluster, "paid")
    records.write(cluster, "paid", _pairs("c1 c2 c3"))
    before, marker = _shown(cluster, "read_uncommitted"), [_batch(cluster, ABORT_MARKER)]
    passes.clean(cluster, "paid")
    marker.append(_batch(cluster, ABORT_MARKER))
    seen = {
        "read_uncommitted, before": before,
        "read_uncommitted, after": _shown(cluster, "read_uncommitted"),
        "read_committed, after": _shown(cluster, "read_committed"),
    }
    records.write(cluster, "paid", _pairs("c4 c5"))  # a new active segment
    passes.wait_until_clean(cluster, "paid")
    marker.append(_batch(cluster, ABORT_MARKER))
    return {**seen, "the ABORT marker's batch, before, after one pass, after two": marker}


def _batch(cluster: Cluster, offset: int) -> str:
    """The seven low bits of the attributes of the batch at this offset."""
    found = records.batches(cluster, "paid", offset)[0]
    return found.attributes if found.offset == offset else "gone"


def _shown(cluster: Cluster, isolation: str) -> str:
    found = records.read(cluster, "paid", isolation=isolation)
    return ", ".join(str(each) for each in found)


# -- a file in pieces


def a_file(cluster: Cluster) -> Seen:
    """A file of 2 MB as one record, and in pieces."""
    cluster.create_topic("files")
    content = bytes(2_000_000)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    try:
        producer.produce("files", content, "report.pdf", partition=0)
        whole = "taken"
    except KafkaException as failure:
        whole = clients.name(failure.args[0])
    outcomes: list[str] = []

    def keep(error: Any, _: Any) -> None:
        outcomes.append(clients.name(error))

    piece = 900_000
    for start in range(0, len(content), piece):
        part = content[start : start + piece]
        producer.produce("files", part, "report.pdf", 0, on_delivery=keep)
    producer.flush(records.PATIENCE_S)

    return {
        "as one record": whole,
        f"in {len(outcomes)} pieces": sorted(set(outcomes)),
    }
