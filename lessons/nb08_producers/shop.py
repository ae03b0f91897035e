"""One producer, named `shop`, on a cluster's sockets or in a world of virtual time.

    with Shop(cluster, "orders", {"enable.idempotence": False}) as shop:
        shop.lose_answers(1)
        shop.send("A", "B")          # hands over, and does not wait
        shop.wait()                  # until each record has its verdict
    shop.verdicts, shop.sent, shop.log()

The producer is the engine's own (kit/probes/own_producer.py): the same state machine on either
side, so every request can be read and every answer can be lost.  A test plays the same answers to
it, to the Java client and to librdkafka, and compares what they send.  Each record travels in a
batch, and so in a request, of its own, unless the settings say otherwise.

A world's time runs only in `wait`, or when the notebook runs the world.  On sockets, time goes by
meanwhile, but the producer works only in `wait` too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from engine.client.producer import Producer
from kit.clusters.interface import Cluster
from kit.probes.clients import partition, values
from kit.probes.own_producer import PATIENCE_S, OwnProducer
from kit.tables import Table
from lessons.nb08_producers.fault_stages import log_of

NAME, BROKERS = "shop", (101, 102, 103)
SETTINGS: Mapping[str, Any] = {"linger.ms": 0, "batch.size": 0}
EVERY = 1_000_000


class Shop:
    """`checked=False` takes settings that Kafka's client refuses."""

    def __init__(
        self,
        cluster: Any,
        topic: str,
        settings: Mapping[str, Any] | None = None,
        *,
        checked: bool = True,
        name: str = NAME,
    ) -> None:
        self.cluster, self.topic, self.name = cluster, topic, name
        given = {**SETTINGS, **(settings or {})}
        self.own = OwnProducer(cluster, topic, given, checked=checked, name=name, ready_s=0)
        self.driver = self.own.driver
        if self.driver is None:
            cluster.run(for_s=0.2)  # so that it is connected before the first fault

    @property
    def producer(self) -> Producer:
        return self.own.producer

    # -- the application's side

    def send(self, *values: str) -> None:
        """Hands records over, for partition 0."""
        self.own.send(*values, partition=0)

    def wait(self, for_s: float = PATIENCE_S) -> bool:
        """Until every record has its verdict; False if some have none when the time is over."""
        is_done = self.own.wait(for_s)
        if self.driver is not None:
            self.driver.poll()  # with acks=0 a record is done before it has left
        return is_done

    # -- faults

    def lose_answers(self, count: int = EVERY) -> None:
        """Loses the next answers to Produce requests; 0 ends it."""
        if self.driver is None:
            self.cluster.drop(self.cluster.leader(self.topic, 0), self.name, count, api="Produce")
        else:
            self.driver.lose_answers = count

    def lose_requests(self, count: int = EVERY) -> None:
        """Loses the next Produce requests before a broker gets them; 0 ends it."""
        if self.driver is None:
            self.cluster.drop(self.name, self.cluster.leader(self.topic, 0), count, api="Produce")
        else:
            self.driver.lose_requests = count

    # -- what it knows

    @property
    def verdicts(self) -> list[str]:
        """What the application heard of each record: acknowledged, refused, unknown, pending."""
        return self.own.verdicts

    @property
    def errors(self) -> list[str]:
        """Why a record was refused, or is unknown; empty for one that was acknowledged."""
        return [each.error for each in self.producer.sends]

    def having(self, verdict: str) -> list[str]:
        """The values of the records with a verdict."""
        return [each.text for each in self.producer.sends if each.verdict == verdict]

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """What the producer noted: `sent`, `answered`, `retry`, `epoch_bump`, …"""
        return [dict(line.fields) for _, line in self.own.notes if line.kind == kind]

    @property
    def most_under_way(self) -> int:
        """The largest number of requests that had no answer yet at one moment."""
        under_way = most = 0
        for _, line in self.own.notes:
            if line.kind == "sent":
                under_way += 1
            elif line.kind == "answered":
                under_way -= 1
            most = max(most, under_way)
        return most

    @property
    def story(self) -> Table:
        """What the producer sent, and what came back, in order."""
        rows = []
        for _, line in self.own.notes:
            seen = dict(line.fields)
            if line.kind == "sent":
                value = self.producer.sends[seen["batch"] - 1].text
                number = f"sequence {seen['sequence']}" if seen["sequence"] >= 0 else "no number"
                rows.append(
                    [f"sends {value} to {seen['broker']}", f"attempt {seen['attempt']}, {number}"]
                )
            elif line.kind == "answered":
                value = self.producer.sends[seen["batch"] - 1].text
                rows.append([f"hears of {value}", outcome(seen["error"])])
        return Table("The producer's own notes", ("the producer", ""), rows)

    def log(self) -> list[str]:
        """The values that a consumer reads from partition 0, in order, once all is committed."""
        if self.driver is None:
            return log_of(self.cluster, self.topic)
        self.cluster.wait_until(committed(self.topic), PATIENCE_S, f"{self.topic} to be committed")
        return values(self.cluster, self.topic)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.own.close()


def outcome(error: str) -> str:
    """An answer in words: the protocol calls success NONE."""
    return "success" if error == "NONE" else error


def committed(topic: str) -> Callable[[Cluster], bool]:
    """A condition for wait_until: consumers may read to the end of the leader's log."""

    def holds(cluster: Cluster) -> bool:
        seen = partition(cluster, topic)
        log = seen["logs"].get(seen["leader"], {})
        end = log.get("log_end_offset", -1)
        return bool(end >= 0 and log["high_watermark"] == end)

    return holds


def copied(topic: str) -> Callable[[Cluster], bool]:
    """A condition for wait_until: every replica's log ends at the same offset."""

    def holds(cluster: Cluster) -> bool:
        logs = partition(cluster, topic)["logs"].values()
        return len({log.get("log_end_offset") for log in logs}) == 1

    return holds
