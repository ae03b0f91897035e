"""The film of ZooKeeper's tree: every change is in a moment, and nothing else is marked."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from engine.sim.world.world import World
from kit import lab
from kit.drawings import znode_film
from kit.drawings.znode_film import Moment, ZnodeFilm
from kit.film.slider import Slider


@pytest.fixture(scope="module")
def world() -> World:
    made = World(seed=3, control_plane="zookeeper")
    made.create_topic("orders", config={"retention.ms": 60_000})
    made.kill(103)  # the controller
    made.run(for_s=8)
    return made


@pytest.fixture(scope="module")
def film(world: World) -> ZnodeFilm:
    return ZnodeFilm(world)


def changes(moment: Moment) -> dict[str, str]:
    return {each.path: each.mark for each in moment.lines if each.mark != " "}


def data(moment: Moment) -> dict[str, str]:
    return {each.path: each.data for each in moment.lines}


def test_the_last_moment_is_the_tree_that_the_world_has(world: World, film: ZnodeFilm) -> None:
    now = {each.path for each in film.moments[-1].lines if each.mark != "-"}
    assert now == world.znodes().keys() - {"/"}


def test_a_dead_controller_leaves_and_another_broker_takes_its_place(film: ZnodeFilm) -> None:
    gone = next(m for m in film.moments if changes(m).get("/controller") == "-")
    assert changes(gone) == {"/brokers/ids/103": "-", "/controller": "-"}
    assert {each.owner for each in gone.lines if each.mark == "-"} == {"103"}
    after = film.moments[gone.number]
    assert changes(after) == {"/controller": "+", "/controller_epoch": "~"}
    assert data(after)["/controller_epoch"] == "1 → 2"
    assert data(after)["/controller"] in ("brokerid 101", "brokerid 102")
    (owner,) = [each.owner for each in after.lines if each.path == "/controller"]
    assert data(after)["/controller"] == f"brokerid {owner}"


def test_of_a_changed_znode_only_what_is_different_is_shown(film: ZnodeFilm) -> None:
    state = "/brokers/topics/orders/partitions/0/state"
    shrunk = next(m for m in film.moments if changes(m).get(state) == "~")
    assert "isr 101 102 103 → 101 102" in data(shrunk)[state]
    assert "leader 101" not in data(shrunk)[state], "101 led before, and leads still"


def test_many_changes_are_fewer_moments(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    every = ZnodeFilm(world).moments
    monkeypatch.setattr(znode_film, "MOST", 6)
    fewer = ZnodeFilm(world).moments
    assert 2 <= len(fewer) <= 6 < len(every)
    assert [str(each) for each in fewer[-1].lines if each.mark != "-"]
    assert {each.path for each in fewer[-1].lines} >= world.znodes().keys() - {"/"}


def test_a_world_without_an_ensemble_that_runs_keeps_its_last_tree(world: World) -> None:
    lost = world.fork()
    lost.kill(1)
    lost.run(for_s=2)
    assert {each.path for each in ZnodeFilm(lost).moments[-1].lines} >= {"/controller"}


def test_the_picture_is_svg_and_says_the_same_in_words(film: ZnodeFilm) -> None:
    for moment in film.moments:
        root = ElementTree.fromstring(moment.svg())
        assert root.get("aria-label", "").split() == moment.text.split()
        drawn = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        assert sum(each == "+" for each in drawn) == list(changes(moment).values()).count("+")


def test_a_slider_shows_each_moment(world: World, film: ZnodeFilm) -> None:
    shown = lab.znodes(world)
    assert isinstance(shown, Slider)
    assert shown.picture.text == film.moments[-1].text
    assert shown.move(moment=1).picture.text == film.moments[0].text


def test_a_world_that_cannot_go_back_shows_its_present_tree() -> None:
    made = World(seed=3, control_plane="zookeeper", rewindable=False)
    shown = lab.znodes(made)
    assert isinstance(shown, Moment)
    assert {each.path for each in shown.lines} == made.znodes().keys() - {"/"}


def test_of_kraft_there_is_no_tree() -> None:
    with pytest.raises(ValueError, match="no ZooKeeper"):
        lab.znodes(World(seed=3))
