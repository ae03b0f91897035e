"""Brokers asked one by one: who does not answer is skipped, not waited for."""

import socket
import threading
from collections.abc import Iterator

import pytest

from engine.wire import framing
from engine.wire import messages as m
from kit.clusters.connections import Connections, Unreachable
from kit.clusters.interface import ClusterError
from kit.clusters.remote import RemoteProvider, addresses
from kit.clusters.topics import spelled


class Broker:
    """Answers ApiVersions and DescribeCluster; hangs up after `patience` requests."""

    def __init__(self, patience: int = 1000) -> None:
        self.patience = patience
        self.served = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = ("127.0.0.1", self.listener.getsockname()[1])
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.serve(connection)

    def serve(self, connection: socket.socket) -> None:
        for _ in range(self.patience):
            frame = connection.recv(65536)
            if not frame:
                return
            header = framing.read_request_header(frame[4:])
            self.served += 1
            body = self.answer(header.api_key)
            connection.sendall(
                framing.write_response(
                    header.api_key, header.api_version, header.correlation_id, body
                )
            )

    @staticmethod
    def answer(api_key: int) -> object:
        if api_key == m.ApiVersionsRequest.API_KEY:
            keys = [(18, 0, 4), (m.DescribeClusterRequest.API_KEY, 0, 2)]
            return m.ApiVersionsResponse(
                api_keys=[m.ApiVersionsResponse.ApiVersion(*each) for each in keys]
            )
        return m.DescribeClusterResponse(cluster_id="c")


@pytest.fixture
def connections() -> Iterator[Connections]:
    connections = Connections(timeout_s=60)
    yield connections
    connections.close()


def test_a_kept_connection_that_was_closed_is_opened_again(connections: Connections) -> None:
    broker = Broker(patience=2)
    for _ in range(3):
        answer = connections.ask(broker.address, m.DescribeClusterRequest())
        assert answer.cluster_id == "c"
    assert broker.served == 6


def test_a_silent_broker_is_passed_over_for_the_next(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        broker = Broker()
        both = [("127.0.0.1", silent.getsockname()[1]), broker.address]
        connections.connection(broker.address)  # patient, because others use the machine
        monkeypatch.setattr(connections, "_timeout_s", 0.2)
        assert connections.ask_first(both, m.DescribeClusterRequest()).cluster_id == "c"
        with pytest.raises(Unreachable, match="does not answer"):
            connections.ask(both[0], m.DescribeClusterRequest())


def test_an_api_that_the_broker_lacks_is_named(connections: Connections) -> None:
    with pytest.raises(ClusterError, match="does not offer ListGroupsRequest"):
        connections.ask(Broker().address, m.ListGroupsRequest())


def test_a_missing_broker_is_a_sentence(connections: Connections) -> None:
    with pytest.raises(Unreachable, match="No broker answers"):
        connections.ask_first([], m.DescribeClusterRequest())
    with pytest.raises(ClusterError, match="is KAFKA_BOOTSTRAP right"):
        RemoteProvider("127.0.0.1:1").nodes()


def test_bootstrap_servers_are_taken_apart() -> None:
    assert addresses("a:1, b:2") == [("a", 1), ("b", 2)]
    assert addresses("[::1]:9092") == [("::1", 9092)]
    for bad in ("", "a", "a:b", ":9092"):
        with pytest.raises(ClusterError, match="is not host:port"):
            addresses(bad)


def test_config_values_are_spelled_as_kafka_spells_them() -> None:
    assert [spelled(each) for each in (True, 5, "x")] == ["true", "5", "x"]
