"""Clients that are slow to read a long answer: what they cost, and that others are served."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from engine.records import batch
from engine.wire import framing
from engine.wire import messages as m
from kit.clusters import engine
from kit.clusters.connections import Connection
from kit.clusters.engine import EngineProvider
from kit.clusters.kafka_cluster import KafkaCluster

PATIENCE_S = 60.0
READERS = 100
ANSWER_BYTES = 8_000_000
RESIDENT_BYTES_MAX = 60_000_000
"""Of all slow readers together; 347 MB when each answer was made in memory."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with engine.start() as served:
        fill(served, "long")
        yield served


def fill(cluster: KafkaCluster, topic: str) -> None:
    cluster.create_topic(topic)
    now_ms = int(time.time() * 1000)
    value = b"x" * 10_000
    records = batch.encode([batch.Record(i, now_ms, None, value) for i in range(80)])
    part = m.ProduceRequest.PartitionProduceData(0, records)
    data = m.ProduceRequest.TopicProduceData(name=topic, partition_data=[part])
    leader = leader_of(cluster, topic)
    for _ in range(ANSWER_BYTES // len(records) + 1):
        request = m.ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data])
        answer = leader.ask(request, 12)
        assert answer.responses[0].partition_responses[0].error_code == 0
    leader.close()


def address(cluster: KafkaCluster, topic: str) -> tuple[str, int]:
    first, _, port = cluster.bootstrap.split(",")[0].rpartition(":")
    anyone = Connection((first, int(port)), PATIENCE_S)
    asked = m.MetadataRequest.MetadataRequestTopic(name=topic)
    answer = anyone.ask(m.MetadataRequest(topics=[asked]), 12)
    anyone.close()
    leader = answer.topics[0].partitions[0].leader_id
    return next((each.host, each.port) for each in answer.brokers if each.node_id == leader)


def leader_of(cluster: KafkaCluster, topic: str) -> Connection:
    return Connection(address(cluster, topic), PATIENCE_S)


def fetch(topic: str) -> m.FetchRequest:
    part = m.FetchRequest.FetchPartition(partition=0, partition_max_bytes=ANSWER_BYTES)
    asked = m.FetchRequest.FetchTopic(topic=topic, partitions=[part])
    return m.FetchRequest(max_bytes=50_000_000, session_epoch=-1, topics=[asked])


def ask_slowly(cluster: KafkaCluster, topic: str, times: int = 1) -> socket.socket:
    """A client that asks for a long answer and does not read it."""
    client = socket.create_connection(address(cluster, topic), PATIENCE_S)
    client.sendall(framing.write_request(12, 7, "slow", fetch(topic)) * times)
    return client


def read_answer(client: socket.socket) -> bytes:
    """One answer, without its length; shorter if the broker ends the connection."""
    size = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
    got = bytearray()
    while len(got) < size and (part := client.recv(min(size - len(got), 1 << 20))):
        got += part
    return bytes(got)


def provider(cluster: KafkaCluster) -> EngineProvider:
    assert isinstance(cluster.provider, EngineProvider)
    return cluster.provider


def resident_bytes(cluster: KafkaCluster) -> int:
    return psutil.Process(provider(cluster).pid()).memory_info().rss


def log_lines(cluster: KafkaCluster) -> list[str]:
    return provider(cluster).log_file().read_text().splitlines()


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.01)


def test_a_hundred_slow_readers_cost_little_and_others_are_served(cluster: KafkaCluster) -> None:
    other = leader_of(cluster, "long")
    whole = framing.write_response(1, 12, 7, other.ask(fetch("long"), 12))
    before, lines = resident_bytes(cluster), len(log_lines(cluster))
    readers = [ask_slowly(cluster, "long", times=3) for _ in range(READERS)]
    answer = other.ask(fetch("long"), 12)
    assert framing.write_response(1, 12, 7, answer) == whole
    assert resident_bytes(cluster) - before < RESIDENT_BYTES_MAX
    assert read_answer(readers[0]) == whole[4:], "one of them reads after all"
    for each in readers:
        each.close()
    assert other.ask(fetch("long"), 12).responses
    assert resident_bytes(cluster) - before < RESIDENT_BYTES_MAX
    assert len(log_lines(cluster)) - lines <= READERS
    other.close()


def test_a_client_that_ends_its_side_still_gets_its_answers(cluster: KafkaCluster) -> None:
    lines = len(log_lines(cluster))
    with ask_slowly(cluster, "long", times=2) as client:
        client.shutdown(socket.SHUT_WR)
        first, second = read_answer(client), read_answer(client)
        assert len(first) > ANSWER_BYTES * 0.8
        assert first == second
        assert client.recv(1) == b"", "and then the broker ends its side"
    assert log_lines(cluster)[lines:] == []


def test_an_answer_whose_topic_is_deleted_meanwhile_ends_with_one_line(
    cluster: KafkaCluster,
) -> None:
    fill(cluster, "short-lived")
    lines = len(log_lines(cluster))
    with ask_slowly(cluster, "short-lived") as client:
        whole = int.from_bytes(client.recv(4, socket.MSG_WAITALL), "big")
        cluster.delete_topic("short-lived")
        eventually(lambda: "short-lived" not in cluster.snapshot()["topics"])
        got = 0
        try:
            while part := client.recv(1 << 20):
                got += len(part)
        except ConnectionResetError:
            pass
    assert got < whole
    (line,) = log_lines(cluster)[lines:]
    assert line.endswith("was cut off while it was being sent")
