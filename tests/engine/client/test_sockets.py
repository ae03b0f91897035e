"""A producer on real sockets, and a broker that answers strangely, or not at all."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine.client.producer import Producer
from engine.client.sockets import SocketDriver
from engine.wire import framing
from engine.wire import messages as m
from kit.probes.scripted_broker import BROKER, TOPIC, ScriptedBroker

SETTINGS = {"linger.ms": 0, "batch.size": 0, "retry.backoff.ms": 20, "retry.backoff.max.ms": 40,
            "reconnect.backoff.ms": 20}  # fmt: skip
SHORT = {"request.timeout.ms": 300}
"""For runs in which no answer comes."""
PATIENCE_S = 60


class StrangeBroker(ScriptedBroker):
    """Its first answer to a Produce request is not what it should be; all others are."""

    def __init__(self, first: str = "") -> None:
        self.first = first
        self.offered_without: tuple[int, ...] = ()
        super().__init__([])

    def _write(self, connection: socket.socket, header: Any, body: Any) -> None:
        key, number = header.api_key, header.correlation_id
        data = bytes(framing.write_response(key, header.api_version, number, body))
        if key == m.ProduceRequest.API_KEY and self.first:
            data = {
                "another's": data[:4] + (number + 1000).to_bytes(4, "big") + data[8:],
                "garbage": data[:8] + b"\xff" * (len(data) - 8),
                "cut off": (len(data) - 14).to_bytes(4, "big") + data[4:-10],
                "two bytes": b"\0\0\0\2ab",
                "its number only": b"\0\0\0\4" + data[4:8],
                "empty": bytes(4),
            }[self.first]
            self.first = ""
        connection.sendall(data)

    def _plain(self, body: Any) -> Any:
        answer = super()._plain(body)
        if isinstance(answer, m.ApiVersionsResponse):
            kept = [each for each in answer.api_keys if each.api_key not in self.offered_without]
            answer.api_keys = kept
        return answer


@contextmanager
def driving(broker: ScriptedBroker, **settings: Any) -> Iterator[SocketDriver[Producer]]:
    driver = SocketDriver(
        Producer("strange", (BROKER,), {**SETTINGS, **settings}),
        {BROKER: ("127.0.0.1", broker.port)},
    )
    try:
        yield driver
    finally:
        driver.close()
        broker.close()


def send(driver: SocketDriver[Producer], values: str) -> list[str]:
    """Sends so many records one after another; their verdicts."""
    for value in values:
        driver.send(TOPIC, value.encode(), partition=0)
        assert driver.run(lambda: driver.client.idle, PATIENCE_S)
    return [each.verdict for each in driver.client.sends]


def disconnections(driver: SocketDriver[Producer]) -> list[str]:
    return [line.why for _, line in driver.trace if line.kind == "disconnected"]


@pytest.mark.parametrize(
    "first", ["another's", "garbage", "cut off", "two bytes", "its number only", "empty"]
)
def test_an_answer_that_cannot_be_one_ends_the_connection(first: str) -> None:
    broker = StrangeBroker(first)
    with driving(broker) as driver:
        assert send(driver, "AB") == ["acknowledged", "acknowledged"]
        assert disconnections(driver) == ["the broker is gone, or closed the connection"]
    assert [line.split(":")[0] for line in broker.seen] == ["A", "A", "B"]


def test_a_request_that_a_broker_does_not_offer_is_named_with_the_broker() -> None:
    broker = StrangeBroker()
    broker.offered_without = (m.ProduceRequest.API_KEY,)
    with driving(broker) as driver, pytest.raises(RuntimeError, match="101 offers no Produce"):
        send(driver, "A")


def test_a_lost_answer_takes_the_connection_and_is_tried_again_at_once() -> None:
    broker = ScriptedBroker([])
    with driving(broker) as driver:
        driver.lose_answers = 1
        assert send(driver, "A") == ["acknowledged"]
        assert disconnections(driver) == ["the broker is gone, or closed the connection"]
    assert [line.split(":")[0] for line in broker.seen] == ["A", "A"]


def test_an_answer_that_is_lost_alone_is_waited_for_and_then_tried_again() -> None:
    """Two answers are lost, and one record is in flight: the second answer is that to its retry."""
    broker = ScriptedBroker([])
    with driving(broker, **SHORT) as driver:
        driver.lose_answers = 2
        assert send(driver, "A") == ["acknowledged"]
        assert disconnections(driver) == [
            "an answer is late", "the broker is gone, or closed the connection",
        ]  # fmt: skip
    assert [line.split(":")[0] for line in broker.seen] == ["A", "A", "A"]


def test_a_request_that_is_lost_together_with_its_connection_is_lost_once() -> None:
    """The broker hangs up between the loss and the end of the connection."""
    broker = ScriptedBroker([])
    with driving(broker) as driver:
        assert send(driver, "A") == ["acknowledged"]
        driver.lose_requests = 1
        driver.send(TOPIC, b"B", partition=0)
        link = driver.links[BROKER, ""]
        driver._lost(link, link.last)
        assert driver.run(lambda: driver.client.idle, PATIENCE_S)
        assert [each.verdict for each in driver.client.sends] == ["acknowledged"] * 2
        assert len(disconnections(driver)) == 1
