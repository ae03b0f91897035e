"""Kafka's tools at the controllers of the engine and of a real Kafka print the same."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import closing

import pytest

from engine.wire import messages as m
from kit.clusters import engine, local
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from tests.conformance.kafka_tools import KafkaTools
from tests.real_clusters import require_local_kafka

pytestmark = [pytest.mark.real, pytest.mark.full, pytest.mark.heavy]

CONTROLLER_IDS = (100, 200, 300)
SERVERS, CONTROLLERS = "--bootstrap-server", "--bootstrap-controller"
QUESTIONS = {
    "quorum status": ("metadata-quorum", "describe", "--status"),
    "quorum replication": ("metadata-quorum", "describe", "--replication"),
    "features": ("features", "describe"),
    "cluster id": ("cluster", "cluster-id"),
    "endpoints": ("cluster", "list-endpoints"),
}
OURS_ALONE = re.compile(r"Feature: (kraft|share|streams)\.version .*\n")
"""Features that the engine does not have."""


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, KafkaCluster]]:
    require_local_kafka()
    with engine.start(controllers=3) as ours, local.start(controllers=3) as kafka:
        yield {"engine": ours, "kafka": kafka}


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as running:
        yield running


def shape(text: str) -> list[str]:
    """What was printed, without ids, addresses, offsets and times; rows in any order."""
    text = OURS_ALONE.sub("", text)
    text = re.sub(r', "directoryId": "[^"]*"', "", text)
    text = re.sub(r"[\w-]{22}(?=\s)", "<id>", text)
    text = re.sub(r"127\.0\.0\.1[: ]\d+", "<address>", text)
    text = re.sub(r"(?<![\w.-])\d{1,13}(?![\w.-])", "#", text)
    observers = re.compile(r"(CurrentObservers: +)\[(.*)\]")
    text = observers.sub(lambda m: m[1] + str(sorted(m[2].split(", "))), text)
    return sorted(re.sub(r"\s+", " ", line).strip() for line in text.splitlines())


@pytest.mark.parametrize("at", [SERVERS, CONTROLLERS])
@pytest.mark.parametrize("question", QUESTIONS)
def test_they_print_the_same(
    clusters: dict[str, KafkaCluster], tools: KafkaTools, question: str, at: str
) -> None:
    printed = {}
    for side, cluster in clusters.items():
        there = cluster.bootstrap if at == SERVERS else cluster.bootstrap_controllers
        name, *arguments = QUESTIONS[question]
        printed[side] = shape(tools.run(there, name, *arguments, at=at))
    assert printed["engine"] == printed["kafka"]
    assert len(printed["engine"]) > 0


def addresses(cluster: KafkaCluster) -> list[tuple[str, int]]:
    parts = (each.rsplit(":", 1) for each in cluster.bootstrap_controllers.split(","))
    return [(host, int(port)) for host, port in parts]


def leader_known_to(address: tuple[str, int]) -> int:
    """The active controller by what the one at this address says; -1 if it knows none."""
    with closing(RawClient.at(address, "admin")) as client:
        request = m.DescribeClusterRequest(endpoint_type=2)
        return int(client.ask(request, request.LATEST).controller_id)


def agree(left: list[tuple[str, int]], former: int, _: object) -> bool:
    """Whether all of them know a leader, and another one than before."""
    return not {-1, former} & {*map(leader_known_to, left)}


def test_the_tool_finds_the_next_leader(
    clusters: dict[str, KafkaCluster], tools: KafkaTools
) -> None:
    """It asks any controller that is left.

    One that knows no leader yet answers -1: Kafka's admin client then waits until it gives up.
    """
    for cluster in clusters.values():
        former = cluster.snapshot()["controller"]["id"]
        cluster.kill(former)
        left = [
            address
            for each, address in zip(CONTROLLER_IDS, addresses(cluster), strict=True)
            if each != former
        ]
        cluster.wait_until(functools.partial(agree, left, former), 60)
        there = cluster.bootstrap_controllers
        text = tools.run(there, "metadata-quorum", "describe", "--status", at=CONTROLLERS)
        leader = re.search(r"LeaderId:\s+(\d+)", text)
        assert leader is not None
        assert int(leader[1]) in {leader_known_to(each) for each in left}
        cluster.start(former)
