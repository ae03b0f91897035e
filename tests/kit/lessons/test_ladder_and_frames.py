"""The ladder's searches as pictures and a table; a strip as text and as HTML."""

from __future__ import annotations

import pytest

from engine.sim import replay_model
from kit.lessons import ladder
from kit.lessons.frames import Frame, Replica, Strip


def test_a_counter_example_is_drawn_step_by_step_and_ends_with_what_broke() -> None:
    strip = ladder.counter_example("to-high-watermark", 2)
    assert isinstance(strip, Strip)
    assert len(strip.frames) == 9
    assert strip.frames[-1].note.startswith("Broken: ")
    assert all(not frame.note for frame in strip.frames[:-1])
    assert [r.broker for r in strip.frames[0].replicas] == [101, 102]


def test_a_rule_that_holds_says_how_much_was_searched() -> None:
    said = ladder.counter_example("kip-320", 2)
    assert isinstance(said, str)
    assert "holds: all 4,493 states" in said


def test_the_table_comes_from_the_searches() -> None:
    table = ladder.table((2,))
    cells = {row[0]: row[2] for row in table.rows}
    assert cells["to-high-watermark"] == "violated in 9 steps"
    assert cells["kip-101"] == "violated in 11 steps"
    assert cells["kip-279"].startswith("holds: all ")


def test_the_last_step_says_what_the_leader_of_the_past_has_there() -> None:
    strip = ladder.counter_example("kip-320-first-try")
    assert isinstance(strip, Strip)
    assert "103 has no record there" in strip.frames[-1].title


def test_a_replay_names_the_invariant_that_it_breaks() -> None:
    broken = replay_model.replay("to-high-watermark")
    last = ladder.in_brokers(broken).splitlines()[-1].strip()
    assert last.startswith("BROKEN: the invariant *no loss*: orders-0: offset 0 of epoch 0")
    broken.violation = ""
    assert ladder.in_brokers(broken).splitlines()[-1].strip() == "every invariant holds"


FRAME = Frame(
    "D <is> written",
    (
        Replica(101, (("A", 0), ("D", 1)), 1, "leads epoch 1", leads=True),
        Replica(102, (("A", 0),), 1, "dead", in_isr=False, alive=False),
    ),
    ("client → 101  Produce: D",),
    "a note",
)


def test_text_shows_records_epochs_and_each_high_watermark() -> None:
    assert Strip((FRAME,), first=4).text.splitlines() == [
        "4 · D <is> written",
        "   client → 101  Produce: D",
        "   offset  0    1    2",
        "   ★ 101   A·0 |D·1        HW 1  leads epoch 1, ISR",
        "   ✝ 102   A·0 |           HW 1  dead, not in the ISR",
        "   a note",
    ]


def test_html_escapes_and_marks_what_is_not_committed() -> None:
    html = Strip((FRAME,))._repr_html_()
    assert "D &lt;is&gt; written" in html
    assert html.count("repeating-linear-gradient") == 1
    assert html.count("box-shadow") == 2


def test_searches_begun_in_a_process_of_their_own_find_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = ladder._Searches()
    begun.begin()
    monkeypatch.setattr(ladder, "explore", None)  # nothing is left to search here
    assert begun.get("kip-101", 3).verdict == "violated in 10 steps"
    assert begun.get("kip-320", 3).states == 162_517
    assert begun.process is None
