"""A process that did not run for a while puts off what clients were to do in that time.

Their requests wait in the sockets.  Overdue timers come first, and would remove members that sent
each heartbeat.  A client that is really gone is removed a second later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engine.cluster.spec import ClusterSpec
from engine.server.server import GRACE_US, Server
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.sim.over_sockets import SocketStage

SESSION_MS = 6_000
A_LITTLE_MS = 400
"""Too short for a grace."""
SPEC = ClusterSpec(
    brokers=(101,),
    settings={
        "offsets.topic.num.partitions": 1,
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.num.partitions": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "group.consumer.session.timeout.ms": SESSION_MS,
        "group.consumer.min.session.timeout.ms": SESSION_MS,
        "group.initial.rebalance.delay.ms": 0,
        "broker.session.timeout.ms": 60_000,
    },
)
NOT_YET = (
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.CONCURRENT_TRANSACTIONS,
)


@contextmanager
def served() -> Iterator[SocketStage]:
    server = Server({node: MemoryDisk() for node in (100, 101)}, SPEC)
    server.start()
    try:
        yield SocketStage(server)
    finally:
        server.close()


def stands_still(stage: SocketStage, for_ms: int = 8_000) -> None:
    """The clock goes on, and no callback has run."""
    stage.server.started_ns += for_ms * 1_000_000


async def asked(stage: SocketStage, body: Any) -> Any:
    """The answer, once the coordinator is there."""
    while (answer := await stage.ask(101, body)).error_code in NOT_YET:
        await asyncio.sleep(0.05)
    return answer


async def consumer_joins(stage: SocketStage) -> Any:
    await asked(stage, m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    body = m.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="one", rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"], topic_partitions=[],
    )  # fmt: skip
    joined = await asked(stage, body)
    assert joined.error_code == Errors.NONE
    return m.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="one", member_epoch=joined.member_epoch
    )


async def classic_member_joins(stage: SocketStage) -> Any:
    await asked(stage, m.FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
    join = m.JoinGroupRequest(
        group_id="g", session_timeout_ms=SESSION_MS, rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol("range", b"")],
    )  # fmt: skip
    join.member_id = (await asked(stage, join)).member_id
    joined = await asked(stage, join)
    generation = {"group_id": "g", "member_id": join.member_id}
    share = m.SyncGroupRequest.SyncGroupRequestAssignment(join.member_id, b"all")
    sync = m.SyncGroupRequest(
        **generation, generation_id=joined.generation_id, assignments=[share],
        protocol_type="consumer", protocol_name="range",
    )  # fmt: skip
    assert (await asked(stage, sync)).error_code == Errors.NONE
    return m.HeartbeatRequest(**generation, generation_id=joined.generation_id)


JOINS = [consumer_joins, classic_member_joins]
Joins = Callable[[SocketStage], Awaitable[Any]]


@pytest.mark.parametrize("joins", JOINS)
@pytest.mark.parametrize("by", ["the heartbeat", "a timer"])
def test_a_member_that_sent_its_heartbeat_stays(joins: Joins, by: str) -> None:
    async def scene() -> int:
        with served() as stage:
            heartbeat = await joins(stage)
            stands_still(stage)
            if by == "a timer":
                stage.server.pump()
            return int((await stage.ask(101, heartbeat)).error_code)

    assert asyncio.run(scene()) == Errors.NONE


@pytest.mark.parametrize("joins", JOINS)
def test_a_member_that_is_gone_is_removed_a_second_later(joins: Joins) -> None:
    async def scene() -> int:
        with served() as stage:
            heartbeat = await joins(stage)
            stands_still(stage)
            stage.server.pump()
            for _ in range(1 + GRACE_US // (A_LITTLE_MS * 1000)):
                stands_still(stage, A_LITTLE_MS)
                stage.server.pump()
            return int((await stage.ask(101, heartbeat)).error_code)

    assert asyncio.run(scene()) == Errors.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("joins", JOINS)
def test_a_member_stays_when_its_coordinator_alone_was_paused(joins: Joins) -> None:
    async def scene() -> int:
        with served() as stage:
            heartbeat = await joins(stage)
            stage.server.pause(101)
            asking = asyncio.create_task(stage.ask(101, heartbeat))
            for _ in range(20):
                stands_still(stage, A_LITTLE_MS)
                stage.server.pump()
                await asyncio.sleep(0)
            stage.server.resume(101)
            return int((await asking).error_code)

    assert asyncio.run(scene()) == Errors.NONE


def test_a_transaction_whose_end_waits_in_the_socket_is_committed() -> None:
    async def scene() -> int:
        with served() as stage:
            topic = m.CreateTopicsRequest.CreatableTopic("orders", 1, 1)
            await stage.ask(101, m.CreateTopicsRequest(topics=[topic]))
            begin = m.InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=6_000)
            await asked(stage, m.FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]))
            begun = await asked(stage, begin)
            me = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
            add = m.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="t",
                v3_and_below_producer_id=begun.producer_id,
                v3_and_below_producer_epoch=begun.producer_epoch,
                v3_and_below_topics=[
                    m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("orders", [0])
                ],
            )
            added = await stage.ask(101, add, version=3)
            assert (
                added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
                == 0
            )
            stands_still(stage, 11_000)
            end = m.EndTxnRequest(transactional_id="t", **me, committed=True)
            return int((await stage.ask(101, end, version=4)).error_code)

    assert asyncio.run(scene()) == Errors.NONE
