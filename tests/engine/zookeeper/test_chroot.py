"""Several Kafka clusters on one ensemble, each below a znode of its own."""

from __future__ import annotations

import pytest

from engine.sim.clients.clients import create_topics
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.zookeeper.chroot import below, full, own, seen
from engine.zookeeper.tree import (
    Check,
    CloseSession,
    Create,
    GetChildren,
    Multi,
    Operation,
    Result,
    SetData,
)

CHROOTS = {101: "/a", 102: "/a", 103: "/b", 104: "/b"}
TOPIC = "orders"


@pytest.fixture
def world() -> World:
    made = World(seed=3, brokers=4, control_plane="zookeeper", chroots=CHROOTS, checked=False,
                 rewindable=False)  # fmt: skip
    assert made.run(until=lambda w: controller(w, 103, 104) > 0, for_s=5)
    made.run(for_s=1)
    return made


def controller(world: World, *brokers: int) -> int:
    """Which of these brokers is the controller; 0 if none is, or several are."""
    nodes = {each: world.cluster.nodes[each] for each in brokers if each in world.cluster.nodes}
    active = [each for each, node in nodes.items() if node.plane.controller.is_active]
    return active[0] if len(active) == 1 else 0


def known_to(world: World, broker: int) -> list[int]:
    answer = world.ask(m.MetadataRequest(topics=[]), broker)
    assert answer is not None
    return sorted(each.node_id for each in answer.brokers)


def test_two_clusters_below_two_znodes_see_only_their_own_brokers(world: World) -> None:
    assert [known_to(world, each) for each in CHROOTS] == [[101, 102]] * 2 + [[103, 104]] * 2
    there = world.znodes()
    for chroot, brokers in (("/a", (101, 102)), ("/b", (103, 104))):
        ids = [path for path in there if path.startswith(f"{chroot}/brokers/ids/")]
        assert ids == [f"{chroot}/brokers/ids/{each}" for each in brokers]
        assert f'"brokerid":{controller(world, *brokers)}' in there[f"{chroot}/controller"].data
    assert there["/a/cluster/id"].data != there["/b/cluster/id"].data
    assert {path for path in there if path.count("/") == 1} == {"/", "/a", "/b"}


def test_a_topic_and_a_failover_of_one_cluster_are_none_of_the_other(world: World) -> None:
    world.create_topic(TOPIC, replicas=2)
    assert world.ask(create_topics(TOPIC, 3, 2, None, None), 104) is not None
    world.run(for_s=1)
    assert len(world.partitions(TOPIC)) == 1
    assert sorted(world.cluster.nodes[103].metadata.topic(TOPIC).partitions) == [0, 1, 2]
    first, second = controller(world, 101, 102), controller(world, 103, 104)
    world.kill(second)
    other = 207 - second
    assert world.run(until=lambda w: controller(w, 103, 104) == other, for_s=10)
    world.run(for_s=1)
    there = world.znodes()
    assert (there["/a/controller_epoch"].data, there["/b/controller_epoch"].data) == ("1", "2")
    assert controller(world, 101, 102) == first == world.cluster.controller.node_id
    image = world.cluster.nodes[other].metadata.topic(TOPIC)
    assert {each.leader for each in image.partitions.values()} == {other}
    assert world.leader(TOPIC, 0) in (101, 102)


@pytest.mark.parametrize(
    ("operation", "sent"),
    [
        (GetChildren("/", watch=True), GetChildren("/a", watch=True)),
        (Create("/n-", "x", True, True), Create("/a/n-", "x", True, True)),
        (Multi((Check("/v", 3), SetData("/v", "y", 3))),
         Multi((Check("/a/v", 3), SetData("/a/v", "y", 3)))),
        (CloseSession(7), CloseSession(7)),
    ],
)  # fmt: skip
def test_each_path_of_an_operation_gets_the_chroot(operation: Operation, sent: Operation) -> None:
    assert below("/a", operation) == sent
    assert below("", operation) == operation


def test_a_client_hears_of_paths_without_the_chroot() -> None:
    assert [own("/a", full("/a", path)) for path in ("/", "/x", "/a")] == ["/", "/x", "/a"]
    assert seen("/a", Result(path="/a/n-0000000003")).path == "/n-0000000003"
    assert seen("", Result(path="/a/n-0000000003")).path == "/a/n-0000000003"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"checked": True}, "checked=False as well"),
        ({"control_plane": "kraft"}, "control_plane='zookeeper'"),
        ({"chroots": {101: "a"}}, "a slash and one name"),
        ({"chroots": {101: "/a/b"}}, "a slash and one name"),
    ],
)
def test_what_does_not_fit_gets_a_sentence(options: dict[str, object], problem: str) -> None:
    usual: dict[str, object] = {"control_plane": "zookeeper", "chroots": CHROOTS, "checked": False}
    with pytest.raises(ValueError, match=problem):
        World(**usual | options)  # type: ignore[arg-type]
