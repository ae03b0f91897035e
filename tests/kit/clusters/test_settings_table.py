"""One table of settings: in the compose file, in a live Kafka, known to the engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from engine.wire import messages as m
from kit import spark_cluster
from kit.clusters import docker, settings_table
from kit.clusters.connections import Connections

ROOT = Path(__file__).parents[3]
BROKER = 4
"""The resource type of a broker in DescribeConfigs."""


def compose() -> dict:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def kafkas() -> dict:
    """The services that start without a profile."""
    return {n: each for n, each in compose()["services"].items() if "profiles" not in each}


def test_the_compose_file_carries_the_table() -> None:
    for name, service in kafkas().items():
        environment = service["environment"]
        expected = settings_table.as_environment()
        assert {k: v for k, v in environment.items() if k in expected} == expected, name
        assert environment["CLUSTER_ID"] == docker.CLUSTER_ID


def test_the_compose_file_names_the_tables_nodes_and_racks_on_loopback_ports() -> None:
    services = kafkas()
    nodes = [settings_table.CONTROLLER, *settings_table.BROKERS]
    assert list(services) == [f"kafka-{node}" for node in nodes]
    for broker in settings_table.BROKERS:
        service, port = services[f"kafka-{broker}"], docker.port(broker)
        assert service["environment"]["KAFKA_BROKER_RACK"] == settings_table.RACKS[broker]
        assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
        assert f"CLIENT://127.0.0.1:{port}" in service["environment"]["KAFKA_ADVERTISED_LISTENERS"]
        assert service["labels"] == {docker.LABEL: str(broker)}


def test_the_compose_file_keeps_to_what_compose_1_29_reads() -> None:
    allowed = {"services", "networks", "volumes"}
    assert {key for key in compose() if not key.startswith("x-")} == allowed
    images = {service["image"] for service in kafkas().values()}
    assert images == {"apache/kafka:4.3.1"}, "no registry host in an image's name"


def test_the_spark_profile_is_the_kits_standalone_cluster() -> None:
    services = compose()["services"]
    assert {n for n, each in services.items() if each.get("profiles") == ["spark"]} == {
        "spark-master", *(f"spark-worker-{n}" for n in range(1, spark_cluster.WORKERS + 1)),
    }  # fmt: skip
    pinned = next(
        line for line in (ROOT / "requirements-spark.lock").read_text().splitlines()
        if line.startswith("pyspark==")
    )  # fmt: skip
    for name in services.keys() - kafkas().keys():
        service, words = services[name], services[name]["command"].split()
        assert service["image"] == f"apache/spark:{pinned.split('==')[1].split()[0]}"
        assert words[words.index("--host") + 1] == service["environment"]["SPARK_LOCAL_IP"]
        assert service["environment"]["SPARK_LOCAL_IP"] == "127.0.0.1"
        assert service["labels"] == {docker.LABEL: "spark"}
        if name != "spark-master":
            assert words[words.index("--memory") + 1] == f"{spark_cluster.MEMORY_MB}m"
            assert words[-1] == "spark://127.0.0.1:7077"


def test_environment_names_are_the_official_images() -> None:
    assert settings_table.environment_name("log.dirs") == "KAFKA_LOG_DIRS"
    assert settings_table.environment_name("a.b-c_d") == "KAFKA_A_B___C__D"


@pytest.fixture
def connections() -> Iterator[Connections]:
    connections = Connections()
    yield connections
    connections.close()


@pytest.mark.real
def test_a_live_cluster_runs_under_the_table(local_cluster, connections) -> None:
    for broker in local_cluster.brokers:
        resource = m.DescribeConfigsRequest.DescribeConfigsResource(BROKER, str(broker), None)
        address = local_cluster.provider.nodes()[broker].address
        answer = connections.ask(address, m.DescribeConfigsRequest([resource]))
        live = {each.name: each.value for each in answer.results[0].configs}
        seen = {s.name: live[s.name] for s in settings_table.SETTINGS if s.name in live}
        assert seen == settings_table.as_dict()


@pytest.mark.real
def test_a_live_cluster_has_the_tables_feature_levels(local_cluster, connections) -> None:
    address = local_cluster.provider.nodes()[101].address
    finalized = dict(connections.connection(address).finalized_features)
    assert finalized.pop("metadata.version") > 0
    assert finalized == settings_table.FEATURES
