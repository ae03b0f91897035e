"""An unmodified confluent-kafka (librdkafka) on the engine."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    ElectionType,
    IsolationLevel,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from kit.clusters.kafka_cluster import KafkaCluster

PATIENCE_S = 60


@pytest.fixture(scope="module")
def admin(engine_cluster: KafkaCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": engine_cluster.bootstrap})


def create(admin: AdminClient, name: str, partitions: int = 1, **config: str) -> None:
    topic = NewTopic(name, partitions, 3, config=config)
    admin.create_topics([topic], operation_timeout=PATIENCE_S)[name].result(PATIENCE_S)


def produce(cluster: KafkaCluster, topic: str, values: list[str], **config: Any) -> list[Any]:
    """Sends values with their number as key; the delivery reports: an offset or an error."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0, **config})
    reports: list[Any] = []
    for number, value in enumerate(values):
        producer.produce(
            topic,
            value,
            key=str(number),
            on_delivery=lambda error, message: reports.append(error or message.offset()),
        )
    assert producer.flush(PATIENCE_S) == 0
    return reports


def consumer(cluster: KafkaCluster, group: str, **config: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
            **config,
        }
    )


def take(reader: Consumer, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        message = reader.poll(PATIENCE_S)
        assert message is not None, f"only {found} came"
        assert message.error() is None
        found.append(message.value().decode())
    return found


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_each_codec_comes_back_as_it_went(engine_cluster, admin, codec) -> None:
    create(admin, f"codec-{codec}")
    sent = [f"order {n} " * 20 for n in range(200)]
    config = {"compression.type": codec, "batch.num.messages": 50, "linger.ms": 20}
    assert produce(engine_cluster, f"codec-{codec}", sent, **config) == list(range(200))
    reader = consumer(engine_cluster, "codecs")
    reader.assign([TopicPartition(f"codec-{codec}", 0, 0)])
    assert take(reader, 200) == sent
    reader.close()


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_each_acks_delivers(engine_cluster, admin, acks) -> None:
    create(admin, f"acks-{acks}")
    reports = produce(engine_cluster, f"acks-{acks}", ["a", "b", "c"], acks=acks)
    assert len(reports) == 3
    reader = consumer(engine_cluster, "acks")
    reader.assign([TopicPartition(f"acks-{acks}", 0, 0)])
    assert take(reader, 3) == ["a", "b", "c"]
    reader.close()


def test_an_idempotent_producer_survives_a_leader_change_in_order(engine_cluster, admin) -> None:
    create(admin, "idempotent")
    producer = Producer(
        {"bootstrap.servers": engine_cluster.bootstrap, "enable.idempotence": True, "linger.ms": 0}
    )
    errors: list[Any] = []
    for number in range(300):
        producer.produce("idempotent", str(number), on_delivery=lambda e, _: errors.append(e))
        if number == 100:
            producer.poll(0)
            leader = engine_cluster.leader("idempotent")
            engine_cluster.stop(leader)
    assert producer.flush(PATIENCE_S) == 0
    assert errors == [None] * 300
    reader = consumer(engine_cluster, "idempotent")
    reader.assign([TopicPartition("idempotent", 0, 0)])
    assert take(reader, 300) == [str(n) for n in range(300)]
    reader.close()
    engine_cluster.start(leader)


def test_two_members_share_and_a_successor_resumes_at_the_commit(engine_cluster, admin) -> None:
    create(admin, "shared", partitions=4)
    first = consumer(engine_cluster, "sharers")
    first.subscribe(["shared"])
    second = consumer(engine_cluster, "sharers")
    second.subscribe(["shared"])

    def settled(_: Any) -> bool:
        first.poll(0.02)
        second.poll(0.02)
        return [len(m.assignment()) for m in (first, second)] == [2, 2]

    engine_cluster.wait_until(settled, PATIENCE_S, "two partitions each")
    second.close()
    engine_cluster.wait_until(
        lambda _: first.poll(0.02) is not None or len(first.assignment()) == 4, PATIENCE_S
    )
    produce(engine_cluster, "shared", [str(n) for n in range(40)])
    assert len(take(first, 40)) == 40
    first.commit(asynchronous=False)
    first.close()
    produce(engine_cluster, "shared", ["later"])
    heir = consumer(engine_cluster, "sharers")
    heir.subscribe(["shared"])
    assert take(heir, 1) == ["later"]
    heir.close()


def test_a_static_member_comes_back_without_a_rebalance(engine_cluster, admin) -> None:
    create(admin, "static", partitions=2)
    produce(engine_cluster, "static", ["a", "b", "c", "d"])
    config = {"group.instance.id": "till-1"}
    reader = consumer(engine_cluster, "tills", **config)
    reader.subscribe(["static"])
    take(reader, 4)
    reader.commit(asynchronous=False)
    before = engine_cluster.snapshot()["groups"]["tills"]
    reader.close()
    produce(engine_cluster, "static", ["e"])
    reader = consumer(engine_cluster, "tills", **config)
    reader.subscribe(["static"])
    assert take(reader, 1) == ["e"]
    after = engine_cluster.snapshot()["groups"]["tills"]
    assert after["generation"] == before["generation"]
    assert [m["instance_id"] for m in after["members"]] == ["till-1"]
    assert after["members"][0]["id"] != before["members"][0]["id"]
    reader.close()


def test_topics_and_configs_are_administered(engine_cluster, admin) -> None:
    create(admin, "managed", **{"retention.ms": "60000"})
    assert "managed" in admin.list_topics(timeout=PATIENCE_S).topics
    described = admin.describe_topics(TopicCollection(["managed"]))["managed"].result(PATIENCE_S)
    assert len(described.partitions[0].replicas) == 3
    grown = admin.create_partitions([NewPartitions("managed", 3)])
    grown["managed"].result(PATIENCE_S)
    resource = ConfigResource(ResourceType.TOPIC, "managed")
    resource.add_incremental_config(
        ConfigEntry("retention.ms", "70000", incremental_operation=AlterConfigOpType.SET)
    )
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def value(_: Any) -> str:
        asked = ConfigResource(ResourceType.TOPIC, "managed")
        entries = admin.describe_configs([asked])[asked].result(PATIENCE_S)
        return entries["retention.ms"].value

    engine_cluster.wait_until(lambda c: value(c) == "70000", PATIENCE_S)
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        create(admin, "managed")
    admin.delete_topics(["managed"])["managed"].result(PATIENCE_S)
    engine_cluster.wait_until(
        lambda _: "managed" not in admin.list_topics(timeout=PATIENCE_S).topics, PATIENCE_S
    )


def test_offsets_records_and_leaders_are_administered(engine_cluster, admin) -> None:
    engine_cluster.create_topic("moved", assignment={0: [102, 103, 101]})
    produce(engine_cluster, "moved", ["a", "b", "c"])
    place = TopicPartition("moved", 0)
    latest = admin.list_offsets({place: OffsetSpec.latest()})[place].result(PATIENCE_S)
    assert latest.offset == 3
    deleted = admin.delete_records([TopicPartition("moved", 0, 2)])
    assert deleted[place].result(PATIENCE_S).low_watermark == 2
    earliest = admin.list_offsets(
        {place: OffsetSpec.earliest()}, isolation_level=IsolationLevel.READ_UNCOMMITTED
    )
    assert earliest[place].result(PATIENCE_S).offset == 2

    engine_cluster.stop(102)
    engine_cluster.start(102)
    whole = lambda c: len(c.snapshot()["topics"]["moved"]["partitions"][0]["isr"]) == 3  # noqa: E731
    engine_cluster.wait_until(whole, PATIENCE_S)
    assert engine_cluster.leader("moved") == 103
    elected = admin.elect_leaders(ElectionType.PREFERRED, [place]).result(PATIENCE_S)
    assert elected[place] is None
    engine_cluster.wait_until(lambda c: c.leader("moved") == 102, PATIENCE_S)


def test_groups_are_administered(engine_cluster, admin) -> None:
    create(admin, "read")
    produce(engine_cluster, "read", ["a", "b", "c"])
    reader = consumer(engine_cluster, "readers")
    reader.subscribe(["read"])
    take(reader, 3)
    reader.commit(asynchronous=False)
    listed = admin.list_consumer_groups().result(PATIENCE_S).valid
    assert "readers" in [group.group_id for group in listed]
    described = admin.describe_consumer_groups(["readers"])["readers"].result(PATIENCE_S)
    assert described.state.name == "STABLE"
    assert len(described.members) == 1
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups(["readers"])["readers"].result(PATIENCE_S)
    reader.close()
    asked = ConsumerGroupTopicPartitions("readers", [TopicPartition("read", 0)])
    found = admin.list_consumer_group_offsets([asked])["readers"].result(PATIENCE_S)
    assert found.topic_partitions[0].offset == 3
    back = ConsumerGroupTopicPartitions("readers", [TopicPartition("read", 0, 1)])
    admin.alter_consumer_group_offsets([back])["readers"].result(PATIENCE_S)
    reader = consumer(engine_cluster, "readers")
    reader.subscribe(["read"])
    assert take(reader, 2) == ["b", "c"]
    reader.close()
    admin.delete_consumer_groups(["readers"])["readers"].result(PATIENCE_S)
    remaining = admin.list_consumer_groups().result(PATIENCE_S).valid
    assert "readers" not in [group.group_id for group in remaining]
