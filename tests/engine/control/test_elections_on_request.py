"""ElectLeaders, and the two elections that come round by the clock."""

from __future__ import annotations

from typing import Any

import pytest

from engine.control import elections
from engine.wire.errors import Errors

PREFERRED, UNCLEAN = 0, 1


def results(answer: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.topic, each.partition_id): each.error_code
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }


@pytest.fixture
def moved(bench: Any) -> Any:
    """orders-0 prefers 101, which is back and in sync, but 102 leads."""
    bench.create("orders", 101, 102, 103)
    bench.die(101)
    bench.join(101)
    bench.alter_isr("orders", [102, 103, 101])
    assert bench.partition("orders").leader == 102
    return bench


def test_preferred_election_gives_leadership_back(moved: Any) -> None:
    assert results(moved.elect(PREFERRED, "orders")) == {("orders", 0): Errors.NONE}
    orders = moved.partition("orders")
    assert (orders.leader, orders.leader_epoch) == (101, 2)
    again = results(moved.elect(PREFERRED, "orders"))
    assert again == {("orders", 0): Errors.ELECTION_NOT_NEEDED}


def test_election_for_all_lists_only_what_changed(moved: Any) -> None:
    moved.create("quiet", 103, 102)
    assert results(moved.elect(PREFERRED)) == {("orders", 0): Errors.NONE}


def test_preferred_election_needs_the_preferred_in_sync(bench: Any) -> None:
    bench.create("orders", 101, 102, 103)
    bench.die(101)
    bench.join(101)
    assert results(bench.elect(PREFERRED, "orders")) == {
        ("orders", 0): Errors.PREFERRED_LEADER_NOT_AVAILABLE
    }


def test_unknown_partition_and_unknown_type(bench: Any) -> None:
    assert results(bench.elect(PREFERRED, "nix")) == {("nix", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION}
    assert bench.elect(9, "nix").error_code == Errors.INVALID_REQUEST


def leaderless(bench: Any) -> None:
    """orders-0: 101 was the last in sync and is dead, 102 is alive and behind."""
    bench.create("orders", 101, 102)
    bench.alter_isr("orders", [101])
    bench.die(101)
    assert bench.partition("orders").leader == -1


def test_unclean_election_on_request_only_without_a_leader(bench: Any) -> None:
    bench.create("orders", 101, 102)
    assert results(bench.elect(UNCLEAN, "orders")) == {("orders", 0): Errors.ELECTION_NOT_NEEDED}


def test_unclean_election_on_request_takes_who_is_alive(bench: Any) -> None:
    leaderless(bench)
    assert results(bench.elect(UNCLEAN, "orders")) == {("orders", 0): Errors.NONE}
    orders = bench.partition("orders")
    assert (orders.leader, orders.isr, orders.elr) == (102, (102,), ())
    assert orders.leader_recovery_state == 1


def test_unclean_election_without_a_live_replica(bench: Any) -> None:
    leaderless(bench)
    bench.die(102)
    assert results(bench.elect(UNCLEAN, "orders")) == {
        ("orders", 0): Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
    }


def test_unclean_config_elects_at_once_when_the_leader_dies(bench: Any) -> None:
    bench.create("orders", 101, 102)
    bench.alter_isr("orders", [101])
    bench.set_config(2, "orders", "unclean.leader.election.enable", "true")
    bench.die(101)
    assert bench.partition("orders").leader == 102
    assert "unclean election" in bench.reported("elected")[-1]


def test_unclean_config_set_later_elects_at_the_next_check(new_bench: Any) -> None:
    bench = new_bench(**{"unclean.leader.election.interval.ms": 2_000})
    bench.join(101, 102)
    leaderless(bench)
    bench.pass_time(5_000_000)
    assert bench.partition("orders").leader == -1
    bench.heartbeat(102)
    bench.set_config(2, "orders", "unclean.leader.election.enable", "true")
    bench.pass_time(2_000_000)
    assert bench.partition("orders").leader == 102


def test_leaders_go_back_by_the_clock(new_bench: Any) -> None:
    bench = new_bench(**{"leader.imbalance.check.interval.seconds": 1})
    bench.join(101, 102, 103)
    bench.create("orders", 101, 102, 103)
    bench.die(101)
    bench.join(101)
    bench.alter_isr("orders", [102, 103, 101])
    bench.pass_time(1_000_000)
    assert bench.partition("orders").leader == 101


def test_no_balancing_when_it_is_turned_off(new_bench: Any) -> None:
    bench = new_bench(**{"auto.leader.rebalance.enable": False})
    assert ("elect-preferred",) not in bench.timers


def test_balancing_many_goes_in_portions(new_bench: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(elections, "ELECTIONS_AT_ONCE_MAX", 2)
    bench = new_bench(**{"leader.imbalance.check.interval.seconds": 1})
    bench.join(101, 102)
    names = [f"t{number}" for number in range(5)]
    for name in names:
        bench.create(name, 101, 102)
    bench.die(101)
    bench.join(101)
    for name in names:
        bench.alter_isr(name, [102, 101])
    bench.pass_time(1_000_000)
    assert [bench.partition(name).leader for name in names] == [101] * 5
