"""The Cluster panel with three controllers: all in view, the active one marked, faults on each."""

from __future__ import annotations

from typing import Any

import pytest

from engine.sim.world.world import World
from kit import lab
from kit.panel.panel import ClusterPanel
from kit.panel.recording import record
from kit.panel.time_panel import TimePanel
from tests.kit.panel.toy_cluster import ToyCluster


@pytest.fixture(scope="module")
def world() -> World:
    """The active controller, 200, is killed, and 100 follows it.  Panels copy it."""
    made = World(seed=5, controllers=3, checked=False)
    made.create_topic("orders", assignment={0: [102, 103, 101]})
    made.run(for_s=0.5)
    made.kill(200)
    made.run(for_s=4)
    return made


@pytest.fixture
def panel(world: World) -> TimePanel:
    panel = lab.panel(world, "orders")
    panel.go(len(panel) - 1)
    return panel


def cards(panel: TimePanel) -> list[dict[str, Any]]:
    """The controllers as the browser draws them."""
    step = panel.film["takes"][0]["steps"][-1]
    found: list[dict[str, Any]] = panel.film["pools"]["heads"][step["head"]]["controllers"]
    return found


def test_every_controller_is_in_view_and_the_active_one_is_marked(panel: TimePanel) -> None:
    shown = [(each.id, each.state, each.role, each.is_active) for each in panel.scene().controllers]
    assert shown == [
        (100, "running", "leader", True),
        (200, "killed", "", False),
        (300, "running", "follower", False),
    ]
    assert "active controller 100; 100 leader; 200 killed; 300 follower" in panel.text
    assert "controllers ♛ 100 · 200 killed · 300" in panel._still()
    assert panel.scene().controller == (100, "running")


def test_each_has_its_buttons_and_links(panel: TimePanel) -> None:
    actions = [[button["action"] for button in each["buttons"]] for each in cards(panel)]
    assert actions == [
        ["kill", "stop", "pause", "cut"], ["start", "stop", "pause", "cut"],
        ["kill", "stop", "pause", "cut"],
    ]  # fmt: skip
    labels = [each["label"] for each in cards(panel)[0]["links"]]
    assert labels == [
        "from 101", "from 102", "from 103", "from the controller 200", "from the controller 300",
        "from everybody", "heal all links",
    ]  # fmt: skip
    pools = panel.film["pools"]
    row = pools["rows"][panel.film["takes"][0]["steps"][-1]["rows"][0]]
    named = [each["label"] for each in pools["controls"][row["controls"]]["links"]]
    assert named[2:5] == [f"from the controller {each}" for each in (100, 200, 300)]


def test_their_elections_are_steps(panel: TimePanel) -> None:
    panel.go(0)
    assert panel.jump("fault")
    assert [each.id for each in panel.scene().controllers if each.is_active] == []
    assert "no active controller" in panel.text
    assert panel.jump("election")
    assert "100 leads the quorum of controllers in epoch 2" in panel.caption
    assert panel.jump("election")
    assert "100 is the **active controller** now, in epoch 2" in panel.caption
    assert [each.id for each in panel.scene().controllers if each.is_active] == [100]


def test_a_fault_on_a_controller_happens(panel: TimePanel) -> None:
    panel.press("cut", 100, 102)
    panel.go(len(panel) - 1)
    assert panel.scene().controllers[0].cut_from == (102,)
    panel.press("start", 200)
    panel.go(len(panel) - 1)
    assert panel.scene().controllers[1].role == "follower"


def test_what_controllers_say_to_each_other_is_left_to_the_quorum_panel(world: World) -> None:
    flights = record(world, "orders").flights
    nodes = {each for flight in flights for each in (flight.source, flight.destination)}
    assert nodes >= {101, 102, 103}
    between = [each for each in flights if {each.source, each.destination} <= {100, 200, 300}]
    assert between == []


def test_with_one_controller_nothing_is_added() -> None:
    single = World(seed=5, checked=False)
    single.create_topic("orders")
    panel = TimePanel(single, "orders")
    assert panel.scene().controllers == ()
    assert all("controllers" not in each for each in panel.film["pools"]["heads"])
    assert "controller 100 running" in panel.text


class ThreeControllers(ToyCluster):
    """A toy whose controllers can be set."""

    def __init__(self) -> None:
        super().__init__()
        self.active = 100
        self.states = {100: "running", 200: "running", 300: "running"}

    def snapshot(self, values: bool = False, tail: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = super().snapshot(values, tail)
        found["controller"] |= {"id": self.active, "epoch": 2}
        found["controllers"] = {
            each: {"state": state, "is_active": each == self.active}
            for each, state in self.states.items()
        }
        return found


def test_live_the_next_active_controller_has_a_sentence() -> None:
    cluster = ThreeControllers()
    panel = ClusterPanel(cluster, "orders")
    assert [each["is_active"] for each in panel.scene["controllers"]] == [True, False, False]
    cluster.states, cluster.active = {**cluster.states, 100: "killed"}, -1
    panel.refresh()
    assert "**No controller is active**" in panel.scene["caption"]
    assert panel.scene["controllers"][0]["buttons"][0]["action"] == "start"
    cluster.active = 300
    panel.refresh()
    assert "300 is the **active controller** now, in epoch 2." in panel.scene["caption"]
    assert [name for _, name in panel.timeline["marks"]] == ["kill 100", "300 active"]
