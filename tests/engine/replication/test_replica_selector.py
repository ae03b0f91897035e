"""Which follower a leader names to a consumer in another rack (KIP-392)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.replication.partition import Partition
from engine.replication.replica_selector import preferred_read_replica
from tests.engine.replication.parts import LEADER, NOW, OTHER, THIRD, image, partition

END = 4


def led(racks: dict[int, str | None], **changes: Any) -> Partition:
    """A leader with four records, whose followers have them all."""
    found = partition(LEADER, epochs=(0,) * END)
    for broker, rack in racks.items():
        brokers = found.metadata.brokers
        brokers[broker] = replace(brokers[broker], rack=rack)
    found.update(NOW, image(**changes))
    for follower in (OTHER, THIRD):
        found.follower_fetched(NOW, follower, END, 0, 7)
    return found


def test_a_follower_in_the_consumers_rack_is_named() -> None:
    leader = led({LEADER: "a", OTHER: "b", THIRD: "c"})
    assert preferred_read_replica(leader, "b", 0) == OTHER
    assert preferred_read_replica(leader, "c", END) == THIRD


@pytest.mark.parametrize("rack", ["", "a", "elsewhere"])
def test_the_leader_serves_its_own_rack_and_racks_without_a_replica(rack: str) -> None:
    leader = led({LEADER: "a", OTHER: "b", THIRD: "a"})
    assert preferred_read_replica(leader, rack, 0) is None


def test_brokers_without_a_rack_are_in_no_rack() -> None:
    assert preferred_read_replica(led({}), "", 0) is None


def test_only_a_replica_in_the_isr_is_named() -> None:
    leader = led({LEADER: "a", OTHER: "b", THIRD: "b"}, isr=(LEADER, OTHER))
    leader.isr.proposed = None
    assert preferred_read_replica(leader, "b", 0) == OTHER


@pytest.mark.parametrize(("start", "end", "offset"), [(0, 2, 3), (2, 4, 1)])
def test_a_follower_without_the_offset_is_not_named(start: int, end: int, offset: int) -> None:
    leader = led({LEADER: "a", OTHER: "b"})
    leader.follower_fetched(NOW, OTHER, end, start, 7)
    assert preferred_read_replica(leader, "b", offset) is None
    assert preferred_read_replica(leader, "b", 2) == OTHER


def test_of_two_in_the_rack_the_one_with_more_records_is_named() -> None:
    leader = led({LEADER: "a", OTHER: "b", THIRD: "b"})
    leader.follower_fetched(NOW, THIRD, END - 1, 0, 7)
    assert preferred_read_replica(leader, "b", 0) == OTHER


def test_of_two_that_are_level_the_one_that_was_level_last_is_named() -> None:
    leader = led({LEADER: "a", OTHER: "b", THIRD: "b"})
    assert preferred_read_replica(leader, "b", 0) == THIRD  # a tie: the higher id
    leader.follower_fetched(NOW + 5_000, OTHER, END, 0, 7)
    assert preferred_read_replica(leader, "b", 0) == OTHER


def test_a_fenced_follower_is_not_named() -> None:
    leader = led({LEADER: "a", OTHER: "b"})
    brokers = leader.metadata.brokers
    brokers[OTHER] = replace(brokers[OTHER], fenced=True)
    assert preferred_read_replica(leader, "b", 0) is None


def test_a_follower_names_no_other() -> None:
    follower = partition(OTHER, epochs=(0,))
    follower.update(NOW, image())
    assert preferred_read_replica(follower, "c", 0) is None
