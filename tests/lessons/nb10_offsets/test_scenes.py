"""Scenes of notebook 10 on the engine: records that fail, replays, and what a fetch brings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clusters import engine
from kit.clusters.interface import Cluster
from lessons.nb10_offsets import failures, load, loops, scenes

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with engine.start() as live:
        yield live


def test_each_way_leaves_the_bad_record_in_a_place_of_its_own(cluster: Cluster) -> None:
    seen = failures.six_ways(cluster)
    places = {way: of["the bad record"].split(", ")[1] for way, of in seen.items()}
    assert places == {
        "stop": "the next to read",
        "skip": "left behind",
        "retry in place, then stop": "the next to read",
        "another handler": "processed",
        "retry topic": "in orders-retry",
        "dead-letter topic": "in orders-dlq",
    }
    assert [seen[way]["a restart reads"] for way in ("stop", "skip")] == [
        "3 4 5 6 7 8 9",
        "nothing",
    ]
    drained = seen["retry topic"]
    assert drained["order of its key"].endswith("9 3")
    assert drained["committed in orders-retry, before and after"] == [None, 1]
    assert seen["dead-letter topic"]["its headers"][::2] == ["orders-0@3", str(failures.CAP)]


def test_only_a_loop_that_does_not_look_at_the_write_loses_a_record(cluster: Cluster) -> None:
    assert list(failures.refused(cluster).values()) == [
        "committed 10, lost 1, dead letters 0",
        "committed 3, lost 0, dead letters 0",
        "committed 10, lost 0, dead letters 2",
    ]


def test_the_lag_of_a_replay_falls_to_zero(cluster: Cluster) -> None:
    curves: scenes.Curves = {}
    seen = scenes.replays(cluster, curves)
    told = seen["kafka-consumer-groups --reset-offsets"]
    assert told["lag while it reads again"] == [20, 15, 10, 5, 0]
    assert [lag for _, lag in curves[cluster.name]] == [20, 15, 10, 5, 0]
    refused, dry, *others = list(told.values())[:5]
    assert "can only be reset if the group 'billing' is inactive" in refused
    assert [dry, *others] == ["new offset 7", 10, "new offset 0", 0]
    assert seen["committed(), listConsumerGroupOffsets"] == [10, 10]
    moved = seen["alterConsumerGroupOffsets to 0; the member's next"]
    assert moved == ["UNKNOWN_MEMBER_ID", 11]
    assert seen["a consumer seeks"]["a ledger's end: uncommitted, committed"] == [23, 20]


def test_the_cleaner_leaves_the_last_commit_of_a_key(cluster: Cluster) -> None:
    assert list(scenes.compaction(cluster).values()) == [[1, 2, 3, 4, 5, 6], [6]]


def test_the_same_end_loses_or_repeats_by_the_group_and_the_reset(cluster: Cluster) -> None:
    (found,) = loops.restarts(cluster).values()
    assert list(found.values()) == [[0, 2], [0, 2], [0, 6], [4, 0]]


def test_an_id_in_a_transaction_of_its_own_hides_a_payment(cluster: Cluster) -> None:
    after = scenes.effects(cluster)["a crash between id and balance"]
    assert list(after.values()) == [40, 50]


def test_an_answer_keeps_to_its_limits_but_for_the_first_batch(cluster: Cluster) -> None:
    (kilobytes,) = load.answers(cluster).values()
    assert list(kilobytes.values()) == [[80, 80], [40, 40, 0, 0, 0, 0], [40, 0, 0, 0, 0, 0]]
