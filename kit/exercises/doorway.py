"""`predict`, `verdict`, `quiz`, `check`, `hint`, `progress` and `reset`, as a learner calls them.

Each returns a card that a notebook shows and that is true when the answer was right.  None
of them raises over a wrong answer, a missing cluster or a full disk: a notebook runs from
top to bottom with any answer, or none.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kit.both.comparison import Comparison
from kit.both.outcomes import Measured, rows
from kit.clusters.explain import code_name
from kit.clusters.interface import ClusterError
from kit.columns.outcome import Outcome
from kit.exercises import cards, plain, progress_file
from kit.exercises.ask import JudgeFailed, ask, one_judge
from kit.tables import Table

LONGEST_TITLE = 72
UNANSWERED = {"_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN"}
"""What a client says where no broker answers."""
NOT_SAVED = "Your progress could not be saved; see: kafkalab doctor"


def predict(exercise_id: str, *answer: Any) -> Any:
    """Asks for a prediction, or records one: `predict("06-1", "b")`, `predict("06-2", 101, 102)`.

    It says nothing of right or wrong: the run in the next cell does, by `verdict`.  The answer
    that its first run judges is the one that counts in `progress()`.
    """
    try:
        if answer:
            reply, note = _record(exercise_id, answer[0] if len(answer) == 1 else list(answer))
            return cards.question(exercise_id, reply, note, reply["answer"])
        reply = ask("question", id=exercise_id)
        if reply["kind"] != "predict":
            raise JudgeFailed(f"{exercise_id} is a quiz question; answer it with quiz.")
    except (JudgeFailed, plain.NotPlain) as failure:
        return cards.problem(exercise_id, str(failure))

    def take(given: list[str]) -> tuple[list[str], str, str]:
        try:
            reply, note = _record(exercise_id, given[-1] if given else "")
        except JudgeFailed as failure:
            return [], str(failure), ""
        return reply["answer"].split(), note, ""

    return _asked(exercise_id, reply, take)


def verdict(exercise_id: str, seen: Any) -> cards.Card:
    """What a run says of a prediction.  `seen` is what the run observed.

    `seen` is a mapping from the name of each observation to a number, a text or a list, or the
    outcome of `lab.both` or `lab.columns`: then the prediction is settled on each side, or column.
    For one about several columns give `outcome.plain`.  A prediction is about the
    run that settles it first.  A later run, with other values perhaps, shows what it saw and is
    neither right nor wrong, until the prediction is recorded again.
    """
    try:
        sides = sides_of(seen)
        before = progress_file.read().get(exercise_id, progress_file.Entry())
        answer = before.answer or ""
        reply = ask("settle", id=exercise_id, answer=answer, sides=sides)
    except (JudgeFailed, TypeError, progress_file.ProgressUnreadable) as failure:
        return cards.problem(exercise_id, str(failure))
    closing = ""
    if reply["passed"] is not None:
        entry, saved = progress_file.settle(exercise_id, reply["passed"], ", ".join(sides))
        closing = _kept(entry) if saved else NOT_SAVED
    return cards.settled(exercise_id, answer, reply, closing, is_later=before.is_settled)


def quiz(exercise_id: str, *choices: str) -> Any:
    """Asks a quiz question, or answers it: `quiz("06-9", "a", "d")`.  The verdict comes at once.

    The first answer is the one that counts in `progress()`.
    """
    if choices:
        return _answered(exercise_id, choices)
    try:
        reply = ask("question", id=exercise_id)
        if reply["kind"] != "quiz":
            raise JudgeFailed(f"{exercise_id} is a prediction; answer it with predict.")
    except JudgeFailed as failure:
        return cards.problem(exercise_id, str(failure))

    def take(given: list[str]) -> tuple[list[str], str, str]:
        if not given:
            return [], "Choose at least one.", ""
        return given, "", _answered(exercise_id, given)._repr_html_()

    return _asked(exercise_id, reply, take)


def _asked(exercise_id: str, reply: dict[str, Any], take: Any) -> Any:
    """The question as a widget, with the answer that was kept."""
    from kit.exercises.question import QuestionWidget

    try:
        kept = progress_file.read().get(exercise_id, progress_file.Entry()).answer
    except progress_file.ProgressUnreadable:
        kept = None
    answer = kept.replace(",", " ").split() if kept else []
    note = cards.recorded(kept) if kept and reply["kind"] == "predict" else ""
    card = cards.question(exercise_id, reply, note, kept or "")
    return QuestionWidget(exercise_id, reply, card, take, answer, note)


def _record(exercise_id: str, answer: Any) -> tuple[dict[str, Any], str]:
    """Keeps a prediction; gives the judge's reply and the line below.  Raises JudgeFailed."""
    sent = plain.from_json(json.dumps(_as_plain((answer,))))
    reply = ask("predict", id=exercise_id, answer=sent)
    _, saved = progress_file.record(exercise_id, reply["answer"])
    return reply, cards.recorded(reply["answer"]) if saved else NOT_SAVED


def _answered(exercise_id: str, choices: Sequence[str]) -> cards.Card:
    try:
        reply = ask("quiz", id=exercise_id, choices=list(choices))
    except JudgeFailed as failure:
        return cards.problem(exercise_id, str(failure))
    entry, saved = progress_file.attempt(exercise_id, reply["passed"], ", ".join(choices))
    closing = _kept(entry) if saved else NOT_SAVED
    return cards.verdict(exercise_id, reply, closing, wrong="not right")


def sides_of(seen: Any) -> dict[str, dict[str, Any]]:
    """Observations by side.  Raises TypeError for one that has no plain form."""
    if isinstance(seen, Comparison):
        sides = {"the engine": seen.engine} | ({"Kafka": seen.real} if seen.real else {})
    elif isinstance(seen, Outcome) and seen.seen:
        sides = seen.seen
    elif isinstance(seen, Mapping):
        sides = {"": dict(seen)}
    elif isinstance(seen, Outcome):
        raise TypeError(f"There is nothing to judge. {seen.verdict}")
    else:
        raise TypeError(
            "lab.verdict takes a mapping of observations, or what lab.both or lab.columns returned."
        )
    return {side: _numbers(rows(found)) for side, found in sides.items()}


def _numbers(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.value if isinstance(value, Measured) else value for name, value in found.items()
    }


def check(exercise_id: str, *answer: Any, cluster: Any = None) -> cards.Card:
    """Asks the judge about an answer: a value, several values, or a function.

    A wrong answer offers hints, folded: one more with each attempt and each call of `hint`.  A
    function is called here, with inputs from the judge; only its results leave the kernel.
    If the exercise was done on a cluster, the judge reads `cluster` (anything with
    `.bootstrap`).
    """
    try:
        with one_judge() as asked:
            reply = asked(
                "check",
                id=exercise_id,
                answer=_checked(asked, exercise_id, answer),
                bootstrap=getattr(cluster, "bootstrap", None),
            )
    except (JudgeFailed, plain.NotPlain) as failure:
        return cards.problem(exercise_id, str(failure))
    entry, saved = progress_file.attempt(exercise_id, reply["passed"])
    if not saved:
        return cards.verdict(exercise_id, reply, NOT_SAVED)
    if reply["passed"]:
        return cards.verdict(exercise_id, reply)
    if entry.hints >= len(reply["hints"]):
        closing = f'You have seen every hint; lab.hint("{exercise_id}") shows a solution.'
    else:
        closing = f'lab.hint("{exercise_id}") shows the next hint.'
    offered = max(entry.attempts, entry.hints + 1)
    return cards.verdict(exercise_id, reply, closing, reply["hints"][:offered])


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
    """What is solved, attempted and open, over all notebooks."""
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
    columns = ["exercise", "title", "state", "attempts", "hints"]
    return Table("Your progress", columns, rows, closing)


def reset(prefix: str = "") -> str:
    """Forgets one exercise ("06-2"), a notebook ("06") or everything (no argument)."""
    try:
        forgotten = progress_file.forget(prefix)
    except (OSError, progress_file.ProgressUnreadable) as failure:
        return f"Nothing was forgotten: {failure}"
    return f"Forgot {forgotten} exercise{'' if forgotten == 1 else 's'}."


def _kept(entry: progress_file.Entry) -> str:
    """The line about the answer that counts; empty where this is the one."""
    if entry.first_answer is None or (entry.attempts < 2 and entry.first_answer == entry.answer):
        return ""
    found = "right" if entry.first_right else "wrong"
    return f"Your first answer was {entry.first_answer}, which was {found}; that one counts."


def _state(entry: progress_file.Entry) -> str:
    if entry.first_answer is not None:
        return "✓ foreseen" if entry.first_right else "✗ surprised"
    if entry.passed_at:
        return "✓ solved"
    if entry.answer is not None:
        return "… predicted"
    return "… attempted" if entry.attempts else "open"


def _with_hints(entry: progress_file.Entry, hints: int) -> progress_file.Entry:
    return replace(entry, hints=max(entry.hints, hints))


def _checked(asked: Callable[..., Any], exercise_id: str, answer: tuple[Any, ...]) -> Any:
    """The data to send: the value, the list of values, or the results of a function."""
    if len(answer) == 1 and callable(answer[0]):
        inputs = asked("inputs", id=exercise_id)["inputs"]
        return json.loads(plain.to_json(_results(answer[0], inputs)))
    return _as_plain(answer)


def _as_plain(answer: tuple[Any, ...]) -> Any:
    return json.loads(plain.to_json(answer[0] if len(answer) == 1 else list(answer) or None))


def _results(function: Callable[..., Any], inputs: Any) -> list[Any]:
    if inputs is None:
        raise JudgeFailed(
            "This exercise wants a value, not a function: call it and pass the result."
        )
    results: list[Any] = []
    for arguments in plain.from_json(json.dumps(inputs)):
        try:
            results.append(function(*arguments))
        except Exception as error:
            if _is_of_the_cluster(error):
                raise JudgeFailed(
                    f"The cluster failed, and nothing was counted: {error} "
                    "Run the set-up cells again, and then this check."
                ) from None
            # The learner's own mistake is part of the answer.
            results.append({"raised": f"{type(error).__name__}: {error}"})
    return results


def _is_of_the_cluster(error: Exception) -> bool:
    """Whether no broker answered: then it is not the answer that failed."""
    from confluent_kafka import KafkaException

    if isinstance(error, KafkaException):
        return code_name(error) in UNANSWERED
    return isinstance(error, ClusterError)
