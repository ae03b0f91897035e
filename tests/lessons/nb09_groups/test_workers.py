"""When a team is settled, and what was assigned too early."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from kit.clusters import engine
from kit.film.source import Line
from lessons.nb09_groups.workers import Partition, Place, Team, Worker


def team(owned: dict[str, list[int]], members: list[dict[str, Any]], state: str = "Stable") -> Team:
    """A team whose workers believe `owned`, of a coordinator that says `members`."""
    group = {"members": members, "state": state}
    cluster: Any = SimpleNamespace(bootstrap="", snapshot=lambda: {"groups": {"g": group}})
    found = Team(cluster, ("orders",), "g")
    workers: Any = {
        name: SimpleNamespace(owned=dict.fromkeys(("orders", each) for each in places), lines=[])
        for name, places in owned.items()
    }
    found.workers = workers
    return found


def said(name: str, owns: list[int], **more: Any) -> dict[str, Any]:
    return {"client_id": name, "owns": {"orders": owns}, **more}


@pytest.mark.parametrize(
    ("members", "agreed"),
    [
        ([said("A", [0, 1]), said("B", [2])], True),
        ([said("A", [0, 1, 2]), said("B", [])], False),
        ([said("A", [0, 1], target={"orders": [0]}), said("B", [2])], False),
        ([said("A", [0, 1])], False),
    ],
)
def test_a_team_agrees_when_its_coordinator_wants_no_change(
    members: list[dict[str, Any]], agreed: bool
) -> None:
    assert team({"A": [0, 1], "B": [2]}, members).agreed is agreed


def test_a_group_that_rebalances_does_not_agree() -> None:
    members = [said("A", [0, 1]), said("B", [2])]
    assert not team({"A": [0, 1], "B": [2]}, members, "PreparingRebalance").agreed


def line(at_us: int, client: str, kind: str, *partitions: str) -> Line:
    return Line(at_us, -1, kind, "", {"client": client, "partitions": partitions})


@pytest.mark.parametrize(("given_back_us", "found"), [(15, 0), (25, 1)])
def test_too_early_is_before_the_owners_callback_has_ended(given_back_us: int, found: int) -> None:
    both = team({"A": [], "B": [0]}, [])
    both.workers["A"].lines[:] = [
        line(10, "A", "assigned", "orders-0"),
        line(given_back_us, "A", "revoked", "orders-0"),
    ]
    both.workers["B"].lines[:] = [line(20, "B", "assigned", "orders-0")]
    assert both.too_early() == found


def test_a_place_is_kept_for_an_instance_or_for_a_member_without_one() -> None:
    members = [said("A", [0], id="A-7", instance_id=None),
               said("B", [1, 2], id="B-8", instance_id="worker-B")]  # fmt: skip
    both = team({"A": [0], "B": [1, 2]}, members)
    assert (both.kept_for([2]), both.kept_for([0, 1])) == (["worker-B"], ["A", "worker-B"])
    assert both.place("B") == Place("B-8", (1, 2))


def test_a_place_says_what_it_has_kept() -> None:
    before = Place("B-8", (1, 2))
    assert Place("B-9", (1, 2)).beside(before) == "a new member id, the same partitions"
    assert Place("B-8", (0,)).beside(before) == "the same member id, other partitions"


def test_a_worker_reads_what_it_has_taken_a_record_of() -> None:
    with engine.start() as cluster, Team(cluster, ("orders",), "reads") as two:
        cluster.create_topic("orders", partitions=3)
        two.add("A")
        two.covered(3)
        two.write("orders", 4, 2)
        two.wait(lambda team: team.processed == 4, 30, "4 records")
        assert (two.reads, two.reads_all) == ({"A": "orders 0 1"}, False)
        assert two.readers == {(index, offset): "A" for index in (0, 1) for offset in (0, 1)}
        two.write("orders", 3, 3)
        two.wait(lambda team: team.reads_all, 30, "a record of each partition")
        worker: Any = two.workers["A"]
        assert worker.strays == 0
        worker._assigned(None, [])  # from this thread, which is in no poll
        assert worker.strays == 1


def test_a_rebalance_is_a_generation_and_moves_partitions_to_other_owners() -> None:
    with engine.start() as cluster, Team(cluster, ("orders",), "owners") as two:
        cluster.create_topic("orders", partitions=2)
        two.add("A")
        two.covered(2)
        began, alone = two.generation, two.owners
        two.add("B")
        two.covered(2)
        assert two.generation == began + 1
        assert alone == {("orders", 0): "A", ("orders", 1): "A"}
        assert two.owners == {("orders", 0): "A", ("orders", 1): "B"}


def test_a_commit_before_partitions_go_leaves_nothing_to_repeat() -> None:
    """Without it, the partition's next owner would begin at the first record."""
    repeats = {}
    with engine.start() as cluster:
        for commits in (True, False):
            topic = f"orders-{commits}"
            cluster.create_topic(topic, partitions=2)

            def write_out(
                worker: Worker, places: Sequence[Partition], commits: bool = commits
            ) -> None:
                worker.rest(0.2)
                if commits:
                    worker.commit(places)

            by_hand = {"enable.auto.commit": False}
            with Team(cluster, (topic,), topic, "range", by_hand, on_revoke=write_out) as two:
                two.add("A")
                two.covered(2)
                two.write(topic, 10, 2)
                two.wait(lambda team: team.processed == 10, 30, "10 records")
                since = two.now_us
                two.add("B")
                two.covered(2)
                two.write(topic, 10, 2)
                two.wait(lambda team: len(team.offsets) == 20, 30, "10 more")
                repeats[commits] = two.processed - 20
                ((began, ended),) = two.steps(since)["A gives back"]
                assert ended - began >= 0.2
    assert repeats[True] == 0 < repeats[False]


def test_a_worker_that_is_to_be_slow_is_slow_at_its_next_record() -> None:
    """Also where it takes records all the time: the request must not fall between two of them."""
    with engine.start() as cluster, Team(cluster, ("orders",), "slow") as slow:
        cluster.create_topic("orders", partitions=1)
        slow.write("orders", 20_000, 1)
        worker = slow.add("A")
        slow.wait(lambda team: team.processed > 0, 30, "A to read")
        for _ in range(10):
            worker.stall(0.1)
            before = len(worker.processed)
            time.sleep(0.05)
            assert len(worker.processed) == before
