"""A defect of the engine harms the request that meets it, and nothing else.

Handlers are made to raise, and answers to be too long for their encoding, while others work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from engine import api
from engine.cluster.spec import ClusterSpec
from engine.server.server import Server
from engine.storage.memory_disk import MemoryDisk
from engine.wire import framing
from engine.wire import messages as m
from engine.wire.errors import LONGEST_TEXT, Errors, KafkaError
from tests.engine.sim.over_sockets import SocketStage

BROKERS = (101, 102, 103)
Topic = m.CreateTopicsRequest.CreatableTopic
Config = m.CreateTopicsRequest.CreatableTopicConfig


def play(scene: Callable[[SocketStage], Any]) -> Any:
    async def played() -> Any:
        server = Server({node: MemoryDisk() for node in (100, *BROKERS)}, ClusterSpec())
        server.start()
        try:
            assert await server.wait(server.is_ready, 30)
            result = await scene(SocketStage(server))
            assert set(server.cluster.nodes) == {100, *BROKERS}, "a node is gone"
            return result
        finally:
            server.close()

    return asyncio.run(played())


def broken(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def handle(*_: Any) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(api._module(api.APIS[name].key), "handle", handle)


def fetch(max_wait_ms: int) -> m.FetchRequest:
    partition = m.FetchRequest.FetchPartition(0, partition_max_bytes=1_000)
    return m.FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=1,
        topics=[m.FetchRequest.FetchTopic("orders", partitions=[partition])],
    )  # fmt: skip


async def create(stage: SocketStage, name: str) -> int:
    request = m.CreateTopicsRequest(
        topics=[Topic(name, -1, -1, assignments=[_on(101)])], timeout_ms=9_000
    )
    answer = await stage.ask(101, request)
    image = stage.cluster.nodes[101].metadata
    assert await stage.wait(lambda: name in image.topic_ids)
    return int(answer.topics[0].error_code)


def _on(broker: int) -> Any:
    return m.CreateTopicsRequest.CreatableReplicaAssignment(0, [broker])


def test_an_answer_that_cannot_be_written_ends_its_own_connection_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def handle(broker: Any, now: int, request: Any) -> None:
        broker.outbox.reply(request, m.ListGroupsResponse(error_code=10**6))

    async def scene(stage: SocketStage) -> list[Any]:
        assert await create(stage, "orders") == 0
        polls = [asyncio.create_task(stage.ask(101, fetch(500), version=12)) for _ in range(2)]
        metadata = asyncio.create_task(stage.ask(101, m.MetadataRequest(topics=[])))
        with pytest.raises(asyncio.IncompleteReadError):
            await stage.ask(101, m.ListGroupsRequest())
        return [*await asyncio.gather(*polls), await metadata]

    monkeypatch.setattr(api._module(api.APIS["ListGroups"].key), "handle", handle)
    *polls, metadata = play(scene)
    assert [each.error_code for each in polls] == [0, 0]
    assert [each.node_id for each in metadata.brokers] == list(BROKERS)


@pytest.mark.parametrize("version", [4, 7])
@pytest.mark.parametrize("length", [100, 4_301, 32_750])
@pytest.mark.parametrize("letter", ["7", "x"])
def test_an_error_text_fits_into_its_answer(version: int, length: int, letter: str) -> None:
    """In a request of version 4 a config may be longer than the text that repeats it."""
    config = Config("retention.ms", letter * length)
    topic = Topic("orders", 1, 1, configs=[config])

    async def scene(stage: SocketStage) -> Any:
        return await stage.ask(101, m.CreateTopicsRequest(topics=[topic]), version=version)

    (result,) = play(scene).topics
    assert result.error_code == Errors.INVALID_CONFIG
    assert (letter * 100) in result.error_message


def test_every_refusal_has_a_bounded_text() -> None:
    error = KafkaError(Errors.INVALID_REQUEST, "😀" * 40_000)
    assert error.text is not None
    assert len(error.text) == LONGEST_TEXT
    assert len(error.text.encode()) < 32_767


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("ListGroups", m.ListGroupsRequest()),
        ("Metadata", m.MetadataRequest(topics=[])),
        ("DescribeConfigs", m.DescribeConfigsRequest(resources=[])),
    ],
)
def test_a_handler_that_raises_answers_unknown_server_error(
    name: str, body: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene(stage: SocketStage) -> list[Any]:
        broken(monkeypatch, name)
        return [await stage.ask(broker, body) for broker in BROKERS * 2]

    answers = play(scene)
    assert len(answers) == 6
    if name == "ListGroups":
        assert {each.error_code for each in answers} == {Errors.UNKNOWN_SERVER_ERROR}
    said = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert len(said) == 6
    assert all(each.exc_info for each in said)


def test_without_an_answer_to_come_the_connection_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(stage: SocketStage) -> bytes:
        broken(monkeypatch, "Produce")
        port = stage.server.listeners[101].port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(framing.write_request(9, 1, "c", m.ProduceRequest(acks=0)))
        try:
            return await asyncio.wait_for(reader.read(), 10)
        finally:
            writer.close()

    assert play(scene) == b""


def test_a_second_answer_to_one_request_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    module = api._module(api.APIS["ListGroups"].key)

    def handle(broker: Any, now: int, request: Any) -> None:
        parked.append((broker, request))
        raise ZeroDivisionError("a defect after the request was parked")

    async def scene(stage: SocketStage) -> list[int]:
        port = stage.server.listeners[101].port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)

        async def ask(number: int, body: Any) -> int:
            writer.write(framing.write_request(type(body).LATEST, number, "c", body))
            size = int.from_bytes(await reader.readexactly(4), "big")
            frame = await reader.readexactly(size)
            return framing.read_response(type(body).API_KEY, type(body).LATEST, frame)[0]

        first = await ask(1, m.ListGroupsRequest())
        ((broker, request),) = parked
        broker.outbox.reply(request, m.ListGroupsResponse())
        return [
            first,
            await ask(2, m.MetadataRequest(topics=[])),
            await ask(3, m.MetadataRequest()),
        ]

    parked: list[Any] = []
    monkeypatch.setattr(module, "handle", handle)
    assert play(scene) == [1, 2, 3]


def test_the_controller_and_followers_go_on_after_a_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An answer of another broker that meets a defect counts as lost, and is asked for again."""
    from engine.replication.fetcher import Fetcher

    intact = Fetcher.answered
    raised: list[int] = []

    def answered(self: Any, *arguments: Any) -> Any:
        if arguments[-1] is not None and len(raised) < 3:
            raised.append(1)
            raise ZeroDivisionError("a defect")
        return intact(self, *arguments)

    async def scene(stage: SocketStage) -> bool:
        request = m.CreateTopicsRequest(topics=[Topic("orders", 1, 3)], timeout_ms=9_000)
        assert (await stage.ask(101, request)).topics[0].error_code == 0
        monkeypatch.setattr(Fetcher, "answered", answered)
        assert await stage.wait(lambda: len(raised) == 3)
        asked = m.CreateTopicsRequest(topics=[Topic("more", 1, 3)], timeout_ms=9_000)
        assert (await stage.ask(102, asked)).topics[0].error_code == 0
        image = stage.cluster.nodes[101].metadata
        return await stage.wait(
            lambda: all(len(t.partitions[0].isr) == 3 for t in image.topics.values())
        )

    assert play(scene)


def test_a_timer_that_meets_a_defect_runs_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.broker.lifecycle import Lifecycle

    intact = Lifecycle.heartbeat
    raised: list[int] = []

    def heartbeat(self: Any, *arguments: Any) -> Any:
        if len(raised) < 3:
            raised.append(1)
            raise ZeroDivisionError("a defect")
        return intact(self, *arguments)

    async def scene(stage: SocketStage) -> list[int]:
        monkeypatch.setattr(Lifecycle, "heartbeat", heartbeat)
        assert await stage.wait(lambda: len(raised) == 3)
        answer = await stage.ask(101, m.MetadataRequest(topics=[]))
        return [each.node_id for each in answer.brokers]

    assert play(scene) == list(BROKERS)
