"""An unmodified kafka-python on the engine."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata

from kit.clusters.kafka_cluster import KafkaCluster

PATIENCE_S = 60


@pytest.fixture(scope="module")
def admin(engine_cluster: KafkaCluster) -> Any:
    client = KafkaAdminClient(bootstrap_servers=engine_cluster.bootstrap)
    yield client
    client.close()


def produce(cluster: KafkaCluster, topic: str, values: list[str], **config: Any) -> list[int]:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, **config)
    try:
        sent = [producer.send(topic, value.encode(), partition=0) for value in values]
        return [each.get(PATIENCE_S).offset for each in sent]
    finally:
        producer.close()


def consumer(cluster: KafkaCluster, *topics: str, **config: Any) -> KafkaConsumer:
    return KafkaConsumer(
        *topics,
        bootstrap_servers=cluster.bootstrap,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=PATIENCE_S * 1000,
        **config,
    )


def take(reader: KafkaConsumer, count: int) -> list[str]:
    return [next(reader).value.decode() for _ in range(count)]


# The other codecs need a library each, which this client does not bring along.
@pytest.mark.parametrize("codec", [None, "gzip"])
def test_each_codec_comes_back_as_it_went(engine_cluster, codec) -> None:
    topic = f"codec-{codec}"
    engine_cluster.create_topic(topic)
    sent = [f"order {n} " * 20 for n in range(100)]
    offsets = produce(engine_cluster, topic, sent, compression_type=codec, linger_ms=20)
    assert offsets == list(range(100))
    reader = consumer(engine_cluster)
    reader.assign([TopicPartition(topic, 0)])
    assert take(reader, 100) == sent
    reader.close()


@pytest.mark.parametrize("config", [{"acks": 0}, {"acks": 1}, {"acks": "all"},
                                    {"acks": "all", "enable_idempotence": True}])  # fmt: skip
def test_each_acks_delivers(engine_cluster, config) -> None:
    topic = "acks-" + "-".join(map(str, config.values()))
    engine_cluster.create_topic(topic)
    produce(engine_cluster, topic, ["a", "b", "c"], **config)
    reader = consumer(engine_cluster)
    reader.assign([TopicPartition(topic, 0)])
    assert take(reader, 3) == ["a", "b", "c"]
    reader.close()


def test_two_members_share_and_a_successor_resumes_at_the_commit(engine_cluster) -> None:
    engine_cluster.create_topic("shared", partitions=4)
    settled = threading.Event()
    shares = {0: 0, 1: 0}

    def member(number: int) -> None:
        # Each polls in a thread of its own: a poll that is cut short starts its join again.
        reader = consumer(engine_cluster, "shared", group_id="sharers", heartbeat_interval_ms=500)
        while not settled.is_set():
            reader.poll(timeout_ms=1000)
            shares[number] = len(reader.assignment())
        reader.close()

    threads = [threading.Thread(target=member, args=(number,)) for number in shares]
    for thread in threads:
        thread.start()
    try:
        engine_cluster.wait_until(lambda _: shares == {0: 2, 1: 2}, PATIENCE_S, "two each")
    finally:
        settled.set()
        for thread in threads:
            thread.join()
    produce(engine_cluster, "shared", ["a", "b", "c"])
    reader = consumer(engine_cluster, "shared", group_id="sharers")
    assert take(reader, 2) == ["a", "b"]
    reader.commit()
    reader.close()
    heir = consumer(engine_cluster, "shared", group_id="sharers")
    assert take(heir, 1) == ["c"]
    heir.close()


def test_a_static_member_comes_back_without_a_rebalance(engine_cluster) -> None:
    engine_cluster.create_topic("static")
    produce(engine_cluster, "static", ["a", "b"])
    config = {"group_id": "tills", "group_instance_id": "till-1"}
    reader = consumer(engine_cluster, "static", **config)
    assert take(reader, 1) == ["a"]
    reader.commit()
    before = engine_cluster.snapshot()["groups"]["tills"]
    reader.close()
    reader = consumer(engine_cluster, "static", **config)
    assert take(reader, 1) == ["b"]
    after = engine_cluster.snapshot()["groups"]["tills"]
    assert after["generation"] == before["generation"]
    assert [m["instance_id"] for m in after["members"]] == ["till-1"]
    reader.close()


def test_a_preferred_leader_is_elected(engine_cluster, admin) -> None:
    engine_cluster.create_topic("led", assignment={0: [102, 103, 101]})
    engine_cluster.stop(102)
    engine_cluster.start(102)
    isr = lambda c: c.snapshot()["topics"]["led"]["partitions"][0]["isr"]  # noqa: E731
    engine_cluster.wait_until(lambda c: len(isr(c)) == 3, PATIENCE_S)
    assert engine_cluster.leader("led") == 103
    admin.elect_leaders(0, {"led": [0]})  # 0 is preferred
    engine_cluster.wait_until(lambda c: c.leader("led") == 102, PATIENCE_S)


def test_topics_and_configs_are_administered(engine_cluster, admin) -> None:
    admin.create_topics([NewTopic("managed", num_partitions=1, replication_factor=3)])
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic("managed", num_partitions=1, replication_factor=3)])
    engine_cluster.wait_until(lambda c: c.leader("managed") >= 0, PATIENCE_S)
    assert "managed" in admin.list_topics()
    admin.create_partitions({"managed": 3})
    resource = ConfigResource(ConfigResourceType.TOPIC, "managed", {"retention.ms": "70000"})
    admin.alter_configs([resource])
    configs = lambda c: c.snapshot()["topics"]["managed"]["config"]  # noqa: E731
    engine_cluster.wait_until(lambda c: configs(c) == {"retention.ms": "70000"}, PATIENCE_S)
    assert "70000" in str(admin.describe_configs([resource]))
    admin.delete_topics(["managed"])
    engine_cluster.wait_until(lambda _: "managed" not in admin.list_topics(), PATIENCE_S)


def test_groups_and_records_are_administered(engine_cluster, admin) -> None:
    engine_cluster.create_topic("read")
    produce(engine_cluster, "read", ["a", "b", "c"])
    reader = consumer(engine_cluster, "read", group_id="readers")
    take(reader, 3)
    reader.commit()
    assert "readers" in str(admin.list_groups())
    assert "Stable" in str(admin.describe_groups(["readers"]))
    reader.close()
    place = TopicPartition("read", 0)
    assert "offset=3" in str(admin.list_group_offsets(["readers"]))
    admin.alter_group_offsets("readers", {place: OffsetAndMetadata(1, "", -1)})
    reader = consumer(engine_cluster, "read", group_id="readers")
    assert take(reader, 2) == ["b", "c"]
    reader.close()
    admin.delete_records({place: 2})
    reader = consumer(engine_cluster)
    assert reader.beginning_offsets([place]) == {place: 2}
    assert reader.end_offsets([place]) == {place: 3}
    reader.close()
    admin.delete_groups(["readers"])
    assert "readers" not in str(admin.list_groups())


def test_a_reader_with_read_committed_sees_whole_transactions(engine_cluster: KafkaCluster) -> None:
    engine_cluster.create_topic("transfers", partitions=1)
    producer = KafkaProducer(bootstrap_servers=engine_cluster.bootstrap, transactional_id="bank")
    producer.init_transactions()
    for values, ends in (
        ("A B", producer.commit_transaction),
        ("C D", producer.abort_transaction),
        ("E F", producer.commit_transaction),
    ):
        producer.begin_transaction()
        for value in values.split():
            producer.send("transfers", value.encode())
        producer.flush()  # an abort drops what was not sent
        ends()
    producer.close()
    assert transfers(engine_cluster, "read_committed", 4) == "A B E F"
    assert transfers(engine_cluster, "read_uncommitted", 6) == "A B C D E F"


def transfers(cluster: KafkaCluster, isolation: str, count: int) -> str:
    reader = KafkaConsumer(
        "transfers",
        bootstrap_servers=cluster.bootstrap,
        isolation_level=isolation,
        auto_offset_reset="earliest",
        group_id=None,
    )
    values = [next(reader).value.decode() for _ in range(count)]
    reader.close()
    return " ".join(values)
