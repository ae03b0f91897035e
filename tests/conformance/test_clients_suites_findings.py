"""What the client libraries' own test suites asked of the engine, and found missing."""

from __future__ import annotations

import pytest
from kafka import KafkaAdminClient
from kafka.errors import LogDirNotFoundError, NoError, UnknownTopicOrPartitionError
from kafka.structs import TopicPartitionReplica

from kit.clusters.kafka_cluster import KafkaCluster


@pytest.mark.parametrize(
    ("index", "directory", "outcome"),
    [
        (0, None, NoError),
        (7, None, UnknownTopicOrPartitionError),
        (0, "/not/a/log/directory", LogDirNotFoundError),
    ],
)
def test_a_replica_may_be_asked_to_stay_in_its_log_directory(
    engine_cluster: KafkaCluster, index: int, directory: str | None, outcome: type
) -> None:
    engine_cluster.create_topic("stays", replicas=3)
    admin = KafkaAdminClient(bootstrap_servers=engine_cluster.bootstrap)
    try:
        for broker in admin.describe_log_dirs():
            replica = TopicPartitionReplica("stays", index, broker["broker"])
            asked = directory or broker["log_dirs"][0]["log_dir"]
            assert admin.alter_replica_log_dirs({replica: asked}) == {replica: outcome}
    finally:
        admin.close()
