"""Which fetches wait for more bytes: the same on the engine and on a live Kafka."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, first_partition, producing
from tests.real_clusters import restored

pytestmark = pytest.mark.real

PATIENT_MS = 8_000
ONE_SEGMENT = 200
"""Bytes: two of the batches fit."""

Seen = tuple[int, bool]
"""Bytes of records, and whether they came long before the wait was over."""


@pytest.fixture(scope="module", params=["engine_cluster", "local_cluster"])
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    found: KafkaCluster = request.getfixturevalue(request.param)
    with restored(found):
        yield found


def led_by_101(cluster: KafkaCluster, topic: str, **config: str) -> RawClient:
    """A new topic with six records, each a batch of its own, held by all three brokers."""
    dotted = {name.replace("_", "."): value for name, value in config.items()}
    cluster.create_topic(topic, assignment={0: [101, 102, 103]}, config=dotted)
    client = RawClient(cluster, 101, "reader")
    for _ in range(6):
        assert first_partition(client.ask(producing(topic, acks=-1))).error_code == 0
    return client


def waited(client: RawClient, number: int) -> Seen:
    asked = time.monotonic()
    heard = client.receive(2 * PATIENT_MS / 1000)
    assert heard is not None
    assert heard[0] == number
    data = heard[1].responses[0].partitions[0]
    assert data.error_code == 0
    return len(data.records or b""), time.monotonic() - asked < PATIENT_MS / 2000


def test_only_the_last_segment_is_worth_a_wait(cluster: KafkaCluster) -> None:
    topic = "rolled"
    with led_by_101(cluster, topic, internal_segment_bytes=str(ONE_SEGMENT)) as client:
        one = waited(client, client.send(fetching(topic, 5)))[0]
        least = 3 * one

        def fetch(offset: int) -> int:
            return client.send(fetching(topic, offset, min_bytes=least, max_wait_ms=PATIENT_MS))

        assert waited(client, fetch(0)) == (2 * one, True)
        assert waited(client, fetch(4)) == (2 * one, False)
        number = fetch(6)
        with RawClient(cluster, 101, "writer") as writer:
            writer.ask(producing(topic, acks=-1))
        assert waited(client, number) == (one, True)


def test_above_the_high_watermark_there_is_nothing_to_wait_for(cluster: KafkaCluster) -> None:
    topic = "stalled"
    with led_by_101(cluster, topic) as client:
        cluster.isolate(101)  # nobody follows it, and it cannot take them out of the ISR
        for _ in range(3):
            client.ask(producing(topic, acks=1))
        number = client.send(fetching(topic, 8, max_wait_ms=PATIENT_MS))
        assert waited(client, number) == (0, True)
        cluster.heal()
