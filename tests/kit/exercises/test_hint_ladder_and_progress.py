"""The ladder, the progress file, and what a learner gets for odd input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import exercises
from kit.exercises import cards, progress_file

SAMPLE = Path(__file__).parents[1] / "sample_course"


@pytest.fixture(autouse=True)
def sample_course(monkeypatch, tmp_path) -> Path:
    file = tmp_path / "data" / "progress.json"
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(file))
    return file


def test_three_hints_come_before_the_solution_unlocks() -> None:
    shown = [repr(exercises.hint("99-2")) for _ in range(5)]
    assert "Hint 1 of 3" in shown[0]
    assert "Hint 3 of 3" in shown[2]
    assert not any("return min(" in text for text in shown[:3])
    assert "return min(" in shown[3]
    assert shown[4] == shown[3]


LADDER = ("Who must have a record?", "Look at the ISR only.", "It is a minimum.")


def wrong() -> cards.Card:
    return exercises.check("99-2", lambda leo, isr: max(leo.values()))


def offered(card: cards.Card) -> list[str]:
    return [text for _, text in card.folded]


def test_a_wrong_answer_shows_expected_seen_and_the_smallest_case() -> None:
    card = wrong()
    text = repr(card)
    assert not card
    assert "the leader's log end" in text
    assert "3" in dict(card.rows)["expected"]
    assert "{101: 5, 102: 3}" in dict(card.rows)["smallest case"]
    assert 'lab.hint("99-2") shows the next hint.' in text


def test_a_hint_is_read_only_by_who_wants_it() -> None:
    card = wrong()
    assert LADDER[0] not in repr(card)
    page = card._repr_html_()
    assert page.index("<details") < page.index("<summary") < page.index(LADDER[0])
    assert ">Hint 1</summary>" in page


def test_each_failed_attempt_offers_one_more_hint_and_leaves_the_ladder_alone() -> None:
    for number in (1, 2, 3, 3):
        card = wrong()
        assert offered(card) == list(LADDER[:number])
    assert "Hint 1 of 3" in repr(exercises.hint("99-2")), "only asking for hints unlocks a solution"
    for _ in range(2):
        exercises.hint("99-2")
    assert "You have seen every hint" in repr(wrong())


def test_a_hint_that_was_asked_for_is_offered_with_the_next_one() -> None:
    exercises.hint("99-2")
    assert offered(wrong()) == list(LADDER[:2])


def test_a_function_that_raises_gets_a_message_with_its_error() -> None:
    card = exercises.check("99-2", lambda leo, isr: leo["101"])
    assert "KeyError" in repr(card)


def test_html_and_text_say_the_same_and_escape_what_the_learner_wrote() -> None:
    card = exercises.check("99-3", {"replicas": "<script>alert(1)</script>"})
    assert "<script>" not in card._repr_html_()
    assert "&lt;script&gt;" in card._repr_html_()
    assert "Not these settings." in card._repr_html_()
    assert "Not these settings." in repr(card)


@pytest.mark.parametrize(
    ("title", "passed", "heading"),
    [("Write it", True, "7-1  Write it: right"), ("Who leads?", False, "7-1  Who leads? Not yet")],
)
def test_a_verdict_follows_a_title_or_a_question(title: str, passed: bool, heading: str) -> None:
    reply = {"title": title, "passed": passed, "message": ""}
    assert cards.verdict("7-1", reply).heading == heading


def test_the_first_answer_of_a_quiz_is_the_one_that_counts() -> None:
    first = repr(exercises.quiz("99-4", "b"))
    assert "Nothing compares logs" in first
    assert "? Not right\n" in first, "a quiz gives the answer at once; there is no second try"
    again = exercises.quiz("99-4", "a", "c")
    assert again.passed
    assert "Your first answer was b, which was wrong; that one counts." in repr(again)
    assert "surprised" in repr(exercises.progress())


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: exercises.check("99-9", 1), "There is no exercise 99-9; 99 has 99-1"),
        (lambda: exercises.check("nonsense", 1), "exercises exist for 99"),
        (lambda: exercises.check("99-1", 1), "is a prediction; answer it with predict"),
        (lambda: exercises.predict("99-2", "a"), "is an exercise; answer it with check"),
        (lambda: exercises.predict("99-4", "a"), "is a quiz question; answer it with quiz"),
        (lambda: exercises.quiz("99-1", "a"), "is a prediction; answer it with predict"),
        (lambda: exercises.quiz("99-4", "z"), "Choose among a, b, c; there is no 'z'"),
        (lambda: exercises.predict("99-1", "z"), "Choose one of a, b, c; there is no 'z'"),
        (lambda: exercises.predict("99-5", " "), "Give a list of brokers"),
        (lambda: exercises.verdict("99-1", 3), "takes a mapping of observations"),
        (lambda: exercises.verdict("99-1", {"x": object()}), "cannot be compared"),
        (lambda: exercises.verdict("99-1", {"log ends": [1]}), "must report 'high watermark'"),
        (lambda: exercises.check("99-3", lambda: 1), "call it and pass the result"),
        (lambda: exercises.check("99-3", object()), "holds a object"),
        (lambda: exercises.check("99-3", "x" * 5_000_000), "bytes long"),
    ],
)
def test_odd_input_gets_one_sentence(call, sentence) -> None:
    card = call()
    assert sentence in repr(card)
    assert "Traceback" not in repr(card)


def test_progress_is_kept_per_exercise_and_unknown_ones_are_not_lost(sample_course) -> None:
    sample_course.parent.mkdir()
    old = {"version": 1, "exercises": {"77-1": {"attempts": 2, "from_a_newer_field": 1}}}
    sample_course.write_text(json.dumps(old))
    exercises.check("99-3", {"replicas": 3, "min.insync.replicas": 2})
    stored = json.loads(sample_course.read_text())["exercises"]
    assert stored["77-1"]["attempts"] == 2
    assert stored["99-3"]["passed_at"]
    assert "1 of 5 solved" in repr(exercises.progress())
    assert exercises.reset("99") == "Forgot 1 exercise."
    assert list(progress_file.read()) == ["77-1"]


def test_a_broken_progress_file_is_set_aside_and_a_newer_one_is_left_alone(sample_course) -> None:
    sample_course.parent.mkdir()
    sample_course.write_text('{"version": 1, "exer')
    exercises.check("99-3", None)
    assert len(list(sample_course.parent.glob("*.broken-*"))) == 1
    newer = '{"version": 99, "exercises": {}}'
    sample_course.write_text(newer)
    assert "kafkalab update" in repr(exercises.progress())
    assert "could not be saved" in repr(exercises.check("99-3", None))
    assert sample_course.read_text() == newer


def test_a_folder_that_cannot_be_written_costs_the_saving_only(monkeypatch, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "file" / "progress.json"))
    card = exercises.check("99-3", {"replicas": 3, "min.insync.replicas": 2})
    assert card.passed
    assert "could not be saved" in repr(card)


def test_two_writers_lose_nothing(sample_course) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: progress_file.attempt(f"55-{n % 4}", False), range(40)))
    assert [entry.attempts for entry in progress_file.read().values()] == [10, 10, 10, 10]
