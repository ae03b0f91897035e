"""What every assignor promises, on hundreds of random memberships."""

from __future__ import annotations

import pytest

from engine.client.consumer.assignors.choices import ASSIGNORS, COOPERATIVE, EAGER, protocol
from engine.client.consumer.assignors.cooperative_sticky import NAME as COOPERATIVE_STICKY
from engine.client.consumer.assignors.memberships import (
    Assignment,
    Members,
    Subscription,
    Topics,
    places,
)
from tests.engine.client.consumer.memberships import had, histories, remember

COUNT = 500
STICKY = ("sticky", "cooperative-sticky")
THREE: dict[str, list[tuple[str, ...]]] = {"orders": [()] * 3, "payments": [()] * 3}


def same(*names: str) -> dict[str, Subscription]:
    return {name: Subscription(("orders", "payments")) for name in names}


@pytest.mark.parametrize("name", ASSIGNORS)
def test_each_partition_goes_to_one_member_that_wants_it(name: str) -> None:
    assignor = ASSIGNORS[name]
    for topics, members in histories(assignor, COUNT):
        shares = assignor.assign(topics, members)
        assert list(shares) == list(members)
        given = [place for share in shares.values() for place in share]
        assert len(given) == len(set(given))
        for member, share in shares.items():
            assert {topic for topic, _ in share} <= set(members[member].topics)
        wanted = {topic for each in members.values() for topic in each.topics}
        if name != COOPERATIVE_STICKY:
            assert sorted(given) == places({t: topics[t] for t in topics if t in wanted})


@pytest.mark.parametrize("name", STICKY)
def test_equal_subscriptions_differ_by_one_partition_at_most(name: str) -> None:
    assignor = ASSIGNORS[name]
    for topics, members in histories(assignor, COUNT):
        if len({frozenset(each.topics) for each in members.values()}) > 1:
            continue
        settled = settle(name, topics, members)
        sizes = [len(share) for share in settled.values()]
        assert max(sizes) - min(sizes) <= 1


def settle(name: str, topics: Topics, members: Members) -> Assignment:
    """The assignment once no member has anything to revoke."""
    assignor = ASSIGNORS[name]
    for generation in range(100, 110):  # racks and mixed subscriptions: up to seven
        shares = assignor.assign(topics, members)
        members = {
            member: remember(assignor, each, shares[member], generation)
            for member, each in members.items()
        }
    return shares


@pytest.mark.parametrize("name", STICKY)
def test_an_assignment_that_is_balanced_stays_as_it_is(name: str) -> None:
    assignor = ASSIGNORS[name]
    for topics, members in histories(assignor, COUNT, seed=2):
        first = settle(name, topics, members)
        again = {m: remember(assignor, each, first[m], 200) for m, each in members.items()}
        shares = assignor.assign(topics, again)
        assert {m: sorted(s) for m, s in shares.items()} == {m: sorted(s) for m, s in first.items()}


@pytest.mark.parametrize("name", STICKY)
def test_when_a_member_leaves_only_its_partitions_move(name: str) -> None:
    assignor = ASSIGNORS[name]
    before = assignor.assign(THREE, same("A", "B", "C"))
    members = {m: remember(assignor, each, before[m], 1) for m, each in same("A", "B").items()}
    after = assignor.assign(THREE, members)
    for member in ("A", "B"):
        assert set(before[member]) <= set(after[member])
    assert [len(share) for share in after.values()] == [3, 3]


def test_round_robin_deals_again_after_each_change() -> None:
    assignor = ASSIGNORS["roundrobin"]
    before = assignor.assign(THREE, same("A", "B", "C"))
    after = assignor.assign(THREE, same("A", "B"))
    assert not set(before["B"]) <= set(after["B"])


def test_range_gives_the_extra_partition_of_every_topic_to_the_first_member() -> None:
    shares = ASSIGNORS["range"].assign(THREE, same("A", "B"))
    assert [len(share) for share in shares.values()] == [4, 2]
    assert shares["B"] == [("orders", 2), ("payments", 2)]


def test_range_prefers_partitions_with_a_replica_in_the_members_rack() -> None:
    topics = {"orders": [("b",), ("a",), ("b",), ("a",)]}
    members = {
        "A": Subscription(("orders",), rack="a"),
        "B": Subscription(("orders",), rack="b"),
    }
    shares = ASSIGNORS["range"].assign(topics, members)
    assert shares == {"A": [("orders", 1), ("orders", 3)], "B": [("orders", 0), ("orders", 2)]}


def test_cooperative_sticky_gives_nothing_away_that_another_member_owns() -> None:
    assignor = ASSIGNORS[COOPERATIVE_STICKY]
    moved = 0
    for topics, members in histories(assignor, COUNT, seed=3):
        remembered = had(assignor, members)
        shares = assignor.assign(topics, members)
        owners = {place: m for m in members for place in members[m].owned}
        for member, share in shares.items():
            for place in share:
                others = [m for m in members if m != member and place in remembered[m]]
                newest = max((members[m].generation for m in others), default=-1)
                is_its_own = place in members[member].owned
                if others and not (is_its_own and members[member].generation > newest):
                    # A claim of an older generation is void.
                    assert newest < max(each.generation for each in members.values())
        moved += len(owners) - sum(place in shares[m] for place, m in owners.items())
    assert moved > 100


def test_cooperative_sticky_hands_over_in_two_steps() -> None:
    assignor = ASSIGNORS[COOPERATIVE_STICKY]
    alone = assignor.assign(THREE, same("A"))
    members = {"A": remember(assignor, same("A")["A"], alone["A"], 1), **same("B")}
    first = assignor.assign(THREE, members)
    assert len(first["A"]) == 3
    assert first["B"] == []
    again = {m: remember(assignor, members[m], first[m], 2) for m in members}
    second = assignor.assign(THREE, again)
    assert second["A"] == first["A"]
    assert len(second["B"]) == 3


def test_a_claim_from_an_earlier_generation_loses() -> None:
    assignor = ASSIGNORS["sticky"]
    members = {
        "back": remember(assignor, same("x")["x"], places(THREE), 3),
        "new": remember(assignor, same("x")["x"], places(THREE)[:3], 7),
    }
    shares = assignor.assign(THREE, members)
    assert sorted(shares["new"]) == places(THREE)[:3]
    assert sorted(shares["back"]) == places(THREE)[3:]


def test_a_list_of_assignors_is_cooperative_only_if_all_of_them_are() -> None:
    assert protocol(("range", "cooperative-sticky")) == EAGER
    assert protocol(("cooperative-sticky",)) == COOPERATIVE


def test_a_member_with_one_partition_more_keeps_it() -> None:
    assignor = ASSIGNORS["sticky"]
    topics: dict[str, list[tuple[str, ...]]] = {"orders": [()] * 7}
    had_before = {"A": (0, 1), "B": (2, 3), "C": (4, 5, 6)}
    members = {
        name: remember(assignor, Subscription(("orders",)), [("orders", i) for i in indexes], 1)
        for name, indexes in had_before.items()
    }
    shares = assignor.assign(topics, members)
    assert {m: tuple(i for _, i in share) for m, share in shares.items()} == had_before


def test_with_mixed_subscriptions_no_move_would_improve_the_first_assignment() -> None:
    assignor = ASSIGNORS["sticky"]
    for topics, members in histories(assignor, COUNT, seed=4):
        if any(each.user_data for each in members.values()):
            continue
        shares = assignor.assign(topics, members)
        owner = {place: member for member, share in shares.items() for place in share}
        for place, last in owner.items():
            for member, each in members.items():
                if place[0] in each.topics:
                    assert len(shares[last]) <= len(shares[member]) + 1
