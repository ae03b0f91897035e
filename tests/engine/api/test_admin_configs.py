"""DescribeConfigs, ListConfigResources and the broker's share of altering configs."""

from __future__ import annotations

from typing import Any

import pytest

from engine import api
from engine.events import Request
from engine.settings.sources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.api.fake_broker import FakeBroker, partition, versions

Resource = m.DescribeConfigsRequest.DescribeConfigsResource
Incremental = m.IncrementalAlterConfigsRequest
Legacy = m.AlterConfigsRequest
Row = m.IncrementalAlterConfigsResponse.AlterConfigsResourceResponse


def describe(broker: FakeBroker, kind: int, name: str, *keys: str, version: int = 4) -> Any:
    request = m.DescribeConfigsRequest([Resource(kind, name, list(keys) or None)], True)
    request.include_documentation = version >= 3
    return broker.ask(request, version).results[0]


def one(broker: FakeBroker, kind: int, name: str, key: str) -> Any:
    (config,) = describe(broker, kind, name, key).configs
    return config


def synonyms(config: Any) -> list[tuple[str, str, int]]:
    return [(each.name, each.value, each.source) for each in config.synonyms]


@pytest.mark.parametrize("version", versions("DescribeConfigs"))
def test_a_topics_configs(version: int) -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition())
    broker.metadata.configs[TOPIC, "orders"] = {"cleanup.policy": "compact"}
    result = describe(broker, TOPIC, "orders", version=version)
    assert len(result.configs) == 33
    policy = next(c for c in result.configs if c.name == "cleanup.policy")
    assert (policy.value, policy.config_source, policy.read_only) == ("compact", 1, False)
    assert synonyms(policy) == [
        ("cleanup.policy", "compact", 1),
        ("log.cleanup.policy", "delete", 5),
    ]
    assert policy.config_type == (7 if version >= 3 else 0)
    assert bool(policy.documentation) == (version >= 3)


def test_an_internal_topic_config_shows_only_when_set() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition())
    assert describe(broker, TOPIC, "orders", "internal.segment.bytes").configs == []
    broker.metadata.configs[TOPIC, "orders"] = {"internal.segment.bytes": "500"}
    assert one(broker, TOPIC, "orders", "internal.segment.bytes").value == "500"


def test_the_four_places_of_a_broker_config() -> None:
    broker = FakeBroker(**{"message.max.bytes": 1})
    broker.settings.set_dynamic({"message.max.bytes": "2"}, {"message.max.bytes": "3"})
    config = one(broker, BROKER, "101", "message.max.bytes")
    assert (config.value, config.config_source, config.read_only) == ("3", 2, False)
    assert synonyms(config) == [
        ("message.max.bytes", "3", 2),
        ("message.max.bytes", "2", 3),
        ("message.max.bytes", "1", 4),
        ("message.max.bytes", "1048588", 5),
    ]
    broker.add_topic("orders", partition())
    of_topic = one(broker, TOPIC, "orders", "max.message.bytes")
    assert (of_topic.value, of_topic.config_source) == ("3", 2)


def test_a_topic_lists_the_synonyms_of_its_first_counterpart_only() -> None:
    broker = FakeBroker(**{"log.retention.hours": 1})
    broker.add_topic("orders", partition())
    config = one(broker, TOPIC, "orders", "retention.ms")
    assert (config.value, config.config_source, config.synonyms) == ("3600000", 5, [])
    hours = one(broker, BROKER, "101", "log.retention.hours")
    assert synonyms(hours) == [("log.retention.hours", "1", 4), ("log.retention.hours", "168", 5)]


def test_a_broker_shows_what_kafka_shows_and_hides_passwords() -> None:
    broker = FakeBroker(**{"ssl.key.password": "hunter2"})
    result = describe(broker, BROKER, "101")
    assert len(result.configs) == 340
    password = next(c for c in result.configs if c.name == "ssl.key.password")
    assert (password.value, password.is_sensitive) == (None, True)
    assert synonyms(password) == [("ssl.key.password", None, 4)]
    assert "hunter2" not in repr(result)
    partitions = next(c for c in result.configs if c.name == "num.partitions")
    assert partitions.read_only


def test_the_empty_broker_name_stands_for_all_brokers() -> None:
    broker = FakeBroker()
    broker.settings.set_dynamic({"min.insync.replicas": "1"}, {"message.max.bytes": "3"})
    (config,) = describe(broker, BROKER, "").configs
    assert (config.name, config.value, config.config_source) == ("min.insync.replicas", "1", 3)


def test_a_groups_configs_fall_back_to_the_brokers() -> None:
    broker = FakeBroker(**{"group.consumer.session.timeout.ms": 50_000})
    broker.metadata.configs[GROUP, "g1"] = {"consumer.heartbeat.interval.ms": "6000"}
    session = one(broker, GROUP, "g1", "consumer.session.timeout.ms")
    assert (session.value, session.config_source) == ("50000", 4)
    heartbeat = one(broker, GROUP, "g1", "consumer.heartbeat.interval.ms")
    assert (heartbeat.value, heartbeat.config_source) == ("6000", 8)


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "nope", Errors.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "b@d", Errors.INVALID_TOPIC_EXCEPTION),
        (BROKER, "102", Errors.INVALID_REQUEST),
        (BROKER, "x", Errors.INVALID_REQUEST),
        (BROKER_LOGGER, "", Errors.INVALID_REQUEST),
        (CLIENT_METRICS, "x", Errors.INVALID_REQUEST),
        (GROUP, "", Errors.INVALID_REQUEST),
        (7, "x", Errors.INVALID_REQUEST),
    ],
)
def test_resources_that_cannot_be_described(kind: int, name: str, error: Errors) -> None:
    result = describe(FakeBroker(), kind, name)
    assert (result.error_code, result.configs) == (error, [])
    assert bool(result.error_message) == (error is not Errors.UNKNOWN_TOPIC_OR_PARTITION)


def test_list_config_resources() -> None:
    broker = FakeBroker()
    broker.add_topic("orders", partition())
    broker.metadata.configs[GROUP, "g1"] = {"consumer.heartbeat.interval.ms": "6000"}
    answer = broker.ask(m.ListConfigResourcesRequest([]), 1)
    assert [(r.resource_name, r.resource_type) for r in answer.config_resources] == [
        ("orders", TOPIC),
        ("101", BROKER),
        ("102", BROKER),
        ("103", BROKER),
        ("101", BROKER_LOGGER),
        ("102", BROKER_LOGGER),
        ("103", BROKER_LOGGER),
        ("g1", GROUP),
    ]
    assert len(broker.ask(m.ListConfigResourcesRequest([TOPIC]), 1).config_resources) == 1
    assert broker.ask(m.ListConfigResourcesRequest(), 0).config_resources == []
    refused = broker.ask(m.ListConfigResourcesRequest([TOPIC, 9]), 1)
    assert refused.error_code == Errors.UNSUPPORTED_VERSION


def incremental(kind: int, name: str, key: str, value: str | None) -> Any:
    config = Incremental.AlterableConfig(key, 0, value)
    return Incremental.AlterConfigsResource(kind, name, [config])


@pytest.mark.parametrize("version", versions("IncrementalAlterConfigs"))
def test_changes_of_topics_go_to_the_controller(version: int) -> None:
    broker = FakeBroker()
    request = Incremental([incremental(TOPIC, "orders", "retention.ms", "-5")])
    assert broker.ask(request, version) is None
    assert len(broker.forwarded) == 1


@pytest.mark.parametrize("version", versions("AlterConfigs"))
def test_a_broker_checks_changes_of_its_own(version: int) -> None:
    broker = FakeBroker()

    def ask(key: str, value: str, name: str = "101") -> Any:
        config = Legacy.AlterableConfig(key, value)
        request = Legacy([Legacy.AlterConfigsResource(BROKER, name, [config])])
        return broker.ask(request, version)

    assert ask("message.max.bytes", "5") is None
    refused = ask("num.partitions", "5").responses[0]
    assert refused.error_code == Errors.INVALID_REQUEST
    assert "restart" in refused.error_message
    assert ask("message.max.bytes", "5", "102").responses[0].error_code == Errors.INVALID_REQUEST


def test_one_refused_resource_leaves_the_others_alone() -> None:
    broker = FakeBroker()
    request = Incremental(
        [
            incremental(TOPIC, "orders", "retention.ms", "5"),
            incremental(BROKER, "101", "num.partitions", "5"),
        ]
    )
    assert broker.ask(request, 1) is None
    (sent,) = broker.forwarded
    assert [each.resource_name for each in sent.body.resources] == ["orders"]
    there = m.IncrementalAlterConfigsResponse(responses=[Row(0, None, TOPIC, "orders")])
    answer = api.fit(Request("client", (1,), 1, request), there, broker.refused)
    assert [(each.resource_name, each.error_code) for each in answer.responses] == [
        ("orders", Errors.NONE),
        ("101", Errors.INVALID_REQUEST),
    ]


def test_a_resource_may_appear_only_once() -> None:
    broker = FakeBroker()
    twice = [incremental(TOPIC, "orders", "retention.ms", "5")] * 2
    answer = broker.ask(Incremental(twice), 1)
    assert [each.error_code for each in answer.responses] == [Errors.INVALID_REQUEST] * 2
