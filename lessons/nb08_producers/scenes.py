"""Scenarios of notebook 08 for `lab.both`: each takes a cluster and returns what it saw.

Their producer is the engine's own (engine/client), on the sockets of either side: it can lose
an answer on purpose and show every batch's numbers.  Rates and refusals come from
confluent-kafka, as any application sees them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer as ConfluentProducer

from engine.client.producer import Producer
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.probes import requests
from kit.probes.clients import ask, in_sync, name, produce_at, topic_id, values
from kit.tables import Table
from lessons.nb08_producers import fault_tape
from lessons.nb08_producers.fault_stages import Live, driver

ALL = (101, 102, 103)
PATIENCE_S = 30.0
ATTEMPTS = 3
COUNT = 40
SLOW_MS = 5
Seen = Mapping[str, Any]


# -- numbers on the wire


def numbers_on_the_wire(cluster: Cluster) -> Seen:
    """The numbers that a producer writes into its batches, and the leader's answers to them."""
    cluster.create_topic("orders", assignment={0: ALL, 1: ALL})
    off = _told(cluster, {"enable.idempotence": False}, "A")
    on = _told(cluster, {}, "B", "C")
    again = _told(cluster, {}, "C")
    other = _told(cluster, {}, "D", partition=1)
    return {
        "idempotence off": {"asks for an id": off["asked"], "numbers": off["numbers"]},
        "idempotence on": {
            "asks for an id": on["asked"],
            "numbers": on["numbers"],
            "partition 1 begins at": other["numbers"],
        },
        "the same value from a new producer": {
            "another id": again["id"] != on["id"],
            "numbers": again["numbers"],
            "partition 0 then": " ".join(values(cluster, "orders")),
        },
        "the leader's rules": _rules(cluster),
    }


def _told(
    cluster: Cluster, settings: Mapping[str, Any], *sent: str, partition: int = 0
) -> dict[str, Any]:
    """One producer's run: whether it asked for an id, the id, and the numbers that it wrote."""
    producer = Producer("numbers", ALL, {"linger.ms": 0, "batch.size": 0, **settings})
    link = driver(cluster, producer)
    try:
        for value in sent:
            link.send("orders", value.encode(), partition=partition)
        link.run(lambda: producer.idle, PATIENCE_S)
    finally:
        link.close()
    wrote = [dict(line.fields) for _, line in link.trace if line.kind == "sent"]
    return {
        "asked": any(line.kind == "producer_id" for _, line in link.trace),
        "id": wrote[0]["producer_id"],
        "numbers": [f"epoch {each['epoch']}, sequence {each['sequence']}" for each in wrote],
    }


def _rules(cluster: Cluster) -> dict[str, str]:
    """Batches with chosen numbers: a repeat, an old repeat, a gap, an older epoch."""
    cluster.create_topic("numbered", assignment={0: ALL})
    init = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    who = ask(cluster, 101, init).producer_id

    def send(sequence: int, epoch: int = 0, pid: int = who) -> str:
        return numbered(cluster, "numbered", pid, epoch, sequence)

    stored = [send(n) for n in range(7)]
    return {
        "sequence 0 … 6": f"{stored[0]} … {stored[-1]}",
        "6 again": send(6),
        "2 again, the fifth last": send(2),
        "1 again, the sixth last": send(1),
        "9, where 7 is next": send(9),
        "0 in epoch 1": send(0, epoch=1),
        "7 in epoch 0": send(7),
        "5 of a producer that nobody knows": send(5, pid=who + 900),
    }


def numbered(cluster: Cluster, topic: str, who: int, epoch: int, sequence: int) -> str:
    """One batch with these numbers to 101: the offset or the error that it answers."""
    records = requests.one_batch(
        b"x", producer_id=who, producer_epoch=epoch, base_sequence=sequence
    )
    body = requests.producing(topic_id(cluster, topic), acks=-1, records=records, timeout_ms=5_000)
    told = requests.first_partition(ask(cluster, 101, body))
    return requests.refusal(told) or f"offset {told.base_offset}"


# -- lost answers, and time that runs out


def lost_on_the_way(cluster: Cluster) -> Seen:
    """An answer is lost; a connection ends with two requests in flight; all requests are lost."""
    seen: dict[str, Any] = {}
    for label, settings in (("off", {"enable.idempotence": False}), ("on", {})):
        cluster.create_topic("orders", assignment={0: ALL})
        producer = Producer("shop", ALL, {**fault_tape.QUICK, **settings})
        link = driver(cluster, producer)
        try:
            _send(link, producer, "A")
            link.lose_answers = 1
            _send(link, producer, "B")
            link.lose_requests = 3
            _send(link, producer, "C", "D", "E")
        finally:
            link.close()
        seen[f"idempotence {label}"] = {
            "told": ", ".join(f"{n} {kind}" for kind, n in producer.verdicts.count().items()),
            "the log": " ".join(values(cluster, "orders")),
        }
    seen["nothing gets through"] = _no_way(cluster)
    seen["an error that does not pass"] = _too_large(cluster)
    return seen


def _send(link: Any, producer: Producer, *sent: str) -> None:
    for value in sent:
        link.send("orders", value.encode(), partition=0)
    link.run(lambda: producer.idle, PATIENCE_S)


def _no_way(cluster: Cluster) -> dict[str, Any]:
    """Every request vanishes; delivery.timeout.ms ends it, and retries do not."""
    settings = {"request.timeout.ms": 400, "delivery.timeout.ms": 1_500, "linger.ms": 0}
    producer = Producer("nobody", ALL, settings)
    link = driver(cluster, producer)
    try:
        _send(link, producer, "first")
        link.lose_requests = 1_000
        _send(link, producer, "Z")
    finally:
        link.close()
    sent = producer.sends[-1]
    rests = [
        dict(line.fields)["backoff_us"] / 1000 for _, line in link.trace if line.kind == "retry"
    ]
    return {
        "verdict": sent.verdict,
        "ended by": sent.error,
        "after": measured((sent.done_us - sent.made_us) / 1000, "ms"),
        "tries": measured(len(rests) + 1, "tries"),
        "first rest": measured(rests[0], "ms"),
    }


def _too_large(cluster: Cluster) -> dict[str, Any]:
    cluster.create_topic("small", assignment={0: ALL}, config={"max.message.bytes": 500})
    producer = Producer("large", ALL, {"linger.ms": 0})
    link = driver(cluster, producer)
    try:
        link.send("small", b"x" * 1_000, partition=0)
        link.run(lambda: producer.idle, PATIENCE_S)
    finally:
        link.close()
    tries = sum(line.kind == "sent" for _, line in link.trace)
    return {
        "told": f"{producer.sends[0].verdict}: {producer.sends[0].error}",
        "tries": tries,
        "produce to a follower": produce_at(cluster, 102, "small", "y"),
    }


# -- the fault tape


def one_fault_tape(cluster: Cluster, judged: dict[str, Any] | None = None) -> Seen:
    """Fast, default and safe settings under the same faults, judged by the history checker."""
    for attempt in range(ATTEMPTS):
        stage = Live(cluster)
        try:
            found = fault_tape.play(stage)
            break
        except fault_tape.Disturbed:
            if attempt + 1 == ATTEMPTS:
                raise
            cluster.heal()
            cluster.wait_until(in_sync("safe", *ALL), PATIENCE_S, "the ISR to be whole again")
        finally:
            stage.close()
    if judged is not None:
        judged[cluster.name] = found
    return fault_tape.observed(found)


# -- rates, and which sender hears of errors


RECIPES: Mapping[str, Mapping[str, Any]] = {
    "unsafe: acks=1, 5 in flight": {"acks": "1", "max.in.flight": 5},
    "old safe: acks=all, 1 in flight": {"acks": "all", "max.in.flight": 1},
    "safe: idempotence, 5 in flight": {"enable.idempotence": True},
}


def rates(cluster: Cluster) -> Seen:
    """One record per request with three recipes; then waits for each answer or for all.

    If the cluster can slow links, the followers are some milliseconds away.  On one machine
    the noise of other work would hide the round trips between brokers.
    """
    cluster.create_topic("rates", assignment={0: ALL}, config={"min.insync.replicas": 2})
    if cluster.offers("slow"):
        for follower in ALL[1:]:
            cluster.slow(ALL[0], follower, SLOW_MS)
    try:
        return _rates(cluster)
    finally:
        cluster.heal()


def _rates(cluster: Cluster) -> Seen:
    seen: dict[str, Any] = {}
    for label, settings in RECIPES.items():
        took, told, p99 = _timed(cluster, {**settings, "batch.num.messages": 1}, COUNT, False)
        seen[label] = {
            "errors": told,
            "rate": measured(COUNT / took, "records/s"),
            "99 % are answered within": measured(p99 * 1000, "ms"),
        }
    for label, waits in (("waits for each answer", True), ("sends all, then flushes", False)):
        took, told, _ = _timed(cluster, {"enable.idempotence": True}, COUNT // 3, waits)
        seen[label] = {"errors": told, "rate": measured(COUNT / 3 / took, "records/s")}
    seen["acks=0"] = {"offset that is reported": _offset_with_acks_0(cluster)}
    return seen


def _timed(
    cluster: Cluster, settings: Mapping[str, Any], count: int, waits: bool
) -> tuple[float, int, float]:
    """Seconds in all, errors, and the 99th percentile of the time to an answer."""
    base = {"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, "log_level": 0}
    producer = ConfluentProducer({**base, **settings})
    answered: list[float] = []
    errors: list[str] = []

    def note(began: float) -> Any:
        def told(error: Any, _: Any) -> None:
            answered.append(time.monotonic() - began)
            errors.extend([name(error)] if error else [])

        return told

    producer.produce("rates", "warm-up", partition=0)
    producer.flush(PATIENCE_S)
    began = time.monotonic()
    for n in range(count):
        producer.produce("rates", f"{n:0100}", partition=0, on_delivery=note(time.monotonic()))
        producer.poll(0)
        if waits:
            producer.flush(PATIENCE_S)
    left = producer.flush(PATIENCE_S)
    took = time.monotonic() - began
    return took, len(errors) + left, sorted(answered)[int(len(answered) * 0.99) - 1]


def _offset_with_acks_0(cluster: Cluster) -> int:
    producer = Producer("forget", ALL, {"acks": "0", "linger.ms": 0})
    link = driver(cluster, producer)
    try:
        link.send("rates", b"gone", partition=0)
        link.run(lambda: producer.idle, PATIENCE_S)
    finally:
        link.close()
    return producer.sends[0].offset


# -- errors, by name


PASSING = ("NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION",
           "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "REQUEST_TIMED_OUT",
           "NETWORK_EXCEPTION", "KAFKA_STORAGE_ERROR")  # fmt: skip
SEQUENCE = ("OUT_OF_ORDER_SEQUENCE_NUMBER", "DUPLICATE_SEQUENCE_NUMBER")
SAID_OTHERWISE = {
    "REQUEST_TIMED_OUT": ["yes", "no; yes if no answer came", "yes"],
    "OUT_OF_ORDER_SEQUENCE_NUMBER": ["with idempotence", "no", "not this try"],
    "DUPLICATE_SEQUENCE_NUMBER": ["no: it is success", "no", "it is stored"],
}
"""Where a flag of the protocol is not all there is to say."""
FINAL = ("MESSAGE_TOO_LARGE", "INVALID_RECORD", "TOPIC_AUTHORIZATION_FAILED",
         "INVALID_REQUIRED_ACKS", "INVALID_PRODUCER_EPOCH")  # fmt: skip


def errors_by_name() -> Table:
    """Which errors are retriable, and what one attempt with each does to a record's verdict."""
    from engine.client.completion import AFTER_APPEND, STALE_METADATA

    rows = []
    for each in (*PASSING, *SEQUENCE, *FINAL):
        error = Errors[each]
        yes_no = [error.retriable, error in STALE_METADATA, error in AFTER_APPEND]
        says = ["yes" if each else "no" for each in yes_no]
        rows.append([each, str(int(error)), *SAID_OTHERWISE.get(each, says)])
    columns = ("error", "code", "sent again", "looks up the leader", "may be stored")
    return Table("What a producer makes of an error", columns, rows)
