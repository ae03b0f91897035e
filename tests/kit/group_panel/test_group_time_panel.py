"""Time travel over a group in virtual time: the same film every time, and other futures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.sim.world.world import World
from kit.film import strip
from kit.film.source import Frame
from kit.group_panel import members
from kit.group_panel.ownership import Ownership
from kit.group_panel.scene import build
from kit.group_panel.time_panel import GroupTimePanel
from tests.kit.film import strips
from tests.kit.group_panel.toy_group import belief, group_of, member, shown

SESSION = {"range": {"session.timeout.ms": 45_000}, "consumer": {}}
"""With the consumer protocol the group has it, 45 s by default."""


def story(protocol: str = "range") -> World:
    """A reads alone; B joins; B is frozen until it is removed; B goes on; A dies."""
    world = World(seed=7, checked=False)
    world.create_topic("orders", partitions=4)
    world.load("orders", period_us=40_000)
    members.join(world, "A", "orders", "g", protocol)
    world.run(for_s=4)
    members.join(world, "B", "orders", "g", protocol)
    world.run(for_s=3)
    members.act(world, "freeze", "B")
    world.run(for_s=8)
    members.act(world, "thaw", "B")
    world.run(for_s=3)
    members.act(world, "kill", "A")
    world.run(for_s=8)
    return world


@pytest.fixture(scope="module")
def world() -> World:
    """Panels copy it; do not change it."""
    return story()


@pytest.fixture
def panel(world: World) -> GroupTimePanel:
    return GroupTimePanel(world, "orders", "g")


def drawn(panel: GroupTimePanel, take: int | None = None) -> dict[str, list[tuple[int, str]]]:
    """By member (or "", nobody): its partitions and how they are drawn."""
    found: dict[str, list[tuple[int, str]]] = {}
    for each in panel.scene(take).pieces:
        found.setdefault(each.seat, []).append((each.partition, each.kind))
    return found


def labels(panel: GroupTimePanel) -> list[str]:
    return [told.label for place in range(len(panel)) for _, told in panel._film.told(place)
            if told.label]  # fmt: skip


def own(*partitions: int) -> list[tuple[int, str]]:
    return [(each, "own") for each in partitions]


def pauses(panel: GroupTimePanel, take: int = 0) -> list[Any]:
    return panel._film.takes[take].ownership.pauses("orders")


def test_the_film_tells_the_story_in_its_order(panel: GroupTimePanel) -> None:
    told = [each for each in labels(panel) if "stop" not in each and "generation" not in each]
    assert told == [
        "start", "add A", "A joins", "add B", "B joins", "freeze B", "B expires", "thaw B",
        "B fenced", "refused", "B lost 2", "B joins", "kill A", "A expires",
    ]  # fmt: skip


def test_the_same_world_gives_the_same_film(panel: GroupTimePanel) -> None:
    again = GroupTimePanel(story(), "orders", "g")
    assert json.dumps(again.film, sort_keys=True) == json.dumps(panel.film, sort_keys=True)


def test_in_an_eager_rebalance_all_pieces_go_through_the_tray(panel: GroupTimePanel) -> None:
    assert panel.jump("B joins")
    while "" not in drawn(panel):
        panel.step()
    assert drawn(panel) == {"": [(each, "free") for each in range(4)]}
    panel.jump("stop")
    assert drawn(panel) == {"A": own(0, 1), "B": own(2, 3)}
    assert "**4 of 4** had stopped" in panel.caption


def test_a_frozen_member_is_a_zombie_once_its_session_is_over(panel: GroupTimePanel) -> None:
    panel.jump("freeze B")
    assert drawn(panel) == {"A": own(0, 1), "B": own(2, 3)}
    panel.jump("B expires")
    assert drawn(panel)["B"] == [(2, "stale"), (3, "stale")]
    assert "B is a **zombie**" in panel.caption
    panel.jump("thaw B")
    assert drawn(panel)["A"] == own(0, 1, 2, 3)
    panel.jump("B lost")
    assert "B" not in drawn(panel)


@pytest.mark.parametrize(
    ("protocol", "joins"),
    [("range", "B sends JoinGroup"), ("consumer", "B asks to join, with a heartbeat of epoch 0")],
)
def test_a_member_that_thaws_too_late_to_poll_left_by_itself(protocol: str, joins: str) -> None:
    """Its session runs still, so no coordinator has taken anything from it."""
    found = thawed(protocol, frozen_s=12)
    assert found.jump("B lost")
    assert "B" in {str(each["client_id"]) for each in group(found)["members"]}
    assert "max.poll.interval.ms, so its own client ended its membership" in found.caption
    assert "it hears" not in found.caption
    told = [found._film.captions(place) for place in range(len(found))]
    assert any(joins in said for captions in told[found.position :] for said in captions)
    if protocol == "consumer":
        assert not any("JoinGroup" in said or "generation" in said
                       for captions in told for said in captions)  # fmt: skip


@pytest.mark.parametrize("protocol", ["range", "consumer"])
def test_a_member_that_thaws_in_time_keeps_what_it_has(protocol: str) -> None:
    found = thawed(protocol, frozen_s=5)
    assert found.jump("thaw B")
    kept = drawn(found)["B"]
    assert not found.jump("B lost")
    found.go(len(found) - 1)
    assert drawn(found)["B"] == kept


def thawed(protocol: str, frozen_s: int) -> GroupTimePanel:
    """A and B, of sessions as long as Kafka's default; B is frozen and goes on."""
    world = World(seed=7, checked=False)
    world.create_topic("orders", partitions=4)
    world.load("orders", period_us=40_000)
    for name in "AB":
        members.join(world, name, "orders", "g", protocol, SESSION[protocol])
    world.run(for_s=10)
    members.act(world, "freeze", "B")
    world.run(for_s=frozen_s)
    members.act(world, "thaw", "B")
    world.run(for_s=5)
    return GroupTimePanel(world, "orders", "g")


def group(panel: GroupTimePanel) -> Any:
    return panel.frame().snapshot["group"]


def test_a_pause_begins_with_the_owners_end_and_is_over_with_a_record(
    panel: GroupTimePanel,
) -> None:
    panel.jump("kill A")
    died = panel.frame().time_us
    found = [each for each in pauses(panel) if each.start_us == died]
    assert [each.partition[1] for each in found] == [0, 1]
    read = {
        line["partitions"][0]: line.time_us
        for frame in panel._first.frames
        for line in frame.lines
        if line.kind == "reads" and line.time_us > died
    }
    assert [each.end_us for each in found] == [read["orders-0"], read["orders-1"]]
    assert all(each.lasts_us(0) > 5_000_000 for each in found)  # the session had to end


def test_forked_at_the_beginning_the_story_has_another_assignor(
    panel: GroupTimePanel,
) -> None:
    panel.fork("cooperative-sticky")
    moved = [each.partition[1] for each in pauses(panel, 1) if each.lasts_us(0) < 2_000_000]
    stopped = [each.partition[1] for each in pauses(panel) if each.lasts_us(0) < 2_000_000]
    assert len(moved) < len(stopped)
    assert "timeline 1 (range)" in panel.text
    assert "timeline 2 (cooperative-sticky)" in panel.text
    panel.forget()
    assert "timeline 2" not in panel.text


def test_the_same_story_runs_with_the_consumer_protocol(panel: GroupTimePanel) -> None:
    assert "consumer" in panel.film["protocols"]
    panel.fork("consumer")
    assert panel.notice == ""
    assert "timeline 2 (consumer)" in panel.text
    panel.go(len(panel) - 1)
    assert panel.frame(1).snapshot["group"]["type"] == "consumer"


def test_a_dead_member_of_the_consumer_protocol_shows_when_its_session_ends() -> None:
    world = World(seed=7, checked=False)
    world.create_topic("orders", partitions=4)
    members.join(world, "A", "orders", "g", "consumer")
    world.run(for_s=2)
    members.act(world, "kill", "A")
    world.run(for_s=1)
    found = GroupTimePanel(world, "orders", "g")
    found.go(len(found) - 1)
    standing = {each.name: each.standing for each in found.scene().members}
    assert standing["A"].startswith("session ends in ")


def test_an_action_in_the_second_timeline_takes_the_place_of_its_future(
    panel: GroupTimePanel,
) -> None:
    panel.jump("freeze B")
    panel.fork("cooperative-sticky")
    panel.press("kill", "A")
    assert panel.notice == ""
    panel.step()
    at = panel.position
    panel.add("cooperative-sticky", keep=False)
    assert panel.notice == ""
    assert panel.position == at + 1
    panel.go(len(panel) - 1)
    assert len(panel.film["takes"]) == 2
    steps = panel.film["takes"][1]["steps"]
    labels = [each["label"] for each in steps if each["label"]]
    assert labels.index("fork") < labels.index("kill A")
    assert "A" not in {each.name for each in panel.scene(1).members}
    joined = {each.name for each in panel.scene(1).members}
    assert joined - {each.name for each in panel.scene(0).members}


def test_a_button_in_the_past_makes_another_future(panel: GroupTimePanel) -> None:
    panel.jump("freeze B")
    panel.back()
    panel.press("remove", "B")
    assert panel.active == 1
    panel.go(len(panel) - 1)
    assert set(drawn(panel, 0)) == {"B"}
    names = [each["name"] for each in panel.film["takes"]]
    assert names == ["range", "range"]
    second = [told.label for told in panel._film.takes[1].told if told.label]
    assert "B leaves" in second
    assert "B expires" not in second


def test_a_button_at_the_end_goes_on(panel: GroupTimePanel) -> None:
    panel.go(len(panel) - 1)
    before = len(panel)
    panel.add("range")
    assert len(panel) > before
    panel.go(len(panel) - 1)
    assert drawn(panel) == {"B": own(0, 1), "C": own(2, 3)}


def test_what_cannot_be_done_is_said(panel: GroupTimePanel) -> None:
    panel.press("kill", "Z")
    assert panel.notice == "There is no Z at this moment."
    panel.jump("freeze B")
    panel.press("remove", "B")
    assert panel.notice.startswith("B is frozen and cannot leave")
    panel.fork("raffle")
    assert "There is no protocol 'raffle'" in panel.notice
    assert not panel.jump("no such thing")


def test_every_line_of_the_coordinator_and_the_clients_opens_source(panel: GroupTimePanel) -> None:
    lines = [line for take in panel.film["takes"] for step in take["steps"]
             for line in step["lines"]]  # fmt: skip
    told = {rule for _, _, _, rule, _ in lines if rule}
    assert any(rule.startswith("coordinators.classic.") for rule in told)
    assert any(rule.startswith("client.consumer.") for rule in told)
    assert all(key in panel.film["sources"] for *_, rule, key in lines if rule)


def test_a_recording_is_a_page_of_its_own(panel: GroupTimePanel, tmp_path: Any) -> None:
    page = panel.export(tmp_path / "group.html").read_text("utf-8")
    assert "playAlone" in page
    assert "export default" not in page
    assert len(page) < 1_500_000


def test_the_picture_follows_the_engine_and_not_what_should_be() -> None:
    """A coordinator that gives a partition twice is drawn so."""
    group = group_of([member("A", [0, 1, 2]), member("B", [2, 3])])
    snapshot = shown(group, {"A": belief("A", [0, 1, 2]), "B": belief("B", [2, 3])})
    drawn = [(each.seat, each.kind) for each in build(snapshot, "orders").pieces
             if each.partition == 2]  # fmt: skip
    assert drawn == [("A", "own"), ("B", "own")]
    assert Ownership().spans("orders", 0) == {}


def test_a_coordinator_that_forgets_sessions_draws_no_expiry(monkeypatch: Any) -> None:
    """The film follows the engine: with a rule broken it shows another story."""
    from engine.coordinators.classic import rebalance

    monkeypatch.setattr(rebalance, "session_over", lambda *args: None)
    panel = GroupTimePanel(story(), "orders", "g")
    assert "B expires" not in labels(panel)
    assert "A expires" not in labels(panel)
    panel.go(len(panel) - 1)
    frames: list[Frame] = panel._first.frames
    assert {each["id"] for each in frames[-1].snapshot["group"]["members"]} > set()
    assert drawn(panel)[""] == [(0, "free"), (1, "free")]


def test_the_strip_shows_what_the_panel_shows_at_each_of_its_moments(
    panel: GroupTimePanel,
) -> None:
    assert panel.jump("freeze B")
    found, place = strips.shots(panel._picture()), panel.position
    chosen = strip.chosen(panel._film, place)
    assert 4 <= len(found) == len(chosen) <= strip.MOST
    assert [each.in_view for each in found] == [at == place for at in chosen]
    hatched = 0
    for at, shot in zip(chosen, found, strict=True):
        panel.go(at)
        lanes = drawn(panel)
        names = [each for each in shot.words if each in lanes or each == "no reader"]
        assert [name for name in lanes if name] == [name for name in names if name != "no reader"]
        assert ("no reader" in names) == ("" in lanes)
        kinds = [kind for pieces in lanes.values() for _, kind in pieces]
        stale = sum(count for name, count in shot.boxes.items() if name[0] == "z")
        assert (stale, shot.boxes["kf"]) == (kinds.count("stale"), kinds.count("free"))
        assert shot.boxes.total() == len(kinds)
        hatched += stale
    assert hatched  # B, frozen, believes that it owns what was taken from it
