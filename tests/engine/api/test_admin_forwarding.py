"""Requests that only the controller can answer, and what a broker says of its own replicas."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine import api
from engine.storage.producer_states import ProducerState, RememberedBatch
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.api.fake_broker import FakeBroker, partition, versions

FORWARDED: dict[str, Any] = {
    "CreateTopics": m.CreateTopicsRequest([m.CreateTopicsRequest.CreatableTopic("a", 1, 1)]),
    "CreatePartitions": m.CreatePartitionsRequest(
        [m.CreatePartitionsRequest.CreatePartitionsTopic("a", 2, None)]
    ),
    "ElectLeaders": m.ElectLeadersRequest(0, [m.ElectLeadersRequest.TopicPartitions("a", [0])]),
    "UnregisterBroker": m.UnregisterBrokerRequest(5),
    "ListPartitionReassignments": m.ListPartitionReassignmentsRequest(),
    "DescribeQuorum": m.DescribeQuorumRequest(),
}
EVERY = [(name, version) for name in FORWARDED for version in versions(name)]


@pytest.mark.parametrize(("name", "version"), EVERY)
def test_it_is_forwarded_and_a_loss_has_an_answer_in_every_version(name: str, version: int) -> None:
    broker = FakeBroker()
    assert broker.ask(FORWARDED[name], version) is None
    (request,) = broker.forwarded
    refusal = api.refusal(request, Errors.REQUEST_TIMED_OUT, "too late")
    assert "error_code=7" in repr(FakeBroker.through_codec(refusal, version))


@pytest.mark.parametrize("version", versions("DeleteTopics"))
def test_topics_to_delete_are_named_in_two_ways(version: int) -> None:
    broker = FakeBroker()
    State = m.DeleteTopicsRequest.DeleteTopicState
    if version >= 6:
        body = m.DeleteTopicsRequest(topics=[State("a"), State(None, b"i" * 16)])
    else:
        body = m.DeleteTopicsRequest(topic_names=["a", "b"])
    assert broker.ask(body, version) is None
    refusal = api.refusal(broker.forwarded[0], Errors.REQUEST_TIMED_OUT)
    decoded = FakeBroker.through_codec(refusal, version)
    assert [each.error_code for each in decoded.responses] == [Errors.REQUEST_TIMED_OUT] * 2


def host(broker: FakeBroker, topic: str, index: int, **more: Any) -> Any:
    log = SimpleNamespace(size_in_bytes=100, log_end_offset=7, producers={}, **more)
    replica = SimpleNamespace(log=log, high_watermark=7)
    broker.replicas.partitions[topic, index] = replica
    return replica


@pytest.mark.parametrize("version", versions("DescribeLogDirs"))
def test_what_a_broker_hosts(version: int) -> None:
    broker = FakeBroker(**{"log.dirs": "/data/101"})
    host(broker, "orders", 1)
    host(broker, "orders", 0).high_watermark = 9
    host(broker, "billing", 0)
    (directory,) = broker.ask(m.DescribeLogDirsRequest(None), version).results
    assert directory.log_dir == "/data/101"
    assert [
        (t.name, p.partition_index, p.partition_size, p.offset_lag)
        for t in directory.topics
        for p in t.partitions
    ] == [("billing", 0, 100, 0), ("orders", 0, 100, 2), ("orders", 1, 100, 0)]
    asked = m.DescribeLogDirsRequest.DescribableLogDirTopic("orders", [1, 9])
    (directory,) = broker.ask(m.DescribeLogDirsRequest([asked]), version).results
    assert [(t.name, len(t.partitions)) for t in directory.topics] == [("orders", 1)]


@pytest.mark.parametrize("version", versions("AlterReplicaLogDirs"))
def test_a_replica_can_only_stay_in_the_one_directory_there_is(version: int) -> None:
    broker = FakeBroker(**{"log.dirs": "/data/101"})
    long = "x" * 249  # a valid name, too long for the directory of a replica on its way
    for name in ("orders", long):
        host(broker, name, 0)
    broker.add_topic("orders", partition(), partition())
    Directory = m.AlterReplicaLogDirsRequest.AlterReplicaLogDir
    Topic = m.AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic
    here = Directory("/data/101", [Topic("orders", [0, 1, 7]), Topic(long, [0])])
    elsewhere = Directory("/data/other", [Topic("orders", [2])])
    body = m.AlterReplicaLogDirsRequest([here, elsewhere])
    assert [
        (topic.topic_name[:6], [(p.partition_index, p.error_code) for p in topic.partitions])
        for topic in broker.ask(body, version).results
    ] == [
        (
            "orders",
            [
                (0, Errors.NONE),
                (1, Errors.REPLICA_NOT_AVAILABLE),
                (7, Errors.UNKNOWN_TOPIC_OR_PARTITION),
                (2, Errors.LOG_DIR_NOT_FOUND),
            ],
        ),
        ("xxxxxx", [(0, Errors.INVALID_TOPIC_EXCEPTION)]),
    ]


def test_which_producers_a_partition_remembers() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition())
    state = ProducerState(3, [RememberedBatch(5, 9, 2, 1000)], -1, 1000)
    host(broker, "orders", 0).log.producers = [(4711, state)]
    Topic = m.DescribeProducersRequest.TopicRequest
    answer = broker.ask(m.DescribeProducersRequest([Topic("orders", [0, 7])]), 0)
    first, second = answer.topics[0].partitions
    (producer,) = first.active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (4711, 3, 5)
    assert producer.current_txn_start_offset == -1
    assert second.error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION
