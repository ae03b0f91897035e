"""What a run of notebook 05 shows decides which prediction is right."""

from __future__ import annotations

import pytest

from engine.sim.campaign.zookeeper_mutants import ZOOKEEPER_MUTANTS
from lessons.nb05_the_control_plane import runs
from tests.lessons.verdicts import seen_by, settled


def test_a_broker_that_obeys_any_controller_takes_what_the_zombie_says() -> None:
    with ZOOKEEPER_MUTANTS["obey-any-controller"].in_force():
        seen = seen_by("05", "zombie")
    assert (seen["refused"], seen["said"]) == (0, 101)
    assert settled("05-9", seen) == "a"


def test_the_zombie_is_refused() -> None:
    seen = seen_by("05", "zombie")
    assert seen["said"] == seen["heir"] == 102
    assert settled("05-9", seen) == "c"


def test_what_a_cut_off_controller_writes_is_cut_off() -> None:
    seen = seen_by("05", "cut-off")
    assert seen["written"] == 2
    assert settled("05-6", seen) == "c"
    assert settled("05-6", seen | {"written": 0}) == "a"
    assert settled("05-6", seen | {"acted": 3}) == "b"


def test_a_controller_with_one_link_left_has_a_majority() -> None:
    seen = seen_by("05", "cut-off", change=("cut_links = 2", "cut_links = 1"))
    assert settled("05-6", seen) == "d"


def test_without_a_controller_the_letters_without_an_error_are_right() -> None:
    seen = {"A": "NONE", "B": "NONE", "C": "NONE", "D": "timed out", "E": "no leader"}
    assert settled("05-7", seen) == "a b c"
    assert settled("05-7", seen | {"C": "LEADER_NOT_AVAILABLE"}) == "a b"


def test_the_voter_that_has_the_record_leads() -> None:
    seen = seen_by("05", "election")
    assert settled("05-5", seen) == "b"
    assert settled("05-5", seen | {"heir": seen["behind"]}) == "a"
    assert settled("05-5", seen | {"heir": -1}) == "c"


@pytest.mark.parametrize(
    ("kraft", "zookeeper", "lost", "answer"),
    [
        (0.1, 3.4, False, "b"),
        (0.1, 0.2, False, "a"),
        (2.0, 3.4, False, "c"),
        (0.1, 3.4, True, "d"),
        (0.1, -1.0, False, ""),
    ],
)
def test_the_longest_pauses_decide(kraft: float, zookeeper: float, lost: bool, answer: str) -> None:
    seen = {"KRaft": kraft, "ZooKeeper": zookeeper, "lost": lost}
    assert settled("05-8", seen) == answer


def test_the_growth_decides() -> None:
    def of(kraft: float, zookeeper: float) -> str:
        return str(settled("05-10", {"growth in KRaft": kraft, "growth in ZooKeeper": zookeeper}))

    assert [of(1.0, 2.6), of(1.0, 1.1), of(1.5, 2.6), of(3.0, 2.6)] == ["b", "a", "c", "d"]


def test_more_partitions_take_the_old_controller_longer() -> None:
    few, many = (runs.takeover_s("ZooKeeper", each) for each in (1, 5_000))
    assert many > few + 0.6
    assert runs.takeover_s("KRaft", 200) == pytest.approx(runs.takeover_s("KRaft", 1), abs=0.3)


def test_a_session_ends_by_silence_and_not_by_a_short_pause() -> None:
    settings = {"zookeeper.session.timeout.ms": 6_000}
    stopped, cut_off, paused = runs.counted_out("zookeeper", settings, 4)
    assert float(stopped) < 1
    assert float(cut_off) == pytest.approx(6, abs=2.1)
    assert paused == "never"
