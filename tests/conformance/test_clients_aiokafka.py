"""An unmodified aiokafka on the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from kit.clusters.kafka_cluster import KafkaCluster

PATIENCE_S = 60


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, PATIENCE_S))


async def produce(cluster: KafkaCluster, topic: str, values: list[str], **config: Any) -> list[Any]:
    producer = AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, **config)
    await producer.start()
    try:
        sent = [await producer.send(topic, v.encode(), partition=0) for v in values]
        return [await each for each in sent]
    finally:
        await producer.stop()


async def consumer(cluster: KafkaCluster, *topics: str, **config: Any) -> AIOKafkaConsumer:
    reader = AIOKafkaConsumer(
        *topics,
        bootstrap_servers=cluster.bootstrap,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **config,
    )
    await reader.start()
    return reader


async def take(reader: AIOKafkaConsumer, count: int) -> list[str]:
    return [(await reader.getone()).value.decode() for _ in range(count)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_each_codec_comes_back_as_it_went(engine_cluster, codec) -> None:
    topic = f"codec-{codec}"
    engine_cluster.create_topic(topic)
    sent = [f"order {n} " * 20 for n in range(100)]

    async def work() -> list[str]:
        await produce(engine_cluster, topic, sent, compression_type=codec, linger_ms=20)
        reader = await consumer(engine_cluster)
        reader.assign([TopicPartition(topic, 0)])
        found = await take(reader, 100)
        await reader.stop()
        return found

    assert run(work()) == sent


@pytest.mark.parametrize("config", [{"acks": 0}, {"acks": 1}, {"acks": "all"},
                                    {"enable_idempotence": True}])  # fmt: skip
def test_each_acks_delivers(engine_cluster, config) -> None:
    topic = "acks-" + "-".join(map(str, config.values()))
    engine_cluster.create_topic(topic)

    async def work() -> list[str]:
        await produce(engine_cluster, topic, ["a", "b", "c"], **config)
        reader = await consumer(engine_cluster)
        reader.assign([TopicPartition(topic, 0)])
        found = await take(reader, 3)
        await reader.stop()
        return found

    assert run(work()) == ["a", "b", "c"]


@pytest.mark.parametrize("config", [{}, {"group_instance_id": "till-1"}], ids=["dynamic", "static"])
def test_a_successor_resumes_at_the_commit(engine_cluster, config) -> None:
    topic = f"resumed-{len(config)}"
    engine_cluster.create_topic(topic)

    async def work() -> list[str]:
        await produce(engine_cluster, topic, ["a", "b", "c"])
        found = []
        for count in (2, 1):
            reader = await consumer(engine_cluster, topic, group_id=topic, **config)
            found += await take(reader, count)
            await reader.commit()
            await reader.stop()
        return found

    assert run(work()) == ["a", "b", "c"]


def test_two_members_share(engine_cluster) -> None:
    engine_cluster.create_topic("shared", partitions=4)

    async def work() -> list[int]:
        pair = [await consumer(engine_cluster, "shared", group_id="sharers") for _ in range(2)]
        shares: list[int] = []
        while shares != [2, 2]:
            for member in pair:
                await member.getmany(timeout_ms=20)
            shares = [len(member.assignment()) for member in pair]
        for member in pair:
            await member.stop()
        return shares

    assert run(work()) == [2, 2]


def test_topics_groups_and_records_are_administered(engine_cluster) -> None:
    async def work() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=engine_cluster.bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic("managed", 1, 3)])
        assert "managed" in await admin.list_topics()
        await admin.create_partitions({"managed": NewPartitions(3)})
        resource = ConfigResource(ConfigResourceType.TOPIC, "managed", {"retention.ms": "70000"})
        await admin.alter_configs([resource])
        assert "70000" in str(await admin.describe_configs([resource]))
        await produce(engine_cluster, "managed", ["a", "b", "c"])
        reader = await consumer(engine_cluster, "managed", group_id="managers")
        await take(reader, 3)
        await reader.commit()
        place = TopicPartition("managed", 0)
        assert (await admin.list_consumer_group_offsets("managers"))[place].offset == 3
        assert "Stable" in str(await admin.describe_consumer_groups(["managers"]))
        await reader.stop()
        deleted = await admin.delete_records({place: RecordsToDelete(2)})
        assert deleted[place] == 2
        assert "managers" in str(await admin.list_consumer_groups())
        await admin.delete_topics(["managed"])
        await admin.close()

    run(work())


def test_a_transaction_is_whole_or_nothing(engine_cluster: KafkaCluster) -> None:
    engine_cluster.create_topic("aio-transfers", partitions=1)
    servers = engine_cluster.bootstrap

    async def transact() -> list[bytes]:
        producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id="aio")
        await producer.start()
        async with producer.transaction():
            await producer.send_and_wait("aio-transfers", b"A")
        await producer.begin_transaction()
        await producer.send_and_wait("aio-transfers", b"B")
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_and_wait("aio-transfers", b"C")
        await producer.stop()
        reader = AIOKafkaConsumer(
            "aio-transfers", bootstrap_servers=servers, auto_offset_reset="earliest",
            isolation_level="read_committed",
        )  # fmt: skip
        await reader.start()
        found = [(await reader.getone()).value for _ in range(2)]
        await reader.stop()
        return found

    assert run(transact()) == [b"A", b"C"]
