"""Predictions: recorded before a run, settled by what the run has shown, never before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kit import exercises
from kit.both.comparison import compare
from kit.both.outcomes import measured
from kit.exercises import cards, progress_file, settling
from kit.exercises.exercise import Prediction
from kit.exercises.question import QuestionWidget

SAMPLE = Path(__file__).parents[1] / "sample_course"
SEEN = {"high watermark": 3, "log ends": [5, 3, 4], "gap": measured(2.25, "s")}


@pytest.fixture(autouse=True)
def sample_course(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "progress.json"))


def entry(exercise_id: str) -> progress_file.Entry:
    return progress_file.read()[exercise_id]


def test_a_prediction_is_recorded_and_nothing_says_whether_it_is_right() -> None:
    for answer in ("a", "b"):
        card = exercises.predict("99-1", answer)
        assert card.passed is None
        assert f"Recorded: {answer}." in repr(card)
        assert "right" not in repr(card)
    assert "… predicted" in repr(exercises.progress())


def test_the_run_settles_it_with_the_numbers_that_it_saw() -> None:
    exercises.predict("99-1", "a")
    card = exercises.verdict("99-1", SEEN)
    assert card.passed is False
    assert "The longest log ends at 5 and the high watermark is 3." in repr(card)
    exercises.predict("99-1", "b")
    assert exercises.verdict("99-1", SEEN).passed
    assert "Your first answer was a, which was wrong; that one counts." in repr(
        exercises.verdict("99-1", SEEN)
    )
    assert entry("99-1").first_right is False
    assert "surprised" in repr(exercises.progress())


def test_a_later_run_is_neither_right_nor_wrong_until_it_is_recorded_again() -> None:
    exercises.predict("99-1", "b")
    assert exercises.verdict("99-1", SEEN).passed
    later = exercises.verdict("99-1", SEEN | {"high watermark": 5})
    assert later.passed is None
    assert "What this run says" in repr(later)
    assert "Your first answer was b, which was right; that one counts." in repr(later)
    exercises.predict("99-1", "a")
    assert exercises.verdict("99-1", SEEN).passed is False


def test_until_its_run_a_prediction_may_be_changed() -> None:
    exercises.predict("99-1", "a")
    exercises.predict("99-1", "b")
    assert exercises.verdict("99-1", SEEN).passed
    assert (entry("99-1").first_answer, entry("99-1").first_right) == ("b", True)


def test_another_run_makes_another_choice_right() -> None:
    exercises.predict("99-1", "b")
    card = exercises.verdict("99-1", SEEN | {"high watermark": 5})
    assert card.passed is False
    assert "The high watermark is 5, 2.2 above the shortest." in repr(card)


def test_who_is_right_reads_why_a_tempting_answer_is_not() -> None:
    exercises.predict("99-1", "b")
    card = exercises.verdict("99-1", SEEN)
    assert card.passed
    assert dict(card.rows)["why not a"].startswith("The longest log ends at 5")
    exercises.predict("99-1", "a")
    card = exercises.verdict("99-1", SEEN | {"high watermark": 5})
    assert card.passed
    assert "why not" not in repr(card)


def test_the_parts_of_a_free_answer_may_be_arguments() -> None:
    assert "Recorded: 102 103." in repr(exercises.predict("99-5", 102, 103))


@pytest.mark.parametrize("answer", ["102 103", "103, 102", [102, 103], (102, 103)])
def test_a_free_answer_is_compared_word_by_word(answer) -> None:
    exercises.predict("99-5", answer)
    card = exercises.verdict("99-5", {"behind": [102, 103]})
    assert card.passed is (answer != "103, 102")
    if not card.passed:
        assert "Behind are 2; you named 103 102." in repr(card)


def test_a_free_answer_is_shown_as_it_was_written_and_compared_without_case() -> None:
    exercises.predict("99-5", "b A")
    card = exercises.verdict("99-5", {"behind": ["B", "A"]})
    assert card.passed
    assert dict(card.rows) == {"you predicted": "b A", "the run shows": "B A"}


def test_code_in_a_question_is_drawn_as_code() -> None:
    card = cards.Card("?", "is `acks` <all>?", (("a", "`acks=1`"),))
    assert "is <code>acks</code> &lt;all&gt;?" in card._repr_html_()
    assert "<code>acks=1</code>" in card._repr_html_()


def test_without_a_prediction_the_run_says_what_it_showed() -> None:
    card = exercises.verdict("99-1", SEEN)
    assert card.passed is None
    assert "b  at the shortest in-sync log's end" in repr(card)
    assert "You made no prediction" in repr(card)
    assert progress_file.read() == {}


def test_a_comparison_settles_it_on_both_sides_and_says_where_they_differ() -> None:
    exercises.predict("99-5", "102")
    same = compare("s", {"behind": [102]}, {"behind": [102]})
    card = exercises.verdict("99-5", same)
    assert card.passed
    assert "the engine and Kafka show  102" in repr(card)
    assert entry("99-5").seen_on == "the engine, Kafka"
    exercises.predict("99-5", "102")
    differs = exercises.verdict("99-5", compare("s", {"behind": [102]}, {"behind": [103]}))
    assert differs.passed is False
    assert "the engine shows  102" in repr(differs)
    assert "Kafka shows       103" in repr(differs)
    alone = exercises.verdict("99-5", compare("s", {"behind": [102]}, None))
    assert "the engine shows  102" in repr(alone)


def test_where_no_choice_fits_the_run_says_why() -> None:
    asked = Prediction(
        "98-1",
        "Who leads?",
        ("the first", "the last"),
        settle=lambda seen: seen["leader"],
        because={"": "{count} lead.", "a": "No.", "b": "No."},
    )
    for answer in ("", "a"):
        found = settling.settle(asked, answer, {"": {"leader": "", "count": 2}})
        assert (found.passed, found.because) == (None, "2 lead.")
    silent = replace(asked, because={"a": "No.", "b": "No."})
    assert settling.settle(silent, "a", {"": {"leader": ""}}).because == settling.FITS_NONE


# -- the widget


def test_a_press_records_and_the_same_cell_shows_it_again() -> None:
    widget = exercises.predict("99-1")
    assert isinstance(widget, QuestionWidget)
    assert widget.passed is None
    assert [letter for letter, _ in widget.choices] == ["a", "b", "c"]
    widget.press("c")
    assert widget.answer == ["c"]
    assert widget.note == "Recorded: c. Run the next cell to see."
    assert widget.verdict == ""
    again = exercises.predict("99-1")
    assert (again.answer, again.note) == (widget.answer, widget.note)
    assert "Recorded: c" in repr(again)


def test_a_free_answer_has_a_field_and_bad_input_gets_a_sentence() -> None:
    widget = exercises.predict("99-5")
    assert (widget.choices, widget.form) == ([], "a list of brokers")
    widget.press("  ")
    assert widget.note == "Give a list of brokers."
    widget.press("102, 103")
    assert widget.answer == ["102", "103"]
    assert exercises.verdict("99-5", {"behind": [102, 103]}).passed


def test_a_quiz_takes_several_letters_and_shows_its_verdict_below() -> None:
    widget = exercises.quiz("99-4")
    assert widget.several
    widget.press("a", "c")
    assert "The ISR first" in widget.verdict
    assert exercises.quiz("99-4").answer == ["a", "c"]


def test_a_place_without_a_kernel_sees_the_question() -> None:
    bundle, _ = exercises.predict("99-1")._repr_mimebundle_()
    assert "at the shortest in-sync" in bundle["text/html"]
    assert "at the shortest in-sync" in bundle["text/plain"]
