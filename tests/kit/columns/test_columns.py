"""One fault in several columns: the same rows for all, and a sentence for what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kit import lab
from kit.columns import columns
from kit.columns.outcome import Column, Outcome
from kit.columns.side import LOST, STANDARD, Side
from kit.columns.virtual import VirtualStage
from kit.exercises.doorway import sides_of

ENGINE = ["engine KRaft", "engine ZooKeeper"]


def controller_dies(side: Side) -> None:
    former = side.active()
    side.kill(former)
    side.wait(lambda: side.active() not in (former, -1), "another controller")
    side.note("created", side.create_topic("after"))


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return columns.run(controller_dies, real=False)


def test_each_column_has_the_same_rows(outcome: Outcome) -> None:
    assert list(outcome.seen) == ENGINE
    for seen in outcome.seen.values():
        assert list(seen) == [*STANDARD, "created"]
        assert seen["epoch after"] == seen["epoch before"] + 1
        assert seen["active after"] not in (seen["active before"], -1)
        assert (seen["created"], seen["errors"], seen[LOST]) == ("NONE", 0, True)
        assert seen["records acknowledged"] > 10


def test_the_death_of_a_controller_stops_the_writer_only_where_it_is_a_broker(
    outcome: Outcome,
) -> None:
    kraft, historic = (outcome.of(name) for name in ENGINE)
    assert kraft["longest pause of the writer"] < 0.2 < 1 < kraft["time to elect"] < 4
    assert historic["longest pause of the writer"] > 3 < historic["time to elect"] < 4.5


def test_the_same_run_shows_the_same(outcome: Outcome) -> None:
    assert columns.run(controller_dies, real=False).seen == outcome.seen


def test_the_table_shows_pairs_and_the_sentence(outcome: Outcome) -> None:
    assert "epoch before → after          1 → 2" in outcome.text
    assert outcome.verdict == "Every acknowledged record was read back."
    assert "zookeeper.session.timeout.ms 3000" in outcome.text
    html = outcome._repr_html_()
    assert html.count("<th scope='col'") == 3
    assert html.count("<th scope='row'") == len(outcome.table())


def test_a_lost_record_is_said_below_the_table(outcome: Outcome) -> None:
    first = outcome.columns[0]
    broken = Outcome("loses", (first, Column("real KRaft", {**first.rows, LOST: False})))
    assert broken.verdict == "Not every acknowledged record was read back in: real KRaft."
    assert " no" in broken.text
    assert "--jp-error-color1" in broken._repr_html_()
    assert "--jp-error-color1" not in outcome._repr_html_()


def test_what_is_read_back_is_compared_with_what_was_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = VirtualStage.read
    monkeypatch.setattr(VirtualStage, "read", lambda stage: read(stage)[1:])
    outcome = columns.run(lambda side: None, real=False)
    assert [seen[LOST] for seen in outcome.seen.values()] == [False, False]


def test_a_prediction_is_settled_on_each_column_or_on_all(outcome: Outcome) -> None:
    assert list(sides_of(outcome)) == ENGINE
    assert sides_of(outcome)["engine KRaft"]["epoch after"] == 2
    (one,) = sides_of(outcome.plain).values()
    assert one["engine ZooKeeper › epoch after"] == 2
    with pytest.raises(TypeError, match="nothing to judge"):
        sides_of(Outcome("none", (Column("real KRaft", {}, "There is no Java."),)))


def test_a_real_column_that_is_switched_off_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lab.REAL_VARIABLE, "off")
    outcome = lab.columns(controller_dies)
    assert list(outcome.absent) == ["real KRaft", "real ZooKeeper"]
    assert "KAFKALAB_REAL=off" in outcome.text
    assert "unset it" in outcome.text
    with pytest.raises(LookupError, match="KAFKALAB_REAL=off"):
        outcome.of("real KRaft")
    with pytest.raises(LookupError, match="no column 'KRaft'; there are: engine KRaft, real"):
        outcome.of("KRaft")


def test_without_java_the_real_columns_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(lab.REAL_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    absent = lab.columns(lambda side: None).absent
    assert list(absent) == ["real KRaft", "real ZooKeeper"]
    assert all("Java" in sentence and "make setup" in sentence for sentence in absent.values())


def test_a_column_that_fails_shows_its_sentence_and_the_others_run() -> None:
    def fails_with_zookeeper(side: Side) -> None:
        if side.design == "ZooKeeper":
            side.wait(lambda: False, "a miracle", for_s=1)

    outcome = columns.run(fails_with_zookeeper, real=False)
    assert outcome.absent == {"engine ZooKeeper": "Gave up after waiting 1 s for a miracle."}
    assert list(outcome.seen) == ["engine KRaft"]


def test_what_is_no_scenario_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="one parameter"):
        columns.run(lambda: None, real=False)  # type: ignore[arg-type, misc]
    with pytest.raises(TypeError, match="one parameter"):
        columns.run("controller dies", real=False)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="this one returned 7"):
        columns.run(lambda side: 7, real=False)


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda side: side.kill(999), "There is no node 999: there are 100, 101, 102, 103, 200"),
        (lambda side: side.note("time to elect", 1), "give yours another name"),
        (lambda side: side.note("a side", side), "cannot be compared"),
        (lambda side: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_mistake_in_a_scenario_is_a_sentence(
    mistake: Callable[[Side], None], sentence: str
) -> None:
    outcome = columns.run(mistake, real=False)
    assert sentence in outcome.absent["engine KRaft"]


def test_what_a_scenario_returns_is_noted() -> None:
    outcome = columns.run(lambda side: {"leader": side.leader("orders")}, real=False)
    assert outcome.of("engine KRaft")["leader"] == 101
    assert (
        outcome.of("engine ZooKeeper")["leader"] != outcome.of("engine ZooKeeper")["active before"]
    )
    assert outcome.of("engine KRaft")["time to elect"] is None


def test_engine_and_real_differ_in_facts_and_neither_in_times_nor_in_who_is_elected(
    outcome: Outcome,
) -> None:
    ours = outcome.columns[0].rows
    chance: dict[str, Any] = {
        "active after": 100,
        "epoch after": 5,
        "time to elect": lab.measured(9, "s"),
    }
    same = Outcome("same", (Column("engine KRaft", ours), Column("real KRaft", {**ours, **chance})))
    assert same.differences == {}
    theirs = {**ours, "created": "no answer", "active after": -1}
    other = Outcome("other", (Column("engine KRaft", ours), Column("real KRaft", theirs)))
    assert other.differences == {"KRaft": ["active before → after", "created"]}
    assert "≠ created" in other.text
    assert columns.declared(other) == {}
    isolated = replace(other, scenario="controller_isolated")
    assert list(columns.declared(isolated)) == ["KRaft › created"]
