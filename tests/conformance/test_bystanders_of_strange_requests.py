"""Strange requests harm their own connection; the clients beside them notice nothing.

The bystanders are two long polls and a producer on one topic, which strange requests write to as
well, and a pair of producer and consumer of each of two client libraries.  That the tests would see
harm is shown, too: without a guard of the server, the same requests harm the raw clients.

    KAFKALAB_REQUESTS=200000 pytest tests/conformance/test_bystanders_of_strange_requests.py
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import confluent_kafka
import kafka
import pytest

from engine.server.listener import HOST
from engine.wire import messages as m
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, first_partition, one_batch, producing
from tests.conformance.strange_requests import (
    HANDLING,
    RAISES,
    RAISES_LATE,
    TOPIC,
    UNWRITABLE,
    WRITING,
    send_strange_requests,
    served,
)

LETTERS = "letters"
PATIENCE_S = 15
POLL_MS = 1_000
PAUSE_S = 0.005
SHORT, LONG = 8_000, int(os.environ.get("KAFKALAB_REQUESTS", "40000"))
ROUNDS = 8


@dataclass
class Bystanders:
    """Clients at work, each in a thread, until `end`; how many answers each one got."""

    ports: dict[int, int]
    patience_s: float = PATIENCE_S
    answers: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def work(self, name: str, life: Callable[[str], None]) -> threading.Thread:
        def live() -> None:
            try:
                life(name)
            except Exception as error:
                self.faults.append(f"{name}: {type(error).__name__}: {error}")

        self.answers[name] = 0
        thread = threading.Thread(target=live, name=name, daemon=True)
        thread.start()
        return thread

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.ports.values())

    def raw(self, name: str) -> RawClient:
        client = RawClient.at((HOST, self.ports[101]), name)
        client.socket.settimeout(self.patience_s)
        return client

    def poll(self, name: str) -> None:
        offset = 0
        with self.raw(name) as client:
            while not self.over.is_set():
                answer = client.ask(fetching(TOPIC, offset, max_wait_ms=POLL_MS))
                part = first_partition(answer)
                assert part.error_code == 0, f"error {part.error_code}"
                offset = max(offset, part.high_watermark)
                self.answers[name] += 1

    def produce(self, name: str) -> None:
        with self.raw(name) as client:
            while not self.over.is_set():
                part = first_partition(
                    client.ask(producing(TOPIC, acks=-1, records=one_batch(b"mine")))
                )
                assert part.error_code == 0, f"error {part.error_code}"
                self.answers[name] += 1
                time.sleep(PAUSE_S)

    def confluent(self, name: str) -> None:
        def failed(error: confluent_kafka.KafkaError) -> None:
            self.faults.append(f"{name}: {error}")

        shared = {"bootstrap.servers": self.bootstrap, "error_cb": failed}
        producer = confluent_kafka.Producer({**shared, "linger.ms": 0})
        consumer = confluent_kafka.Consumer(
            {**shared, "group.id": "readers", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([LETTERS])
        try:
            while not self.over.is_set():
                producer.produce(LETTERS, b"letter")
                assert producer.flush(PATIENCE_S) == 0, "a record was not acknowledged"
                letter = consumer.poll(PATIENCE_S)
                assert letter is not None, "a record did not come"
                assert letter.error() is None, letter.error()
                self.answers[name] += 1
        finally:
            consumer.close()

    def kafka_python(self, name: str) -> None:
        producer = kafka.KafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=0)
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=PATIENCE_S * 1_000,
        )
        consumer.assign([kafka.TopicPartition(LETTERS, 0)])
        try:
            while not self.over.is_set():
                producer.send(LETTERS, b"letter", partition=0).get(PATIENCE_S)
                assert next(consumer, None) is not None, "a record did not come"
                self.answers[name] += 1
        finally:
            consumer.close()
            producer.close()


@contextlib.contextmanager
def at_work(those: Bystanders, *libraries: Callable[[str], None]) -> Iterator[Bystanders]:
    lives = {"poll 1": those.poll, "poll 2": those.poll, "producer": those.produce}
    lives |= {life.__name__: life for life in libraries}
    threads = [those.work(name, life) for name, life in lives.items()]
    try:
        yield those
    finally:
        those.over.set()
        for each in threads:
            each.join(2 * those.patience_s)


def create_topics(ports: dict[int, int]) -> None:
    topic, on = (
        m.CreateTopicsRequest.CreatableTopic,
        m.CreateTopicsRequest.CreatableReplicaAssignment,
    )
    asked = [topic(TOPIC, -1, -1, assignments=[on(0, [101, 102])]),
             topic(LETTERS, -1, -1, assignments=[on(0, [102, 103])])]  # fmt: skip
    with RawClient.at((HOST, ports[101]), "setup") as client:
        answer = client.ask(m.CreateTopicsRequest(topics=asked, timeout_ms=9_000), version=7)
    assert [each.error_code for each in answer.topics] == [0, 0]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("count", "seed"),
    [(SHORT, 1), pytest.param(LONG, 1, marks=pytest.mark.full),
     pytest.param(LONG, 2, marks=pytest.mark.full)],
)  # fmt: skip
def test_no_bystander_loses_an_answer_or_a_connection(
    count: int, seed: int, caplog: pytest.LogCaptureFixture, record_property
) -> None:
    caplog.set_level(logging.WARNING, "kafka")
    with served() as (ports, ended):
        create_topics(ports)
        those = Bystanders(ports)
        with at_work(those, those.confluent, those.kafka_python):
            sent, answered = send_strange_requests(ports, count, seed)
    record_property("bystanders", str(those.answers))
    assert those.faults == []
    assert [each.message for each in caplog.records if "disconnect" in each.message.lower()] == []
    assert min(those.answers.values()) > 20, those.answers
    assert sent >= count * 0.9
    assert answered > sent / 4, "too few of them reached a handler"
    assert ended.nodes == [100, 101, 102, 103]
    assert min(ended.met[each] for each in (UNWRITABLE, RAISES, RAISES_LATE)) > sent / 200


@pytest.mark.full
@pytest.mark.parametrize("guard", [WRITING, HANDLING])
def test_without_a_guard_the_bystanders_are_harmed(guard: str) -> None:
    """Whose answer is lost is a matter of time, so there are several rounds."""
    with served(without=guard) as (ports, _):
        create_topics(ports)
        those = Bystanders(ports, patience_s=4)
        with at_work(those):
            for seed in range(1, ROUNDS + 1):
                if not those.faults:
                    send_strange_requests(ports, SHORT, seed)
    assert any("TimeoutError" in each or "Connection" in each for each in those.faults)
