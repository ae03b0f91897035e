"""A log start that nobody wrote down, and what it hides, on the engine and on a live Kafka.

DeleteRecords moves the log start in memory and cuts the leader epochs at once; the log start
itself is written down every minute.  A leader that is killed in between comes back with the
records, and without the epochs that tell where its history parts from another's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import first_partition, one_batch, producing
from tests.kit.clusters.contract import partition
from tests.real_clusters import restored

pytestmark = pytest.mark.real

TOPIC = "forgotten"
PATIENCE_S = 60


@pytest.fixture(
    scope="module", params=["engine_cluster", pytest.param("local_cluster", marks=pytest.mark.full)]
)
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    found: KafkaCluster = request.getfixturevalue(request.param)
    with restored(found):
        yield found


def append(client: RawClient, values: str, acks: int) -> None:
    for value in values:
        answer = client.ask(producing(TOPIC, acks=acks, records=one_batch(value.encode())))
        assert first_partition(answer).error_code == 0


def replica(cluster: KafkaCluster, broker: int) -> Any:
    snapshot = cluster.snapshot(values=True)
    return snapshot["topics"][TOPIC]["partitions"][0]["logs"][broker]


def history(cluster: KafkaCluster, broker: int) -> str:
    """The values of all records, from the log start on."""
    return "".join(v for batch in replica(cluster, broker)["batches"] for v in batch["values"])


def test_deleted_records_come_back_and_a_follower_keeps_its_own(cluster: KafkaCluster) -> None:
    """Kafka has no defence here, and no client was promised the deleted records."""
    cluster.create_topic(TOPIC, assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 1})
    with RawClient(cluster, 101, "writer") as client:
        append(client, "ABCDEF", acks=-1)
        cluster.isolate(101)
        append(client, "xyz", acks=1)  # at 6, 7 and 8, in epoch 0, and nowhere else
    cluster.kill(101)
    cluster.wait_until(lambda c: c.leader(TOPIC) in (102, 103), PATIENCE_S, "another leader")
    cluster.heal()  # not before: x may be under way still
    leader = cluster.leader(TOPIC)
    with RawClient(cluster, leader, "writer") as client:
        append(client, "GHIJKL", acks=-1)  # from 6 on, in epoch 1
    cluster.kill(205 - leader)
    cluster.wait_until(lambda c: partition(c, TOPIC)["isr"] == [leader], PATIENCE_S, "one in sync")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    place = TopicPartition(TOPIC, 0, 10)
    # From here to the kill is the only time in which the minute's checkpoint would spoil the run.
    assert admin.delete_records([place])[place].result(PATIENCE_S).low_watermark == 10
    cluster.wait_until(lambda c: replica(c, leader)["epochs"] == [[1, 10]], PATIENCE_S, "the cut")
    cluster.kill(leader)
    cluster.start(leader)
    cluster.wait_until(lambda c: c.leader(TOPIC) == leader, PATIENCE_S, "it to lead again")
    assert replica(cluster, leader)["log_start_offset"] == 0, "nobody wrote 10 down"
    cluster.start(101)
    cluster.wait_until(lambda c: 101 in partition(c, TOPIC)["isr"], PATIENCE_S, "101 in sync")

    assert history(cluster, leader) == "ABCDEFGHIJKL"
    assert history(cluster, 101) == "ABCDEFxyzJKL"
    assert replica(cluster, leader)["epochs"][0] == [1, 10], "what would tell 101 was cut off"
    assert replica(cluster, 101)["epochs"] == [[0, 0], [1, 9]]
