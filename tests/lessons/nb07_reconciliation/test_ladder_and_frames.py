"""The ladder's searches as pictures and a table; a strip as text and as HTML."""

from __future__ import annotations

import pytest

from engine.sim.model import replay as replay_model
from engine.sim.model.replay_scenes import SCENES
from engine.sim.model.replay_stage import Replay
from kit.drawings.frames import Frame, Replica, Strip
from lessons.nb07_reconciliation import ladder, replayed


def test_a_counter_example_is_drawn_step_by_step_and_ends_with_what_broke() -> None:
    strip = ladder.counter_example("to-high-watermark", 2)
    assert isinstance(strip, Strip)
    steps = ladder.search("to-high-watermark", 2).counter_example
    assert strip.first + len(strip.frames) - 1 == len(steps) == 9
    assert [frame.title for frame in strip.frames] == [
        action.text for action in steps[strip.first - 1 :]
    ]
    assert strip.frames[0].said == tuple(
        f"{n}. {action.text}" for n, action in enumerate(steps[: strip.first - 1], 1)
    )
    assert not any(replica.log for replica in strip.frames[0].replicas)
    assert any(replica.log for replica in strip.frames[1].replicas)
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


def test_a_follower_without_a_leader_to_ask_cuts_at_its_own_high_watermark() -> None:
    strip = ladder.counter_example("kip-101", 2)
    assert isinstance(strip, Strip)
    assert strip.frames[-1].title == (
        "102 follows 101 in epoch 2 and truncates to its own high watermark (no leader answers "
        "where epoch 1 ends), 0"
    )


@pytest.fixture(scope="module")
def broken() -> dict[str, Replay]:
    return {rule: replay_model.replay(rule) for rule in SCENES}


LOGS = {
    "to-high-watermark": (["A·0", "", "A·0"], ["A·0", "A·0", "A·0"]),
    "kip-101": (["A·0 X·0 C·2", "A·0 B·1 C·2"], ["A·0 X·0 C·2"] * 2),
    "kip-279": (["A·2", "X·0", "A·2"], ["A·2"] * 3),
    "kip-320-first-try": (["A·2", "", ""], ["A·2"] * 3),
}


@pytest.mark.parametrize("rule", SCENES)
def test_a_replay_is_shown_with_its_logs_beside_the_next_rules(rule: str, broken) -> None:
    shown = replayed.side_by_side(broken[rule], replay_model.follow(broken[rule]))
    logs = [
        [" ".join(f"{value}·{epoch}" for value, epoch in row.log) for row in frame.replicas]
        for frame in shown.endings.frames
    ]
    assert tuple(logs) == LOGS[rule]
    notes = [frame.note for frame in shown.endings.frames]
    assert notes[0].startswith("Broken: the invariant ")
    assert notes[1] == "Every invariant holds."
    assert SCENES[rule].otherwise == shown.moves.closing
    steps = [int(n) for row in shown.moves.rows for n in row[2].split(", ") if n]
    everything = [*steps, *SCENES[rule].unplayed]
    assert sorted(everything) == list(range(1, len(everything) + 1))


def test_with_the_last_rule_a_fetch_of_a_former_epoch_is_refused(broken) -> None:
    last = broken["kip-320-first-try"]
    said = replayed.refused(last, "kip-320").said
    assert "102 → 101  Fetch in epoch 0: offset 0" in said
    assert "101 → 102  FENCED_LEADER_EPOCH" in said
    assert said.index("101 → writer-A  acknowledged, offset 0") > said.index(
        "102 → 101  Fetch in epoch 2: offset 0"
    )
    assert "103 → 102  HW 0, no records" in said


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
    assert html.count("repeating-linear-gradient") == 2, "one for each epoch of the strip"
    assert html.count("background:var(--e") == 1
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
