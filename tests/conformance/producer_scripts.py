"""The scripts, and one way to run each of the three clients on them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka

from engine.client.producer import Producer
from engine.client.producer_batch import Sent
from engine.client.sockets import SocketDriver
from engine.wire.errors import Errors
from kit.probes.scripted_broker import BROKER, TOPIC, ScriptedBroker

PATIENCE_S = 60.0
HOLD_S = 3.0
"""How long a broker waits for the rest of a step: a busy client is not a finished one."""
SETTINGS: dict[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "batch.size": 1,
    "linger.ms": 0,
    "request.timeout.ms": 5000,
    "delivery.timeout.ms": 15000,
    "retry.backoff.ms": 40,
    "retry.backoff.max.ms": 80,
    "reconnect.backoff.ms": 40,
    "reconnect.backoff.max.ms": 80,
}


@dataclass(frozen=True)
class Script:
    """`values` are sent at once, `1:A` to partition 1; `|` waits for the verdicts so far; `steps`
    are a ScriptedBroker's."""

    values: str
    steps: tuple[tuple[str, ...], ...]
    settings: dict[str, Any] = field(default_factory=dict)


PLAIN = {"enable.idempotence": False}
SCRIPTS: dict[str, Script] = {
    "all is well": Script("A B C", ()),
    "the leader has moved": Script("A", (("NOT_LEADER_OR_FOLLOWER",),)),
    "too few replicas, twice": Script("A", (("NOT_ENOUGH_REPLICAS",),) * 2),
    "too few replicas after the append": Script(
        "A", (("NOT_ENOUGH_REPLICAS_AFTER_APPEND",), ("again",))
    ),
    "the answer is lost": Script("A", (("drop",), ("again",))),
    "the answer is lost, without idempotence": Script("A", (("drop",),), PLAIN),
    "the first of three fails": Script(
        "A B C",
        (("NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER"),),
    ),
    "the first of three fails twice": Script(
        "A B C",
        (
            ("NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
            ("NOT_ENOUGH_REPLICAS", "again", "again"),  # only A comes, until it is through
        ),
    ),
    "the first of three fails, without idempotence": Script(
        "A B C", (("NOT_ENOUGH_REPLICAS", "ok", "ok"),), PLAIN
    ),
    "the first of three fails, one in flight": Script(
        "A B C", (("NOT_ENOUGH_REPLICAS",),), {**PLAIN, "max.in.flight.requests.per.connection": 1}
    ),
    "three under way when the connection ends": Script("A B C", (("drop", "ok", "ok"), ("again",))),
    "three under way when the connection ends, without idempotence": Script(
        "A B C", (("hang-up", "ok", "ok"),), PLAIN
    ),
    "a gap after two": Script("A B C", (("ok", "ok", "OUT_OF_ORDER_SEQUENCE_NUMBER"),)),
    "a repeat too old to remember": Script("A", (("DUPLICATE_SEQUENCE_NUMBER",),)),
    "the producer is unknown": Script("A B", (("UNKNOWN_PRODUCER_ID", "UNKNOWN_PRODUCER_ID"),)),
    "too large": Script("A", (("MESSAGE_TOO_LARGE",),)),
    "too large, and two behind it": Script(
        "A B C",
        (("MESSAGE_TOO_LARGE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER"),),
    ),
    "not allowed": Script("A", (("TOPIC_AUTHORIZATION_FAILED",),)),
    "an older epoch": Script("A B", (("INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH"),)),
    "no retries": Script("A", (("NOT_ENOUGH_REPLICAS",),), {**PLAIN, "retries": 0}),
    "no answer in time": Script("A", (("silence",), ("again",)), {"request.timeout.ms": 2000}),
    "given up while under way, and another": Script(
        "A | B",
        (("silence",), ("silence",)),
        {"request.timeout.ms": 3000, "delivery.timeout.ms": 4500},
    ),
    "corrupt on the way": Script("A", (("CORRUPT_MESSAGE",),)),
    "one that lingers goes along": Script("1:A B C", (), {"linger.ms": 1500, "batch.size": 200}),
}


@dataclass(frozen=True)
class Outcome:
    """What a script showed: batches as they arrived, the log, and each record's verdict."""

    seen: tuple[str, ...]
    log: tuple[str, ...]
    verdicts: tuple[str, ...]


def names(script: Script) -> list[str]:
    return [addressed(value)[1] for value in script.values.split() if value != "|"]


def addressed(value: str) -> tuple[int, str]:
    """Partition and value of what is written as `A` or `1:A`."""
    partition, _, name = value.rpartition(":")
    return int(partition or 0), name


def padded(value: str) -> str:
    """Long enough that a second record has no room in the smallest batch of the Java client."""
    return value.ljust(64, ".")


def outcome(broker: ScriptedBroker, verdicts: list[str]) -> Outcome:
    return Outcome(tuple(broker.seen), tuple(broker.log), tuple(verdicts))


def broker_for(script: Script) -> ScriptedBroker:
    return ScriptedBroker([list(step) for step in script.steps], partitions=2, hold_s=HOLD_S)


def run_ours(script: Script) -> Outcome:
    broker = broker_for(script)
    producer = Producer("script", (BROKER,), {**SETTINGS, **script.settings})
    driver = SocketDriver(producer, {BROKER: ("127.0.0.1", broker.port)})
    try:
        for value in script.values.split():
            if value == "|":
                driver.run(lambda: producer.idle, PATIENCE_S)
            else:
                partition, name = addressed(value)
                driver.send(TOPIC, padded(name).encode(), partition=partition)
        driver.run(lambda: producer.idle, PATIENCE_S)
        verdicts = [f"{each.text.rstrip('.')} {_verdict(each)}" for each in producer.sends]
        return outcome(broker, verdicts)
    finally:
        driver.close()
        broker.close()


def _verdict(sent: Sent) -> str:
    if sent.verdict == "acknowledged":
        return f"acknowledged {sent.offset}"
    return f"{'TIMED_OUT' if '.' in sent.error else sent.error or 'pending'} -1"


NOT_LIBRDKAFKAS = ("batch.size", "delivery.timeout.ms", "request.timeout.ms")


def run_librdkafka(script: Script) -> Outcome:
    broker = broker_for(script)
    given = {**SETTINGS, **script.settings}
    settings = {name: value for name, value in given.items() if name not in NOT_LIBRDKAFKAS}
    settings |= {
        "bootstrap.servers": f"127.0.0.1:{broker.port}",
        "batch.num.messages": 1,
        "message.timeout.ms": given["delivery.timeout.ms"],
        "request.timeout.ms": given["request.timeout.ms"],
        "socket.timeout.ms": given["request.timeout.ms"],
        "log_level": 0,
    }
    settings.setdefault("max.in.flight.requests.per.connection", 5)
    producer = confluent_kafka.Producer(settings)
    reported: dict[str, str] = {}

    def note(error: Any, message: Any) -> None:
        value = message.value().decode().rstrip(".")
        offset = -1 if message.offset() is None else message.offset()
        reported[value] = f"acknowledged {offset}" if error is None else f"{_name(error)} -1"

    def wait() -> None:
        deadline = time.monotonic() + PATIENCE_S
        while len(producer) and time.monotonic() < deadline:
            try:
                producer.poll(0.05)
            except confluent_kafka.KafkaException as fatal:
                reported["fatal"] = fatal.args[0].name()
                producer.purge()

    try:
        for value in script.values.split():
            if value == "|":
                wait()
            else:
                partition, name = addressed(value)
                producer.produce(TOPIC, padded(name), partition=partition, on_delivery=note)
        wait()
        verdicts = [f"{value} {reported.get(value, 'pending -1')}" for value in names(script)]
        return outcome(
            broker, verdicts + [f"fatal {reported[name]}" for name in reported if name == "fatal"]
        )
    finally:
        producer.purge()
        producer.flush(0.1)
        broker.close()


def _name(error: Any) -> str:
    if error.code() > 0:
        return Errors(error.code()).name
    return "TIMED_OUT" if error.name() == "_MSG_TIMED_OUT" else str(error.name())


def java_line(script: Script, port: int) -> str:
    settings = {"bootstrap.servers": f"127.0.0.1:{port}", **SETTINGS, **script.settings}
    pairs = " ".join(f"{name}={str(value).lower()}" for name, value in settings.items())
    return f"{' '.join(v if v == '|' else padded(v) for v in script.values.split())}\t{pairs}"
