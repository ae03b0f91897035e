"""Python's three client libraries behind one face: poll a little, commit, close.

Settings have Kafka's own names; each library is given what it calls them.  Classic members
rebalance eagerly, by range.  Those of kafka-python are sticky: its range and round robin (3.0.12)
forget dynamic members when the broker lists a static one between them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Protocol

import aiokafka
import confluent_kafka
import kafka
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.structs import OffsetAndMetadata

TURN_S = 0.1
HELD_S = 0.02
NUMBERS = ("session_timeout_ms", "heartbeat_interval_ms")


class Listener(Protocol):
    """The member to which a client tells what happens."""

    held: Any

    def given(self, partitions: list[int]) -> None: ...
    def taken(self, partitions: list[int], kind: str = "taken") -> None: ...
    def read(self, partition: int, offset: int) -> None: ...
    def skip(self, partition: int) -> None: ...
    def stay_held(self) -> None: ...


class Client(Protocol):
    """A consumer that has subscribed."""

    def turn(self) -> None:
        """Polls for a moment."""

    def commit(self, offsets: dict[int, int]) -> None:
        """Waits for the answer; raises what the library raises when it is a refusal."""

    def close(self) -> None:
        """Leaves, unless the member is static."""


def numbers(partitions: Any) -> list[int]:
    return [each.partition for each in partitions]


def pythonic(settings: dict[str, str]) -> dict[str, Any]:
    """Kafka's names with underscores, and numbers where they are."""
    named = {name.replace(".", "_"): value for name, value in settings.items()}
    return {name: int(value) if name in NUMBERS else value for name, value in named.items()}


class Confluent:
    """confluent-kafka: callbacks on the thread that polls."""

    def __init__(self, topic: str, settings: dict[str, str], member: Listener) -> None:
        self.topic, self.member = topic, member
        strategy = (
            {} if "group.protocol" in settings else {"partition.assignment.strategy": "range"}
        )
        self.consumer = confluent_kafka.Consumer({
            **settings, **strategy, "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "log_level": 0,
        })  # fmt: skip
        self.consumer.subscribe(
            [topic],
            on_assign=lambda _, parts: member.given(numbers(parts)),
            on_revoke=lambda _, parts: self._taken(parts, "taken"),
            on_lost=lambda _, parts: self._taken(parts, "lost"),
        )

    def _taken(self, partitions: Any, kind: str) -> None:
        self.member.stay_held()
        self.member.taken(numbers(partitions), kind)

    def turn(self) -> None:
        message = self.consumer.poll(TURN_S)
        if message is not None and message.error() is None:
            self.member.read(message.partition(), message.offset())

    def commit(self, offsets: dict[int, int]) -> None:
        parts = [confluent_kafka.TopicPartition(self.topic, *each) for each in offsets.items()]
        for each in self.consumer.commit(offsets=parts, asynchronous=False):
            if each.error is not None:
                raise confluent_kafka.KafkaException(each.error)

    def close(self) -> None:
        self.consumer.close()


class KafkaPython:
    """kafka-python: callbacks on its network thread, which must not be blocked.

    So a rebalance may pass while `poll` returns records from before it.  It asks for the topic's
    partitions before its first poll: a member that learns of them later joins a second time.
    """

    def __init__(self, topic: str, settings: dict[str, str], member: Listener) -> None:
        self.topic, self.member = topic, member
        self.turnover = threading.Lock()
        self.rebalances = 0
        self.consumer = kafka.KafkaConsumer(
            **pythonic(settings),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=(StickyPartitionAssignor,),
        )
        consumer, client = self.consumer, self

        class Told(AsyncConsumerRebalanceListener):
            async def on_partitions_assigned(self, assigned: Any) -> None:
                with client.turnover:
                    client.rebalances += 1
                    member.given(numbers(assigned))

            async def on_partitions_revoked(self, revoked: Any) -> None:
                await self.gone(revoked, "taken")

            async def on_partitions_lost(self, lost: Any) -> None:
                await self.gone(lost, "lost")

            async def gone(self, partitions: Any, kind: str) -> None:
                while member.held.is_set():
                    await consumer._net.sleep(HELD_S)
                member.taken(numbers(partitions), kind)

        self.consumer.subscribe([topic], listener=Told())
        self.consumer.partitions_for_topic(topic)

    def turn(self) -> None:
        before = self.rebalances
        try:
            polled = self.consumer.poll(timeout_ms=int(TURN_S * 1000))
        except kafka.errors.RetriableError:
            return  # a connection that is refused, for one; an application polls again
        with self.turnover:
            for each in (record for found in polled.values() for record in found):
                if self.rebalances == before:
                    self.member.read(each.partition, each.offset)
                else:
                    self.member.skip(each.partition)

    def commit(self, offsets: dict[int, int]) -> None:
        self.consumer.commit({
            kafka.TopicPartition(self.topic, partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in offsets.items()
        })  # fmt: skip

    def close(self) -> None:
        self.consumer.close()


class Aiokafka:
    """aiokafka: everything on the event loop, which runs while the member takes its turns."""

    def __init__(self, topic: str, settings: dict[str, str], member: Listener) -> None:
        self.topic, self.member = topic, member
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self._start(settings))

    async def _start(self, settings: dict[str, str]) -> None:
        member = self.member
        self.consumer = aiokafka.AIOKafkaConsumer(
            **pythonic(settings),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=(RangePartitionAssignor,),
        )

        class Told(ConsumerRebalanceListener):  # type: ignore[misc]
            async def on_partitions_assigned(self, assigned: Any) -> None:
                member.given(numbers(assigned))

            async def on_partitions_revoked(self, revoked: Any) -> None:
                while member.held.is_set():
                    await asyncio.sleep(HELD_S)
                member.taken(numbers(revoked))

        self.consumer.subscribe([self.topic], listener=Told())
        await self.consumer.start()

    def turn(self) -> None:
        for found in self.loop.run_until_complete(self._poll()).values():
            for each in found:
                self.member.read(each.partition, each.offset)

    async def _poll(self) -> dict[Any, Any]:
        return dict(await self.consumer.getmany(timeout_ms=int(TURN_S * 1000)))

    def commit(self, offsets: dict[int, int]) -> None:
        parts = {aiokafka.TopicPartition(self.topic, each): at for each, at in offsets.items()}
        self.loop.run_until_complete(self.consumer.commit(parts))

    def close(self) -> None:
        self.loop.run_until_complete(self.consumer.stop())


CLIENTS: dict[str, Callable[[str, dict[str, str], Listener], Client]] = {
    "confluent": Confluent,
    "kafka-python": KafkaPython,
    "aiokafka": Aiokafka,
}
