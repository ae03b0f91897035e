"""`predict`, `check`, `hint`, `progress` and `reset`, as a learner calls them.

Each returns a card that a notebook shows and that is true when the answer was right.  None
of them raises over a wrong answer, a missing cluster or a full disk: a notebook runs from
top to bottom with any answer, or none.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kit.exercises import cards, plain, progress_file
from kit.exercises.ask import JudgeFailed, ask
from kit.tables import Table

LONGEST_TITLE = 72
NOT_SAVED = "Your progress could not be saved; see: kafkalab doctor"


def predict(exercise_id: str, *choices: str) -> cards.Card:
    """Shows a question, or grades the chosen letters: `predict("06-1", "b")`.

    The first answer is the one that counts in `progress()`.
    """
    try:
        if not choices:
            return cards.question(exercise_id, ask("question", id=exercise_id), _first(exercise_id))
        reply = ask("predict", id=exercise_id, choices=list(choices))
    except JudgeFailed as failure:
        return cards.problem(exercise_id, str(failure))
    kept = _first(exercise_id)
    _, saved = progress_file.attempt(exercise_id, reply["passed"], choice=", ".join(choices))
    return cards.verdict(exercise_id, reply, kept if saved else NOT_SAVED)


def check(exercise_id: str, *answer: Any, cluster: Any = None) -> cards.Card:
    """Asks the judge about an answer: a value, several values, or a function.

    A wrong answer gets the next hint: each attempt and each call of `hint` moves it on.  A
    function is called here, with inputs from the judge; only its results leave the kernel.
    If the exercise was done on a cluster, the judge reads `cluster` (anything with
    `.bootstrap`).
    """
    try:
        reply = ask(
            "check",
            id=exercise_id,
            answer=_as_plain(exercise_id, answer),
            bootstrap=getattr(cluster, "bootstrap", None),
        )
    except (JudgeFailed, plain.NotPlain) as failure:
        return cards.problem(exercise_id, str(failure))
    entry, saved = progress_file.attempt(exercise_id, reply["passed"])
    if not saved:
        closing = NOT_SAVED
    elif reply["passed"]:
        closing = ""
    elif entry.hints < len(reply["hints"]):
        rung = min(max(entry.hints, entry.attempts - 1), len(reply["hints"]) - 1)
        closing = f"Next hint: {reply['hints'][rung]}"
    else:
        closing = f'You have seen every hint; lab.hint("{exercise_id}") shows a solution.'
    return cards.verdict(exercise_id, reply, closing)


def hint(exercise_id: str) -> cards.Card:
    """The next hint: there are three, then the solution."""
    try:
        seen = progress_file.read().get(exercise_id, progress_file.Entry()).hints
        reply = ask("hint", id=exercise_id, rung=seen + 1)
    except (JudgeFailed, progress_file.ProgressUnreadable) as failure:
        return cards.problem(exercise_id, str(failure))
    rungs = reply["rungs"]
    rung = min(seen + 1, rungs + 1)
    progress_file.update(exercise_id, lambda entry: _with_hints(entry, rung))
    return cards.hint(exercise_id, rung, rungs, reply.get("solution") or reply["text"])


def progress() -> Table | cards.Card:
    """What is solved, tried and open, over all notebooks."""
    try:
        entries = progress_file.read()
        titles = ask("titles")["titles"]
    except (JudgeFailed, progress_file.ProgressUnreadable) as failure:
        return cards.problem("", str(failure))
    rows = []
    solved = 0
    for exercise_id, title in titles:
        entry = entries.get(exercise_id, progress_file.Entry())
        solved += bool(entry.passed_at)
        short = textwrap.shorten(title, LONGEST_TITLE, placeholder=" …")
        rows.append([exercise_id, short, _state(entry), str(entry.attempts), str(entry.hints)])
    closing = f"{solved} of {len(titles)} solved. Kept in {progress_file.location()}"
    columns = ["exercise", "title", "state", "tries", "hints"]
    return Table("Your progress", columns, rows, closing)


def reset(prefix: str = "") -> str:
    """Forgets one exercise ("06-2"), a notebook ("06") or everything (no argument)."""
    try:
        forgotten = progress_file.forget(prefix)
    except (OSError, progress_file.ProgressUnreadable) as failure:
        return f"Nothing was forgotten: {failure}"
    return f"Forgot {forgotten} exercise{'' if forgotten == 1 else 's'}."


def _first(exercise_id: str) -> str:
    """The line about a prediction's first answer; empty if there is none yet."""
    try:
        entry = progress_file.read().get(exercise_id, progress_file.Entry())
    except progress_file.ProgressUnreadable:
        return ""
    if entry.first_answer is None:
        return ""
    found = "right" if entry.first_right else "wrong"
    return f"Your first answer was {entry.first_answer}, which is {found}; that one is kept."


def _state(entry: progress_file.Entry) -> str:
    if entry.first_answer is not None:
        return "✓ foreseen" if entry.first_right else "✗ surprised"
    if entry.passed_at:
        return "✓ solved"
    return "… tried" if entry.attempts else "open"


def _with_hints(entry: progress_file.Entry, hints: int) -> progress_file.Entry:
    return replace(entry, hints=max(entry.hints, hints))


def _as_plain(exercise_id: str, answer: tuple[Any, ...]) -> Any:
    """The data to send: the value, the list of values, or a function's list of results."""
    if len(answer) == 1 and callable(answer[0]):
        return json.loads(plain.to_json(_results(exercise_id, answer[0])))
    return json.loads(plain.to_json(answer[0] if len(answer) == 1 else list(answer) or None))


def _results(exercise_id: str, function: Callable[..., Any]) -> list[Any]:
    inputs = ask("inputs", id=exercise_id)["inputs"]
    if inputs is None:
        raise JudgeFailed(
            "This exercise wants a value, not a function: call it and pass the result."
        )
    results: list[Any] = []
    for arguments in plain.from_json(json.dumps(inputs)):
        try:
            results.append(function(*arguments))
        except Exception as error:  # the learner's own mistake is part of the answer
            results.append({"raised": f"{type(error).__name__}: {error}"})
    return results
