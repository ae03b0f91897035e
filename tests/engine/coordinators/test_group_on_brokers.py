"""Groups on whole brokers in virtual time: replication, elections, lost power."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.sim.world.world import World
from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors

SETTINGS = {"offsets.topic.num.partitions": 2, "group.initial.rebalance.delay.ms": 500}


class Client:
    """Finds the coordinator, and repeats what a coordinator that moves refuses."""

    def __init__(self, world: World, group: str = "g") -> None:
        self.world, self.group = world, group

    def coordinator(self) -> int | None:
        body = m.FindCoordinatorRequest(coordinator_keys=[self.group])
        answer = self.world.ask(body)
        return None if answer is None or answer.coordinators[0].error_code else (
            answer.coordinators[0].node_id
        )  # fmt: skip

    def ask(self, body: Any, failed: Callable[[Any], bool]) -> Any:
        """The first answer that does not say: elsewhere, or later."""
        for _ in range(200):
            node = self.coordinator()
            if node is not None and node in self.world.cluster.nodes:
                answer = self.world.ask(body, node)
                if answer is not None and not failed(answer):
                    return answer
            self.world.run(for_s=0.2)
        raise AssertionError("no coordinator to be found")

    def post(self, body: Any) -> int:
        """Sends to the coordinator without waiting; gives the number of the answer to come."""
        number, effects = self.world.cluster.nodes["admin"].ask(self.coordinator(), body)
        self.world.cluster.carry_out("admin", effects)
        return number

    def answer(self, number: int) -> Any:
        answers = self.world.cluster.nodes["admin"].answers
        assert self.world.run(until=lambda _: number in answers, for_s=60)
        return answers[number]

    def commit(self, offset: int, member: str = "", generation: int = -1) -> int:
        image = self.world.image()
        request = m.OffsetCommitRequest
        row = request.OffsetCommitRequestPartition(0, offset)
        topic = request.OffsetCommitRequestTopic(
            topic_id=image.topic_ids["orders"], partitions=[row]
        )
        body = request(self.group, generation, member, topics=[topic])
        return self.ask(body, lambda a: _is_transient(_commit_error(a))) and 0

    def committed(self) -> int:
        asked = m.OffsetFetchRequest.OffsetFetchRequestGroup(self.group, topics=None)
        body = m.OffsetFetchRequest(groups=[asked], require_stable=True)
        answer = self.ask(body, lambda a: _is_transient(a.groups[0].error_code))
        rows = [row for topic in answer.groups[0].topics for row in topic.partitions]
        return rows[0].committed_offset if rows else -1


def _commit_error(answer: Any) -> int:
    return answer.topics[0].partitions[0].error_code


def _is_transient(code: int) -> bool:
    return code in (
        Errors.NOT_COORDINATOR,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
    )


def make_world(seed: int = 1) -> tuple[World, Client]:
    world = World(seed, settings=SETTINGS)
    world.create_topic("orders", partitions=4)
    client = Client(world)
    assert client.committed() == -1, "the offsets topic was created on the way"
    return world, client


def join(member: str, metadata: bytes = b"") -> m.JoinGroupRequest:
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol("range", metadata)
    return m.JoinGroupRequest("g", 30_000, 30_000, member, None, "consumer", [protocol])


def test_a_group_and_its_offsets_survive_the_death_of_their_coordinator():
    world, client = make_world()
    first, second = (client.answer(client.post(join(""))).member_id for _ in range(2))
    joins = [client.post(join(each)) for each in (first, second)]
    answers = [client.answer(each) for each in joins]
    generation = answers[0].generation_id
    if answers[0].leader == second:
        first, second = second, first
    part = m.ConsumerProtocolAssignment.TopicPartition("orders", [0, 1, 2, 3])
    share = consumer_protocol.encode(m.ConsumerProtocolAssignment([part]), 3)
    row = m.SyncGroupRequest.SyncGroupRequestAssignment(first, share)
    follower = client.post(m.SyncGroupRequest("g", generation, second, None, "consumer", "range"))
    leader = client.post(
        m.SyncGroupRequest("g", generation, first, None, "consumer", "range", [row])
    )
    assert client.answer(leader).assignment == share
    assert client.answer(follower).assignment == b""
    client.commit(17, first, generation)

    old = client.coordinator()
    world.kill(old)
    beat = m.HeartbeatRequest("g", generation, first)
    answer = client.ask(beat, lambda a: _is_transient(a.error_code))
    assert answer.error_code == Errors.NONE
    assert client.coordinator() != old
    assert client.committed() == 17
    groups = world.snapshot()["groups"]["g"]
    assert (groups["state"], groups["coordinator"]) == ("Stable", client.coordinator())
    assert sorted(each["id"] for each in groups["members"]) == sorted([first, second])


def test_the_offsets_topic_is_compacted_and_replicated():
    world, _ = make_world()
    image = world.image()
    topic = image.topics[image.topic_ids[OFFSETS_TOPIC]]
    assert {len(each.replicas) for each in topic.partitions.values()} == {3}
    assert len(topic.partitions) == 2
    assert image.configs[2, OFFSETS_TOPIC]["cleanup.policy"] == "compact"


def test_a_deleted_topic_takes_its_offsets_along():
    world, client = make_world()
    client.commit(17)
    state = m.DeleteTopicsRequest.DeleteTopicState(name="orders")
    world.ask(m.DeleteTopicsRequest(topics=[state], timeout_ms=10_000))
    assert world.run(
        until=lambda w: not w.snapshot()["groups"].get("g", {"offsets": {}})["offsets"], for_s=30
    )


@pytest.mark.parametrize("seed", range(6))
def test_no_acknowledged_commit_is_lost_while_brokers_come_and_go(seed: int):
    world, client = make_world(seed)
    random = Random(seed)
    down: int | None = None
    for offset in range(12):
        client.commit(offset)
        if down is not None and random.random() < 0.6:
            world.start(down)
            world.run(until=lambda w, broker=down: not w.is_fenced(broker), for_s=60)
            world.run(for_s=2)
            down = None
        elif down is None:
            down = client.coordinator() if random.random() < 0.7 else random.choice((101, 102, 103))
            random.choice((world.kill, world.lose_power))(down)
        assert client.committed() == offset
