"""The members agree: who leads, what survives, and whom a client is connected to."""

from __future__ import annotations

import pytest

from engine.sim.world.faults import fault
from engine.sim.world.world import World
from engine.zookeeper.shell import Shell
from engine.zookeeper.tree import Code

TEN_S = 10


def make(**options: object) -> World:
    return World(seed=3, brokers=1, control_plane="zookeeper", **options)  # type: ignore[arg-type]


def shell(world: World) -> Shell:
    made = world.add("zkcli", Shell("zkcli", world.cluster.spec))
    world.run(until=lambda w: made.client.is_connected, for_s=TEN_S)
    return made


def ask(world: World, made: Shell, command: str, *arguments: object, for_s: float = 2) -> object:
    """The result of a command; None if none came in time."""
    before = len(made.results)
    world.tell("zkcli", command, *arguments)
    world.run(until=lambda w: len(made.results) > before, for_s=for_s)
    return made.results[-1] if len(made.results) > before else None


def leader(world: World) -> int:
    found = [each for each in world.cluster.spec.ensemble
             if each in world.cluster.nodes and world.cluster.nodes[each].is_leading]  # fmt: skip
    return found[0] if len(found) == 1 else 0


@pytest.mark.parametrize(
    ("members", "lost", "serves"), [(1, 0, True), (3, 1, True), (3, 2, False), (4, 1, True),
                                    (4, 2, False), (5, 2, True), (5, 3, False)],
)  # fmt: skip
def test_a_majority_serves_and_a_minority_does_not(members: int, lost: int, serves: bool) -> None:
    world = make(ensemble=members)
    made = shell(world)
    for member in range(1, lost + 1):
        world.kill(member)
    answer = ask(world, made, "create", "/x", "data", for_s=TEN_S)
    assert (answer is not None) == serves


def test_what_was_written_survives_every_member() -> None:
    world = make()
    made = shell(world)
    ask(world, made, "create", "/kept", "data")
    for member in (1, 2, 3):
        world.kill(member)
    for member in (1, 2, 3):
        world.start(member)
    world.run(until=lambda w: made.client.is_connected, for_s=TEN_S)
    assert ask(world, made, "get", "/kept").znode.data == "data"  # type: ignore[attr-defined]


def test_a_member_that_was_away_gets_everything_and_a_leader_in_a_minority_steps_down() -> None:
    world = make()
    made = shell(world)
    old = leader(world)
    world.isolate(old)
    world.run(until=lambda w: leader(w) not in (0, old), for_s=TEN_S)
    assert not world.cluster.nodes[old].is_leading
    ask(world, made, "create", "/later")
    world.heal()
    world.run(until=lambda w: "/later" in w.cluster.nodes[old].tree.nodes, for_s=TEN_S)
    assert "/later" in world.cluster.nodes[old].tree.nodes


def test_a_member_may_stop_lose_power_or_get_an_empty_disk() -> None:
    world = make()
    made = shell(world)
    ask(world, made, "create", "/kept", "data")
    world.stop(1)
    world.run(for_s=3)
    world.start(1)
    world.run(for_s=3)
    world.lose_power(2)
    world.run(for_s=3)
    world.start(2)
    world.run(for_s=3)
    world.apply(fault("replace_disk", 3))
    world.run(for_s=3)
    world.start(3)
    world.run(for_s=3)
    trees = [world.cluster.nodes[each].tree for each in (1, 2, 3)]
    assert all(each.nodes == trees[0].nodes for each in trees)
    assert trees[0].nodes["/kept"].data == "data"


def test_a_session_moves_to_another_member_and_its_ephemerals_stay() -> None:
    world = make()
    made = shell(world)
    ask(world, made, "create", "/mine", "", True)
    session, member = made.client.session, made.client.member
    world.kill(member)
    world.run(until=lambda w: made.client.is_connected and made.client.member != member,
              for_s=TEN_S)  # fmt: skip
    assert made.client.session == session
    assert ask(world, made, "get", "/mine").znode.ephemeral_owner == session  # type: ignore[attr-defined]


def test_a_client_that_was_away_for_too_long_loses_its_session_and_what_it_owned() -> None:
    world = make()
    made = shell(world)
    ask(world, made, "create", "/mine", "", True)
    session = made.client.session
    world.pause("zkcli")
    world.run(until=lambda w: "/mine" not in w.znodes(), for_s=30)
    world.resume("zkcli")
    world.run(until=lambda w: made.client.session not in (0, session), for_s=TEN_S)
    assert made.client.session not in (0, session)
    assert ask(world, made, "get", "/mine").code is Code.NO_NODE  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"control_plane": "raft"}, "there are kraft and zookeeper"),
        ({"ensemble": 0}, "3 and 5 are usual"),
        ({"control_plane": "kraft", "ensemble": 3}, "say control_plane='zookeeper' as well"),
        ({"controllers": 3}, "a broker is the controller"),
        ({"encoded": True}, "leave out encoded="),
    ],
)
def test_what_does_not_fit_gets_a_sentence(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        World(**{"control_plane": "zookeeper", **options})  # type: ignore[arg-type]


def test_znodes_of_a_cluster_without_zookeeper_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="make one with control_plane='zookeeper'"):
        World(brokers=1).znodes()
