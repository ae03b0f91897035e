"""Time travel over the quorum: an election step by step, a truncation, and other futures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.sim.world.world import World
from kit import lab
from kit.film import strip
from kit.film.steps import plain
from kit.quorum_panel.scene import in_view
from kit.quorum_panel.time_panel import QuorumTimePanel
from tests.kit.film import strips
from tests.kit.quorum_panel.quorums import FORMER, NEXT, killed, made, parted


@pytest.fixture(scope="module")
def world() -> World:
    """Panels copy it; do not change it."""
    return parted()


@pytest.fixture
def panel(world: World) -> QuorumTimePanel:
    return QuorumTimePanel(world)


def told(panel: QuorumTimePanel) -> list[Any]:
    return [each for place in range(len(panel)) for _, each in panel._film.told(place)]


def arriving(panel: QuorumTimePanel) -> set[str]:
    """What is on its way at the moment in view."""
    now = panel.frame().time_us
    return {f"{each.source} → {each.destination}: {each.message.brief}"
            for each in panel._film.flights(panel.active)
            if each.sent_us <= now <= each.arrives_us}  # fmt: skip


def test_the_first_election_comes_step_by_step() -> None:
    panel = lab.quorum(made())
    names = panel.names
    assert names[:5] == ["start", "200 asks", "200 stands", "200 leads, epoch 1", "200 active"]
    assert names[-1] == "HW 14"
    assert panel.jump("200 asks")
    assert "Its epoch stays 0" in panel.caption
    assert panel.jump("200 stands")
    assert "it votes for itself" in panel.caption
    panel.step()
    assert panel.caption.startswith("300 **votes** for 200 in epoch 1")
    assert panel.jump("200 leads")
    assert "200 and 300 have voted for it" in panel.caption
    assert panel.scene().row(200).is_active is False
    assert panel.jump("200 active")
    assert "It decides from now on" in panel.caption
    assert panel.scene().row(200).is_active


def test_the_messages_of_an_election_are_in_the_air_at_their_time() -> None:
    panel = lab.quorum(made())
    panel.jump("200 asks")
    panel.step()
    assert "200 asks 100 whether it would vote for it" in panel.caption
    assert "200 → 100: pre-vote for 200?" in arriving(panel)
    panel.jump("200 stands")
    assert "300 → 200: yes, epoch 0" in arriving(panel)
    assert "200 → 300: vote for 200 in epoch 1?" in arriving(panel)
    panel.step()
    assert "300 → 200: yes, epoch 1" in arriving(panel)
    panel.jump("200 leads")
    assert "200 → 100: 200 leads epoch 1" in arriving(panel)
    panel.jump("200 active")
    panel.back()
    assert "200 → 300: record 0, HW 0" in arriving(panel)


def test_what_an_isolated_leader_wrote_is_cut_when_it_returns(panel: QuorumTimePanel) -> None:
    assert panel.jump("cut 200–100")
    assert panel.jump("write lost")
    assert "**not committed** until a majority has them" in panel.caption
    assert panel.jump("300 leads, epoch 2")
    assert "From offset 14 on, 200 has what its next leader 300 has not" in panel.caption
    assert panel.jump("200 resigns")
    assert any(each.startswith("300 → 200: vote for 300") for each in arriving(panel))
    drawn = [each[5] for each in panel.film["takes"][0]["flights"]]
    assert {"vote for 300 in epoch 2?", "pre-vote for 300?"} <= {*drawn}
    assert len(drawn) < len(panel._film.flights(0)) / 4  # who leads, they ask again and again
    assert panel.jump("200 cuts to 14")
    assert "They were never committed." in panel.caption
    assert "300 → 200: epoch 1 ends at 14" in arriving(panel)
    assert panel.scene().row(200).log_end_offset == 14
    marks = [each.mark for each in told(panel)]
    assert marks.count("truncation") == 1


def test_the_active_controller_is_killed_and_comes_back_as_a_follower() -> None:
    panel = QuorumTimePanel(killed())
    assert panel.jump("kill 200")
    assert "no partition gets another leader" in panel.caption
    assert dict(panel.scene().facts)["active"] == "none"
    assert panel.jump(f"{NEXT} active")
    assert panel.jump("write payments")
    assert panel.jump("start 200")
    panel.go(len(panel) - 1)
    assert panel.scene().row(200).role == "follower"
    assert {row.log_end_offset for row in panel.scene().rows} == {17}


def test_a_fault_at_an_earlier_moment_makes_another_future(panel: QuorumTimePanel) -> None:
    panel.jump("write lost")
    panel.press("kill", 300)  # now no majority is left to elect another leader
    assert (panel.active, panel.notice) == (1, "")
    assert "kill 300" in panel.names
    panel.go(len(panel) - 1)
    here, there = panel.scene(0), panel.scene(1)
    # 200 has the longest log, and is elected again: what it wrote alone is committed after all
    assert (here.leader, there.leader) == (300, FORMER)
    assert panel.differs is not None
    assert panel.differs.sentence == "Timeline 1: 300 leads epoch 2; timeline 2: 200 leads epoch 3."
    assert dict(panel.differs.cells)[100][0] == 14
    seen = panel.film["pools"]["views"][panel.film["views"][panel.position]]
    assert seen["columns"][0]["first"] == 12
    said = panel.text
    assert "timeline 1, t = " in said
    assert said.endswith(panel.differs.sentence)
    panel.forget()
    assert len(panel.film["takes"]) == 1


def test_an_action_in_the_second_timeline_keeps_its_past(panel: QuorumTimePanel) -> None:
    panel.jump("write lost")
    panel.press("pause", 100)
    panel.jump("200 resigns")
    panel.press("kill", FORMER)
    assert panel.notice == ""
    names = [each.label for each in panel._film.takes[1].told if each.label]
    assert names[0] == "fork"
    assert names.index("pause 100") < names.index("200 resigns") < names.index("kill 200")
    at = panel._film.takes[1].frames[names.index("pause 100") + 1].time_us
    assert min(each.sent_us for each in panel._second.flights) < at


def test_every_fault_of_the_table_reaches_a_controller() -> None:
    panel = QuorumTimePanel(made())
    panel.go(len(panel) - 1)
    for action, state in (("pause", "paused"), ("resume", "running"), ("stop", "stopped"),
                          ("start", "running")):  # fmt: skip
        panel.press(action, 100)
        panel.go(len(panel) - 1)
        assert panel.scene().row(100).state == state, panel.notice
    panel.press("isolate", 300)
    panel.go(len(panel) - 1)
    assert panel.scene().row(300).cut_from == (100, 200)
    panel.press("heal", 300)
    panel.go(len(panel) - 1)
    assert panel.scene().row(300).cut_from == ()
    panel.press("explode", 100)
    assert "There is no button named 'explode'" in panel.notice
    panel.press("cut", 100)
    assert panel.notice == "Cut 100 from which broker? Name another one."


def test_buttons_say_why_they_cannot_be_pressed(panel: QuorumTimePanel) -> None:
    pools = panel.film["pools"]
    row = pools["rows"][panel.film["takes"][0]["steps"][-1]["rows"][0]]
    shown = pools["controls"][row["controls"]]
    assert [each["action"] for each in shown["buttons"]] == ["kill", "stop", "pause", "cut"]
    assert [each["label"] for each in shown["links"]] == [
        "from the controller 200", "from the controller 300", "from everybody", "heal all links",
    ]  # fmt: skip
    assert shown["links"][-1]["refusal"] == "No link is cut."


def test_what_the_browser_asks_for_is_done(panel: QuorumTimePanel) -> None:
    panel.jump("write lost")
    panel._hear(None, {"type": "press", "action": "pause", "node": 100, "other": None}, [])
    assert "pause 100" in panel.names
    panel._hear(None, {"type": "forget"}, [])
    panel._hear(None, {"type": "fork"}, [])
    assert "fork" in panel.names
    panel.go(len(panel) - 1)
    assert panel.differs is not None
    assert panel.differs.sentence == "Leader, epoch and logs are the same in both."


def test_one_controller_is_a_quorum_of_one() -> None:
    single = World(seed=5, checked=False)
    single.create_topic("orders")
    panel = lab.quorum(single)
    panel.go(len(panel) - 1)
    assert dict(panel.scene().facts)["majority"] == "1 of 1"
    assert panel.scene().rows[0].is_active


def test_the_same_world_gives_the_same_film_and_is_left_alone(world: World) -> None:
    before = world.events
    one, other = (QuorumTimePanel(world) for _ in range(2))
    assert one.film == other.film
    assert world.events == before
    assert len(json.dumps(one.film)) < 300_000


def test_every_step_has_a_sentence_and_most_lines_open_the_source(panel: QuorumTimePanel) -> None:
    assert all(plain(each.sentence).endswith(".") for each in told(panel))
    lines = [line for step in panel.film["takes"][0]["steps"] for line in step["lines"]]
    roles = [line for line in lines if line[1].startswith(("prospective", "votes", "leads"))]
    assert roles
    places = {panel.film["sources"][line[4]]["place"] for line in roles}
    assert all(place.startswith("engine/quorum/replica.py:") for place in places)


def test_the_strip_shows_what_the_panel_shows_at_each_of_its_moments(
    panel: QuorumTimePanel,
) -> None:
    assert panel.jump("200 resigns")
    found, place = strips.shots(panel._picture()), panel.position
    chosen = strip.chosen(panel._film, place)
    assert 4 <= len(found) == len(chosen) <= strip.MOST
    for at, shown in zip(chosen, found, strict=True):
        panel.go(at)
        scene = panel.scene()
        drawn = [cell for row in scene.rows for cell in in_view(row.cells, scene.columns)]
        assert shown.boxes.total() == len(drawn)
        open_ones = sum(count for name, count in shown.boxes.items() if name[0] == "o")
        assert open_ones == sum(not cell.committed for cell in drawn)


def test_what_a_notebook_stores_is_the_text_and_a_still_picture(panel: QuorumTimePanel) -> None:
    panel.jump("200 resigns")
    bundle = panel._repr_mimebundle_()[0]
    assert bundle["text/plain"] == panel.text
    assert "held at the cut: 300 → 200: vote for 300 in epoch 2?" in panel.text
    assert "quorum of controllers" in bundle["image/svg+xml"]
    panel.fork()
    panel.go(len(panel) - 1)
    assert "partition lost-0: leader 101" in panel._repr_mimebundle_()[0]["image/svg+xml"]


def test_a_page_for_a_lecture_needs_no_kernel(panel: QuorumTimePanel, tmp_path: Any) -> None:
    page = panel.export(tmp_path / "page.html").read_text("utf-8")
    for part in ("function playRows", "quorumLane", "leader change: 300, epoch 2"):
        assert part in page, part
    assert "import " not in page.split('<script type="module">')[1].split("</script>")[0]
