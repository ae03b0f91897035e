"""Three controllers on virtual time: one leads, and what happens when it no longer does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.control.controller import Controller
from engine.quorum.roles import Role
from engine.sim.clients.clients import create_topics
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

TOPIC = "orders"
Failure = Callable[[World, int], None]


def world(controllers: int = 3, seed: int = 5) -> World:
    made = World(seed=seed, controllers=controllers, rewindable=False)
    made.create_topic(TOPIC, assignment={0: [101, 102, 103]})
    return made


def active(of: World) -> Controller:
    found = of.cluster.controller
    assert found is not None
    return found


def voters(of: World) -> dict[int, Controller]:
    nodes = of.cluster.nodes
    return {each: nodes[each] for each in of.cluster.spec.controllers if each in nodes}


def next_one(of: World, former: int, for_s: float = 20) -> Controller:
    """Runs until another controller is active."""
    assert of.run(until=lambda w: (c := w.cluster.controller) and c.node_id != former, for_s=for_s)
    return active(of)


def kill(of: World, controller: int) -> None:
    of.kill(controller)


def pause(of: World, controller: int) -> None:
    of.pause(controller)


def isolate(of: World, controller: int) -> None:
    of.isolate(controller)


def stop(of: World, controller: int) -> None:
    of.stop(controller)


def lose_power(of: World, controller: int) -> None:
    of.lose_power(controller)


@pytest.mark.parametrize("controllers", [2, 3, 4, 5])
def test_one_of_them_leads_and_the_others_hold_the_same_log(controllers: int) -> None:
    made = world(controllers)
    made.run(for_s=2)
    leader = active(made)
    for node_id, each in voters(made).items():
        leads = node_id == leader.node_id
        assert each.is_active is leads
        assert each.replica.state.role is (Role.LEADER if leads else Role.FOLLOWER)
        assert each.replica.state.leader == leader.node_id
        assert each.image == leader.image
        assert each.log.high_watermark == leader.log.end_offset


@pytest.mark.parametrize("controllers", [3, 5])
@pytest.mark.parametrize("fail", [kill, pause, isolate, stop, lose_power])
def test_another_takes_over_and_knows_everything_that_was_answered(
    controllers: int, fail: Failure
) -> None:
    made = world(controllers)
    former = active(made)
    epoch = former.replica.state.epoch
    fail(made, former.node_id)
    leader = next_one(made, former.node_id)
    assert leader.replica.state.epoch > epoch
    assert TOPIC in leader.image.topic_ids
    made.run(for_s=3)  # until no broker forwards to the former one
    made.create_topic("payments")
    assert "payments" in active(made).image.topic_ids


@pytest.mark.parametrize("fail", [kill, pause, isolate])
def test_no_broker_is_fenced_because_a_controller_failed(fail: Failure) -> None:
    made = world()
    fail(made, active(made).node_id)
    made.run(for_s=15)
    assert not [b for b in made.cluster.spec.brokers if made.is_fenced(b)]
    assert made.partition(TOPIC, 0).leader_epoch == 0


def test_a_partitions_leader_is_replaced_by_the_next_controller() -> None:
    made = world()
    former = active(made).node_id
    leader = made.leader(TOPIC, 0)
    made.kill(former)
    made.kill(leader)
    next_one(made, former)
    assert made.run(until=lambda w: w.leader(TOPIC, 0) not in (leader, -1), for_s=20)


def test_a_controller_that_was_paused_returns_as_a_follower() -> None:
    made = world()
    former = active(made)
    made.pause(former.node_id)
    leader = next_one(made, former.node_id)
    made.create_topic("payments")
    made.resume(former.node_id)
    made.run(for_s=0.5)
    assert former.replica.state.role is Role.FOLLOWER
    assert former.replica.state.epoch == leader.replica.state.epoch
    assert former.image == leader.image


def test_a_leader_that_no_majority_reaches_resigns_and_forgets_what_it_could_not_commit() -> None:
    made = world()
    former = active(made)
    brokers = made.cluster.spec.brokers
    for other in voters(made):
        if other != former.node_id:
            made.cut(former.node_id, other)
    body = m.CreateTopicsRequest(topics=[m.CreateTopicsRequest.CreatableTopic(
        name="lost", num_partitions=1, replication_factor=3)], timeout_ms=30_000)  # fmt: skip
    made.post(body, brokers[0])
    made.run(for_s=0.5)
    assert "lost" in former.image.topic_ids
    assert former.is_active
    made.run(for_s=4)
    assert not former.is_active
    assert "lost" not in former.image.topic_ids
    made.heal()
    made.run(for_s=5)
    assert former.image == active(made).image


def test_a_request_that_the_failed_controller_has_not_answered_is_done_by_the_next() -> None:
    """The broker asks the next one, and the client gets one answer."""
    made = world(seed=8)
    former = active(made).node_id
    number = made.post(create_topics("payments", 1, 3, None, None), 102)
    made.run(until=lambda w: "payments" in w.cluster.nodes[former].image.topic_ids, for_s=1)
    made.kill(former)
    assert made.run(until=lambda w: w.answer(number) is not None, for_s=10)
    answer = made.answer(number)
    assert answer.topics[0].error_code in (Errors.NONE, Errors.TOPIC_ALREADY_EXISTS)
    assert active(made).node_id != former
    assert "payments" in active(made).image.topic_ids


def test_without_a_majority_none_leads_and_records_still_flow() -> None:
    made = world()
    leader = active(made).node_id
    others = [each for each in voters(made) if each != leader]
    for other in others:
        made.kill(other)
    made.run(for_s=5)
    assert made.cluster.controller is None
    producer = made.load(TOPIC, count=20)
    assert made.run(until=lambda w: producer.idle, for_s=10)
    assert [each.verdict for each in producer.history[0]] == ["acknowledged"] * 20
    with pytest.raises(KafkaError):
        made.create_topic("payments")
    made.start(others[0])
    assert made.run(until=lambda w: w.cluster.controller is not None, for_s=10)
    made.create_topic("shipments")


def test_a_voter_that_flaps_unseats_no_leader() -> None:
    """KIP-996: it asks first, and those who hear from their leader would not vote for it."""
    made = world()
    leader = active(made)
    epoch = leader.replica.state.epoch
    flapping = next(each for each in voters(made) if each != leader.node_id)
    for _ in range(10):
        made.isolate(flapping)
        made.run(for_s=5)
        made.heal()
        made.run(for_s=1)
    assert active(made) is leader
    assert leader.replica.state.epoch == epoch


def test_all_restart_and_go_on_where_they_were() -> None:
    made = world()
    epoch = active(made).replica.state.epoch
    for each in made.cluster.spec.controllers:
        made.kill(each)
    for each in made.cluster.spec.controllers:
        made.start(each)
    assert made.run(until=lambda w: w.cluster.controller is not None, for_s=20)
    assert active(made).replica.state.epoch > epoch
    assert TOPIC in active(made).image.topic_ids


def test_a_quorum_without_a_majority_does_not_spin() -> None:
    """Each exchange that teaches nothing costs time."""
    made = world()
    leader = active(made).node_id
    other = next(each for each in voters(made) if each != leader)
    made.kill(leader)
    made.kill(other)
    made.run(for_s=10)
    before = made.events
    made.run(for_s=10)
    assert made.events - before < 5_000


def test_a_standby_names_the_controller_that_is_active() -> None:
    made = world()
    leader = active(made)
    standby = next(each for each in voters(made) if each != leader.node_id)
    answer = made.ask(m.AllocateProducerIdsRequest(broker_id=101, broker_epoch=1), standby)
    assert answer.error_code == Errors.NOT_CONTROLLER


def test_describe_quorum_shows_the_voters_and_the_brokers() -> None:
    made = world()
    made.run(for_s=2)
    request = m.DescribeQuorumRequest
    part = request.PartitionData(partition_index=0)
    body = request(topics=[request.TopicData("__cluster_metadata", [part])])
    answer = made.ask(body, 102)
    data = answer.topics[0].partitions[0]
    assert data.leader_id == active(made).node_id
    assert [each.replica_id for each in data.current_voters] == [100, 200, 300]
    assert [each.replica_id for each in data.observers] == [101, 102, 103]
    assert {each.log_end_offset for each in data.current_voters} == {data.high_watermark}


def test_the_same_seed_gives_the_same_election() -> None:
    traces = [world(seed=9).trace_lines(("controller", "candidate", "voted")) for _ in range(2)]
    assert traces[0] == traces[1]
    assert len(traces[0]) >= 3
