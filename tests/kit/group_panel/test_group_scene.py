"""What is drawn of a group: the coordinator's word and each member's own, side by side."""

from __future__ import annotations

from typing import Any

from kit.group_panel import text
from kit.group_panel.scene import build
from tests.kit.group_panel.toy_group import belief, group_of, member, shown


def pieces(snapshot: Any) -> list[tuple[int, str, str]]:
    return [(each.partition, each.seat, each.kind) for each in build(snapshot, "orders").pieces]


def card(snapshot: Any, name: str) -> Any:
    (found,) = [each for each in build(snapshot, "orders").members if each.name == name]
    return found


def test_where_member_and_coordinator_agree_each_partition_is_drawn_once() -> None:
    group = group_of([member("A", [0, 1]), member("B", [2, 3])])
    snapshot = shown(group, {"A": belief("A", [0, 1]), "B": belief("B", [2, 3])})
    assert pieces(snapshot) == [(0, "A", "own"), (1, "A", "own"), (2, "B", "own"), (3, "B", "own")]
    assert card(snapshot, "A").standing == "stable"
    assert card(snapshot, "A").leads


def test_in_an_eager_rebalance_no_partition_has_a_reader() -> None:
    members = [member("A", [0, 1], state="to join"), member("B", [2, 3], state="joined")]
    group = group_of(members, state="PreparingRebalance")
    snapshot = shown(group, {"A": belief("A"), "B": belief("B")})
    assert pieces(snapshot) == [(index, "", "free") for index in range(4)]
    assert card(snapshot, "A").standing == "must join again"


def test_in_a_cooperative_rebalance_only_what_moves_does() -> None:
    members = [member("A", [0, 1, 2, 3]), member("B", [])]
    group = group_of(members, state="PreparingRebalance")
    snapshot = shown(group, {"A": belief("A", [0, 1]), "B": belief("B")})
    assert pieces(snapshot) == [
        (0, "A", "own"),
        (1, "A", "own"),
        (2, "", "free"),
        (3, "", "free"),
    ]


def test_a_zombie_holds_its_piece_and_the_new_owner_the_same_one() -> None:
    group = group_of([member("A", [0, 1, 2, 3])])
    snapshot = shown(group, {"A": belief("A", [0, 1, 2, 3]), "B": belief("B", [2, 3], "frozen")})
    assert [each for each in pieces(snapshot) if each[0] > 1] == [
        (2, "A", "own"), (2, "B", "stale"), (3, "A", "own"), (3, "B", "stale"),
    ]  # fmt: skip
    assert card(snapshot, "B").zombie
    assert card(snapshot, "B").standing == "not a member"
    assert "frozen, not a member, a zombie" in text.render(build(snapshot, "orders"), "", (), 0, 0)


def test_a_member_that_has_no_protocol_of_the_group_says_so() -> None:
    group = group_of([member("A", [0, 1, 2, 3])])
    group["protocol"] = "range"
    owner = belief("A", [0, 1, 2, 3])
    other = belief("B", protocol="cooperative-sticky")
    assert card(shown(group, {"A": owner, "B": other}), "B").standing == (
        "not a member: the others use range"
    )
    assert card(shown(group, {"A": owner, "B": belief("B")}), "B").standing == "not a member"


def test_of_a_dead_member_the_coordinators_word_is_left_until_its_session_ends() -> None:
    dead = member("B", [2, 3], session_ends_at=4_000_000)
    snapshot = shown(
        group_of([member("A", [0, 1]), dead]),
        {"A": belief("A", [0, 1]), "B": belief("B", state="killed")},
    )
    assert [each for each in pieces(snapshot) if each[0] > 1] == [
        (2, "B", "given"), (2, "", "free"), (3, "B", "given"), (3, "", "free"),
    ]  # fmt: skip
    assert card(snapshot, "B").standing == "session ends in 3.0 s"


def test_a_member_that_must_give_back_and_the_one_that_waits_for_it_are_both_drawn() -> None:
    members = [
        member("A", [0, 1, 2, 3], state="UNREVOKED_PARTITIONS", epoch=4, target={"orders": [0, 1]},
               revoking={"orders": [2, 3]}),
        member("B", [], state="UNRELEASED_PARTITIONS", epoch=5, target={"orders": [2, 3]}),
    ]  # fmt: skip
    group = group_of(members, type="consumer", state="Reconciling", epoch=5, assignor="uniform")
    clients = {"A": belief("A", [0, 1, 2, 3]), "B": belief("B")}
    snapshot = shown(group, clients)
    assert [each for each in pieces(snapshot) if each[0] > 1] == [
        (2, "A", "revoking"), (2, "B", "target"), (3, "A", "revoking"), (3, "B", "target"),
    ]  # fmt: skip
    assert card(snapshot, "B").standing == "waits for partitions that others give back"
    facts = dict(build(snapshot, "orders").facts)
    assert (facts["epoch"], facts["assignor"]) == ("5", "uniform")


def test_what_a_real_broker_does_not_say_is_drawn_from_the_epochs() -> None:
    """No answer of a real broker says what a member must give back: it is what it has too much."""
    members = [member("A", [0, 1], state="BEHIND", epoch=4, target={"orders": [0, 1]})]
    group = group_of(members, type="consumer", state="Reconciling", epoch=5, assignor="uniform")
    snapshot = shown(group, {"A": belief("A", [0, 1, 2])})
    assert pieces(snapshot)[:3] == [(0, "A", "own"), (1, "A", "own"), (2, "A", "revoking")]
    assert card(snapshot, "A").standing == "has not caught up with the epoch"


def test_a_member_of_another_program_is_drawn_by_the_coordinators_word() -> None:
    snapshot = shown(group_of([member("theirs", [0, 1, 2, 3])]), {})
    assert {each[1:] for each in pieces(snapshot)} == {("theirs", "reported")}
    assert "theirs  0 1 2 3            ?" in text.render(build(snapshot, "orders"), "", (), 0, 0)


def test_a_client_that_has_not_said_its_id_is_known_by_its_name() -> None:
    new = belief("A").to_plain() | {"member_id": ""}
    snapshot = shown(group_of([member("A", [])]), {})
    snapshot["clients"] = {"A": new}
    assert [each.name for each in build(snapshot, "orders").members] == ["A"]


def test_lag_counts_from_what_is_committed_and_tells_what_is_read() -> None:
    positions = {"orders": {0: 11}}
    clients = {"A": belief("A", [0, 1, 2, 3], positions=positions)}
    snapshot = shown(group_of([member("A", [0, 1, 2, 3])]), clients)
    found = build(snapshot, "orders").lags
    assert [(each.lag, each.unread) for each in found] == [(2, 1), (2, 2), (12, 12), (12, 12)]
    assert dict(build(snapshot, "orders").facts)["lag"] == "28"


def test_a_group_that_no_coordinator_knows_is_named() -> None:
    snapshot = shown(None, {})
    assert build(snapshot, "orders").facts == (("group", "not known to any coordinator"),)
    assert pieces(snapshot) == [(index, "", "free") for index in range(4)]
