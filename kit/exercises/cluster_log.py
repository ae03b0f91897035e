"""What a judge may ask of a cluster: its log and its metadata, over the Kafka protocol.

The judge connects as any client does, so it sees what the brokers hold, not what a notebook
says they hold.  The same code reads the engine and a real Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

QUIET = {"log_level": 0, "socket.timeout.ms": 5000}


class NoCluster(Exception):
    """A judge needs a cluster and got none, or the cluster does not answer."""


@dataclass(frozen=True, slots=True)
class LogRecord:
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class PartitionState:
    leader: int
    replicas: tuple[int, ...]
    in_sync_replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """The cluster an exercise was done on; `bootstrap` is None where it needs none.

    `inputs` are the inputs of a learner's function.
    """

    bootstrap: str | None = None
    inputs: Sequence[tuple] = ()
    timeout_s: float = 15.0

    def _address(self) -> str:
        if self.bootstrap is None:
            raise NoCluster("This check looks at a cluster; pass one: check(…, cluster=eng)")
        return self.bootstrap

    def cluster_id(self) -> str:
        """The cluster's own id, as its brokers give it."""
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self._address(), **QUIET})
        described = admin.describe_cluster(request_timeout=self.timeout_s)
        return str(self._asked(described.result).cluster_id)

    def partitions(self, topic: str) -> dict[int, PartitionState]:
        """Leader, replicas and ISR per partition; empty if there is no such topic."""
        from confluent_kafka import KafkaError, KafkaException, TopicCollection
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self._address(), **QUIET})
        # Unlike a look at the metadata, this never creates the topic that it asks about.
        answer = admin.describe_topics(TopicCollection([topic]), request_timeout=self.timeout_s)
        try:
            described = answer[topic].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return {}
            raise self._silent(error) from error
        return {
            p.id: PartitionState(
                p.leader.id if p.leader else -1,
                tuple(node.id for node in p.replicas),
                tuple(sorted(node.id for node in p.isr)),
            )
            for p in described.partitions
        }

    def set_up(self, topic: str, partitions: int | None = None) -> dict[int, PartitionState]:
        """The topic's partitions.  Raises NoCluster if it is not as the set-up cells made it."""
        found = self.partitions(topic)
        if not found or partitions not in (None, len(found)):
            there = f"has {len(found)} partitions, not {partitions}" if found else "is not there"
            raise NoCluster(
                f"The topic {topic} of the set-up cells {there}: run the set-up cells again, then "
                "your answer."
            )
        return found

    def leader_epochs(self, topic: str) -> dict[int, int]:
        """The leader epoch of each partition: 0 until its leader changes for the first time."""
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import AdminClient, OffsetSpec

        admin = AdminClient({"bootstrap.servers": self._address(), **QUIET})
        wanted = {
            TopicPartition(topic, index): OffsetSpec.latest() for index in self.partitions(topic)
        }
        if not wanted:
            return {}
        answers = admin.list_offsets(wanted, request_timeout=self.timeout_s)
        return {
            partition.partition: self._asked(answer.result).leader_epoch
            for partition, answer in answers.items()
        }

    def configs(self, topic: str) -> dict[str, str]:
        """The topic's effective settings, by Kafka's names."""
        from confluent_kafka.admin import AdminClient, ConfigResource

        admin = AdminClient({"bootstrap.servers": self._address(), **QUIET})
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        answer = admin.describe_configs([resource], request_timeout=self.timeout_s)[resource]
        return {name: entry.value for name, entry in self._asked(answer.result).items()}

    def records(self, topic: str, isolation: str = "read_uncommitted") -> list[LogRecord]:
        """Every record of `topic` up to its end now, by partition and offset."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self._address(),
                "group.id": "kafkalab-judge",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 20,  # after this the end of a partition is reported
                "isolation.level": isolation,
                **QUIET,
            }
        )
        try:
            starts = []
            for index in self.partitions(topic):
                partition = TopicPartition(topic, index)
                low, high = self._asked(
                    lambda p=partition: consumer.get_watermark_offsets(p, timeout=self.timeout_s)
                )
                if low < high:
                    starts.append(TopicPartition(topic, index, low))
            consumer.assign(starts)
            return self._read_to_the_end(consumer, len(starts))
        finally:
            consumer.close()

    def _read_to_the_end(self, consumer: Any, partitions: int) -> list[LogRecord]:
        from confluent_kafka import KafkaError

        found: list[LogRecord] = []
        at_end: dict[int, bool] = {}
        while len(at_end) < partitions:
            message = consumer.poll(self.timeout_s)
            if message is None:
                raise NoCluster(f"The cluster at {self.bootstrap} stopped answering.")
            error = message.error()
            if error is None:
                found.append(
                    LogRecord(
                        message.partition(),
                        message.offset(),
                        message.timestamp()[1],
                        message.key(),
                        message.value(),
                    )
                )
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end[message.partition()] = True
            else:
                raise NoCluster(f"The cluster at {self.bootstrap} answered: {error.str()}.")
        return sorted(found, key=lambda record: (record.partition, record.offset))

    def _asked(self, question: Any) -> Any:
        from confluent_kafka import KafkaException

        try:
            return question()
        except KafkaException as error:
            raise self._silent(error) from error

    def _silent(self, error: Any) -> NoCluster:
        reason = error.args[0].str()
        return NoCluster(
            f"The cluster at {self.bootstrap} does not answer ({reason}); start it and check again."
        )
