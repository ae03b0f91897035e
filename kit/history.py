"""Writes down what confluent-kafka clients do, for the history checker.

    recorder = Recorder()
    producer = recorder.producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    consumer = recorder.consumer({"bootstrap.servers": …, "group.id": "g"})
    …                                         # use them as always
    recorder.read_to_end(cluster.bootstrap, "orders")
    check(recorder.history())

The wrapped clients behave as they did; calls that are not recorded pass through.  The engine
and a real Kafka are recorded in the same way, so that their histories can be compared.

There are three verdicts, from what librdkafka reports.  No error is *acknowledged* (with
acks=0 that only says "handed to the operating system", and the offset is unknown).  An error
that the broker returns before it appends is *refused*, but only if there was no earlier
attempt (retries=0) or the record can never have been sent.  All else is *unknown*.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from engine.sim.history import EndTransaction, History, Operation, Poll, Reached, Read, Seek, Send
from engine.wire.errors import Errors

NEVER_APPENDED = (
    Errors.MESSAGE_TOO_LARGE,
    Errors.INVALID_RECORD,
    Errors.RECORD_LIST_TOO_LARGE,
    Errors.TOPIC_AUTHORIZATION_FAILED,
    Errors.INVALID_REQUIRED_ACKS,
)
"""A record with one of these errors is refused at every attempt, so none was appended."""
REFUSED_ON_FIRST_TRY = (
    *NEVER_APPENDED,
    Errors.NOT_ENOUGH_REPLICAS,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
)
"""Kafka gives these before it appends; after a retry they say nothing about the first attempt."""
END_S = 30.0
OnDelivery = Callable[[Any, Any], None] | None
OnAssign = Callable[[Any, list[TopicPartition]], None] | None


class HistoryError(RuntimeError):
    """A history that cannot be recorded to its end."""


@dataclass
class _Sending:
    """A record in flight; its place in the history is where it was sent."""

    at_us: int
    topic: str
    partition: int
    value: str
    transaction: str
    verdict: str = "unknown"
    offset: int = -1
    ended_us: int = -1


class Recorder:
    """Makes clients and records what they do; `history()` works at any time."""

    def __init__(self) -> None:
        self._began = time.monotonic_ns()
        self._lock = threading.Lock()
        self._entries: list[tuple[str, _Sending | Operation]] = []
        self._read_committed: list[str] = []
        self._names = 0

    def producer(self, settings: Mapping[str, Any], name: str = "") -> RecordedProducer:
        """A confluent-kafka Producer with these settings."""
        return RecordedProducer(self, self._name("producer", name), settings)

    def consumer(self, settings: Mapping[str, Any], name: str = "") -> RecordedConsumer:
        """A confluent-kafka Consumer with these settings; its default is read_committed."""
        name = self._name("consumer", name)
        if settings.get("isolation.level", "read_committed") == "read_committed":
            self._read_committed.append(name)
        return RecordedConsumer(self, name, settings)

    def history(self) -> History:
        """The history until now; a record without a delivery report is unknown."""
        with self._lock:
            entries = list(self._entries)
        operations = [
            Send(e.at_us, client, e.topic, e.partition, e.value, e.verdict, e.offset,
                 e.ended_us, e.transaction) if isinstance(e, _Sending) else e
            for client, e in entries
        ]  # fmt: skip
        return History(tuple(operations), tuple(self._read_committed))

    def read_to_end(self, bootstrap: str, topic: str, timeout_s: float = END_S) -> int:
        """A last consumer reads the whole topic, in read_committed; returns the number of records.

        Call it when no record is in flight any more: a record that it does not see is lost.
        """
        name = self._name("last-reader", "")
        reader = self.consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": name,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "log_level": 0,
            },
            name,
        )
        try:
            return reader.read_all(topic, timeout_s)
        finally:
            reader.close()

    # -- for the clients

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._began) // 1000

    def note(self, client: str, entry: _Sending | Operation) -> None:
        with self._lock:
            self._entries.append((client, entry))

    def _name(self, kind: str, name: str) -> str:
        self._names += 1
        return name or f"{kind}-{self._names}"


class RecordedProducer:
    """A confluent-kafka Producer that records each send and its outcome."""

    def __init__(self, recorder: Recorder, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._recorder = recorder
        self._retries = str(settings.get("retries", settings.get("message.send.max.retries", "")))
        self._producer = Producer(dict(settings))
        self._transaction = ""
        self._transactions = 0

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._producer, attribute)

    def __len__(self) -> int:
        return len(self._producer)

    def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        on_delivery: OnDelivery = None,
        **more: Any,
    ) -> None:
        """As confluent-kafka's; with BufferError the queue is full and the record was not sent."""
        sending = _Sending(self._recorder.now_us(), topic, partition, _text(value),
                           self._transaction)  # fmt: skip

        def delivered(error: Any, message: Any) -> None:
            self._delivered(sending, error, message)
            if on_delivery is not None:
                on_delivery(error, message)

        if partition >= 0:
            more["partition"] = partition
        self._producer.produce(topic, value, key, on_delivery=delivered, **more)
        self._recorder.note(self.name, sending)

    def _delivered(self, sending: _Sending, error: Any, message: Any) -> None:
        sending.ended_us = self._recorder.now_us()
        if message.partition() is not None and message.partition() >= 0:
            sending.partition = message.partition()
        if error is None:
            sending.verdict = "acknowledged"
            offset = message.offset()
            sending.offset = offset if offset is not None and offset >= 0 else -1
        elif error.code() in (REFUSED_ON_FIRST_TRY if self._retries == "0" else NEVER_APPENDED):
            sending.verdict = "refused"

    # -- transactions

    def begin_transaction(self) -> None:
        self._producer.begin_transaction()
        self._transactions += 1
        self._transaction = f"{self.name}-t{self._transactions}"

    def commit_transaction(self, *arguments: Any) -> None:
        self._end("committed", self._producer.commit_transaction, arguments)

    def abort_transaction(self, *arguments: Any) -> None:
        self._end("aborted", self._producer.abort_transaction, arguments)

    def _end(self, outcome: str, end: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """A failed commit may have taken effect; the transaction goes on until it ends."""
        try:
            end(*arguments)
        except KafkaException:
            self._ended("unknown")
            raise
        self._ended(outcome)
        self._transaction = ""

    def _ended(self, outcome: str) -> None:
        at_us = self._recorder.now_us()
        self._recorder.note(self.name, EndTransaction(at_us, self.name, self._transaction, outcome))


class RecordedConsumer:
    """A confluent-kafka Consumer that records where it starts and what it reads."""

    def __init__(self, recorder: Recorder, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._recorder = recorder
        self._consumer = Consumer(dict(settings))

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._consumer, attribute)

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._starts(partitions)
        self._consumer.assign(partitions)

    def seek(self, partition: TopicPartition) -> None:
        self._starts([partition])
        self._consumer.seek(partition)

    def subscribe(self, topics: list[str], on_assign: OnAssign = None, **more: Any) -> None:
        """As confluent-kafka's; a new assignment begins wherever the group had committed."""

        def assigned(consumer: Any, partitions: list[TopicPartition]) -> None:
            self._starts(partitions)
            if on_assign is not None:
                on_assign(self, partitions)

        self._consumer.subscribe(topics, on_assign=assigned, **more)

    def _starts(self, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            offset = each.offset if each.offset >= 0 else -1
            now_us = self._recorder.now_us()
            seek = Seek(now_us, self.name, each.topic, each.partition, offset)
            self._recorder.note(self.name, seek)

    def poll(self, timeout: float = -1) -> Any:
        message = self._consumer.poll(timeout)
        self._got([message] if message is not None else [])
        return message

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Any]:
        messages: list[Any] = self._consumer.consume(num_messages, timeout)
        self._got(messages)
        return messages

    def _got(self, messages: list[Any]) -> None:
        reads = tuple(Read(m.topic(), m.partition(), m.offset(), _text(m.value()))
                      for m in messages if m.error() is None)  # fmt: skip
        if reads:
            self._recorder.note(self.name, Poll(self._recorder.now_us(), self.name, reads))

    def read_all(self, topic: str, timeout_s: float) -> int:
        """Reads every partition from its start to its end, and records the end."""
        deadline = time.monotonic() + timeout_s
        known = self._consumer.list_topics(topic, timeout_s).topics[topic].partitions
        starts = [TopicPartition(topic, index) for index in known]
        for each in starts:
            each.offset = self._consumer.get_watermark_offsets(each, timeout_s)[0]
        self.assign(starts)
        open_ends, count = dict.fromkeys(known), 0
        while open_ends:
            message = self.poll(0.2)
            if time.monotonic() > deadline:
                raise HistoryError(
                    f"{topic} could not be read to its end within {timeout_s:g} s: "
                    "does each of its partitions have a leader, and has all sending stopped?"
                )
            if message is None:
                continue
            if message.error() is None:
                count += 1
            elif message.error().code() == KafkaError._PARTITION_EOF:
                open_ends.pop(message.partition(), None)
                now_us, place = self._recorder.now_us(), message.partition()
                reached = Reached(now_us, self.name, topic, place, message.offset())
                self._recorder.note(self.name, reached)
        return count


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value or "")
