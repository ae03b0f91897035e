"""Three requests on one connection: the next is taken up when the last is answered.

A leader that nobody follows cannot answer acks=all.  What it appends meanwhile shows which
requests it has taken up, on the engine and on a live Kafka.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from kit.probes.requests import first_partition, one_batch, producing
from tests.real_clusters import restored

pytestmark = pytest.mark.real

TOPIC = "pipelined"
A_WHILE_S = 0.5
"""Long enough for a request to be appended if nothing holds it up."""


@pytest.fixture(scope="module", params=["engine_cluster", "local_cluster"])
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    found: KafkaCluster = request.getfixturevalue(request.param)
    with restored(found):
        yield found


def log(cluster: KafkaCluster) -> str:
    """The values in the leader's log."""
    held = cluster.snapshot(values=True)["topics"][TOPIC]["partitions"][0]["logs"][101]
    return " ".join(value for batch in held["batches"] for value in batch["values"])


def test_three_in_flight_are_appended_one_after_the_others_answer(cluster: KafkaCluster) -> None:
    cluster.create_topic(TOPIC, assignment={0: [101, 102, 103]}, config={"min.insync.replicas": 1})
    with RawClient(cluster, 101, "one") as one, RawClient(cluster, 101, "two") as two:
        assert (
            first_partition(
                one.ask(producing(TOPIC, acks=-1, records=one_batch(b"first")))
            ).error_code
            == 0
        )
        cluster.isolate(101)
        sent = [one.send(producing(TOPIC, acks=-1, records=one_batch(v))) for v in (b"A", b"B")]
        sent.append(one.send(producing(TOPIC, acks=1, records=one_batch(b"C"))))
        time.sleep(A_WHILE_S)
        assert log(cluster) == "first A"
        assert first_partition(two.ask(producing(TOPIC, records=one_batch(b"X")))).error_code == 0
        time.sleep(A_WHILE_S)
        assert log(cluster) == "first A X"
        cluster.heal()
        heard = [one.receive() for _ in sent]
        assert [each[0] for each in heard if each is not None] == sent
        offsets = [first_partition(each[1]).base_offset for each in heard if each is not None]
    assert offsets == [1, 3, 4]
    assert log(cluster) == "first A X B C"
