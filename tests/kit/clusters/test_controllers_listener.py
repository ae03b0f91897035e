"""Clients at the controllers' own listeners: who is there, who leads, and nothing else."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from engine import api
from engine.metadata.records import METADATA_DIRECTORY, decode_batches
from engine.wire import framing
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters import engine
from kit.clusters.data_dirs import data_dir
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.raw_client import RawClient
from tests.engine.wire.random_messages import every_version, random_message

PATIENCE_S = 30.0
BROKERS, CONTROLLERS = 1, 2
FRAMES = 400


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with engine.start(controllers=3) as started:
        yield started


def addresses(cluster: KafkaCluster) -> dict[int, tuple[str, int]]:
    parts = (each.rsplit(":", 1) for each in cluster.bootstrap_controllers.split(","))
    return dict(zip((100, 200, 300), ((host, int(port)) for host, port in parts), strict=True))


def ask(cluster: KafkaCluster, controller: int, body: Any, version: int | None = None) -> Any:
    with closing(RawClient.at(addresses(cluster)[controller], "admin")) as client:
        return client.ask(body, type(body).LATEST if version is None else version)


def registrations(cluster: KafkaCluster) -> list[tuple[int, bytes]]:
    """Controller and incarnation of each record in the metadata log."""
    folder = data_dir(cluster, 100) / METADATA_DIRECTORY
    data = b"".join(file.read_bytes() for file in sorted(folder.glob("*.log")))
    found = (record for _, record in decode_batches(data))
    return [
        (each.controller_id, each.incarnation_id)
        for each in found
        if isinstance(each, m.RegisterControllerRecord)
    ]


def active(cluster: KafkaCluster) -> int:
    return int(cluster.snapshot()["controller"]["id"])


def test_each_process_registers_once(cluster: KafkaCluster) -> None:
    assert sorted(node for node, _ in registrations(cluster)) == [100, 200, 300]


@pytest.mark.parametrize("controller", [100, 200, 300])
def test_each_of_them_knows_all_and_the_active_one(cluster: KafkaCluster, controller: int) -> None:
    answer = ask(cluster, controller, m.DescribeClusterRequest(endpoint_type=CONTROLLERS))
    assert answer.error_code == Errors.NONE
    assert {b.broker_id: (b.host, b.port) for b in answer.brokers} == addresses(cluster)
    assert answer.controller_id == active(cluster)
    assert answer.endpoint_type == CONTROLLERS
    assert answer.cluster_id == cluster.provider.cluster_id


@pytest.mark.parametrize(
    ("endpoint_type", "version", "error"),
    [
        (BROKERS, 2, Errors.MISMATCHED_ENDPOINT_TYPE),
        (BROKERS, 0, Errors.INVALID_REQUEST),
        (9, 2, Errors.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_it_speaks_of_controllers_only(
    cluster: KafkaCluster, endpoint_type: int, version: int, error: Errors
) -> None:
    body = m.DescribeClusterRequest(endpoint_type=endpoint_type)
    assert ask(cluster, 100, body, version).error_code == error


def test_api_versions_lists_what_is_offered_there(cluster: KafkaCluster) -> None:
    answer = ask(cluster, 100, m.ApiVersionsRequest("test", "1"))
    offered = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert offered == {each.key: (each.low, each.high) for each in api.ON_CONTROLLERS.values()}
    assert {each.name for each in answer.finalized_features} >= {"metadata.version"}


def test_the_active_one_describes_the_quorum_and_the_others_refuse(cluster: KafkaCluster) -> None:
    request = m.DescribeQuorumRequest
    part = request.PartitionData(0)
    body = request([request.TopicData("__cluster_metadata", [part])])
    leader = active(cluster)
    for controller in addresses(cluster):
        answer = ask(cluster, controller, body).topics[0].partitions[0]
        if controller == leader:
            assert (answer.error_code, answer.leader_id) == (Errors.NONE, leader)
        else:
            assert answer.error_code == Errors.NOT_LEADER_OR_FOLLOWER


def test_a_standby_refuses_what_only_the_active_one_decides(cluster: KafkaCluster) -> None:
    standby = next(each for each in addresses(cluster) if each != active(cluster))
    answer = ask(cluster, standby, m.UnregisterBrokerRequest(broker_id=7))
    assert answer.error_code == Errors.NOT_CONTROLLER


def test_what_brokers_and_voters_ask_ends_the_connection(cluster: KafkaCluster) -> None:
    for kind in (m.VoteRequest, m.FetchRequest, m.BrokerHeartbeatRequest, m.MetadataRequest):
        body: Any = kind()
        with closing(RawClient.at(addresses(cluster)[100], "stranger")) as client:
            client.send(body, type(body).LATEST)
            assert client.is_closed()


def test_random_frames_harm_neither_quorum_nor_brokers(cluster: KafkaCluster) -> None:
    before = cluster.snapshot()["controller"]
    chance = random.Random(17)
    versions = [row for row in every_version() if row[0].endswith("Request")]
    offered = [row for row in versions if row[0].removesuffix("Request") in api.ON_CONTROLLERS]
    for number in range(FRAMES):
        address = chance.choice(list(addresses(cluster).values()))
        with socket.create_connection(address, PATIENCE_S) as door:
            door.settimeout(0.02)
            name, version = chance.choice(chance.choice((versions, offered)))
            body = random_message(name, version, number)
            frame = bytearray(framing.write_request(version, number, "fuzz", body))
            if chance.random() < 0.3:
                frame[chance.randrange(4, len(frame))] ^= 1 << chance.randrange(8)
            door.sendall(frame)
            with suppress(TimeoutError, ConnectionError):
                door.recv(64)
    after = cluster.snapshot()["controller"]
    assert (after["id"], after["epoch"]) == (before["id"], before["epoch"])
    cluster.create_topic("after-the-frames")


def test_a_killed_controllers_listener_is_closed_and_its_next_process_registers_again(
    cluster: KafkaCluster,
) -> None:
    former, before = active(cluster), registrations(cluster)
    cluster.kill(former)
    with pytest.raises(OSError, match="refused"):
        ask(cluster, former, m.ApiVersionsRequest("test", "1"))
    cluster.wait_until(lambda c: active(c) not in (former, -1), PATIENCE_S)
    cluster.start(former)
    for controller in addresses(cluster):
        cluster.wait_until(
            lambda c, asked=controller: ask(
                c, asked, m.DescribeClusterRequest(endpoint_type=CONTROLLERS)
            ).controller_id == active(c),
            PATIENCE_S,
        )  # fmt: skip
    (again,) = registrations(cluster)[len(before) :]
    assert again[0] == former
    assert again not in before
