"""You are the broker: a producer meets the answers that you write down.

    meets("A B C", ["NOT_ENOUGH_REPLICAS", "ok", "ok"])
    meets("A", ["drop"], ["again"], client="librdkafka")

A step is a list of answers, sent when as many requests are in flight.  The words are those of
kit/probes/scripted_broker.py; the broker does not check sequence numbers.  The table shows
each batch as it arrived, and the producer's report at the end.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import confluent_kafka

from engine.client.producer import Producer
from engine.client.producer_batch import Sent
from engine.client.sockets import SocketDriver
from engine.wire.errors import Errors
from kit.probes.scripted_broker import BROKER, TOPIC, WORDS, ScriptedBroker
from kit.tables import Table

PATIENCE_S = 15.0
SETTINGS = {"linger.ms": 0, "retry.backoff.ms": 40, "retry.backoff.max.ms": 80}
ANSWER_MS = 3_000
"""How long an attempt waits for its answer, so that silence ends soon."""


def meets(values: str, *steps: list[str], client: str = "engine", **settings: Any) -> Table:
    """Sends the values at once; settings with underscores for dots."""
    if client not in ("engine", "librdkafka"):
        raise ValueError(f'There is no client {client!r} here; take "engine" or "librdkafka".')
    for word in (word for step in steps for word in step):
        if word not in WORDS and (word not in Errors.__members__ or word == "NONE"):
            raise ValueError(
                f"{word!r} is no answer; take {', '.join(WORDS)} or the name of an error."
            )
    broker = ScriptedBroker([list(step) for step in steps])
    given = {**SETTINGS, **{key.replace("_", "."): value for key, value in settings.items()}}
    try:
        if client == "engine":
            sends = _engines(broker, values.split(), given)
            heard = ", ".join(f"{each.text} {each.error or each.verdict}" for each in sends)
        else:
            heard = _librdkafkas(broker, values.split(), given)
    finally:
        broker.close()
    rows = [list(each.rsplit(" -> ", 1)) for each in broker.seen]
    heading = f"{client}: {values}"
    closing = f"heard: {heard}; the log: {' '.join(broker.log) or 'empty'}"
    return Table(heading, ("arrives", "you answer"), rows, closing)


def meets_once(error: str) -> tuple[int, str]:
    """One record whose first attempt gets this answer: its requests, and the verdict."""
    broker = ScriptedBroker([[error]])
    try:
        (record,) = _engines(broker, ["A"], SETTINGS)
        return len(broker.seen), record.verdict
    finally:
        broker.close()


def _engines(broker: ScriptedBroker, values: list[str], settings: Mapping[str, Any]) -> list[Sent]:
    own = {"request.timeout.ms": ANSWER_MS, "batch.size": 0}
    producer = Producer("tape", (BROKER,), {**own, **settings})
    driver = SocketDriver(producer, {BROKER: ("127.0.0.1", broker.port)})
    try:
        for value in values:
            driver.send(TOPIC, value.encode(), partition=0)
        driver.run(lambda: producer.idle, PATIENCE_S)
    finally:
        driver.close()
    return producer.sends


def _librdkafkas(broker: ScriptedBroker, values: list[str], settings: dict[str, Any]) -> str:
    own = {"enable.idempotence": True, "batch.num.messages": 1, "log_level": 0,
           "socket.timeout.ms": ANSWER_MS}  # fmt: skip
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": f"127.0.0.1:{broker.port}", **own, **settings}
    )
    heard: dict[str, str] = {}

    def note(error: Any, message: Any) -> None:
        code = error.code() if error else 0
        name = Errors(code).name if code > 0 else str(error.name()) if error else "acknowledged"
        heard[message.value().decode()] = name

    for value in values:
        producer.produce(TOPIC, value, partition=0, on_delivery=note)
    deadline = time.monotonic() + PATIENCE_S
    while len(producer) and time.monotonic() < deadline:
        try:
            producer.poll(0.05)
        except confluent_kafka.KafkaException:  # a fatal error; the reports say which
            producer.purge()
    return ", ".join(f"{value} {heard.get(value, 'no answer')}" for value in values)
