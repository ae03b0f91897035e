"""What the row of transactions measures is committed."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from kit.bench.cluster import transactions_per_s
from kit.clusters import engine

PATIENCE_S = 60.0


def test_every_transaction_of_the_row_is_committed() -> None:
    with engine.start() as cluster:
        cluster.create_topic("bench-transactions")
        assert transactions_per_s(cluster, "bench-transactions", count=3) > 0
        settings = {"group.id": "reader", "isolation.level": "read_committed"}
        reader = Consumer({"bootstrap.servers": cluster.bootstrap, **settings})
        reader.assign([TopicPartition("bench-transactions", 0, 0)])
        assert len(reader.consume(400, PATIENCE_S)) == 400
        reader.close()
