"""What the Deeper sections of notebook 05 claim about their runs, and what breaks each claim."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import pytest

from engine.control import brokers
from engine.sim.campaign.mutant import Patch
from engine.sim.campaign.mutants import MUTANTS
from engine.sim.campaign.zookeeper_mutants import ZOOKEEPER_MUTANTS
from kit.authoring.sources import read_source
from kit.course import source_of
from kit.tables import Table
from lessons.nb05_the_control_plane import quorums
from tests.lessons.verdicts import run_cell

Race = tuple[list[str], list[str]]
"""What happened, a line each, and what the cell printed."""


def shown(name: str, change: tuple[str, str] = ("", "")) -> tuple[list[Table], list[str]]:
    """The tables and the printed lines of one cell, with another value at its top."""
    source = source_of("05")
    assert source is not None
    tables: list[Any] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = {each.name: each.text for each in read_source(source) if each.code}
    assert change[0] in cells[name]
    run_cell(cells["doorway"], names, "<05 doorway>")
    names["display"] = tables.append
    text = cells[name].replace(*change)
    if (place := text.rfind("\nTable(")) >= 0:  # the value of the cell's last line
        text = f"{text[:place]}\ndisplay({text[place:].strip().removesuffix('# fmt: skip')})"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run_cell(text, names, f"<05 {name}>")
    return tables, printed.getvalue().splitlines()


def column(table: Table, name: str) -> list[str]:
    place = list(table.columns).index(name)
    return [row[place] for row in table.rows]


@pytest.fixture(scope="module")
def race() -> Race:
    return what_happened()


def what_happened() -> Race:
    (table,), printed = shown("race")
    return [f"{node} {what}".strip() for _, node, what in table.rows], printed


def test_one_broker_creates_the_znode_and_all_of_them_watch_it(race: Race) -> None:
    happened, printed = race
    assert [each for each in happened if "creates /controller" in each] == [
        "103 creates /controller, epoch 1", "102 creates /controller, epoch 2",
    ]  # fmt: skip
    assert happened.index("zkcli delete /controller") < happened.index(
        "103 resigns: no broker is the controller"
    )
    assert printed[:2] == [
        "/controller is watched by 101 102 103", "/brokers/ids is watched by 102",
    ]  # fmt: skip
    assert printed[2].startswith("KRaft: ")
    assert printed[2].endswith("is active in epoch 2")


def test_the_controller_alone_hears_that_a_broker_left_and_came_back(race: Race) -> None:
    happened, _ = race
    left = happened[happened.index("kill 103") : happened.index("start 103")]
    assert left[1:] == [
        "1 ends a session, and with it /brokers/ids/103",
        "102 its watch fires: /brokers/ids children", "102 finds new brokers [], gone [103]",
    ]  # fmt: skip
    assert "102 finds new brokers [103], gone []" in happened


@pytest.mark.parametrize("mutant", ["sessions-never-end", "watch-is-not-renewed"])
def test_without_an_end_of_sessions_or_a_second_watch_it_would_not_hear(mutant: str) -> None:
    with ZOOKEEPER_MUTANTS[mutant].in_force():
        happened, _ = what_happened()
    assert "102 finds new brokers [103], gone []" not in happened


def test_two_clusters_on_one_ensemble_know_only_themselves_and_write_little() -> None:
    (written, late), printed = shown("one-ensemble")
    assert printed == ["101 names [101, 102]", "102 names [101, 102]",
                       "103 names [103, 104]", "104 names [103, 104]"]  # fmt: skip
    rest, topic, then, now = map(int, column(written, "changes"))
    assert (rest, then, now) == (0, 60, 0)
    assert 20 <= topic <= 30
    assert [row[2] for row in written.rows][2:] == [
        "/a/consumers/billing/offsets/orders/0 is 60",
        "__consumer_offsets-0 has 60 more records",
    ]
    assert column(late, "/a/brokers/ids") == ["101 102", "102", "102", "101 102"]
    assert column(late, "/b/brokers/ids") == ["103 104", "103", "103", "103 104"]
    assert column(late, "leaders of orders in /a") == ["101: 5, 102: 5"] + ["102: 10"] * 3


def test_below_one_chroot_they_are_one_cluster() -> None:
    _, printed = shown("one-ensemble", ('103: "/b", 104: "/b"', '103: "/a", 104: "/a"'))
    assert printed == [f"{each} names [101, 102, 103, 104]" for each in (101, 102, 103, 104)]


def test_brokers_that_hear_in_time_stay() -> None:
    (_, late), _ = shown("one-ensemble", ("101: 1_500", "101: 400"))
    assert set(column(late, "/a/brokers/ids")) == {"101 102"}
    assert set(column(late, "leaders of orders in /a")) == {"101: 5, 102: 5"}


@pytest.mark.parametrize("design", ["ZooKeeper", "KRaft"])
def test_the_fourth_member_buys_nothing(design: str) -> None:
    three, four, five = (quorums.survives(design, each) for each in (3, 4, 5))
    assert three == ("1", "yes", "no", "0 of 3")
    assert four == ("1", "yes", "no", "0 of 4")
    assert five == ("2", "yes", "yes", "0 of 5")


def test_two_members_survive_nothing_and_cannot_be_restarted_in_turn() -> None:
    assert quorums.survives("ZooKeeper", 2) == ("0", "yes", "no", "2 of 2")


def test_a_leader_that_took_itself_for_a_majority_would_survive_more() -> None:
    with ZOOKEEPER_MUTANTS["one-is-a-majority"].in_force():
        assert quorums.survives("ZooKeeper", 3) != ("1", "yes", "no", "0 of 3")


def test_a_former_leader_acknowledges_only_what_no_rule_can_refuse() -> None:
    (table,), _ = shown("two-leaders")
    assert set(column(table, "both lead")) == {"101 102"}
    assert column(table, "acknowledged, of 5") == ["5", "0", "4"]
    assert column(table, "the last answer") == ["NONE", "REQUEST_TIMED_OUT", "NONE"]
    assert set(column(table, "left")) == {"0"}
    assert set(column(table, "asked again later")) == {"NOT_LEADER_OR_FOLLOWER"}


def test_a_rule_that_is_in_force_after_all_refuses_in_the_third_row_as_well() -> None:
    (table,), _ = shown("two-leaders", ('"shrink-unconfirmed"', '"read-uncommitted"'))
    assert column(table, "acknowledged, of 5") == ["5", "0", "0"]


def test_an_isr_that_is_ignored_lets_a_former_leader_acknowledge() -> None:
    with MUTANTS["answer-too-early"].in_force():
        (table,), _ = shown("two-leaders")
    assert column(table, "acknowledged, of 5") == ["5", "5", "5"]


def test_a_broker_that_is_behind_is_fenced_until_it_has_read_the_log() -> None:
    (table,), records = shown("behind")
    assert column(table, "fenced") == ["no", "no", "yes", "no", "yes", "yes", "yes", "no", "no"]
    assert column(table, "ISR")[:4] == ["101 102"] * 3 + ["101 102 103"]
    names = column(table, "101 names to clients")
    assert [fenced == "yes" for fenced in column(table, "fenced")] == [
        each == "101 102" for each in names
    ]
    assert records[0].endswith("partition orders-0: ISR 101 102")
    assert records[1].endswith("broker 103 fenced")


def test_with_one_fetch_lost_it_is_unfenced_within_a_second() -> None:
    (table,), _ = shown("behind", ("lost = 30", "lost = 1"))
    assert column(table, "fenced")[4:] == ["no"] * 5


def test_a_controller_that_did_not_ask_would_unfence_it_at_once() -> None:
    def always(original: Callable[..., bool], *arguments: object) -> bool:
        return True

    with Patch(brokers, "_is_caught_up", always).in_force():
        (table,), _ = shown("behind")
    assert "yes" not in column(table, "fenced")[4:]
