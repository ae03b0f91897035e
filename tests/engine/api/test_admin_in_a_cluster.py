"""Admin requests through real brokers and a real controller, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.api.asking import Asking
from tests.engine.api.fake_broker import versions

Topics = m.CreateTopicsRequest
Incremental = m.IncrementalAlterConfigsRequest


@pytest.fixture(scope="module")
def asking() -> Asking:
    started = Asking()
    started.create("orders")
    return started


FORWARDED: dict[str, Any] = {
    "CreateTopics": lambda: Topics([Topics.CreatableTopic("orders", 1, 1)]),
    "CreatePartitions": lambda: m.CreatePartitionsRequest(
        [m.CreatePartitionsRequest.CreatePartitionsTopic("orders", 1, None)], 5_000
    ),
    "ElectLeaders": lambda: m.ElectLeadersRequest(
        0, [m.ElectLeadersRequest.TopicPartitions("orders", [0, 9])]
    ),
    "UnregisterBroker": lambda: m.UnregisterBrokerRequest(5),
    "ListPartitionReassignments": m.ListPartitionReassignmentsRequest,
    "DescribeQuorum": lambda: m.DescribeQuorumRequest(
        [
            m.DescribeQuorumRequest.TopicData(
                "__cluster_metadata", [m.DescribeQuorumRequest.PartitionData(0)]
            )
        ]
    ),
    "AlterConfigs": lambda: m.AlterConfigsRequest(
        [m.AlterConfigsRequest.AlterConfigsResource(2, "nope", [])]
    ),
    "IncrementalAlterConfigs": lambda: Incremental(
        [Incremental.AlterConfigsResource(2, "nope", [])]
    ),
}
EVERY = [(name, version) for name in FORWARDED for version in versions(name)]


@pytest.mark.parametrize(("name", "version"), EVERY)
def test_the_controllers_answer_fits_the_version_the_client_asked_in(
    asking: Asking, name: str, version: int
) -> None:
    answer = asking.ask(FORWARDED[name](), version)
    assert type(answer).__name__ == f"{name}Response"


def test_a_topic_created_through_one_broker_is_seen_by_all(asking: Asking) -> None:
    created = asking.create("payments", 4, 2)
    assert (created.error_code, created.num_partitions) == (0, 4)
    for broker in (101, 102, 103):
        request = m.MetadataRequest([m.MetadataRequest.MetadataRequestTopic(name="payments")])
        (topic,) = asking.ask(request, broker=broker).topics
        assert topic.topic_id == created.topic_id
        assert [len(p.replica_nodes) for p in topic.partitions] == [2] * 4


def test_metadata_creates_a_topic_that_is_there_when_asked_again(asking: Asking) -> None:
    request = m.MetadataRequest([m.MetadataRequest.MetadataRequestTopic(name="fresh")])
    first = asking.ask(request).topics[0]
    assert first.error_code == Errors.UNKNOWN_TOPIC_OR_PARTITION
    asking.run_until(lambda: "fresh" in asking.image(101).topic_ids)
    assert asking.ask(request).topics[0].error_code == 0


def test_a_config_set_through_one_broker_is_described_by_another(asking: Asking) -> None:
    change = Incremental.AlterableConfig("retention.ms", 0, "1234")
    asking.ask(Incremental([Incremental.AlterConfigsResource(2, "orders", [change])]))
    asking.run_until(lambda: (2, "orders") in asking.image(102).configs)
    resource = m.DescribeConfigsRequest.DescribeConfigsResource(2, "orders", ["retention.ms"])
    (config,) = asking.ask(m.DescribeConfigsRequest([resource]), broker=102).results[0].configs
    assert (config.value, config.config_source) == ("1234", 1)


def test_a_dynamic_default_reaches_every_broker_and_its_topics(asking: Asking) -> None:
    change = Incremental.AlterableConfig("message.max.bytes", 0, "4321")
    asking.ask(Incremental([Incremental.AlterConfigsResource(4, "", [change])]))
    nodes = asking.cluster.nodes
    asking.run_until(
        lambda: all(nodes[b].settings["message.max.bytes"] == 4321 for b in (101, 103))
    )
    resource = m.DescribeConfigsRequest.DescribeConfigsResource(2, "orders", ["max.message.bytes"])
    (config,) = asking.ask(m.DescribeConfigsRequest([resource]), broker=103).results[0].configs
    assert (config.value, config.config_source) == ("4321", 3)


def test_log_dirs_tell_what_each_broker_hosts(asking: Asking) -> None:
    request = m.DescribeLogDirsRequest(
        [m.DescribeLogDirsRequest.DescribableLogDirTopic("orders", [0, 1])]
    )
    (directory,) = asking.ask(request, broker=102).results
    assert [len(topic.partitions) for topic in directory.topics] == [2]


def test_a_request_to_a_lost_controller_is_answered_in_the_end() -> None:
    asking = Asking()
    asking.cluster.kill(100)
    answer = asking.ask(Topics([Topics.CreatableTopic("late", 1, 1)]), 2)
    assert [topic.error_code for topic in answer.topics] == [Errors.REQUEST_TIMED_OUT]
