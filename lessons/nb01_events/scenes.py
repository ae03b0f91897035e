"""Runs for both sides: groups, the bytes of an event, pull, failures, state from a log."""

from __future__ import annotations

import queue
import socket
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from engine.records import batch
from engine.wire.messages import ApiVersionsRequest, FetchRequest
from kit.both.outcomes import measured
from kit.clusters import tools
from kit.clusters.interface import Cluster
from kit.probes import clients, requests
from kit.probes.raw_client import RawClient
from lessons.nb01_events.readers import Crew, Reader, committed, forget, write

EARLIEST = {"auto.offset.reset": "earliest"}
ANSWER_S = 20.0
HOUR_MS = 3_600_000
LIBRARIES = ("librdkafka", "apache-kafka-java")
"""As client libraries name themselves in ApiVersions; confluent-kafka is built on the first."""
LINEAGE = (("via", b"web"), ("source", b"system-a"), ("via", b"queue"))


def read_as(cluster: Cluster, group: str, topic: str) -> list[str]:
    """What a group reads from its position to the end; it commits."""
    with Reader(cluster, topic, group, EARLIEST) as reader:
        return reader.read()


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


# -- groups


def many_readers(cluster: Cluster) -> dict[str, Any]:
    """Two topics, five producers and no reader; then three groups, one of which reads twice."""
    cluster.create_topic("orders", partitions=2)
    cluster.create_topic("clicks")
    forget(cluster, "billing", "mail", "report")
    senders = [Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0}) for _ in range(5)]
    written = [names(f"producer {number} order ", 20) for number in range(len(senders))]
    for sender, orders in zip(senders, written, strict=True):
        for number, order in enumerate(orders):
            sender.produce("orders", order, partition=number % 2)
        sender.flush(ANSWER_S)
    acknowledged = write(cluster, "clicks", names("click ", 10))
    listed = clients.admin(cluster).list_topics(timeout=ANSWER_S).topics
    read = {}
    for group in ("billing", "mail", "report"):
        with Reader(cluster, "orders", group, EARLIEST) as reader:
            read[group] = reader.messages()
    with Reader(cluster, "orders", "billing", EARLIEST) as billing:
        billing.read()
        billing.start_over()
        again = by_partition(billing.messages())
    mail = [message.value().decode() for message in read["mail"]]
    parts = {group: by_partition(found) for group, found in read.items()}
    return {
        "topics": [topic for topic in sorted(listed) if topic in ("clicks", "orders")],
        "clicks acknowledged without a reader": acknowledged,
        "orders of each producer": [len(set(orders) & set(mail)) for orders in written],
        "orders read": {group: len(found) for group, found in read.items()},
        "in each partition the same sequence": parts["billing"] == parts["mail"] == parts["report"],
        "all of them in the order of writing": mail == [each for own in written for each in own],
        "clicks among them": sum(each.startswith("click") for each in mail),
        "billing once more, the same sequences": again == parts["billing"],
        "offsets of each partition": [f"{min(part)} to {max(part)}" for part in again.values()],
    }


def by_partition(messages: Sequence[Any]) -> dict[int, dict[int, str]]:
    """Partition -> offset -> value, in the order in which a reader got them."""
    found: dict[int, dict[int, str]] = {}
    for message in messages:
        part = found.setdefault(message.partition(), {})
        part[message.offset()] = message.value().decode()
    return dict(sorted(found.items()))


def interleaved(cluster: Cluster) -> dict[str, Any]:
    """Twelve orders, two partitions in turn: one group reads each at once, another reads later."""
    cluster.create_topic("orders", assignment={0: [101], 1: [101]})
    forget(cluster, "live", "late")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    read: dict[str, list[Any]] = {"live": []}
    with Reader(cluster, "orders", "live", EARLIEST) as live:
        for number, order in enumerate(names("order ", 12)):
            producer.produce("orders", order, partition=number % 2)
            producer.flush(ANSWER_S)
            read["live"] += live.messages(most=1)
    with Reader(cluster, "orders", "late", EARLIEST) as late:
        read["late"] = late.messages()
    turns = {group: [message.partition() for message in found] for group, found in read.items()}
    same = by_partition(read["live"]) == by_partition(read["late"])
    return {
        "orders read": {group: len(found) for group, found in read.items()},
        "in each partition the same sequence": same,
        "the partitions alternate alike": turns["live"] == turns["late"],
        "changes from one partition to the other": {
            group: measured(sum(a != b for a, b in pairwise(found)), "of 11")
            for group, found in turns.items()
        },
    }


def split_or_copy(cluster: Cluster) -> dict[str, Any]:
    """100 records in two partitions: one group of two, and two groups of one."""
    cluster.create_topic("orders", partitions=2)
    forget(cluster, "pair", "first", "second")
    write(cluster, "orders", names("", 100), partitions=2)
    with Crew(cluster, "orders", "pair", 2) as crew:
        crew.wait_for_shares(2)
        crew.wait_for(100)
        done = sum(map(len, crew.got))
        twice = done - len({each for got in crew.got for each in got})
        with Reader(cluster, "orders", "first", EARLIEST) as first:
            half = first.messages(most=40)
            inside = Counter(part for each in crew.readers for part in each.assigned or ())
            everywhere = inside + Counter(first.assigned)
    position = committed(cluster, "second", "orders") or "none"
    whole = read_as(cluster, "second", "orders")
    waiting: queue.Queue[str] = queue.Queue()
    for each in names("", 100):
        waiting.put(each)
    taken = [waiting.get() for _ in range(waiting.qsize())]
    return {
        "one group of two": {"records processed": done, "processed twice": twice},
        "readers of partitions 0, 1": {
            "in the group of two": [inside[0], inside[1]],
            "in both groups": [everywhere[0], everywhere[1]],
        },
        "two groups": {
            "first has read": len(half),
            "committed by second before": position,
            "second reads": len(whole),
        },
        "a queue": {"first application takes": len(taken), "left for a second": waiting.qsize()},
    }


def slow_member(cluster: Cluster) -> dict[str, Any]:
    """Two workers, one of them slow: a group, and a queue.Queue with the same workers."""
    cluster.create_topic("jobs", partitions=2)
    forget(cluster, "workers")
    slow, fast, jobs = 100.0, 2.0, 24
    with Crew(cluster, "jobs", "workers", 2, [slow, fast]) as crew:
        crew.wait_for_partitions()
        write(cluster, "jobs", names("", jobs), partitions=2)
        crew.wait_for(jobs)
        by_group = [len(got) for got in crew.got]
    order, by_queue = queue_of(jobs, [slow, fast])
    return {
        "a group: the slow worker's jobs": by_group[0],
        "a queue: the slow worker's jobs": measured(by_queue[0], "of 24"),
        "a queue: jobs are finished in order": order == sorted(order),
    }


def queue_of(jobs: int, work_ms: Sequence[float]) -> tuple[list[int], list[int]]:
    """The order in which jobs end, and how many each worker did, with a queue.Queue and threads."""
    waiting: queue.Queue[int] = queue.Queue()
    for job in range(jobs):
        waiting.put(job)
    ended: list[int] = []
    done = [0] * len(work_ms)

    def work(worker: int) -> None:
        while True:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            time.sleep(work_ms[worker] / 1000)
            ended.append(job)
            done[worker] += 1

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(len(work_ms))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ended, done


# -- the event


def anatomy(cluster: Cluster) -> dict[str, Any]:
    """One record with everything that it can have, written and read, and its bytes on the wire."""
    cluster.create_topic("orders", partitions=3)
    forget(cluster, "reader")
    at_ms = requests.now_ms() - 60_000
    headers: list[tuple[str, Any]] = [("trace", b"7f"), ("source", b"web"), ("trace", b"80")]
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for _ in range(100):
        producer.produce("orders", b"\x80\x81", key="order 7", headers=headers, timestamp=at_ms)
    producer.flush(ANSWER_S)
    with Reader(cluster, "orders", "reader", EARLIEST) as reader:
        found = reader.messages()
    first = found[0]
    raw = bytes_of(cluster, "orders", first.partition())
    (record, *_) = batch.decode_all(raw)
    try:
        first.value().decode()
        wrong = "text"
    except UnicodeDecodeError as error:
        wrong = type(error).__name__
    return {
        "key": first.key().decode(),
        "partitions of one key": len({message.partition() for message in found}),
        "partitions without a key": without_key(cluster, 100),
        "timestamp kept": first.timestamp()[1] == at_ms,
        "headers": [f"{name}={value.decode()}" for name, value in first.headers()],
        "in the record's bytes": b"trace" in raw and b"order 7" in raw,
        "value": first.value().hex(" "),
        "the same bytes in the log": record.value == first.value(),
        "decoded as text": wrong,
    }


def without_key(cluster: Cluster, records: int) -> int:
    """How many of three partitions records without a key reach, each spread by itself."""
    cluster.create_topic("loose", partitions=3)
    settings = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
    producer = Producer(settings | {"sticky.partitioning.linger.ms": 0})
    reached: set[int | None] = set()
    for number in range(records):
        producer.produce("loose", str(number), on_delivery=lambda e, m: reached.add(m.partition()))
    producer.flush(ANSWER_S)
    return len(reached)


def bytes_of(cluster: Cluster, topic: str, partition: int) -> bytes:
    """A partition's first bytes, as a Fetch returns them."""
    body = requests.fetching(clients.topic_id(cluster, topic), partitions=[partition])
    answer = clients.ask(cluster, cluster.leader(topic, partition), body)
    return bytes(requests.first_partition(answer).records)


def times(cluster: Cluster) -> dict[str, Any]:
    """Whose clock: the producer's, the broker's; and a time that the broker refuses."""
    now = requests.now_ms()
    kept = {"created": {}, "appended": {"message.timestamp.type": "LogAppendTime"}}
    seen: dict[str, Any] = {}
    for topic, config in kept.items():
        cluster.create_topic(topic, config=config)
        for at_ms in (now - 60_000, now - 30_000):
            sent(cluster, topic, at_ms)
        forget(cluster, "reader")
        with Reader(cluster, topic, "reader", EARLIEST) as reader:
            stamps = [message.timestamp()[1] for message in reader.messages()]
        asking = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "x", "log_level": 0})
        (found,) = asking.offsets_for_times([TopicPartition(topic, 0, now - 45_000)], ANSWER_S)
        asking.close()
        seen[topic] = {
            "the producer's times": stamps == [now - 60_000, now - 30_000],
            "first record since 45 s ago": found.offset,
        }
    seen["two hours ahead"] = sent(cluster, "created", now + 2 * HOUR_MS)
    return seen


def sent(cluster: Cluster, topic: str, at_ms: int) -> str:
    """One record with a time; NONE, or the error's name."""
    outcomes: list[str] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "retries": 0, "log_level": 0})
    producer.produce(
        topic, "x", timestamp=at_ms, on_delivery=lambda e, _: outcomes.append(clients.name(e))
    )
    producer.flush(ANSWER_S)
    return outcomes[0]


def routed(cluster: Cluster) -> dict[str, Any]:
    """A router that reads headers only; the value is not for it."""
    for topic in ("in", "eu", "us"):
        cluster.create_topic(topic)
    forget(cluster, "router")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for number, region in enumerate(["eu", "us", "eu"]):
        sealed = bytes([0xC5, 0x80 + number])  # encrypted: the router has no key
        headers: list[tuple[str, Any]] = [("region", region.encode()), *LINEAGE]
        producer.produce("in", sealed, headers=headers)
    producer.flush(ANSWER_S)
    with Reader(cluster, "in", "router", EARLIEST) as router:
        for message in router.messages():
            producer.produce(dict(message.headers())["region"].decode(), message.value(),
                             headers=message.headers())  # fmt: skip
    producer.flush(ANSWER_S)
    forget(cluster, "eu-reader", "us-reader")
    seen: dict[str, list[str]] = {}
    for topic in ("eu", "us"):
        with Reader(cluster, topic, f"{topic}-reader", EARLIEST) as reader:
            copies = reader.messages()
        seen[topic] = [message.value().hex() for message in copies]
    seen["headers of a copy"] = [f"{name}={value.decode()}" for name, value in copies[0].headers()]
    return seen


# -- other clients, and pull


def other_languages(cluster: Cluster) -> dict[str, Any]:
    """Python writes; Kafka's own Java consumer reads, from one bootstrap address."""
    cluster.create_topic("orders")
    write(cluster, "orders", ["order 1 für Jürgen", "order 2"])
    one = cluster.bootstrap.split(",")[0]
    read = java_reads(cluster, "--from-beginning", "--max-messages", "2", "--timeout-ms", "20000")
    found = Consumer({"bootstrap.servers": one, "group.id": "x", "log_level": 0})
    brokers = len(found.list_topics(timeout=ANSWER_S).brokers)
    found.close()
    answers = []
    for library in LIBRARIES:
        with RawClient(cluster, 101, "reader") as client:
            answers.append(client.ask(ApiVersionsRequest(library, "1"), 3))
    offered = answers[0].api_keys
    (fetch,) = (each for each in offered if each.api_key == FetchRequest.API_KEY)
    levels = {each.name: each.max_version_level for each in answers[0].finalized_features}
    return {
        "Java reads": read,
        "Fetch versions offered to each client": [fetch.min_version, fetch.max_version],
        "the same list for librdkafka and Java": all(a.api_keys == offered for a in answers),
        "metadata.version in the same answer": levels["metadata.version"],
        "brokers found through one address": brokers,
    }


def java_reads(cluster: Cluster, *asked: str) -> str:
    """The orders that Kafka's console consumer prints, or why it did not run."""
    printed = tools.run(cluster, "kafka-console-consumer", "--topic", "orders", *asked)
    lines = [line for line in printed.text.splitlines() if line.startswith("order")]
    if not lines and "Processed a total of 0" in printed.text:
        return "nothing"
    return ", ".join(lines) or printed.text


def late_in_java(cluster: Cluster) -> dict[str, Any]:
    """The late reader of the core, as Kafka's console consumer: Java, default settings."""
    cluster.create_topic("orders")
    forget(cluster, "java-report")
    orders = names("order ", 10)
    write(cluster, "orders", orders[:6])
    first = java_reads(cluster, "--group", "java-report", "--timeout-ms", "10000")
    write(cluster, "orders", orders[6:])
    ends = ("--max-messages", "4", "--timeout-ms", "30000")
    second = java_reads(cluster, "--group", "java-report", *ends)
    return {"first run read": first, "second run read": second}


def shared_out(cluster: Cluster) -> dict[str, Any]:
    """Six partitions for one to four members of a group, and a backlog of 24 orders."""
    partitions, backlog, work_ms = 6, 24, 30.0
    seen: dict[str, Any] = {}
    most, took = [], {}
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for members in (1, 2, 3, 4):
        topic = f"orders-{members}"  # each backlog is new
        cluster.create_topic(topic, partitions=partitions)
        forget(cluster, "billing")
        with Crew(cluster, topic, "billing", members, [work_ms] * members) as crew:
            crew.wait_for_shares(partitions)
            owned = [len(each.assigned or []) for each in crew.readers]
            start = time.perf_counter()
            for number, order in enumerate(names("order ", backlog)):
                producer.produce(topic, order, partition=number % partitions)
            producer.flush(ANSWER_S)
            crew.wait_for(backlog)
            took[f"{members} in the group"] = measured(time.perf_counter() - start, "s")
            most.append(max(map(len, crew.got)))
        seen[f"{members} in the group"] = sorted(owned)
    return {**seen, "of 24 orders, the busiest member did": most, "24 orders took": took}


def pulled(cluster: Cluster) -> dict[str, Any]:
    """A bare connection: what a broker sends to a reader that has not asked."""
    cluster.create_topic("orders", assignment={0: [101, 102, 103]})
    with RawClient(cluster, 101, "reader") as reader:
        reader.ask(requests.fetching("orders"))
        write(cluster, "orders", ["order 1", "order 2"])
        pushed = reader.receive(0.5)
        answer = reader.ask(requests.fetching("orders"))
    return {
        "sent by the broker without a request": 0 if pushed is None else 1,
        "records in the answer to a Fetch": requests.records_in(answer),
    }


def on_events(cluster: Cluster) -> dict[str, Any]:
    """A service whose handler runs for each event that its consumer gets, and for nothing else."""
    cluster.create_topic("orders")
    forget(cluster, "handler")
    quiet_s = 0.2
    runs: list[int] = []
    with Crew(cluster, "orders", "handler", 1) as handler:
        handler.wait_for_partitions()
        for orders in (0, 3, 0):
            write(cluster, "orders", names("order ", orders))
            handler.wait_for(sum(runs) + orders)
            time.sleep(quiet_s)
            runs.append(len(handler.got[0]) - sum(runs))
    return {
        "the handler ran, before the events": runs[0],
        "for three events": runs[1],
        "after them": runs[2],
    }


def no_reader_slows(cluster: Cluster) -> dict[str, Any]:
    """A producer's latency on three topics: without a reader, with one, with one that is stuck."""
    topics = {"no reader": "unread", "one reader": "read", "a stuck reader": "stuck"}
    for topic in topics.values():
        cluster.create_topic(topic, assignment={0: [101, 102, 103]})
        latency(cluster, topic, 50)  # a Java broker is slow at first
    forget(cluster, "well", "stuck")
    took: dict[str, list[float]] = {kind: [] for kind in topics}
    with (
        Crew(cluster, "read", "well", 1) as well,
        Reader(cluster, "stuck", "stuck", EARLIEST) as stuck,
    ):
        first = stuck.read(most=1)  # and then no poll
        well.wait_for(1)
        for _ in range(8):  # in turn, so that a busy moment of the machine is no topic's own
            for kind, topic in topics.items():
                took[kind] += latency(cluster, topic, 25)
    batched = batched_latency(cluster, "unread", 21, 200)
    return {
        "median until the answer": {k: measured(median(ms), "ms") for k, ms in took.items()},
        "without a reader, 99 of 100 within": measured(sorted(took["no reader"])[-3], "ms"),
        "one record a batch": measured(rate(cluster, "unread", 2_000, 1), "records/s"),
        "in batches": measured(rate(cluster, "unread", 20_000, 10_000), "records/s"),
        "in batches of 200, 99 of 100 within": measured(
            sorted(batched)[-len(batched) // 100], "ms"
        ),
        "read by the stuck one": len(first),
    }


def latency(cluster: Cluster, topic: str, count: int) -> list[float]:
    """Milliseconds from produce to the acknowledgement, acks=all, one at a time."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0})
    producer.produce(topic, bytes(100), partition=0)
    producer.flush(ANSWER_S)  # connected
    found = []
    for _ in range(count):
        start = time.perf_counter()
        producer.produce(topic, bytes(100), partition=0)
        producer.flush(ANSWER_S)
        found.append((time.perf_counter() - start) * 1000)
    return found


def rate(cluster: Cluster, topic: str, count: int, most_in_batch: int) -> float:
    """Acknowledged records of 100 bytes in a second."""
    settings = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 5, "log_level": 0}
    producer = Producer(settings | {"batch.num.messages": most_in_batch})
    start = time.perf_counter()
    for _ in range(count):
        producer.produce(topic, bytes(100), partition=0)
        producer.poll(0)
    producer.flush(ANSWER_S)
    return count / (time.perf_counter() - start)


def batched_latency(cluster: Cluster, topic: str, batches: int, records: int) -> list[float]:
    """Milliseconds of each record, from produce to the acknowledgement of its batch."""
    settings = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 5, "log_level": 0}
    producer = Producer(settings)
    found: list[float] = []

    def keep(error: Any, message: Any) -> None:
        if error is None:
            found.append(message.latency() * 1000)

    for _ in range(batches):
        for _ in range(records):
            producer.produce(topic, bytes(100), partition=0, on_delivery=keep)
        producer.flush(ANSWER_S)
    return found[records:]  # the first batch had to wait for the connection


# -- failures


def receiver_is_down(cluster: Cluster) -> dict[str, Any]:
    """Ten calls to a program that is not there, ten events for one; then a queue that is full."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    failed = 0
    for _ in range(10):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except ConnectionRefusedError:
            failed += 1
    cluster.create_topic("orders")
    forget(cluster, "stock")
    start = time.perf_counter()
    stored = write(cluster, "orders", names("order ", 10))
    returned = time.perf_counter()
    small: queue.Queue[str] = queue.Queue(maxsize=4)  # what a receiver that is pushed to can hold
    dropped = 0
    for each in names("order ", 10):
        try:
            small.put_nowait(each)
        except queue.Full:
            dropped += 1
    time.sleep(0.3)  # the receiver is away
    starts = time.perf_counter()
    read = read_as(cluster, "stock", "orders")
    moments = {
        "the sender starts": start,
        "the sender has its ten answers": returned,
        "the receiver starts": starts,
        "the receiver has ten events": time.perf_counter(),
    }
    return {
        "calls that failed": failed,
        "events stored": stored,
        "events read later": len(read),
        "pushed to a buffer of 4, dropped": dropped,
        "the sender had ended before the receiver started": returned < starts,
        "timeline": {what: measured((at - start) * 1000, "ms") for what, at in moments.items()},
    }


def leader_and_member_die(cluster: Cluster) -> dict[str, Any]:
    """A member leaves, then the leader is killed: what is acknowledged is read, by the others."""
    cluster.create_topic("orders", assignment={0: [101, 102, 103], 1: [102, 103, 101]})
    forget(cluster, "stock", "audit")
    with Crew(cluster, "orders", "stock", 2) as crew:
        crew.wait_for_partitions()
        write(cluster, "orders", names("a", 10), partitions=2)
        crew.wait_for(10)
        crew.leave(0)
        write(cluster, "orders", names("b", 10), partitions=2)
        crew.wait_for(20)
        alone = len([each for each in crew.got[1] if each.startswith("b")])
        shared = {each for got in crew.got for each in got}
    broker = cluster.snapshot()["brokers"][103]
    one = {"bootstrap.servers": f"{broker['host']}:{broker['port']}", "linger.ms": 0}
    producer = Producer(one | {"log_level": 0})
    leaders = [leader_for(producer, "orders")]
    cluster.kill(101)
    start = time.perf_counter()
    stored: list[str] = []
    for number, each in enumerate(names("c", 10)):
        producer.produce("orders", each, partition=number % 2,
                         on_delivery=lambda e, _: stored.append(clients.name(e)))  # fmt: skip
        producer.flush(ANSWER_S)
    pause = time.perf_counter() - start
    leaders.append(leader_for(producer, "orders"))
    found = read_as(cluster, "audit", "orders")
    return {
        "read by the member that stayed": alone,
        "stock, a group of two, has read": len(shared),
        "leader, before and after its death": leaders,
        "written after the leader's death": stored.count("NONE"),
        "ten writes took": measured(pause, "s"),
        "audit, a group of one, reads": len(set(found)),
    }


def leader_for(client: Producer, topic: str) -> int:
    """The leader of partition 0, as a client of one address learns it by Metadata."""
    return client.list_topics(topic, timeout=ANSWER_S).topics[topic].partitions[0].leader


def stopped_reader(cluster: Cluster) -> dict[str, Any]:
    """Lag of a stopped reader, a group that starts meanwhile, and a version that takes over."""
    cluster.create_topic("orders")
    forget(cluster, "mail", "audit")
    settings = {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "linger.ms": 0}
    producer = Producer(settings | {"log_level": 0})  # one for all, and it numbers its records
    numbered = iter(names("order ", 25))

    def send(count: int) -> None:
        for order in islice(numbered, count):
            producer.produce("orders", order)
        producer.flush(ANSWER_S)

    send(5)
    first = read_as(cluster, "mail", "orders")
    send(20)
    behind = 25 - (committed(cluster, "mail", "orders") or 0)
    other = read_as(cluster, "audit", "orders")
    second = read_as(cluster, "mail", "orders")
    after = 25 - (committed(cluster, "mail", "orders") or 0)
    written = [header for header, _ in batch.iterate(bytes_of(cluster, "orders", 0))]
    sequences = [n for each in written for n in range(each.base_sequence, each.last_sequence + 1)]
    return {
        "read before": len(first),
        "lag while it is down": behind,
        "read by the new version": len(second),
        "lag after": after,
        "read meanwhile by another group": len(other),
        "producer ids in the log": len({each.producer_id for each in written}),
        "its sequence numbers have no gap": sequences == list(range(25)),
    }


# -- state


def account_history(cluster: Cluster) -> dict[str, Any]:
    """Accounts as a fold over their changes, at the end and at an earlier offset."""
    cluster.create_topic("accounts")
    changes = [("ann", 100), ("bob", 50), ("ann", -30), ("bob", 20), ("ann", -80)]
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for account, change in changes:
        producer.produce("accounts", str(change), key=account, partition=0)
    producer.flush(ANSWER_S)
    forget(cluster, "auditor")
    with Reader(cluster, "accounts", "auditor", EARLIEST) as auditor:
        log = [(m.key().decode(), int(m.value())) for m in auditor.messages()]

    def at(offset: int) -> list[str]:
        state: dict[str, int] = {}
        for account, change in log[:offset]:
            state[account] = state.get(account, 0) + change
        return [f"{account} {balance}" for account, balance in state.items()]

    below = next(n for n in range(len(log) + 1) if any(int(b.split()[1]) < 0 for b in at(n)))
    return {"at the end": at(len(log)), "at offset 3": at(3), "below zero since offset": below - 1}


# -- uses


def clickstream(cluster: Cluster) -> dict[str, Any]:
    """Clicks for a report, a recommendation and a table; then the report is rebuilt."""
    cluster.create_topic("clicks", partitions=2)
    forget(cluster, "report", "recommendation", "batch")
    pages = ["shoes", "hats", "shoes", "bags", "hats", "shoes", "bags", "hats", "hats"]
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})

    def click(first: int, end: int) -> None:
        for number in range(first, end):
            producer.produce("clicks", pages[number], key=f"user {number % 2}")
        producer.flush(ANSWER_S)

    def read(group: str) -> list[tuple[str, str]]:
        with Reader(cluster, "clicks", group, EARLIEST) as reader:
            return [(m.key().decode(), m.value().decode()) for m in reader.messages()]

    click(0, 6)
    found = {group: read(group) for group in ("report", "recommendation", "batch")}
    last = dict(found["recommendation"])
    report = counted(page for _, page in found["report"])
    table = counted_in_a_table(found["batch"])
    forget(cluster, "report")  # it is away, and comes back with another layout
    click(6, 9)
    meanwhile = read("recommendation")
    offsets = [committed(cluster, "recommendation", "clicks", part) for part in (0, 1)]
    rebuilt = read("report")
    later = [committed(cluster, "recommendation", "clicks", part) for part in (0, 1)]
    return {
        "report": report,
        "recommendation: last page": [f"{user}: {page}" for user, page in sorted(last.items())],
        "a table on disk, by SQL": table,
        "the batch counts the same": table == report,
        "without report, recommendation reads": len(meanwhile),
        "report again, by user": counted(user for user, _ in rebuilt),
        "recommendation's offsets unchanged": offsets == later,
    }


def counted(found: Iterable[str]) -> list[str]:
    return [f"{name} {count}" for name, count in sorted(Counter(found).items())]


def counted_in_a_table(clicks: Iterable[tuple[str, str]]) -> list[str]:
    """Writes (user, page) to a table on disk, opens it again, and counts each page's clicks."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "clicks.db"
        with closing(sqlite3.connect(file)) as database, database:
            database.execute("CREATE TABLE clicks (user TEXT, page TEXT)")
            database.executemany("INSERT INTO clicks VALUES (?, ?)", clicks)
        with closing(sqlite3.connect(file)) as database:
            rows = database.execute(
                "SELECT page, count(*) FROM clicks GROUP BY page ORDER BY page"
            ).fetchall()
    return [f"{page} {count}" for page, count in rows]
