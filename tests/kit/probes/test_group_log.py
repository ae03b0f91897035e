"""What a group's coordinator has written, read with a plain consumer."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from engine.coordinators.offsets import OffsetRecord
from engine.coordinators.offsets_topic import partition_for
from kit.clusters import engine
from kit.probes import group_log


def test_only_the_records_of_one_group_are_read_in_their_order() -> None:
    with engine.start() as cluster:
        cluster.create_topic("orders", partitions=1)
        assert partition_for("billing", 5) == partition_for("older", 5)
        for group, offset in (("billing", 3), ("older", 9), ("billing", 5)):
            consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
            consumer.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
            consumer.close()
        written = group_log.records(cluster, "billing")
        commits = [each for each in written if isinstance(each, OffsetRecord)]
        assert [each.committed and each.committed.offset for each in commits] == [3, 5]
        assert group_log.generation(cluster, "billing") == 0


def test_the_newest_generation_of_a_classic_group_and_of_a_consumer_group() -> None:
    with engine.start() as cluster:
        cluster.create_topic("orders", partitions=1)
        for protocol, group in (("classic", "older"), ("consumer", "newer")):
            own = {"bootstrap.servers": cluster.bootstrap, "group.id": group}
            numbers = []
            for _ in range(2):
                consumer = Consumer({**own, "group.protocol": protocol})
                consumer.subscribe(["orders"])
                cluster.wait_until(lambda _, one=consumer: one.poll(0.1) or one.assignment(), 30)
                numbers.append(group_log.generation(cluster, group))
                consumer.close()
            assert 0 < numbers[0] < numbers[1], group
