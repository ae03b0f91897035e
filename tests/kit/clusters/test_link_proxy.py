"""Links that are cut hold bytes, deliver them when healed, and lose a dead sender's."""

import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.clusters import link_proxy
from kit.clusters.local_plan import free_ports
from kit.clusters.reaper import Reaper

TARGET = 102
PATIENCE_S = 60


def first_request(client_id: str) -> bytes:
    name = client_id.encode()
    body = struct.pack(">hhih", 18, 3, 1, len(name)) + name + b"rest"
    return struct.pack(">i", len(body)) + body


@dataclass
class Bench:
    """A proxy in front of node 102, and what stands behind it."""

    links: link_proxy.Links
    port: int
    port_of_101: int
    """For one peer alone, which does not say who it is."""
    target: socket.socket

    def connect(self, client_id: str) -> tuple[socket.socket, socket.socket]:
        """A peer's connection and the target's end of it."""
        peer = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        behind, _ = self.target.accept()
        behind.settimeout(PATIENCE_S)
        peer.sendall(first_request(client_id))
        return peer, behind


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    reaper = Reaper.start()
    port, target_port, another, port_of_101 = free_ports(4)
    with socket.create_server(("127.0.0.1", target_port)) as target:
        target.settimeout(PATIENCE_S)
        program = [sys.executable, "-S", "-I", link_proxy.__file__, str(tmp_path / "links")]
        routes = [f"{TARGET}:{port}:{target_port}", f"103:{another}:1"]
        routes.append(f"{TARGET}:{port_of_101}:{target_port}:101")
        reaper.spawn([*program, *routes], name="p", label="t", log_path=str(tmp_path / "log"))
        links = link_proxy.Links(str(tmp_path / "links"))
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                assert links.state() == []
                break
            except OSError:
                assert time.monotonic() < deadline, (tmp_path / "log").read_text()
        yield Bench(links, port, port_of_101, target)
    reaper.end()


def read(end: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        chunk = end.recv(size - len(received))
        assert chunk, "the connection was closed"
        received += chunk
    return received


def silent(end: socket.socket) -> bool:
    end.settimeout(0.1)
    try:
        end.recv(1)
    except TimeoutError:
        return True
    finally:
        end.settimeout(PATIENCE_S)
    return False


def test_bytes_pass_both_ways_and_so_does_the_end(bench: Bench) -> None:
    peer, behind = bench.connect("broker-101-fetcher-0")
    request = first_request("broker-101-fetcher-0")
    assert read(behind, len(request)) == request
    behind.sendall(b"answer")
    assert read(peer, 6) == b"answer"
    peer.close()
    assert behind.recv(1) == b""


def test_a_cut_holds_bytes_and_healing_delivers_them_in_order(bench: Bench) -> None:
    peer, behind = bench.connect("broker-101-fetcher-0")
    read(behind, len(first_request("broker-101-fetcher-0")))
    bench.links.cut(101, TARGET)
    peer.sendall(b"one")
    behind.sendall(b"two")
    assert silent(behind)
    assert silent(peer)
    peer.sendall(b"three")
    bench.links.heal()
    assert read(behind, 8) == b"onethree"
    assert read(peer, 3) == b"two"


def test_a_peer_with_a_port_of_its_own_need_not_say_who_it_is(bench: Bench) -> None:
    peer = socket.create_connection(("127.0.0.1", bench.port_of_101), PATIENCE_S)
    behind, _ = bench.target.accept()
    peer.sendall(b"?")
    assert read(behind, 1) == b"?"
    bench.links.cut(102, 103)
    peer.sendall(b"!")
    assert read(behind, 1) == b"!"
    bench.links.isolate(101)
    peer.sendall(b"late")
    assert silent(behind)
    bench.links.heal()
    assert read(behind, 4) == b"late"


def test_a_cut_tells_peers_apart(bench: Bench) -> None:
    bench.links.cut(101, TARGET)
    held, behind_held = bench.connect("raft-client-101")
    free, behind_free = bench.connect("broker-103-fetcher-0")
    assert read(behind_free, 8)
    assert silent(behind_held)
    assert bench.links.state() == [{"between": [101, 102], "state": "cut", "delay_ms": 0}]
    held.close()
    free.close()


def test_what_a_dead_sender_cannot_repeat_is_lost(bench: Bench) -> None:
    peer, behind = bench.connect("101")
    read(behind, len(first_request("101")))
    bench.links.cut(101, TARGET)
    peer.sendall(b"never arrives")
    assert silent(behind)
    peer.close()
    deadline = time.monotonic() + PATIENCE_S
    bench.links.state()
    bench.links.heal()
    assert behind.recv(100) == b"", "only the end of the connection arrives"
    assert time.monotonic() < deadline


def test_isolation_cuts_every_link_of_a_node(bench: Bench) -> None:
    bench.links.isolate(TARGET)
    assert [link["between"] for link in bench.links.state()] == [[102, 103]]
    peer, behind = bench.connect("broker-103-fetcher-0")
    assert silent(behind)
    bench.links.heal()
    assert read(behind, 4)
    peer.close()


def test_a_slow_link_delays_and_keeps_the_order(bench: Bench) -> None:
    peer, behind = bench.connect("101")
    read(behind, len(first_request("101")))
    bench.links.slow(101, TARGET, 150)
    started = time.monotonic()
    for part in (b"a", b"b", b"c"):
        peer.sendall(part)
    assert read(behind, 3) == b"abc"
    assert time.monotonic() - started >= 0.15
    assert bench.links.state() == [{"between": [101, 102], "state": "slow", "delay_ms": 150}]


def test_a_target_that_is_down_resets_the_peer(bench: Bench) -> None:
    bench.target.close()
    peer = socket.create_connection(("127.0.0.1", bench.port), PATIENCE_S)
    peer.settimeout(PATIENCE_S)
    try:
        assert peer.recv(1) == b""
    except ConnectionResetError:
        pass


def test_much_data_passes_unharmed(bench: Bench) -> None:
    peer, behind = bench.connect("101")
    read(behind, len(first_request("101")))
    sent = bytes(range(256)) * 40_000
    sender = threading.Thread(target=peer.sendall, args=(sent,))
    sender.start()
    assert read(behind, len(sent)) == sent
    sender.join()


@pytest.mark.parametrize(
    ("client_id", "node"),
    [
        ("broker-101-fetcher-0", 101),
        ("raft-client-102", 102),
        ("100", 100),
        ("broker-103-txn-marker-sender", 103),
        ("rdkafka", None),
        ("", None),
    ],
)
def test_a_client_id_names_a_node_or_none(client_id: str, node: int | None) -> None:
    assert link_proxy.node_of(client_id) == node


def test_a_client_id_is_known_once_it_is_all_there() -> None:
    request = first_request("raft-client-101")
    whole = 14 + len("raft-client-101")
    assert link_proxy.first_client_id(request[: whole - 1]) is None
    assert link_proxy.first_client_id(request[:whole]) == "raft-client-101"
    assert json.dumps(link_proxy.Rules([1, 2]).state()) == "[]"
