"""The topic that the crash lab reads: payments of the fleet, exactly so many in each micro-batch.

    partition   micro-batch 0   micro-batch 1   micro-batch 2
        0        offsets 0–9        10–19           20–29
        …             …               …               …
        3        offsets 0–9        10–19           20–29

Every partition gets the same number of records, so `maxOffsetsPerTrigger` cuts the same
micro-batches on each run.  The ground truth is the list of event ids that were produced: no reader
counts it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from labs.fleet.records import PAYMENTS, Fleet, Record, records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kit.clusters.interface import Cluster

COLUMNS = "event_id STRING, order_id STRING, event_time BIGINT, cents BIGINT"


@dataclass(frozen=True, slots=True)
class Feed:
    """A topic of payments: how many micro-batches it makes, and of how many records each."""

    topic: str = "crash.payments"
    seed: int = 7
    batches: int = 3
    partitions: int = 4
    per_partition: int = 10
    """Records that one micro-batch takes from each partition."""

    @property
    def batch_records(self) -> int:
        return self.partitions * self.per_partition

    def records(self) -> list[Record]:
        """The payments, in order.  No trouble among them: each event id comes once."""
        tidy = Fleet(events=10**9, seed=self.seed, late=0, duplicate=0, malformed=0, orders=1)
        payments = (record for record in records(tidy) if record.topic == PAYMENTS)
        return list(islice(payments, self.batches * self.batch_records))

    def event_ids(self) -> list[str]:
        """The truth."""
        return [record.event_id for record in self.records()]

    def create(self, cluster: Cluster) -> None:
        """Creates the topic."""
        cluster.create_topic(self.topic, partitions=self.partitions)

    def produce(self, cluster: Cluster) -> None:
        """Writes the payments, to one partition after the other in turn."""
        from confluent_kafka import Producer

        producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": 0}
        )
        for number, record in enumerate(self.records()):
            producer.produce(
                self.topic, record.value, record.key, partition=number % self.partitions
            )
        left = producer.flush(30)
        if left:
            raise RuntimeError(f"{left} payments could not be written to {self.topic}.")

    def stream(self, session: SparkSession, bootstrap: str) -> DataFrame:
        """The topic as a stream of payments, `batch_records` of them in each micro-batch."""
        source = (
            session.readStream.format("kafka")
            .option("kafka.bootstrap.servers", bootstrap)
            .option("subscribe", self.topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", self.batch_records)
            .option("kafka.fetch.max.wait.ms", 50)
        )
        value = source.load().selectExpr(f"from_json(string(value), '{COLUMNS}') AS payment")
        return value.select("payment.*")


@dataclass(frozen=True, slots=True)
class Count:
    """What a reader found, beside the truth."""

    produced: int
    lost: int
    """Events that are not there."""
    repeated: int
    """Rows too many."""
    foreign: int = 0
    """Rows of events that were never produced."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.produced - self.lost + self.repeated + self.foreign

    def __str__(self) -> str:
        numbers = {name: getattr(self, name) for name in ("lost", "repeated", "foreign")}
        return ", ".join(f"{n} {name}" for name, n in numbers.items() if n) or "exact"


def count(found: Iterable[str], truth: Iterable[str]) -> Count:
    """Compares event ids, each as often as it is there, with those that were produced once."""
    rows, produced = Counter(found), set(truth)
    return Count(
        produced=len(produced),
        lost=len(produced - rows.keys()),
        repeated=sum(number - 1 for event, number in rows.items() if event in produced),
        foreign=sum(number for event, number in rows.items() if event not in produced),
    )
