"""What a leader says to a batch that is not as it should be: the engine and Kafka, input by input.

Each input goes to a topic that is compacted and to one that is not.  What differs is declared in
engine/storage/log_validator.py.
"""

from __future__ import annotations

import pytest

from engine.wire.errors import Errors
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import first_partition, listing, producing
from tests.conformance import produced_batches
from tests.real_clusters import restored

pytestmark = pytest.mark.real

Answer = tuple[Errors, int, list[int]]
"""The error, the log start offset, the records at fault."""

TOPICS = {"any-key": {}, "with-keys": {"cleanup.policy": "compact"}}
BOTH_BROKEN = {Errors.INVALID_RECORD, Errors.UNKNOWN_SERVER_ERROR}
"""Where the stream and the records in it are broken, Kafka names what it meets first."""


def answers(cluster: KafkaCluster, topic: str, inputs: dict[str, bytes]) -> dict[str, Answer]:
    found = {}
    with RawClient(cluster, 101, "writer") as client:
        for name, data in inputs.items():
            request = producing(topic, acks=-1)
            request.topic_data[0].partition_data[0].records = data
            part = first_partition(client.ask(request, 12))
            at_fault = [each.batch_index for each in part.record_errors]
            found[name] = Errors(part.error_code), part.log_start_offset, at_fault
    return found


@pytest.fixture(scope="module")
def clusters(
    engine_cluster: KafkaCluster, local_cluster: KafkaCluster
) -> tuple[KafkaCluster, KafkaCluster]:
    for cluster in (engine_cluster, local_cluster):
        for topic, config in TOPICS.items():
            cluster.create_topic(topic, assignment={0: [101, 102, 103]}, config=config)
    return engine_cluster, local_cluster


@pytest.mark.parametrize("topic", TOPICS)
def test_every_input_of_the_table_gets_kafkas_answer(
    clusters: tuple[KafkaCluster, KafkaCluster], topic: str
) -> None:
    ours, theirs = (answers(each, topic, produced_batches.table()) for each in clusters)
    assert ours == theirs


def test_a_damaged_batch_is_taken_or_refused_as_by_kafka(
    clusters: tuple[KafkaCluster, KafkaCluster],
) -> None:
    inputs = produced_batches.damaged(seed=1, count=400)
    ours, theirs = (answers(each, "any-key", inputs) for each in clusters)
    differs = {name: (ours[name], theirs[name]) for name in inputs if ours[name] != theirs[name]}
    assert all({our[0], their[0]} == BOTH_BROKEN for our, their in differs.values()), differs
    assert len(differs) < len(inputs) / 10


def test_a_time_inside_a_batch_that_goes_back_is_found(
    clusters: tuple[KafkaCluster, KafkaCluster],
) -> None:
    """kafka-go names the last record's time as the largest of its batch."""
    now, record = produced_batches.NOW, produced_batches.record
    body = record(0, after_ms=-9000) + record(1) + record(2, after_ms=-5000)
    data = produced_batches.sealed(body, count=3, max_ms=now - 5000)
    for cluster in clusters:
        with restored(cluster), RawClient(cluster, 101, "writer") as client:
            cluster.create_topic("goes-back", assignment={0: [101, 102, 103]})
            taken = first_partition(client.ask(producing("goes-back", acks=-1, records=data), 12))
            assert taken.error_code == Errors.NONE
            found = first_partition(client.ask(listing("goes-back", now - 3000), 7))
            assert (found.offset, found.timestamp) == (1, now)
