"""What a snapshot shows of a group: each member's place in a rebalance, and what it owns."""

from __future__ import annotations

from typing import Any


def shown(groups: Any) -> dict[str, tuple[str, dict[str, list[int]]]]:
    """Each member's state and partitions, by the name of its client."""
    members = groups.coordinator.snapshot()["g"]["members"]
    return {each["client_id"]: (each["state"], each["owns"]) for each in members}


def test_a_member_is_shown_with_its_place_in_the_rebalance_and_its_partitions(groups: Any):
    first, second = groups.new_id(client="one"), groups.new_id(client="two")
    joins = [groups.join(first, client="one"), groups.join(second, client="two")]
    groups.wait(0)
    assert groups.coordinator.snapshot()["g"]["type"] == "classic"
    assert shown(groups) == {"one": ("to sync", {}), "two": ("to sync", {})}
    generation = groups.answers[joins[0]].generation_id
    groups.sync(second, generation)
    assert shown(groups) == {"one": ("to sync", {}), "two": ("synced", {})}
    groups.sync(first, generation, {first: [0, 1], second: [2, 3]})
    owned = {"one": ("stable", {"orders": [0, 1]}), "two": ("stable", {"orders": [2, 3]})}
    assert shown(groups) == owned


def test_in_a_rebalance_the_last_assignment_stays_in_view_until_the_next(groups: Any):
    first, _, generation = groups.stable_pair()
    groups.sync(first, generation, {first: [0, 1, 2, 3]})
    before = {each["id"]: each["owns"] for each in groups.coordinator.snapshot()["g"]["members"]}
    third = groups.new_id(client="three")
    groups.join(third, client="three")
    after = {
        each["id"]: (each["state"], each["owns"])
        for each in groups.coordinator.snapshot()["g"]["members"]
    }
    assert after[third] == ("joined", {})
    assert {each: after[each] for each in before} == {
        each: ("to join", owns) for each, owns in before.items()
    }
