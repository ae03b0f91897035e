"""The same admin requests to the engine and to a live Kafka: the same answers, sentences apart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.settings.sources import BROKER, CLIENT_METRICS, GROUP, TOPIC
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit import fidelity
from kit.clusters import settings_table
from kit.clusters.connections import Connection
from kit.clusters.kafka_cluster import KafkaCluster
from tests.engine.api.asking import Asking

pytestmark = pytest.mark.real

NAME = "admin-beside-kafka"
Resource = m.DescribeConfigsRequest.DescribeConfigsResource
Incremental = m.IncrementalAlterConfigsRequest
Paged = m.DescribeTopicPartitionsRequest
Named = m.MetadataRequest.MetadataRequestTopic

# Each side has its own places, names and addresses.
IDENTITY = {
    "advertised.listeners", "broker.id", "broker.rack", "controller.listener.names",
    "controller.quorum.bootstrap.servers", "controller.quorum.voters",
    "inter.broker.listener.name", "listener.security.protocol.map", "listeners", "log.dirs",
    "node.id", "process.roles",
}  # fmt: skip


@pytest.fixture(scope="module")
def kafka(local_cluster: KafkaCluster) -> Iterator[Connection]:
    """A connection to broker 101 of a live Kafka that has the topic."""
    host, _, port = local_cluster.bootstrap.split(",")[0].rpartition(":")
    connection = Connection((host, int(port)), timeout_s=30.0)
    assert connection.ask(creation()).topics[0].error_code == 0
    local_cluster.wait_until(lambda _: NAME in names(connection), timeout_s=30)
    yield connection
    gone = m.DeleteTopicsRequest.DeleteTopicState(NAME)
    connection.ask(m.DeleteTopicsRequest([gone], timeout_ms=30_000))
    connection.close()


@pytest.fixture(scope="module")
def engine() -> Asking:
    asking = Asking(settings_table.as_dict())
    asking.ask(creation())
    asking.run_until(lambda: NAME in asking.image(101).topic_ids)
    return asking


def creation() -> Any:
    configs = {"cleanup.policy": "compact", "internal.segment.bytes": "50000"}
    made = [m.CreateTopicsRequest.CreatableTopicConfig(*each) for each in configs.items()]
    topic = m.CreateTopicsRequest.CreatableTopic(NAME, 2, 3, configs=made)
    return m.CreateTopicsRequest([topic])


def names(connection: Connection) -> list[str]:
    return [topic.name for topic in connection.ask(m.MetadataRequest(None, False)).topics]


def described(asked: Any, kind: int, name: str) -> dict[str, Any]:
    request = m.DescribeConfigsRequest([Resource(kind, name, None)], True)
    for _ in range(100):
        answer = asked.ask(request).results[0]
        if answer.error_code != Errors.UNKNOWN_TOPIC_OR_PARTITION:
            break
        time.sleep(0.1)  # a broker hears of a topic after the controller has made it
    assert answer.error_code == 0
    return {
        config.name: (
            config.value,
            config.config_source,
            config.read_only,
            config.is_sensitive,
            config.config_type,
            [(each.name, each.value, each.source) for each in config.synonyms],
        )
        for config in answer.configs
    }


def test_a_live_broker_advertises_what_the_facts_say(kafka: Connection) -> None:
    answer = kafka.ask(m.ApiVersionsRequest("kit", "1"), 4)
    facts = fidelity.advertised()
    assert {k.api_key: [k.min_version, k.max_version] for k in answer.api_keys} == {
        key: [low, high] for key, low, high in facts["apis"].values()
    }
    supported = {f.name: [f.min_version, f.max_version] for f in answer.supported_features}
    assert supported == {name: levels[:2] for name, levels in facts["features"].items()}
    # kraft.version depends on how the quorum was formed, not on the release.
    finalised = {f.name: f.max_version_level for f in answer.finalized_features}
    for name in facts["features"].keys() - {"kraft.version"}:
        assert finalised[name] == facts["features"][name][2]


def test_what_we_advertise_is_a_part_of_it(kafka: Connection, engine: Asking) -> None:
    request = m.ApiVersionsRequest("kit", "1")
    theirs, ours = kafka.ask(request, 4), engine.ask(request, 4)
    assert all(each in theirs.api_keys for each in ours.api_keys)
    assert ours.zk_migration_ready == theirs.zk_migration_ready
    supported = {f.name: f for f in theirs.supported_features}
    for feature in ours.supported_features:
        their = supported[feature.name]
        assert their.min_version <= feature.min_version
        assert feature.max_version <= their.max_version


SPELLINGS = [
    ("min.cleanable.dirty.ratio", "NaN"),
    ("min.cleanable.dirty.ratio", "0.5f"),
    ("min.cleanable.dirty.ratio", "1e-3"),
    ("min.cleanable.dirty.ratio", " 1 "),
    ("cleanup.policy", "delete,delete"),
    ("cleanup.policy", "compact , delete,compact"),
    ("cleanup.policy", " delete "),
    ("cleanup.policy", "delete,"),
    ("retention.ms", " 7 "),
    ("retention.ms", "+007"),
    ("retention.ms", "7.0"),
    ("preallocate", "TRUE"),
    ("preallocate", "yes"),
    ("leader.replication.throttled.replicas", "0:1, 0:1"),
]


def test_a_topic_is_created_with_its_configs_as_they_were_sent_and_described_as_they_were_read(
    kafka: Connection, engine: Asking
) -> None:
    """KIP-525 echoes the text, DescribeConfigs gives the value."""
    for number, (config, text) in enumerate(SPELLINGS):
        name = f"spelled-{number}"
        heard = []
        for asked in (kafka, engine):
            own = m.CreateTopicsRequest.CreatableTopicConfig(config, text)
            topic = m.CreateTopicsRequest.CreatableTopic(name, 1, 1, configs=[own])
            answer = asked.ask(m.CreateTopicsRequest([topic])).topics[0]
            echoed = [each.value for each in answer.configs or [] if each.name == config]
            read = None
            if answer.error_code == 0:
                read = described(asked, TOPIC, name)[config][0]
                gone = m.DeleteTopicsRequest.DeleteTopicState(name)
                asked.ask(m.DeleteTopicsRequest([gone], timeout_ms=30_000))
            heard.append((answer.error_code, echoed, read))
        assert heard[0] == heard[1], (config, text)


def test_a_topics_configs_are_described_alike(kafka: Connection, engine: Asking) -> None:
    theirs, ours = described(kafka, TOPIC, NAME), described(engine, TOPIC, NAME)
    # The cluster-wide value stands in the metadata log of both.
    assert ours["min.insync.replicas"][:2] == theirs["min.insync.replicas"][:2]
    assert ours == theirs


def test_a_brokers_configs_are_described_alike(kafka: Connection, engine: Asking) -> None:
    theirs, ours = described(kafka, BROKER, "101"), described(engine, BROKER, "101")
    theirs.pop("log.initial.task.delay.ms", None)  # internal; the kit sets it for a local Kafka
    assert set(ours) == set(theirs)
    for name in sorted(set(ours) - IDENTITY):
        assert ours[name] == theirs[name], name
    for name in sorted(IDENTITY):
        assert ours[name][2:5] == theirs[name][2:5], name


def test_a_groups_configs_are_described_alike(kafka: Connection, engine: Asking) -> None:
    assert described(engine, GROUP, "g") == described(kafka, GROUP, "g")


def alter(kind: int, name: str, key: str, value: str | None, operation: int = 0) -> Any:
    config = Incremental.AlterableConfig(key, operation, value)
    # validate_only: nothing changes on either side.
    return Incremental([Incremental.AlterConfigsResource(kind, name, [config])], True)


def describe(kind: int, name: str) -> Any:
    return m.DescribeConfigsRequest([Resource(kind, name, None)])


QUESTIONS: dict[str, Any] = {
    "metadata of an unknown topic": m.MetadataRequest([Named(name="nope")], False),
    "metadata of an illegal name": m.MetadataRequest([Named(name="b@d")], False),
    "metadata of an unknown id": m.MetadataRequest([Named(b"x" * 16, None)], False),
    "pages of unknown topics": Paged([Paged.TopicRequest("zz"), Paged.TopicRequest("b@d")]),
    "a page of a topic": Paged([Paged.TopicRequest(NAME)], 1),
    "a page with a foreign cursor": Paged([Paged.TopicRequest(NAME)], 1, Paged.Cursor("zz", 0)),
    "the cluster": m.DescribeClusterRequest(True, 1, True),
    "the controllers, of a broker": m.DescribeClusterRequest(False, 2),
    "an endpoint of no kind": m.DescribeClusterRequest(False, 3),
    "configs of an unknown topic": describe(TOPIC, "nope"),
    "configs of an illegal topic": describe(TOPIC, "b@d"),
    "configs of another broker": describe(BROKER, "102"),
    "configs of a broker without a number": describe(BROKER, "x"),
    "configs of a group without a name": describe(GROUP, ""),
    "configs of client metrics without a name": describe(CLIENT_METRICS, ""),
    "configs of nothing": describe(7, "x"),
    "config resources of no kind": m.ListConfigResourcesRequest([TOPIC, 9]),
    "retention below -1": alter(TOPIC, NAME, "retention.ms", "-5"),
    "a misspelt config": alter(TOPIC, NAME, "retention.mss", "5"),
    "a config without a value": alter(TOPIC, NAME, "retention.ms", None),
    "an append to a number": alter(TOPIC, NAME, "retention.ms", "5", 2),
    "an append to a list": alter(TOPIC, NAME, "cleanup.policy", "delete", 2),
    "a config of an unknown topic": alter(TOPIC, "nope", "retention.ms", "5"),
    "tiered storage": alter(TOPIC, NAME, "remote.storage.enable", "true"),
    "a read-only broker config": alter(BROKER, "101", "num.partitions", "3"),
    "a dynamic broker config": alter(BROKER, "101", "message.max.bytes", "3000000"),
    "a broker config out of range": alter(BROKER, "101", "message.max.bytes", "-1"),
    "TLS, which belongs to a listener": alter(BROKER, "101", "ssl.keystore.type", "JKS"),
    "min ISR of one broker": alter(BROKER, "101", "min.insync.replicas", "1"),
    "min ISR of the cluster, removed": alter(BROKER, "", "min.insync.replicas", None, 1),
    "another broker's config": alter(BROKER, "102", "message.max.bytes", "3000000"),
    "an unknown broker's end": m.UnregisterBrokerRequest(555),
    "an election that is not needed": m.ElectLeadersRequest(
        0, [m.ElectLeadersRequest.TopicPartitions(NAME, [0, 9])]
    ),
    "moves of replicas": m.ListPartitionReassignmentsRequest(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_question_gets_the_same_answer(
    question: str, kafka: Connection, engine: Asking
) -> None:
    ours, theirs = engine.ask(QUESTIONS[question]), kafka.ask(QUESTIONS[question])
    assert comparable(ours) == comparable(theirs)


def comparable(node: Any) -> Any:
    """An answer without sentences, addresses, ids and the choice of leaders."""
    if isinstance(node, list):
        return [comparable(each) for each in node]
    if not hasattr(node, "__slots__"):
        return node
    differs = {
        "cluster_id", "controller_id", "error_message", "host", "isr_nodes", "leader_id", "port",
        "rack", "replica_nodes", "topic_id",
    }  # fmt: skip
    return {n: comparable(getattr(node, n)) for n in node.__slots__ if n not in differs}
