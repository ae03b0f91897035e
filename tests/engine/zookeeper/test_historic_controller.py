"""Kafka's controller on ZooKeeper: who is elected, what happens to partitions, who is fenced."""

from __future__ import annotations

from typing import Any

import pytest

from engine.sim.campaign.zookeeper_mutants import ZOOKEEPER_MUTANTS
from engine.sim.invariants.invariants import Violation
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.zookeeper import znodes
from engine.zookeeper.shell import Shell
from engine.zookeeper.tree import Multi, SetData

TEN_S = 10
TOPIC = "orders"


@pytest.fixture
def world() -> World:
    made = World(seed=1, control_plane="zookeeper", rewindable=False)
    made.create_topic(TOPIC, partitions=3, config={"min.insync.replicas": 2})
    return made


def controller(world: World) -> int:
    """The controller's id; 0 while there is none."""
    found = world.cluster.controller
    return 0 if found is None else found.node_id


def until_next_controller(world: World, old: int) -> int:
    assert world.run(until=lambda w: controller(w) not in (0, old), for_s=20)
    return controller(world)


def acknowledged(world: World) -> int:
    return len(world.trace_lines(("acknowledged",)))


def lines(world: World, kind: str, *words: str) -> list[str]:
    return [each for each in world.trace_lines((kind,)) if all(word in each for word in words)]


def state(world: World, index: int = 0) -> Any:
    return znodes.fields(world.znodes()[znodes.state(TOPIC, index)].data)


# -- election


def test_the_first_broker_to_create_the_znode_is_the_controller(world: World) -> None:
    there = world.znodes()
    assert znodes.controller_of(there["/controller"].data) == controller(world)
    assert there["/controller"].ephemeral_owner
    assert (there["/controller_epoch"].data, there["/controller_epoch"].version) == ("1", 1)
    assert [path for path in there if path.startswith("/brokers/ids/")] == [
        "/brokers/ids/101", "/brokers/ids/102", "/brokers/ids/103",
    ]  # fmt: skip
    epochs = {b: there[znodes.broker(b)].czxid for b in world.cluster.spec.brokers}
    assert {b: world.cluster.nodes[b].lifecycle.epoch for b in epochs} == epochs


def test_a_killed_controller_is_followed_by_the_next_epoch_and_its_partitions_by_leaders(
    world: World,
) -> None:
    load = world.load(TOPIC)
    world.run(for_s=1)
    old = controller(world)
    led = [i for i, each in world.partitions(TOPIC).items() if each.leader == old]
    killed_us = world.now_us
    world.kill(old)
    new = until_next_controller(world, old)
    assert lines(world, "session-over", f"'/brokers/ids/{old}', '/controller'")
    assert len(lines(world, "watch", "what=deleted path=/controller")) == 2
    waited_ms = (world.now_us - killed_us) / 1000
    # The session timeout (3 s) since its last ping (at most 1 s ago), rounded up to a tick (0.5 s).
    assert 2_000 <= waited_ms <= 3_600
    world.run(until=lambda w: all(w.leader(TOPIC, i) not in (-1, old) for i in led), for_s=TEN_S)
    assert world.znodes()["/controller_epoch"].data == "2"
    assert led
    for index, partition in world.partitions(TOPIC).items():
        assert partition.leader not in (-1, old)
        assert old not in partition.isr
        # -1 first, then another leader: each is a change of its own; else it only leaves the ISR.
        assert partition.leader_epoch == (2 if index in led else 1)
        assert state(world, index)["controller_epoch"] == 2
    before = acknowledged(world)
    world.run(for_s=2)
    assert acknowledged(world) > before, load
    assert world.cluster.nodes[new].plane.orders.controller_epoch == 2


def test_the_same_kill_with_another_session_timeout_takes_so_much_longer() -> None:
    waited = []
    for timeout_ms in (6_000, 18_000):
        world = World(seed=1, control_plane="zookeeper", checked=False, rewindable=False,
                      settings={"zookeeper.session.timeout.ms": timeout_ms})  # fmt: skip
        old, at_us = controller(world), world.now_us
        world.kill(old)
        world.run(until=lambda w, old=old: controller(w) not in (0, old), for_s=40)
        waited.append((world.now_us - at_us) / 1e6)
    assert 5 <= waited[0] <= 8
    assert 17 <= waited[1] <= 20


def test_a_controller_that_stops_cleanly_is_replaced_at_once(world: World) -> None:
    old, at_us = controller(world), world.now_us
    world.stop(old)
    until_next_controller(world, old)
    assert world.now_us - at_us < 1_000_000
    assert world.cluster.states[old] == "stopped"
    world.run(for_s=1)
    assert all(each.leader not in (-1, old) for each in world.partitions(TOPIC).values())


def test_an_operator_who_deletes_the_znode_moves_the_controller(world: World) -> None:
    made = world.add("zkcli", Shell("zkcli", world.cluster.spec))
    world.run(until=lambda w: made.client.is_connected, for_s=TEN_S)
    world.tell("zkcli", "delete", "/controller")
    world.run(for_s=1)
    assert world.znodes()["/controller_epoch"].data == "2"
    assert len(lines(world, "resigned")) == 1
    assert controller(world)


# -- fencing


def zombie_order(world: World) -> tuple[int, int]:
    """A controller's UpdateMetadata is on its way for 9 s; meanwhile there is another controller.

    Gives the old controller and the broker that the order reaches.
    """
    old = controller(world)
    gone, target = [each for each in world.cluster.spec.brokers if each != old]
    world.strand(old, target, ms=9_000, count=1, api="UpdateMetadata")
    world.kill(gone)
    assert world.run(until=lambda w: lines(w, "brokers", f"gone=[{gone}]"), for_s=TEN_S)
    world.kill(old)
    return old, target


def test_a_broker_refuses_an_order_of_a_former_controller(world: World) -> None:
    old, target = zombie_order(world)
    world.run(for_s=TEN_S)
    refused = lines(world, "refused", "STALE_CONTROLLER_EPOCH")
    assert len(refused) == 1
    assert f"{target} refused controller={old} epoch=1 known=2" in refused[0]
    assert world.cluster.nodes[target].controller.id == target


def test_a_broker_that_obeyed_any_controller_would_be_found_out(world: World) -> None:
    with ZOOKEEPER_MUTANTS["obey-any-controller"].in_force():
        zombie_order(world)
        with pytest.raises(Violation, match=r"^epochs: .* obeys controller epoch 1 after 2"):
            world.run(for_s=TEN_S)


def zombie_write(world: World) -> int:
    """A controller's write waits at a member that stands still; meanwhile there is another one."""
    old = controller(world)
    plane = world.cluster.nodes[old].plane
    made = world.add("zkcli", Shell("zkcli", world.cluster.spec))
    world.run(until=lambda w: made.client.is_connected, for_s=TEN_S)
    member = plane.client.member
    assert member != made.client.member
    assert not world.cluster.nodes[member].is_leading
    world.load(TOPIC)
    world.cut(*[each for each in world.cluster.spec.brokers if each != old])
    # A leader asks for a smaller ISR, and the controller writes it.
    assert world.run(
        until=lambda w: (
            plane.steps.is_waiting and isinstance(plane.steps.asked[0], Multi | SetData)
        ),
        for_s=TEN_S,
    )
    world.pause(member)
    world.tell("zkcli", "delete", "/controller")
    until_next_controller(world, old)
    world.heal()
    world.resume(member)
    return old


def test_a_write_of_a_former_controller_fails_by_the_version_of_the_epoch(world: World) -> None:
    old = zombie_write(world)
    before = [state(world, index) for index in range(3)]
    world.run(until=lambda w: lines(w, "resigned", f"{old} resigned epoch=1"), for_s=2)
    assert lines(world, "resigned", f"{old} resigned epoch=1")
    after = [state(world, index) for index in range(3)]
    assert all(now == was or now["controller_epoch"] == 2
               for was, now in zip(before, after, strict=True))  # fmt: skip


def test_a_controller_that_wrote_without_that_check_would_be_found_out(world: World) -> None:
    with ZOOKEEPER_MUTANTS["writes-are-not-fenced"].in_force():
        zombie_write(world)
        with pytest.raises(Violation, match=r"^fenced: .* by controller epoch 1 after 2"):
            world.run(for_s=2)


def test_a_paused_controller_resigns_when_it_learns_that_its_session_is_over(world: World) -> None:
    world.load(TOPIC, period_us=400_000)
    old = controller(world)
    world.pause(old)
    new = until_next_controller(world, old)
    world.run(for_s=2)
    world.resume(old)
    assert world.cluster.nodes[old].plane.controller.is_active
    world.run(for_s=2)
    assert lines(world, "resigned", f"{old} resigned epoch=1", "its session is over")
    assert not world.cluster.nodes[old].plane.controller.is_active
    assert controller(world) == new
    world.run(until=lambda w: all(len(p.isr) == 3 for p in w.partitions(TOPIC).values()), for_s=40)
    assert all(old in each.isr for each in world.partitions(TOPIC).values())


# -- brokers


def test_a_broker_whose_id_is_taken_is_refused_and_comes_back_when_it_is_free(world: World) -> None:
    broker = next(b for b in world.cluster.spec.brokers if b != controller(world))
    world.kill(broker)
    world.start(broker)
    world.run(for_s=1)
    assert world.cluster.states[broker] == "stopped"
    assert lines(world, "refused", f"/brokers/ids/{broker} belongs to session")
    world.run(until=lambda w: znodes.broker(broker) not in w.znodes(), for_s=TEN_S)
    world.start(broker)
    world.run(until=lambda w: not w.is_fenced(broker), for_s=TEN_S)
    assert not world.is_fenced(broker)


def test_a_broker_that_stops_moves_its_leaderships_first(world: World) -> None:
    world.load(TOPIC)
    world.run(for_s=1)
    broker = next(b for b in world.cluster.spec.brokers if b != controller(world))
    world.stop(broker)
    world.run(until=lambda w: w.cluster.states[broker] == "stopped", for_s=TEN_S)
    assert all(each.leader not in (-1, broker) for each in world.partitions(TOPIC).values())
    assert all(broker not in each.isr for each in world.partitions(TOPIC).values())


def test_the_last_in_sync_replica_alone_can_lead_again() -> None:
    """Before KIP-966 it stays in the ISR, dead or not."""
    world = World(seed=1, control_plane="zookeeper")
    world.create_topic(TOPIC, assignment={0: [101, 102, 103]})
    for broker in (102, 103):
        world.kill(broker)
        world.run(until=lambda w, b=broker: b not in w.partition(TOPIC, 0).isr, for_s=20)
    world.kill(101)
    world.start(102)
    world.start(103)
    world.run(until=lambda w: w.cluster.controller is not None
              and w.leader(TOPIC, 0) == -1, for_s=20)  # fmt: skip
    assert (world.partition(TOPIC, 0).leader, world.partition(TOPIC, 0).isr) == (-1, (101,))
    world.start(101)
    world.run(until=lambda w: w.leader(TOPIC, 0) == 101, for_s=20)
    assert world.leader(TOPIC, 0) == 101


def test_without_a_majority_clients_go_on_and_nothing_can_be_decided(world: World) -> None:
    world.load(TOPIC, period_us=100_000)
    world.reader(TOPIC)
    world.run(for_s=1)
    before = world.partitions(TOPIC)
    world.kill(1)
    world.kill(2)
    sent = acknowledged(world)
    world.run(for_s=5)
    assert acknowledged(world) > sent + 20
    follower = next(b for b in world.cluster.spec.brokers if b != controller(world))
    world.kill(follower)
    world.run(for_s=8)
    # Its partitions keep a leader that is dead; the others wait for it, as their ISR names it.
    assert {i: (p.leader, p.isr) for i, p in world.partitions(TOPIC).items()} == {
        i: (p.leader, p.isr) for i, p in before.items()
    }
    with pytest.raises(Exception, match="no broker answered"):
        world.create_topic("payments")
    world.start(1)
    world.run(until=lambda w: all(follower not in (p.leader, *p.isr)
              for p in w.partitions(TOPIC).values()), for_s=40)  # fmt: skip
    assert all(follower not in (p.leader, *p.isr) for p in world.partitions(TOPIC).values())
    sent = acknowledged(world)
    world.run(for_s=3)
    assert acknowledged(world) > sent


# -- topics and configs


def deleted(name: str) -> m.DeleteTopicsRequest:
    state = m.DeleteTopicsRequest.DeleteTopicState(name=name)
    return m.DeleteTopicsRequest(topics=[state], timeout_ms=10_000)


def test_a_topic_is_deleted_when_every_replica_is_gone(world: World) -> None:
    broker = next(b for b in world.cluster.spec.brokers if b != controller(world))
    world.kill(broker)
    world.run(until=lambda w: broker not in w.image().brokers, for_s=TEN_S)
    answer = world.ask(deleted(TOPIC), controller(world))
    assert answer is not None
    assert answer.responses[0].error_code == Errors.NONE
    world.run(for_s=2)
    assert f"{znodes.DELETE_TOPICS}/{TOPIC}" in world.znodes()
    assert f"{TOPIC}-0" in world.cluster.disks[broker].list("")
    world.start(broker)
    world.run(until=lambda w: znodes.topic(TOPIC) not in w.znodes(), for_s=TEN_S)
    assert [path for path in world.znodes() if TOPIC in path] == []
    for each in world.cluster.spec.brokers:
        held = [path for path in world.cluster.disks[each].list("") if path.startswith(TOPIC)]
        assert held == []
    world.create_topic(TOPIC)
    assert world.leader(TOPIC, 0) > 0


def test_a_changed_config_reaches_every_broker(world: World) -> None:
    request = m.IncrementalAlterConfigsRequest
    change = request.AlterableConfig(name="retention.ms", config_operation=0, value="1234")
    resource = request.AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[change])
    assert world.ask(request(resources=[resource])) is not None
    world.run(for_s=1)
    for broker in world.cluster.spec.brokers:
        config = world.cluster.nodes[broker].replicas.topic_config(TOPIC)
        assert config["retention.ms"] == 1234
        assert config["min.insync.replicas"] == 2


def test_more_partitions_get_leaders(world: World) -> None:
    request = m.CreatePartitionsRequest
    topic = request.CreatePartitionsTopic(name=TOPIC, count=5, assignments=None)
    assert world.ask(request(topics=[topic], timeout_ms=10_000)) is not None
    world.run(for_s=1)
    assert sorted(world.partitions(TOPIC)) == [0, 1, 2, 3, 4]
    assert all(each.leader > 0 for each in world.partitions(TOPIC).values())


def test_a_preferred_election_moves_leaders_back(world: World) -> None:
    broker = next(b for b in world.cluster.spec.brokers if b != controller(world))
    world.stop(broker)
    world.run(until=lambda w: w.cluster.states[broker] == "stopped", for_s=TEN_S)
    world.start(broker)
    world.run(until=lambda w: all(len(p.isr) == 3 for p in w.partitions(TOPIC).values()), for_s=20)
    away = [i for i, p in world.partitions(TOPIC).items() if p.leader != p.replicas[0]]
    assert away
    request = m.ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=10_000)
    assert world.ask(request) is not None
    assert all(p.leader == p.replicas[0] for p in world.partitions(TOPIC).values())


def test_what_the_plane_does_not_have_is_refused_with_a_remedy(world: World) -> None:
    answer = world.ask(m.AlterClientQuotasRequest())
    assert answer is None or not answer.entries
    answer = world.ask(m.UnregisterBrokerRequest(broker_id=103))
    assert answer is not None
    assert answer.error_code == Errors.UNSUPPORTED_VERSION
    assert "control_plane='kraft'" in str(answer.error_message)


# -- time travel


def test_a_world_with_zookeeper_can_be_forked_and_taken_back() -> None:
    world = World(seed=1, control_plane="zookeeper")
    world.create_topic(TOPIC)
    world.load(TOPIC, period_us=200_000)
    world.run(for_s=1)
    other = world.fork()
    for each in (world, other):
        each.kill(controller(each))
        each.run(for_s=6)
    assert world.trace_lines() == other.trace_lines()
    story, event = world.trace_lines(), world.events
    world.back(200)
    world.goto(event=event)
    assert world.trace_lines() == story


def test_an_unclean_election_is_held_only_where_the_topic_allows_it() -> None:
    for allowed in (False, True):
        world = World(seed=1, control_plane="zookeeper", rewindable=False)
        config = {"unclean.leader.election.enable": str(allowed).lower()}
        world.create_topic(TOPIC, assignment={0: [101, 102]}, config=config)
        world.kill(102)
        world.run(until=lambda w: 102 not in (*w.partition(TOPIC, 0).isr, *w.image().brokers),
                  for_s=20)  # fmt: skip
        world.start(102)
        world.cut(101, 102)  # it cannot catch up
        world.run(for_s=2)
        world.kill(101)
        world.run(until=lambda w: w.cluster.controller is not None
                  and w.leader(TOPIC, 0) != 101, for_s=20)  # fmt: skip
        world.run(for_s=1)
        assert world.leader(TOPIC, 0) == (102 if allowed else -1)
        assert bool(lines(world, "elected", "reason=unclean")) is allowed


def test_metadata_names_the_controller(world: World) -> None:
    for broker in world.cluster.spec.brokers:
        answer = world.ask(m.MetadataRequest(topics=None), broker)
        assert answer is not None
        assert answer.controller_id == controller(world)


def test_a_broker_reads_configs_that_changed_while_it_had_no_session(world: World) -> None:
    broker = next(b for b in world.cluster.spec.brokers if b != controller(world))
    world.pause(broker)
    world.run(until=lambda w: znodes.broker(broker) not in w.znodes(), for_s=TEN_S)
    request = m.IncrementalAlterConfigsRequest
    change = request.AlterableConfig(name="retention.ms", config_operation=0, value="1234")
    resource = request.AlterConfigsResource(resource_type=2, resource_name=TOPIC, configs=[change])
    assert world.ask(request(resources=[resource])) is not None
    world.resume(broker)
    world.run(for_s=2)
    config = world.cluster.nodes[broker].replicas.topic_config(TOPIC)
    assert config["retention.ms"] == 1234
