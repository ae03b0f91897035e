"""From topic to topic with crashes: what each part of the recipe for exactly-once is good for.

A `step` reads what its group has not done and writes a result for each record.  Its results and its
group's offset are ended together, or one after the other.  A crash means that it stops here:
nothing is closed, and the next step of that name begins at the committed offset.  Each case of a
scene has a partition of its own: new topics for each would take most of the time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from kit.clusters.interface import Cluster, ClusterError, WaitTimeout
from kit.probes import clients, requests
from lessons.nb11_transactions import bank
from lessons.nb11_transactions.bank import ACCOUNTS, ALL, PATIENCE_S, TRANSFERS
from lessons.nb11_transactions.by_hand import ByHand

Seen = Mapping[str, Any]
RECEIPTS = "receipts"
STREAMS = Path(__file__).with_name("RunningSum.java")
"""An application of Kafka Streams; tests/conformance runs it."""


def step(
    cluster: Cluster,
    name: str,
    targets: Sequence[str],
    source: str = TRANSFERS,
    *,
    crash: str = "",
    offset_first: bool = False,
    transactional: bool = True,
    abort: bool = False,
    case: int = 0,
    work: Callable[[list[str]], list[str]] = list,
) -> None:
    """One application: reads to the end, writes to each target, ends; or stops at its crash.

    The crash comes behind the "results" or behind the "offset".  `case` is the partition, of the
    source and of each target.
    """
    producer = bank.producer_of(cluster, name if transactional else "")
    consumer = bank.consumer_of(cluster, name)
    bank.assign(consumer, source, max(0, committed(consumer, source, case)), case)
    taken = _rest(consumer)
    position = list(consumer.position(consumer.assignment()))
    if not taken:
        return
    if transactional:
        producer.begin_transaction()
    for part in ("offset", "results") if offset_first else ("results", "offset"):
        if part == "results":
            for target in targets:
                for value in work(taken):
                    bank.booked(producer, target, value, case)
        elif transactional:
            producer.send_offsets_to_transaction(
                position, consumer.consumer_group_metadata(), PATIENCE_S
            )
        else:
            consumer.commit(offsets=position, asynchronous=False)
        if part == crash:
            return
    if transactional:
        (producer.abort_transaction if abort else producer.commit_transaction)(PATIENCE_S)


def committed(consumer: Consumer, source: str, case: int = 0) -> int:
    """The group's offset; negative if there is none."""
    (place,) = consumer.committed([TopicPartition(source, case)], PATIENCE_S)
    return int(place.offset)


def _rest(consumer: Consumer) -> list[str]:
    found: list[str] = []
    while (message := consumer.poll(PATIENCE_S)) is not None:
        error = message.error()
        if error is None:
            found.append((message.value() or b"").decode())
        elif error.code() == KafkaError._PARTITION_EOF:
            return found
    raise WaitTimeout(f"The end was not reached within {PATIENCE_S:g} s.")


def opened(cluster: Cluster, transfers: Sequence[str] = ("10",), cases: int = 1) -> None:
    """The bank's topics without what was in them, and a third one; the transfers for each case."""
    for topic in (TRANSFERS, ACCOUNTS, RECEIPTS):
        cluster.create_topic(topic, assignment=dict.fromkeys(range(cases), ALL))
    producer = bank.producer_of(cluster)
    for case in range(cases):
        for value in transfers:
            bank.booked(producer, TRANSFERS, value, case)


def stable(cluster: Cluster, topic: str = ACCOUNTS, case: int = 0) -> list[str]:
    """What read_committed gets when nothing is open any more."""
    bank.wait_until_stable(cluster, topic, case)
    return bank.values(cluster, case, "read_committed", topic)


# -- scenes


def torn(cluster: Cluster) -> Seen:
    """A crash between the results and the group's offset, in either order."""
    seen = {}
    opened(cluster, cases=4)
    for case, (transactional, offset_first) in enumerate(product((False, True), repeat=2)):
        first, second = ("offset", "result") if offset_first else ("result", "offset")
        for crash in ("offset" if offset_first else "results", ""):
            step(
                cluster, f"torn-{case}", [ACCOUNTS], crash=crash, case=case,
                offset_first=offset_first, transactional=transactional,
            )  # fmt: skip
        where = "in one transaction" if transactional else "without a transaction"
        seen[f"{first}, crash, {second}, {where}"] = len(stable(cluster, case=case))
    return seen


def sums(cluster: Cluster) -> Seen:
    """A running total that goes on from its last value in the log; a crash before the offset."""
    seen = {}
    opened(cluster, ("10", "20", "30"), cases=2)
    for case, transactional in enumerate((False, True)):

        def total(taken: list[str], case: int = case) -> list[str]:
            before = bank.values(cluster, case)
            return [str(int(before[-1] if before else 0) + sum(map(int, taken)))]

        for crash in ("results", ""):
            step(
                cluster, f"sums-{case}", [ACCOUNTS], crash=crash, case=case,
                transactional=transactional, work=total,
            )  # fmt: skip
        label = "in one transaction" if transactional else "without a transaction"
        seen[f"10 + 20 + 30, {label}"] = stable(cluster, case=case)[-1]
    return seen


def two_topics(cluster: Cluster) -> Seen:
    """One transaction over two topics and the group's offset: cut short, aborted, committed."""
    opened(cluster)
    step(cluster, "two", [ACCOUNTS, RECEIPTS], crash="results")  # and not the offset
    bank.producer_of(cluster, "two")  # its successor: init_transactions aborts what is open
    after_two = [len(stable(cluster, topic)) for topic in (ACCOUNTS, RECEIPTS)]
    written = [len(bank.values(cluster, 0, "read_uncommitted", t)) for t in (ACCOUNTS, RECEIPTS)]
    seen: dict[str, Any] = {
        "aborted after two of three writes, read_committed": after_two,
        "aborted after two of three writes, read_uncommitted": written,
    }
    for abort in (True, False):
        step(cluster, "two", [ACCOUNTS, RECEIPTS], abort=abort)
        label = "aborted" if abort else "committed"
        for topic in (ACCOUNTS, RECEIPTS):
            seen[f"{label}, {topic}"] = len(stable(cluster, topic))
        offset = committed(bank.consumer_of(cluster, "two"), TRANSFERS)
        seen[f"{label}, the group's offset"] = max(0, offset)
    return seen


def chain(cluster: Cluster) -> Seen:
    """Two applications in a row, each of which crashes behind each of its steps."""
    opened(cluster, ("10", "20", "30"))
    for name, source, target in (("one", TRANSFERS, ACCOUNTS), ("two", ACCOUNTS, RECEIPTS)):
        for crash in ("results", "offset", ""):
            step(cluster, f"stage-{name}", [target], source, crash=crash)
        stable(cluster, target)
    return {
        "transfers": bank.values(cluster, 0, "read_committed", TRANSFERS),
        "the last topic, read_committed": stable(cluster, RECEIPTS),
        "the last topic, read_uncommitted": len(
            bank.values(cluster, 0, "read_uncommitted", RECEIPTS)
        ),
    }


def recipe(cluster: Cluster) -> Seen:
    """Each part of the recipe left out: how often one transfer is booked, and one mail sent."""
    seen = {}
    opened(cluster, cases=2)
    for case, transactional in enumerate((False, True)):
        name = f"recipe-{case}"
        for crash in ("results", ""):
            step(cluster, name, [ACCOUNTS], crash=crash, case=case, transactional=transactional)
        booked = stable(cluster, case=case)
        mailed = booked[:1]  # here the application that mails dies, and reads again
        mailed += bank.values(cluster, case)
        for keyed in (False, True):
            label = " and ".join(
                [*["a transaction"] * transactional, *["a key for each mail"] * keyed]
            )
            mails = len(set(mailed)) if keyed else len(mailed)
            seen[label or "neither"] = f"{len(booked)} booked, {mails} mailed"
    return seen


def left_out(cluster: Cluster) -> Seen:
    """Under a transaction, a setting of the consumer is left out in turn; then idempotence is."""
    seen = {}
    opened(cluster, cases=6)
    for case, (label, crash) in enumerate(
        (("as advised", "offset"), ("group.id that is new at each start", ""))
    ):
        for number, each in enumerate((crash, "")):
            name = "consumers" if crash else f"consumers-{number}"
            step(cluster, name, [ACCOUNTS], crash=each, case=case)
        seen[label] = len(stable(cluster, case=case))
    _commits_by_itself(cluster, case=2)
    step(cluster, "by-itself", [ACCOUNTS], case=2)
    seen["enable.auto.commit=true"] = len(stable(cluster, case=2))
    step(cluster, "reader", [ACCOUNTS], abort=True, case=3)
    step(cluster, "reader", [ACCOUNTS], case=3)
    stable(cluster, case=3)
    seen["isolation.level=read_uncommitted downstream"] = len(
        bank.values(cluster, 3, "read_uncommitted")
    )
    for case, idempotent in ((4, True), (5, False)):
        _sends_twice(cluster, case, idempotent)
        label = "in a transaction" if idempotent else "enable.idempotence=false"
        seen[f"a lost answer, a retry, {label}"] = len(stable(cluster, case=case))
    return seen


def _sends_twice(cluster: Cluster, case: int, idempotent: bool) -> None:
    """A booking whose answer is lost, so the client sends it again; both attempts are taken."""
    if idempotent:
        with ByHand(cluster, "retries") as producer:
            producer.start()
            answers = [producer.write(ACCOUNTS, "10", case)]
            producer.sequences.clear()  # a retry has the sequence number of the first attempt
            answers += [producer.write(ACCOUNTS, "10", case), producer.end(True)]
    else:
        named, batch = clients.topic_id(cluster, ACCOUNTS), requests.one_batch(b"10")
        request = requests.producing(named, acks=-1, records=batch, partition=case)
        leader = cluster.leader(ACCOUNTS, case)
        both = [clients.ask(cluster, leader, request) for _ in range(2)]
        answers = [requests.refusal(requests.first_partition(each)) or "NONE" for each in both]
    if set(answers) != {"NONE"}:
        raise ClusterError(f"The leader of {ACCOUNTS}-{case} answers {', '.join(answers)}.")


def _commits_by_itself(cluster: Cluster, case: int) -> None:
    """A teller whose consumer commits in the background; it dies within its transaction."""
    producer = bank.producer_of(cluster, "by-itself")
    own: dict[str, Any] = {"enable.auto.commit": True, "auto.commit.interval.ms": 100}
    consumer = bank.consumer_of(cluster, "by-itself", **own)
    bank.assign(consumer, TRANSFERS, 0, case)
    consumer.poll(PATIENCE_S)
    producer.begin_transaction()
    bank.booked(producer, ACCOUNTS, "10", case)
    cluster.wait_until(
        lambda _: consumer.poll(0) is None and committed(consumer, TRANSFERS, case) == 1,
        PATIENCE_S,
        "an automatic commit",
    )


def table(cluster: Cluster) -> Seen:
    """A topic that is written in transactions, and a table that is filled from it, with crashes."""
    opened(cluster, ("anna=1", "bert=1", "anna=2"))
    step(cluster, "writer", [ACCOUNTS], abort=True)
    step(cluster, "writer", [ACCOUNTS])
    entries = stable(cluster)
    rows = sqlite3.connect(":memory:")
    rows.execute("CREATE TABLE keyed (name TEXT PRIMARY KEY, value TEXT)")
    rows.execute("CREATE TABLE appended (name TEXT, value TEXT)")
    sink = bank.consumer_of(cluster, "sink")
    for crash_after in (1, 2, 3, None):
        bank.assign(sink, ACCOUNTS, max(0, committed(sink, ACCOUNTS)))
        taken = _rest(sink)
        for value in taken[:crash_after]:
            pair = value.split("=")
            rows.execute("INSERT INTO appended VALUES (?, ?)", pair)
            rows.execute(
                "INSERT INTO keyed VALUES (?, ?) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                pair,
            )
        if crash_after is None:
            sink.commit(offsets=sink.position(sink.assignment()), asynchronous=False)
    keyed = rows.execute("SELECT name || '=' || value FROM keyed ORDER BY name").fetchall()
    (appended,) = rows.execute("SELECT count(*) FROM appended").fetchone()
    return {
        "the topic, read_committed": entries,
        "a table with a key": [each for (each,) in keyed],
        "rows of a table without one": appended,
        "the group's offset": committed(sink, ACCOUNTS) > 0,
    }
