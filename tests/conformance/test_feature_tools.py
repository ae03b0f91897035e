"""kafka-features.sh on the engine and on Kafka: the same commands, the same text.

Lines about a feature that the engine does not have are left out of the description, and so is
the epoch, which is an offset of each side's metadata log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from engine.metadata.features import SUPPORTED
from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.kafka_tools import KafkaTools
from tests.real_clusters import require_local_kafka

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

PROTOCOL = "transaction.version"
COMMANDS = """
describe
upgrade --feature transaction.version=2
downgrade --feature transaction.version=1 --dry-run
describe
downgrade --feature transaction.version=1
downgrade --feature transaction.version=2
describe
disable --feature transaction.version --dry-run
disable --feature transaction.version
describe
upgrade --feature transaction.version=2 --dry-run
upgrade --feature transaction.version=2
downgrade --unsafe --feature transaction.version=1
upgrade --feature transaction.version=2
upgrade --feature transaction.version=3
upgrade --feature transaction.version=3 --dry-run
upgrade --feature transaction.version=1
upgrade --feature transaction.version=-1
upgrade --feature nothing.version=1
upgrade --feature nothing.version=0
disable --feature nothing.version
downgrade --feature transaction.version=1 --feature nothing.version=1
upgrade --feature metadata.version=30
upgrade --feature metadata.version=31
upgrade --feature metadata.version=29
downgrade --feature metadata.version=29
downgrade --unsafe --feature metadata.version=29 --dry-run
downgrade --feature metadata.version=6
disable --feature metadata.version
upgrade --metadata 4.3-IV0
disable --feature group.version --feature eligible.leader.replicas.version
describe
upgrade --feature group.version=1 --feature eligible.leader.replicas.version=1
describe
""".strip().splitlines()


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    require_local_kafka()
    with KafkaTools() as tools:
        yield tools


def printed(tools: KafkaTools, cluster: KafkaCluster, command: str) -> list[str]:
    """What both sides must show; a refusal is text too."""
    try:
        text = tools.run(cluster.bootstrap, "features", *command.split())
    except AssertionError as failed:
        text = f"refused\n{failed}"
    lines = [re.sub(r"\s+Epoch: \d+$", "", line).rstrip() for line in text.splitlines()]
    features = re.compile(r"Feature: (\S+)")
    found = [(line, features.match(line)) for line in lines]
    return [line for line, feature in found if feature is None or feature[1] in SUPPORTED]


def test_the_same_commands_print_the_same(
    tools: KafkaTools, local_cluster: KafkaCluster, engine_cluster: KafkaCluster
) -> None:
    for command in COMMANDS:
        kafka, engine = (
            printed(tools, cluster, command) for cluster in (local_cluster, engine_cluster)
        )
        assert engine == kafka, command
        if command == "describe":
            assert len(engine) == len(SUPPORTED)


@pytest.mark.parametrize("side", ["engine_cluster", "local_cluster"])
def test_a_java_producer_speaks_the_protocol_of_the_finalised_level(
    tools: KafkaTools, side: str, request: pytest.FixtureRequest
) -> None:
    """With level 2 each transaction has an epoch of its own, below it only each producer has."""
    cluster: KafkaCluster = request.getfixturevalue(side)
    cluster.create_topic("levels", partitions=1)

    def epochs() -> int:
        """The epochs that a run of ten transactions takes."""
        load = "--topic levels --record-size 10 --num-records 10 --throughput 20"
        name = "--transactional-id till --transaction-duration-ms 1"
        before = epoch_of_till()
        tools.run(cluster.bootstrap, "producer-perf-test", *f"{load} {name}".split())
        return epoch_of_till() - before

    def epoch_of_till() -> int:
        arguments = ("describe", "--transactional-id", "till")
        try:
            text = tools.run(cluster.bootstrap, "transactions", *arguments)
        except AssertionError:
            return 0
        head, row = [line.split("\t") for line in text.splitlines() if "\t" in line][:2]
        columns = dict(zip([each.strip() for each in head], row, strict=True))
        return int(columns["ProducerEpoch"])

    def change(*arguments: str) -> None:
        tools.run(cluster.bootstrap, "features", *arguments)

    epochs()
    assert epochs() > 2
    change("downgrade", "--feature", f"{PROTOCOL}=1")
    epochs()  # the end of a transaction of level 2 may still be bumped by the new producer
    assert epochs() == 1
    change("upgrade", "--feature", f"{PROTOCOL}=2")
    assert epochs() > 2
