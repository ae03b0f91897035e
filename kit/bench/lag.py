"""A group's lag over 10,000 partitions, read from the engine and from a local Kafka in turn.

Lag is the log end less the committed offset.  To read it, a tool asks the group's coordinator for
all committed offsets (OffsetFetch), and each leader where its logs end (ListOffsets).

    by confluent-kafka   AdminClient, as a monitoring tool does it: what a user waits for
    by bare requests     the same two questions as bytes made beforehand, the answers not opened:
                         what is left when the client's own work, most of the first row, is taken
                         away

Ten topics of 1,000 partitions, one replica each, on three brokers.  Every tenth partition has a
record that the group has not read, so both sides must find the same lag.  Kafka's JVMs are slow at
first, so both sides answer some rounds before one counts.  The ratio is that of the medians.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from time import perf_counter
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from engine.wire import framing
from engine.wire import messages as m
from kit.bench.cluster import at_most
from kit.clusters import engine, local
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import LATEST

GROUP = "lag"
TOPICS, PARTITIONS = 10, 1_000
UNREAD_EVERY = 10
BUDGET = 1.5
OFFSET_FETCH_VERSION, LIST_OFFSETS_VERSION = 9, 7
_WARM_UPS = 8
_BARE_READS = 10
_PATIENCE_S = 120.0
_CRITICAL = 2
"""librdkafka's log level: a cluster that is closed at the end is no news."""


def measure(rounds: int = 3, partitions: int = PARTITIONS) -> list[dict[str, Any]]:
    """The two rows; RuntimeError if a side finds another lag than there is."""
    with ExitStack() as stack:
        clusters = {
            "ours": stack.enter_context(engine.start()),
            "theirs": stack.enter_context(local.start(links=False)),
        }
        groups = {side: Group(cluster, partitions) for side, cluster in clusters.items()}
        ways: dict[str, dict[str, Callable[[], None]]] = {}
        for side, group in groups.items():
            bare = stack.enter_context(BareReader(group))
            ways[side] = {"confluent-kafka": group.check_lag, "bare requests": bare.read}
        seconds = _in_turns(ways, rounds)
    name = f"lag of {TOPICS * partitions:,} partitions"
    return [
        at_most(f"{name}, by {way}", "s", ours, median(seconds["theirs", way]), BUDGET)
        for way in ways["ours"]
        for ours in [median(seconds["ours", way])]
    ]


def _in_turns(
    ways: dict[str, dict[str, Callable[[], None]]], rounds: int
) -> dict[tuple[str, str], list[float]]:
    """The seconds of each read, by side and way; the side that begins changes with each round."""
    seconds: dict[tuple[str, str], list[float]] = {}
    for number in range(-_WARM_UPS, rounds):
        for side in list(ways) if number % 2 else reversed(ways):
            for way, read in ways[side].items():
                for _ in range(_BARE_READS if way == "bare requests" else 1):
                    began = perf_counter()
                    read()
                    if number >= 0:
                        seconds.setdefault((side, way), []).append(perf_counter() - began)
    return seconds


class Group:
    """A group that has committed an offset for each partition of its topics."""

    def __init__(self, cluster: KafkaCluster, partitions: int) -> None:
        self.client: dict[str, Any] = {
            "bootstrap.servers": cluster.bootstrap,
            "log_level": _CRITICAL,
        }
        self.names = [f"lag-{number}" for number in range(TOPICS)]
        self.places = [(name, index) for name in self.names for index in range(partitions)]
        self.lag = len(self._unread())
        self.admin = AdminClient(self.client)
        for name in self.names:  # one by one: 10,000 partitions at once are long to wait for
            made = self.admin.create_topics([NewTopic(name, partitions, 1)])
            made[name].result(_PATIENCE_S)
        _until(self._all_have_a_leader)
        self._produce()
        _until(self._has_committed)

    def check_lag(self) -> None:
        """Reads the lag with AdminClient."""
        asked = [ConsumerGroupTopicPartitions(GROUP)]
        committed = self.admin.list_consumer_group_offsets(asked)[GROUP].result(_PATIENCE_S)
        offsets = {(each.topic, each.partition): each.offset for each in committed.topic_partitions}
        wanted = {TopicPartition(*place): OffsetSpec.latest() for place in offsets}
        ends = {
            (each.topic, each.partition): found.result(_PATIENCE_S).offset
            for each, found in self.admin.list_offsets(wanted).items()
        }
        self.compare(offsets, ends)

    def compare(
        self, offsets: dict[tuple[str, int], int], ends: dict[tuple[str, int], int]
    ) -> None:
        """RuntimeError if this is not the lag that the group has."""
        lag = sum(ends[place] - offset for place, offset in offsets.items())
        if len(offsets) != len(self.places) or lag != self.lag:
            raise RuntimeError(
                f"{len(offsets)} partitions with a lag of {lag}, not {len(self.places)} with "
                f"{self.lag}: what is timed would not be the same work"
            )

    def _unread(self) -> list[tuple[str, int]]:
        return self.places[::UNREAD_EVERY]

    def _all_have_a_leader(self) -> bool:
        topics = self.admin.list_topics(timeout=_PATIENCE_S).topics
        led = [
            part.leader >= 0
            for name in self.names if name in topics
            for part in topics[name].partitions.values()
        ]  # fmt: skip
        return len(led) == len(self.places) and all(led)

    def _produce(self) -> None:
        producer = Producer(self.client)
        for name, index in self._unread():
            producer.produce(name, b"unread", partition=index)
        if left := producer.flush(_PATIENCE_S):
            raise RuntimeError(f"{left} records were not acknowledged in {_PATIENCE_S:.0f} s")

    def _has_committed(self) -> bool:
        """Commits 0 everywhere; False if the coordinator is not ready yet."""
        consumer = Consumer({**self.client, "group.id": GROUP, "enable.auto.commit": False})
        try:
            answered = consumer.commit(
                offsets=[TopicPartition(*place, 0) for place in self.places], asynchronous=False
            )
        except KafkaException:
            return False
        finally:
            consumer.close()
        return not any(each.error for each in answered)


class BareReader:
    """One connection to each broker, and the bytes of the requests that read the lag."""

    def __init__(self, group: Group) -> None:
        self.group = group
        metadata = group.admin.list_topics(timeout=_PATIENCE_S)
        self.clients = {
            broker.id: RawClient.at((str(broker.host), broker.port), "bench")
            for broker in metadata.brokers.values()
        }
        find = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
        found = next(iter(self.clients.values())).ask(find, 4)
        self.coordinator = self.clients[found.coordinators[0].node_id]
        asked = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=None)
        self.fetch = m.OffsetFetchRequest(groups=[asked])
        self.lists = {broker: _ends(metadata, broker) for broker in self.clients}
        self._check()
        self.fetch_frame = _frame(OFFSET_FETCH_VERSION, self.fetch)
        self.list_frames = {
            broker: _frame(LIST_OFFSETS_VERSION, each) for broker, each in self.lists.items()
        }

    def read(self) -> None:
        """Until the last byte of the last answer is here."""
        self.coordinator.send_bytes(self.fetch_frame)
        self.coordinator.receive_bytes()
        for broker, frame in self.list_frames.items():
            self.clients[broker].send_bytes(frame)
        for client in self.clients.values():
            client.receive_bytes()

    def _check(self) -> None:
        """Opens the answers once."""
        fetched = self.coordinator.ask(self.fetch, OFFSET_FETCH_VERSION).groups[0]
        listed = [
            self.clients[broker].ask(each, LIST_OFFSETS_VERSION)
            for broker, each in self.lists.items()
        ]
        self.group.compare(
            {(topic.name, part.partition_index): part.committed_offset
             for topic in fetched.topics for part in topic.partitions},
            {(topic.name, part.partition_index): part.offset
             for answer in listed for topic in answer.topics for part in topic.partitions},
        )  # fmt: skip

    def __enter__(self) -> BareReader:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients.values():
            client.close()


def _frame(version: int, body: Any) -> bytes:
    return bytes(framing.write_request(version, 1, "bench", body))


def _ends(metadata: Any, broker: int) -> m.ListOffsetsRequest:
    """Asks a broker where the logs end that it leads."""
    request = m.ListOffsetsRequest
    topics = [
        request.ListOffsetsTopic(
            topic.topic,
            [
                request.ListOffsetsPartition(part.id, timestamp=LATEST)
                for part in topic.partitions.values()
                if part.leader == broker
            ],
        )
        for topic in metadata.topics.values()
        if topic.topic.startswith("lag-")
    ]
    return request(replica_id=-1, topics=topics)


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError(f"The cluster was not ready to be measured in {_PATIENCE_S:.0f} s.")
        time.sleep(0.5)
