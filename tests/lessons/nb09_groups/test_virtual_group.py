"""Groups in virtual time: their conversation, a member that is stuck, and chance."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kit import lab
from kit.group_panel import members
from lessons.nb09_groups import virtual_group as groups
from lessons.nb09_groups.conversation import Conversation


@pytest.mark.parametrize("whole", [False, True])
def test_the_search_for_the_coordinator_is_drawn_on_request(whole: bool) -> None:
    world = lab.world(seed=9)
    world.create_topic("orders", partitions=1)
    talk = Conversation(world, "billing", whole=whole)
    members.join(world, "A", "orders", "billing")
    talk.run(for_s=8)
    said = [each.says for each in talk.heard]
    assert ("FindCoordinator of billing" in said) is whole
    assert said.count("Heartbeat, the first of many") == whole
    assert talk.quiet_heartbeats > 1
    assert talk.lanes[-1] == ("any broker" if whole else "coordinator")
    assert "here is 1 member" in talk.text


def test_the_others_wait_for_a_stuck_member_until_its_poll_interval_is_over() -> None:
    waits = {}
    for interval_ms in (5_000, 9_000):
        world = groups.with_a_stuck_member(interval_ms)
        assert groups.works(world, "B")
        members.join(world, "new", "orders", "billing")
        waits[interval_ms] = groups.until_calm(world, "billing")
        assert not groups.is_member(world, "billing", "B")
    assert waits[9_000] - waits[5_000] == pytest.approx(4, abs=0.5)


@pytest.mark.parametrize("protocol", members.PROTOCOLS)
def test_at_random_a_partition_is_given_to_one_member_at_most(protocol: str) -> None:
    world, most = groups.at_random(protocol, steps=12, seed=3)
    assert (most, groups.generation(world, "billing") > 3) == (1, True)


def test_two_members_with_one_partition_are_counted() -> None:
    owns = [{"owns": {"orders": [0, 1]}}, {"owns": {"orders": [1]}}]
    world: Any = SimpleNamespace(snapshot=lambda: {"groups": {"g": {"members": owns}}})
    assert groups._given(world, "g") == {("orders", 0): 1, ("orders", 1): 2}
