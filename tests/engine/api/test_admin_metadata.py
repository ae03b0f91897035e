"""Metadata, DescribeCluster and DescribeTopicPartitions: what clients learn of the cluster."""

from __future__ import annotations

import pytest

from engine.events import Send
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.wire.uuids import ZERO
from tests.engine.api.fake_broker import FakeBroker, partition, versions

Topic = m.MetadataRequest.MetadataRequestTopic
Paged = m.DescribeTopicPartitionsRequest


def by_name(*names: str, create: bool = False) -> m.MetadataRequest:
    return m.MetadataRequest([Topic(name=name) for name in names], create)


def found(answer: m.MetadataResponse) -> dict[str, int]:
    return {topic.name: topic.error_code for topic in answer.topics}


@pytest.mark.parametrize("version", versions("Metadata"))
def test_a_topic_and_its_leader(version: int) -> None:
    broker = FakeBroker()
    topic_id = broker.add_topic("orders", partition(leader=102))
    request = by_name("orders") if version >= 4 else by_name("orders", create=True)
    answer = broker.ask(request, version)
    assert [(b.node_id, b.host, b.port) for b in answer.brokers] == [
        (101, "127.0.0.1", 9101),
        (102, "127.0.0.1", 9102),
    ]
    (topic,) = answer.topics
    (first,) = topic.partitions
    assert (topic.name, topic.error_code) == ("orders", 0)
    assert (first.leader_id, first.replica_nodes, first.isr_nodes) == (102, [101, 102], [101, 102])
    assert first.leader_epoch == (5 if version >= 7 else -1)
    assert topic.topic_id == (topic_id if version >= 10 else ZERO)
    assert answer.controller_id == (101 if version >= 1 else -1)
    assert answer.cluster_id == ("cluster-1" if version >= 2 else None)


def test_null_means_all_topics_and_an_empty_list_none() -> None:
    broker = FakeBroker()
    broker.add_topic("b", partition())
    broker.add_topic("a", partition())
    assert list(found(broker.ask(m.MetadataRequest(None), 13))) == ["a", "b"]
    assert found(broker.ask(m.MetadataRequest([]), 13)) == {}
    assert list(found(broker.ask(m.MetadataRequest([]), 0))) == ["a", "b"]


def test_topics_by_id() -> None:
    broker = FakeBroker()
    topic_id = broker.add_topic("orders", partition())
    request = m.MetadataRequest([Topic(topic_id, None), Topic(b"x" * 16, None)], False)
    answer = broker.ask(request, 13)
    assert found(answer) == {"orders": 0, None: Errors.UNKNOWN_TOPIC_ID}
    refused = broker.ask(m.MetadataRequest([Topic(topic_id, "orders")], False), 10)
    assert refused.topics[0].error_code == Errors.INVALID_REQUEST


def test_unknown_and_illegal_names() -> None:
    broker = FakeBroker()
    expected = {"nope": Errors.UNKNOWN_TOPIC_OR_PARTITION, "b@d": Errors.INVALID_TOPIC_EXCEPTION}
    assert found(broker.ask(by_name("nope", "b@d", "nope"), 13)) == expected
    assert broker.outbox.effects == []


def test_an_unknown_topic_is_created_if_both_sides_allow_it() -> None:
    broker = FakeBroker(**{"num.partitions": 4, "default.replication.factor": 3})
    answer = broker.ask(by_name("nope", "b@d", create=True), 13)
    assert found(answer)["nope"] == Errors.UNKNOWN_TOPIC_OR_PARTITION
    (sent,) = broker.outbox.effects
    assert isinstance(sent, Send)
    assert sent.destination == broker.controller.id
    (topic,) = sent.body.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("nope", 4, 3)

    forbids = FakeBroker(**{"auto.create.topics.enable": False})
    forbids.ask(by_name("nope", create=True), 13)
    assert forbids.outbox.effects == []


def test_the_offsets_topic_is_created_with_its_own_settings() -> None:
    broker = FakeBroker()
    broker.ask(by_name("__consumer_offsets", create=True), 13)
    (sent,) = broker.outbox.effects
    assert isinstance(sent, Send)
    assert sent.body.topics[0].num_partitions == 50
    assert "cleanup.policy" in {config.name for config in sent.body.topics[0].configs}


def test_replicas_on_fenced_or_unknown_brokers_are_offline() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition(replicas=(101, 103, 999)), partition())
    first, second = broker.ask(by_name("orders"), 13).topics[0].partitions
    assert (first.offline_replicas, second.offline_replicas) == ([103, 999], [])
    # Version 0 had no such field and left dead replicas out.
    (old, _) = broker.ask(by_name("orders", create=True), 0).topics[0].partitions
    assert (old.replica_nodes, old.error_code) == ([101], Errors.REPLICA_NOT_AVAILABLE)


def test_a_partition_without_a_leader() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition(leader=-1))
    first = broker.ask(by_name("orders"), 13).topics[0].partitions[0]
    assert (first.leader_id, first.error_code) == (-1, Errors.LEADER_NOT_AVAILABLE)


def test_authorised_operations_are_all_there_are_when_asked_for() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition())
    request = m.MetadataRequest([Topic(name="orders")], False, True, True)
    answer = broker.ask(request, 10)
    assert answer.cluster_authorized_operations == 8096
    assert answer.topics[0].topic_authorized_operations == 3576
    plain = broker.ask(by_name("orders"), 13)
    assert plain.topics[0].topic_authorized_operations == -(1 << 31)


def test_a_fenced_broker_names_another_as_controller() -> None:
    broker = FakeBroker()
    broker.node_id = 103
    assert broker.ask(by_name(), 13).controller_id == 101


def test_internal_topics_are_marked() -> None:
    broker = FakeBroker()
    broker.add_topic("__consumer_offsets", partition())
    assert broker.ask(m.MetadataRequest(None), 13).topics[0].is_internal


@pytest.mark.parametrize("version", versions("DescribeCluster"))
def test_describe_cluster(version: int) -> None:
    broker = FakeBroker()
    answer = broker.ask(m.DescribeClusterRequest(True), version)
    assert [b.broker_id for b in answer.brokers] == [101, 102]
    assert (answer.cluster_id, answer.controller_id) == ("cluster-1", 101)
    assert answer.cluster_authorized_operations == 8096


def test_describe_cluster_with_fenced_brokers() -> None:
    answer = FakeBroker().ask(m.DescribeClusterRequest(False, 1, True), 2)
    assert [(b.broker_id, b.is_fenced) for b in answer.brokers] == [
        (101, False),
        (102, False),
        (103, True),
    ]


@pytest.mark.parametrize(
    ("endpoint", "error"),
    [(2, Errors.MISMATCHED_ENDPOINT_TYPE), (3, Errors.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_describe_cluster_asked_for_controllers(endpoint: int, error: Errors) -> None:
    answer = FakeBroker().ask(m.DescribeClusterRequest(False, endpoint), 2)
    assert answer.error_code == error
    assert answer.error_message


def paged(broker: FakeBroker, limit: int, cursor: object = None, *names: str) -> object:
    return broker.ask(Paged([Paged.TopicRequest(name) for name in names], limit, cursor), 0)


def test_pages_of_partitions() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition(), partition())
    broker.add_topic("payments", partition(), partition())
    seen, cursor, requests = [], None, 0
    while True:
        answer = paged(broker, 3, cursor)
        requests += 1
        seen += [(t.name, p.partition_index) for t in answer.topics for p in t.partitions]
        if answer.next_cursor is None:
            break
        cursor = Paged.Cursor(answer.next_cursor.topic_name, answer.next_cursor.partition_index)
    assert seen == [("orders", 0), ("orders", 1), ("payments", 0), ("payments", 1)]
    assert requests == 2


def test_a_full_page_points_to_the_next_topic() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition())
    broker.add_topic("payments", partition())
    cursor = paged(broker, 1).next_cursor
    assert (cursor.topic_name, cursor.partition_index) == ("payments", 0)


def test_the_brokers_own_limit_holds() -> None:
    broker = FakeBroker(**{"max.request.partition.size.limit": 1})
    broker.add_topic("orders", partition(), partition())
    assert len(paged(broker, 2000).topics[0].partitions) == 1
    assert len(paged(broker, 0).topics[0].partitions) == 1


def test_eligible_leader_replicas_are_listed() -> None:
    broker = FakeBroker()
    broker.add_topic(
        "orders", partition(leader=-1, isr=(), elr=(102,), last_known_elr=(101,)), partition()
    )
    first, second = paged(broker, 10, None, "orders").topics[0].partitions
    assert (first.eligible_leader_replicas, first.last_known_elr) == ([102], [101])
    assert (first.leader_id, first.error_code) == (-1, 0)
    assert (second.eligible_leader_replicas, second.last_known_elr) == ([], [])


def test_unknown_topics_are_answered_in_the_order_of_names() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition())
    answer = paged(broker, 10, None, "zz", "orders", "b@d")
    assert [(t.name, t.error_code) for t in answer.topics] == [
        ("b@d", Errors.INVALID_TOPIC_EXCEPTION),
        ("orders", 0),
        ("zz", Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_a_cursor_outside_the_request_is_refused() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition())
    answer = paged(broker, 10, Paged.Cursor("payments", 0), "orders")
    assert [t.error_code for t in answer.topics] == [Errors.INVALID_REQUEST]
    behind_the_end = paged(broker, 10, Paged.Cursor("orders", 7))
    assert [(t.name, t.partitions) for t in behind_the_end.topics] == [("orders", [])]
