"""Clients that are broken, slow or malicious: others are served on, and one log line tells."""

from __future__ import annotations

import random
import socket
import struct
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from engine.wire import framing
from engine.wire import messages as m
from kit.clusters import engine
from kit.clusters.connections import Connection
from kit.clusters.engine import EngineProvider
from kit.clusters.kafka_cluster import KafkaCluster

PATIENCE_S = 60.0
SETTINGS = {"socket.request.max.bytes": "1000000"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with engine.start(settings=SETTINGS) as served:
        served.create_topic("hostile")
        yield served


@pytest.fixture
def victim(cluster: KafkaCluster) -> Iterator[Connection]:
    """Somebody else, who has a connection to the same broker and wants to be served."""
    connection = Connection(address(cluster), PATIENCE_S)
    yield connection
    connection.close()


def address(cluster: KafkaCluster) -> tuple[str, int]:
    host, _, port = cluster.bootstrap.split(",")[0].rpartition(":")
    return host, int(port)


def connect(cluster: KafkaCluster) -> socket.socket:
    return socket.create_connection(address(cluster), PATIENCE_S)


def log_lines(cluster: KafkaCluster) -> list[str]:
    provider = cluster.provider
    assert isinstance(provider, EngineProvider)
    return provider.log_file().read_text().splitlines()


def resident_bytes(cluster: KafkaCluster) -> int:
    provider = cluster.provider
    assert isinstance(provider, EngineProvider)
    return psutil.Process(provider.pid()).memory_info().rss


def is_served(victim: Connection) -> bool:
    return len(victim.ask(m.DescribeClusterRequest()).brokers) == 3


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.01)


def closed(client: socket.socket) -> bool:
    """Reads to the end; True if the broker ended the connection."""
    try:
        while client.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


REQUEST = bytes(framing.write_request(12, 7, "hostile", m.MetadataRequest(topics=None)))
RESET = struct.pack("ii", 1, 0)  # close with a reset, whatever is under way
BROKEN = {
    "an endless frame": struct.pack(">i", 0x7FFFFFFF) + b"x" * 100,
    "a frame above socket.request.max.bytes": struct.pack(">i", 1_000_001),
    "a negative size": struct.pack(">i", -5) + b"x" * 10,
    "an empty frame": struct.pack(">i", 0),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + b"\0" * 200,
    "an unknown API": frame(struct.pack(">hhih", 9999, 0, 1, -1)),
    "an unknown version": frame(struct.pack(">hhih", 3, 99, 1, -1)),
    "an API between brokers and controllers": frame(struct.pack(">hhih", 52, 0, 1, -1)),
    "a request cut short": frame(REQUEST[4:-2]),
    "a client id longer than the frame": frame(struct.pack(">hhih", 3, 12, 1, 30_000)),
    "a client id that is no text": frame(struct.pack(">hhih", 3, 1, 1, 2) + b"\xff\xfe"),
    "an array of two billion topics": frame(struct.pack(">hhihi", 3, 1, 1, -1, 0x7FFFFFFF)),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_input_ends_its_own_connection_with_one_line(cluster, victim, name) -> None:
    before = len(log_lines(cluster))
    with connect(cluster) as client:
        client.sendall(BROKEN[name])
        assert closed(client)
    assert is_served(victim)
    eventually(lambda: len(log_lines(cluster)) > before)
    (line,) = log_lines(cluster)[before:]
    assert "broker 101: connection from 127.0.0.1 closed: " in line


def test_an_unknown_api_versions_version_gets_the_oldest_answer(cluster) -> None:
    with connect(cluster) as client:
        client.sendall(frame(struct.pack(">hhihb", 18, 99, 5, -1, 0)))
        size, correlation, error = struct.unpack(">iih", client.recv(10, socket.MSG_WAITALL))
        rest = client.recv(size - 6, socket.MSG_WAITALL)
    assert (correlation, error) == (5, 35)
    assert len(rest) == size - 6


def test_random_bytes(cluster, victim) -> None:
    rng = random.Random(7)
    before = len(log_lines(cluster))
    for _ in range(100):
        with connect(cluster) as client:
            noise = rng.randbytes(rng.randint(1, 300))
            client.sendall(frame(noise) if rng.random() < 0.7 else noise)
            client.shutdown(socket.SHUT_WR)
            closed(client)
    assert is_served(victim)
    lines = log_lines(cluster)[before:]
    assert len(lines) <= 100
    assert all("connection from 127.0.0.1 closed" in line for line in lines)


def test_flipped_bits_in_good_requests(cluster, victim) -> None:
    rng = random.Random(11)
    before = len(log_lines(cluster))
    batch = m.ProduceRequest.PartitionProduceData(0, b"\0" * 80)
    topic = m.ProduceRequest.TopicProduceData(name="hostile", partition_data=[batch])
    good = [
        framing.write_request(9, 1, "x", m.ProduceRequest(acks=1, topic_data=[topic])),
        framing.write_request(5, 1, "x", m.JoinGroupRequest("g", protocol_type="consumer")),
        framing.write_request(7, 1, "x", m.CreateTopicsRequest()),
        bytearray(REQUEST),
    ]
    for _ in range(200):
        bad = bytearray(rng.choice(good))
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(8, len(bad))] ^= 1 << rng.randrange(8)
        with connect(cluster) as client:
            client.sendall(bad)
            client.shutdown(socket.SHUT_WR)
            closed(client)
    assert is_served(victim)
    assert not [line for line in log_lines(cluster)[before:] if "could not be handled" in line]


def test_a_thousand_idle_connections(cluster, victim) -> None:
    before = resident_bytes(cluster)
    idle = [connect(cluster) for _ in range(1000)]
    try:
        assert is_served(victim)
        late = Connection(address(cluster), PATIENCE_S)
        assert is_served(late)
        late.close()
        assert resident_bytes(cluster) - before < 30_000_000
    finally:
        for client in idle:
            client.close()


def test_a_flood_of_connections_that_come_and_go(cluster, victim) -> None:
    before = len(log_lines(cluster))
    for _ in range(2000):
        connect(cluster).close()
    assert is_served(victim)
    assert len(log_lines(cluster)) == before


def test_a_handshake_byte_by_byte(cluster, victim) -> None:
    with connect(cluster) as client:
        for number, byte in enumerate(REQUEST):
            client.sendall(bytes([byte]))
            if number % 10 == 0:
                assert is_served(victim)
        (size,) = struct.unpack(">i", client.recv(4, socket.MSG_WAITALL))
        assert len(client.recv(size, socket.MSG_WAITALL)) == size


def test_half_a_request_and_then_nothing(cluster, victim) -> None:
    with connect(cluster) as client:
        client.sendall(REQUEST[:20])
        client.shutdown(socket.SHUT_WR)
        assert closed(client)
    assert is_served(victim)


def test_a_refused_record_without_acks_ends_its_connection_and_the_line_says_why(cluster) -> None:
    part = m.ProduceRequest.PartitionProduceData(7_777, b"")
    topic = m.ProduceRequest.TopicProduceData(name="hostile", partition_data=[part])
    before = len(log_lines(cluster))
    with connect(cluster) as client:
        client.sendall(framing.write_request(9, 1, "x", m.ProduceRequest(topic_data=[topic])))
        assert closed(client)
    (line,) = log_lines(cluster)[before:]
    assert line.endswith(
        "a record sent with acks=0 could not be appended (hostile-7777: UNKNOWN_TOPIC_OR_PARTITION)"
    )


def test_clients_that_go_before_their_answers_leave_one_line_each_at_most(cluster, victim) -> None:
    before = len(log_lines(cluster))
    for _ in range(20):
        with connect(cluster) as client:
            client.sendall(REQUEST * 60)
            time.sleep(0.01)  # some are answered
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    assert is_served(victim)
    assert len(log_lines(cluster)) - before <= 20


def test_a_client_that_never_reads_is_not_read_from(cluster, victim) -> None:
    cluster.create_topic("wide", partitions=300)
    before = resident_bytes(cluster)
    sent = 0
    with connect(cluster) as client:
        client.setblocking(False)
        stuck_since = time.monotonic()
        while time.monotonic() - stuck_since < 0.5 and sent < 500_000:
            try:
                client.send(REQUEST * 100)
                sent += 100
                stuck_since = time.monotonic()
            except BlockingIOError:
                assert is_served(victim)
        assert sent < 500_000, "the broker read on and on"
        assert resident_bytes(cluster) - before < 30_000_000
        assert is_served(victim)
    cluster.delete_topic("wide")


def test_a_paused_broker_accepts_and_keeps_connections_but_answers_only_later(cluster) -> None:
    connection = Connection(address(cluster), PATIENCE_S)
    cluster.pause(101)
    with connect(cluster) as client:
        client.sendall(REQUEST)
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.recv(1)
        cluster.resume(101)
        client.settimeout(PATIENCE_S)
        assert client.recv(4, socket.MSG_WAITALL)
    assert connection.ask(m.DescribeClusterRequest()).brokers
    connection.close()


def test_a_killed_broker_refuses_and_comes_back_on_its_port(cluster) -> None:
    where = address(cluster)
    cluster.kill(101)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(where, PATIENCE_S)
    cluster.start(101)
    socket.create_connection(where, PATIENCE_S).close()
