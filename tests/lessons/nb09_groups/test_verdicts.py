"""The verdicts of notebook 09 come from what its runs observe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.client.consumer.assignors import choices, sticky
from engine.client.consumer.heartbeats import Heartbeats
from lessons.nb09_groups.exercises.predictions import PREDICTIONS
from tests.lessons.verdicts import seen_by, settled

DEFINED = {each.id: each for each in PREDICTIONS}


def test_a_round_robin_that_remembers_owners_needs_no_needless_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rule is the assignor's: with sticky's in its place, what stays stays."""
    remembering = replace(
        choices.ASSIGNORS["roundrobin"], assign=sticky.assign, user_data=sticky.user_data
    )
    monkeypatch.setitem(choices.ASSIGNORS, "roundrobin", remembering)
    assert settled("09-3", seen_by("09", "one-leaves")) == "0"


def test_without_the_poll_interval_a_slow_worker_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Heartbeats, "is_poll_overdue", lambda *arguments: False)
    assert settled("09-6", seen_by("09", "slow-loop")) == "b"


def pauses(**by_protocol: tuple[int, float]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (stopped, seconds) in by_protocol.items():
        protocol = name.replace("_", "-")
        found[f"{protocol} › partitions that stopped"] = stopped
        found[f"{protocol} › seconds without a reader"] = seconds
    return found


@pytest.mark.parametrize(
    ("seen", "letter"),
    [
        (pauses(range=(7, 24.0), cooperative_sticky=(1, 4.1), consumer=(1, 0.5)), "c"),
        (pauses(range=(7, 24.0), cooperative_sticky=(1, 0.5), consumer=(1, 0.5)), "b"),
        (pauses(range=(7, 24.0), cooperative_sticky=(1, 0.3), consumer=(1, 2.0)), "d"),
        (pauses(range=(7, 2.0), cooperative_sticky=(1, 0.677), consumer=(1, 0.411)), "b"),
        (pauses(range=(7, 24.0), cooperative_sticky=(7, 24.0), consumer=(7, 24.0)), "a"),
    ],
)
def test_the_order_of_the_pauses_decides(seen: dict[str, Any], letter: str) -> None:
    assert settled("09-4", seen) == letter


@pytest.mark.parametrize(("committed", "letter"), [(9_000, "a"), (500, "b"), (5_000, "c")])
def test_a_storm_is_work_that_is_not_committed(committed: int, letter: str) -> None:
    seen = {"processed": 10_000, "committed": committed, "generation": 9}
    assert settled("09-7", seen) == letter


def test_the_storm_shows_its_signs() -> None:
    seen = seen_by("09", "storm")
    assert (seen["lag"], seen["busy workers"], seen["committed"]) == (4_000, 6, 0)
    assert seen["generation"] > 2


@pytest.mark.parametrize(
    ("left", "expired", "twice", "letter"),
    [(1, 0, 80, "a"), (0, 0, 0, "b"), (0, 1, 40, "c"), (1, 0, 0, "d")],
)
def test_a_slow_loop_is_settled_by_who_ended_it(
    left: int, expired: int, twice: int, letter: str
) -> None:
    seen = {
        "seconds for a full batch": 20.0,
        "times B left by itself": left,
        "sessions that ran out": expired,
        "records processed twice": twice,
    }
    assert settled("09-6", seen) == letter


@pytest.mark.parametrize(
    ("orphans", "beats", "letter"),
    [(2, ["NONE"], "d"), (2, ["NONE", "REBALANCE_IN_PROGRESS"], "c"), (0, ["NONE"], "b"),
     (0, ["NONE", "REBALANCE_IN_PROGRESS"], "a"), (1, ["NONE"], "")],
)  # fmt: skip
def test_a_place_that_is_kept_decides_who_reads_after_a_restart(
    orphans: int, beats: list[str], letter: str
) -> None:
    seen = {"partitions without a reader": orphans, "all heartbeats say": beats}
    assert settled("09-14", seen) == letter


def test_a_restart_is_settled_by_the_rebalances_of_each_group() -> None:
    seen = {
        f"{kind} › rebalances that A took part in": count
        for kind, count in (("dynamic", 3), ("static-long", 1), ("static-short", 2))
    } | {"static-long › records that wait": 20}
    assert settled("09-5", seen) == "1 2 3"


def test_shares_with_an_idle_worker_are_explained_by_it() -> None:
    seen = {"range › partitions of each worker": "2 2 2 0"}
    assert settled("09-2", seen) == "2 2 2 0"
    assert "1 worker has none" in DEFINED["09-2"].explain("3 3", seen)


def test_every_choice_has_its_sentence() -> None:
    for each in DEFINED.values():
        if each.choices:
            assert {*each.because} - {""} == {*"abcd"[: len(each.choices)]}, each.id
