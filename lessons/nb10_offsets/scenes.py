"""Scenarios of notebook 10 for `lab.both`: each takes a cluster and returns what it saw.

Most assign partitions by hand: that spares the wait for a group, and offsets are committed and
found all the same.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_STORED,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from engine.coordinators.offsets import OffsetRecord
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from kit.both.outcomes import measured
from kit.clusters import tools
from kit.clusters.interface import Cluster
from kit.probes import cleaner, clients, group_log, requests
from kit.probes.raw_client import RawClient
from lessons.nb10_offsets.reading import (
    GROUP,
    PATIENCE_S,
    TOPIC,
    Reader,
    at,
    numbered,
    remove_before,
    statistics_into,
    write,
)

ALL = [101, 102, 103]
REPLICAS = {0: ALL}
POLICIES = ("earliest", "latest", "error")
TOO_LONG = 5_000
"""A commit's metadata text of this length is refused: offset.metadata.max.bytes is 4096."""
WORK_S = 0.1
"""What a replay does with five records."""
LEDGER = "ledger"
OPEN = 3
"""Records of a transaction that is not over yet."""
AWAY = 7
"""Records that are written while a group is away."""
DAY_MS = 24 * 3_600_000
Curves = dict[str, list[tuple[float, float]]]
"""Points by side, such as the lag by seconds."""
KILOBYTES = 200
"""How many records of 1 kB a consumer reads to show which brokers they come from."""
Seen = Mapping[str, Any]


# -- where a consumer starts


def starts(cluster: Cluster) -> Seen:
    """The first offset of a consumer: three states of the group's offset, three reset policies."""
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    write(cluster, TOPIC, numbered(100))
    for policy in POLICIES:
        for state in ("valid", "gone"):
            with _stored(cluster, f"{state}-{policy}", policy) as reader:
                reader.commit(20)
    seen: dict[str, Any] = {}
    seen["no committed offset, log 0-99"] = _by_policy(cluster, "new")
    seen["20 committed, log 0-99"] = _by_policy(cluster, "valid")
    remove_before(cluster, TOPIC, 50)
    seen["a fetch of offset 20, log 50-99"] = _refusal(cluster, 20)
    seen["20 committed, log 50-99"] = _by_policy(cluster, "gone")
    seen[f"{AWAY} written while away: latest, skipped"] = _away(cluster)
    return seen


def _refusal(cluster: Cluster, offset: int) -> str:
    """The error of the leader's answer to a Fetch request; NONE if it has none."""
    with RawClient(cluster, 101, "reader") as client:
        answer = client.ask(requests.fetching(TOPIC, offset))
    return requests.refusal(requests.first_partition(answer)) or "NONE"


def _away(cluster: Cluster) -> list[int]:
    """Where `latest` starts a group that had read to the end, and how many records that skips."""
    ends = []
    for written in (0, AWAY):
        write(cluster, TOPIC, numbered(written))
        with _stored(cluster, "away", "latest") as reader:
            ends.append(int(_first(reader)))
    before, after = ends
    return [after, after - before]


def _by_policy(cluster: Cluster, state: str) -> Seen:
    found = {}
    for policy in POLICIES:
        with _stored(cluster, f"{state}-{policy}", policy) as reader:
            found[policy] = _first(reader)
    return found


def _first(reader: Reader) -> int | str:
    reader.run(lambda: bool(reader.processed or reader.errors) or reader.at_end)
    return reader.start_offset


def _stored(cluster: Cluster, group: str, policy: str = "earliest") -> Reader:
    """A consumer that starts at its group's committed offset, without a membership."""
    own = {"group.id": group, "auto.offset.reset": policy}
    return Reader(cluster, own, partitions=[TopicPartition(TOPIC, 0, OFFSET_STORED)])


# -- commits


def overtaking(cluster: Cluster) -> Seen:
    """Commit 100 fails, 200 succeeds; then the callback of 100 sends it again, or not."""
    return {"blindly": _overtaken(cluster, True), "with a number": _overtaken(cluster, False)}


def _overtaken(cluster: Cluster, blindly: bool) -> Seen:
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    write(cluster, TOPIC, numbered(250))
    results: list[str] = []
    sent = 0

    def on_commit(error: Any, partitions: list[TopicPartition]) -> None:
        (place,) = partitions
        failed = error or place.error
        results.append(f"{place.offset} {clients.name(failed)}")
        if failed and (blindly or sent == 1):
            commit(place.offset, "")

    def commit(offset: int, metadata: str) -> None:
        nonlocal sent
        sent += 1
        place = TopicPartition(TOPIC, 0, offset, metadata)
        reader.consumer.commit(offsets=[place], asynchronous=True)

    with Reader(cluster, {"on_commit": on_commit}, partitions=[0]) as reader:
        commit(100, "x" * TOO_LONG)
        commit(200, "")
        reader.run(lambda: len(results) >= (3 if blindly else 2))
        return {"callbacks": results, "commits sent": sent, "committed": reader.committed()}


# -- replay


def replays(cluster: Cluster, curves: Curves) -> Seen:
    """A group at work has committed 10 of 20; who may read again, and what moves.

    `curves` gets the lag of the replay by seconds.
    """
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    write(cluster, TOPIC, numbered(20), minutes=range(20))
    with Reader(cluster, partitions=[0]) as reader:
        reader.read(10)
        reader.commit(10)
        seeks = {**_seeks(reader), "a ledger's end: uncommitted, committed": _ends(cluster)}
        seen: dict[str, Any] = {"a consumer seeks": seeks}
        admin = clients.admin(cluster)
        seen["committed(), listConsumerGroupOffsets"] = [reader.committed(), _listed(admin)]
    with Reader(cluster, {"group.id": "audit"}, partitions=[0]) as other:
        other.rest()
        other.commit(20)
        seen["another group reads"] = len(other.offsets)
    with Reader(cluster) as member:
        member.read(1)
        seen["the first group goes on at"] = member.offsets[0]
        error = _altered(admin, 0)
        member.read(1)
        seen["alterConsumerGroupOffsets to 0; the member's next"] = [error, member.offsets[1]]
        refused = _tool(cluster, "--to-earliest", "--execute")
    seen["kafka-consumer-groups --reset-offsets"] = {
        "--to-earliest --execute, while it has a member": refused,
        "--to-datetime minute 7, without --execute": _tool(cluster, "--to-datetime", _iso(at(7))),
        "committed after that": _listed(admin),
        "--to-earliest --execute": _tool(cluster, "--to-earliest", "--execute"),
        "committed now": _listed(admin),
        **_read_again(cluster, admin, curves),
    }
    return seen


def _seeks(reader: Reader) -> Seen:
    by_time = reader.consumer.offsets_for_times([TopicPartition(TOPIC, 0, at(7))], PATIENCE_S)
    reader.seek(3)
    reader.read(1)
    found: dict[str, Any] = {
        "offset 3": reader.offsets[-1],
        "paused: records; then resumed": _resumed(reader),
    }
    for label, offset in (("minute 7", by_time[0].offset), ("the beginning", OFFSET_BEGINNING)):
        reader.seek(offset)
        reader.read(1)
        found[label] = reader.offsets[-1]
    reader.seek(OFFSET_END)
    reader.rest()
    return {**found, "the end": reader._next[0]}


def _resumed(reader: Reader) -> list[int]:
    """How many records come while the partition is paused, and the next offset after it."""
    paused, count = reader.consumer.assignment(), len(reader.offsets)
    reader.consumer.pause(paused)
    reader.run(for_s=0.3)
    came = len(reader.offsets) - count
    reader.consumer.resume(paused)
    reader.read(1)
    return [came, reader.offsets[-1]]


def _ends(cluster: Cluster) -> list[int]:
    """Where seekToEnd takes a reader behind an open transaction, by isolation level."""
    cluster.create_topic(LEDGER, assignment=REPLICAS)
    write(cluster, LEDGER, numbered(20))
    own = {"bootstrap.servers": cluster.bootstrap, "transactional.id": LEDGER, "log_level": 0}
    producer = Producer(own)
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for value in numbered(OPEN):
        producer.produce(LEDGER, value, partition=0)
    producer.flush(PATIENCE_S)
    ends = []
    for level in ("read_uncommitted", "read_committed"):
        place = TopicPartition(LEDGER, 0, OFFSET_END)
        with Reader(
            cluster, {"isolation.level": level}, topic=LEDGER, partitions=[place]
        ) as reader:
            reader.rest()
            ends.append(reader._next[0])
    producer.abort_transaction(PATIENCE_S)
    return ends


def _altered(admin: AdminClient, offset: int) -> str:
    """Kafka's name for the answer to an admin client that moves the group's offset."""
    wanted = ConsumerGroupTopicPartitions(GROUP, [TopicPartition(TOPIC, 0, offset)])
    (future,) = admin.alter_consumer_group_offsets([wanted]).values()
    try:
        (place,) = future.result(PATIENCE_S).topic_partitions
    except KafkaException as failure:
        return clients.name(failure.args[0])
    return clients.name(place.error)


def _read_again(cluster: Cluster, admin: AdminClient, curves: Curves, step: int = 5) -> Seen:
    """Reads to the end and commits every `step` records: the lag, and when it should be over."""
    lags = [_lag(admin)]
    curve = curves[cluster.name] = [(0.0, float(lags[0]))]
    with _stored(cluster, GROUP) as reader:
        reader.read(1)
        began, estimate_s = time.perf_counter(), 0.0
        while lags[-1] > 0:
            reader.read(step - len(reader.offsets) % step)
            time.sleep(WORK_S)
            reader.commit(reader.offsets[-1] + 1)
            lags.append(_lag(admin))
            curve.append((time.perf_counter() - began, lags[-1]))
            so_far_s = curve[-1][0]
            if lags[-1] * 2 <= lags[0] and not estimate_s:
                estimate_s = so_far_s * lags[0] / (lags[0] - lags[-1])
    return {
        "lag while it reads again": lags,
        "at half of it: expected to end after": measured(estimate_s * 1000, "ms"),
        "it ended after": measured(so_far_s * 1000, "ms"),
    }


def _tool(cluster: Cluster, *arguments: str) -> str:
    """What `kafka-consumer-groups --reset-offsets` says: the new offset, or its refusal."""
    where = ("--reset-offsets", "--group", GROUP, "--topic", TOPIC)
    printed = tools.run(cluster, "kafka-consumer-groups", *where, *arguments).text
    if found := re.search(rf"{GROUP}\s+{TOPIC}\s+0\s+(\d+)", printed):
        return f"new offset {found[1]}"
    return next((line for line in printed.splitlines() if "rror" in line), printed)


def _iso(ms: int) -> str:
    """A time as the tool reads it, in UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000")


def _lag(admin: AdminClient) -> int:
    """The end of the log minus the committed offset."""
    (end,) = admin.list_offsets({TopicPartition(TOPIC, 0): OffsetSpec.latest()}).values()
    return int(end.result(PATIENCE_S).offset) - (_listed(admin) or 0)


def _listed(admin: AdminClient) -> int | None:
    """The group's committed offset, asked of the admin client; None if there is none."""
    (found,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)]).values()
    places = found.result(PATIENCE_S).topic_partitions or ()
    return next((int(each.offset) for each in places if each.topic == TOPIC), None)


def effects(cluster: Cluster) -> Seen:
    """Five payments of 10 and a copy of one, processed twice, in three ways to write it down.

    The producer's idempotence is off, which is confluent-kafka's default.
    """
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    write(cluster, TOPIC, numbered(5))
    write(cluster, TOPIC, numbered(1))  # the producer's application sends order-0 again
    with Reader(cluster, partitions=[0]) as reader:
        reader.read(6)
        reader.seek(0)
        reader.read(6)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE sum (amount INT)")
        database.execute("INSERT INTO sum VALUES (0)")
        database.execute("CREATE TABLE payment (id TEXT PRIMARY KEY, amount INT)")
        database.execute("CREATE TABLE balance (amount INT)")
        database.execute("INSERT INTO balance VALUES (0)")
        database.execute("CREATE TABLE done (id TEXT PRIMARY KEY)")
        for value in reader.values:
            database.execute("UPDATE sum SET amount = amount + 10")
            database.execute("INSERT OR REPLACE INTO payment VALUES (?, 10)", (value,))
            new = database.execute("INSERT OR IGNORE INTO done VALUES (?)", (value,)).rowcount
            database.execute("UPDATE balance SET amount = amount + ?", (10 * new,))

        def ask(query: str) -> int:
            return int(database.execute(query).fetchone()[0])

        seen = {
            "records processed": len(reader.values),
            "a sum that is added to": ask("SELECT amount FROM sum"),
            "a row for each payment": ask("SELECT SUM(amount) FROM payment"),
            "a balance, with the ids that are done": ask("SELECT amount FROM balance"),
        }
    return seen | {
        "a crash between id and balance": {
            "each in a transaction of its own": _after_a_crash(reader.values, together=False),
            "both in one transaction": _after_a_crash(reader.values, together=True),
        }
    }


def _after_a_crash(payments: list[str], together: bool) -> int:
    """The balance if the process dies once, between the id of a payment and its amount."""
    with TemporaryDirectory(prefix="kafkalab-effects-") as folder:
        for dies in (True, False):  # it is started again, and reads the payments from the start
            database = sqlite3.connect(Path(folder, "effects.db"), isolation_level=None)
            database.execute("CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY, amount INT)")
            for payment in payments:
                database.execute("BEGIN")
                new = database.execute(
                    "INSERT OR IGNORE INTO done VALUES (?, 0)", (payment,)
                ).rowcount
                if not together:
                    database.execute("COMMIT")
                    database.execute("BEGIN")
                if dies:
                    break
                database.execute(
                    "UPDATE done SET amount = amount + ? WHERE id = ?", (10 * new, payment)
                )
                database.execute("COMMIT")
            (balance,) = database.execute("SELECT SUM(amount) FROM done").fetchone()
            database.close()
    return int(balance)


# -- who knows what


def who_knows(cluster: Cluster) -> Seen:
    """What the broker stores after subscribe, after reading, after a commit, after a death."""
    compacted = compaction(cluster)
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    write(cluster, TOPIC, numbered(10))
    before = clients.partition(cluster, TOPIC)["logs"][101]["log_end_offset"]
    positions = []
    with Reader(cluster, {"client.id": "host-7"}) as reader:
        reader.run(lambda: bool(reader.owned))
        admin = clients.admin(cluster)
        subscribed, lags = reader.committed(), [_lag(admin)]
        for _ in range(6):
            reader.read(1)
            positions.append(reader.consumer.position([TopicPartition(TOPIC, 0)])[0].offset)
        read = reader.committed()
        lags.append(_lag(admin))
        reader.commit(6)
        committed = reader.committed()
        kept = _last_commit(cluster)
        group = cluster.snapshot()["groups"][GROUP]
        coordinator, (member,) = group["coordinator"], group["members"]
    members_left = len(cluster.snapshot()["groups"][GROUP]["members"])
    after = clients.partition(cluster, TOPIC)["logs"][101]["log_end_offset"]
    closes = [_committed_by_close(cluster, auto_commit) for auto_commit in (False, True)]
    kept_in = _kept_in(cluster)
    cluster.kill(coordinator)
    try:
        with Reader(cluster) as another:
            another.read(1)
            goes_on = another.offsets[0]
    finally:
        cluster.start(coordinator)
    return {
        "the consumer": {
            "offsets of six polls": reader.offsets,
            "its position after each": positions,
            "its group.id, client.id and member id": [GROUP, member["client_id"], _id(member)],
            "members after close": members_left,
        },
        "committed": {
            "after subscribe": subscribed,
            "after six records": read,
            "lag before and after them": lags,
            "after the commit": committed,
            "by close, without and with auto-commit": closes,
        },
        "the log": {
            "records in the topic, before and after": [before, after],
            "the last commit in __consumer_offsets": kept,
            "its partitions and cleanup.policy": kept_in,
            "the coordinator is killed, and the group goes on at": goes_on,
            **compacted,
        },
    }


def _id(member: Mapping[str, Any]) -> str:
    """A member id without the random part that the coordinator has given it."""
    return re.sub(r"[\w]{8}(-\w{4}){3}-\w{12}", "<UUID>", str(member["id"]))


def _committed_by_close(cluster: Cluster, auto_commit: bool) -> int | None:
    """What a consumer has committed that reads six records and is closed."""
    name = f"closed-{auto_commit}"
    own = {"enable.auto.commit": auto_commit, "auto.commit.interval.ms": 60_000}
    with Reader(cluster, {**own, "group.id": name}, partitions=[0]) as reader:
        reader.read(6)
    with _stored(cluster, name) as another:
        return another.committed()


def _kept_in(cluster: Cluster) -> list[str | int]:
    """How many partitions the topic of the offsets has, and how it is cleaned."""
    admin = clients.admin(cluster)
    (found,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, OFFSETS_TOPIC)]).values()
    policy = found.result(PATIENCE_S)["cleanup.policy"].value
    topic = admin.list_topics(OFFSETS_TOPIC, timeout=PATIENCE_S).topics[OFFSETS_TOPIC]
    return [len(topic.partitions), policy]


def _last_commit(cluster: Cluster) -> str:
    """The group's last offset record in `__consumer_offsets`, decoded."""
    written = group_log.records(cluster, GROUP)
    last = [each for each in written if isinstance(each, OffsetRecord) and each.committed][-1]
    assert last.committed is not None
    return f"{last.group} {last.topic}-{last.partition} {last.committed.offset}"


def compaction(cluster: Cluster) -> Seen:
    """Six commits of one key, before and after the cleaner's work; then commits of another key.

    The topic gets other settings meanwhile, so that this takes a second: each commit begins a new
    segment, and the cleaner works on all segments before it.
    """
    cluster.create_topic(TOPIC, assignment={0: ALL, 1: ALL})
    group = f"compacted-{time.time_ns()}"  # none of its commits is from an earlier run
    with Reader(cluster, {"group.id": group}, partitions=[0, 1]) as reader:
        for offset in range(1, 7):
            reader.commit(offset)
        before = _committed_offsets(cluster, group)

        def is_compacted(seen: Cluster) -> bool:
            reader.commit(1, partition=1)
            return len(_committed_offsets(seen, group)) == 1

        cleaner.alter(cluster, OFFSETS_TOPIC, segment_ms=1, min_cleanable_dirty_ratio=0)
        try:
            cluster.wait_until(is_compacted, PATIENCE_S, "the cleaner to drop older commits")
        finally:
            cleaner.alter(
                cluster, OFFSETS_TOPIC, segment_ms=7 * DAY_MS, min_cleanable_dirty_ratio=0.5
            )
    return {
        "another group's commits in __consumer_offsets": before,
        "after the cleaner's work": _committed_offsets(cluster, group),
    }


def _committed_offsets(cluster: Cluster, group: str) -> list[int]:
    """The offsets of partition 0 that the group's records hold, in the order of the log."""
    return [
        each.committed.offset
        for each in group_log.records(cluster, group)
        if isinstance(each, OffsetRecord) and each.committed and each.partition == 0
    ]


# -- the closest replica


def reads_by_rack(cluster: Cluster) -> Seen:
    """Fetch requests of consumers in three racks to the leader 101, and then to 103."""
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    write(cluster, TOPIC, "AB")
    cluster.wait_until(lambda c: _asked(c, 103, "c") == "2 records", PATIENCE_S, "103 to know both")
    seen: dict[str, Any] = {
        "no rack, asks the leader": _asked(cluster, 101, ""),
        "rack a, asks the leader": _asked(cluster, 101, "a"),
        "rack c, asks the leader": _asked(cluster, 101, "c"),
        "rack c, asks 103": _asked(cluster, 103, "c"),
    }
    write(cluster, TOPIC, ["x" * 1_000] * KILOBYTES)
    without, with_rack = _crossing_kb(cluster, {}), _crossing_kb(cluster, {"client.rack": "c"})
    return seen | {"kB from other racks, without and with": [without, with_rack]}


def _crossing_kb(cluster: Cluster, settings: Mapping[str, Any]) -> int:
    """What a consumer near 103 receives from the other brokers for the topic, rounded to 100 kB."""
    samples: list[Mapping[str, Any]] = []
    own = {**settings, **statistics_into(samples)}
    with Reader(cluster, own, partitions=[0]) as reader:
        reader.read(KILOBYTES)
        samples.clear()
        reader.run(lambda: bool(samples))
    brokers = samples[-1]["brokers"].values()
    received = sum(each["rxbytes"] for each in brokers if each["nodeid"] in (101, 102))
    return int(round(received / 1_000, -2))


def _asked(cluster: Cluster, broker: int, rack: str) -> str:
    request = requests.fetching(TOPIC, 0)
    request.rack_id = rack
    with RawClient(cluster, broker, "reader") as client:
        answer = client.ask(request)
    part = requests.first_partition(answer)
    if part.preferred_read_replica >= 0:
        return f"no record, read from {part.preferred_read_replica}"
    return requests.refusal(part) or f"{requests.records_in(answer)} records"


def maintenance(cluster: Cluster) -> Seen:
    """A producer's latency while its only reader polls, and while the reader is stopped."""
    cluster.create_topic(TOPIC, assignment=REPLICAS)
    with Reader(cluster, partitions=[0]) as reader:
        with_reader = _send_ms(cluster, reader)
        reader.rest()
        committed = reader.offsets[-1] + 1
        reader.commit(committed)
    without = _send_ms(cluster, None)
    with _stored(cluster, GROUP) as reader:
        reader.rest()
        return {
            "one record, the reader polls": measured(with_reader, "ms"),
            "one record, no reader": measured(without, "ms"),
            "committed before the stop": committed,
            "the reader goes on at": reader.offsets[0],
            "records that had waited": len(reader.offsets),
        }


def _send_ms(cluster: Cluster, reader: Reader | None, count: int = 20) -> float:
    """The middle of the times that single records take."""
    times = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    for number in range(count):
        began = time.perf_counter()
        producer.produce(TOPIC, str(number), partition=0)
        producer.flush(PATIENCE_S)
        times.append((time.perf_counter() - began) * 1000)
        if reader is not None:
            reader.poll()
    return sorted(times)[count // 2]
