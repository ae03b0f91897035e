"""Draws the cards that a notebook shows for a question, a verdict or a hint.

Every card has the same content twice: HTML in JupyterLab's own colours, and plain text.
Right and wrong differ by sign and word, never by colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

PROBLEM = "!"
"""The mark of a card that says why there is no verdict."""
RIGHT, WRONG = "✓", "✗"
NOT_AS_PREDICTED = "Not as you predicted"
GREEN, ORANGE, BLUE = "#009E73", "#D55E00", "#0072B2"  # of the Okabe-Ito palette


@dataclass(frozen=True, slots=True)
class Card:
    """A heading, rows of label and text, folded texts with their labels, and a closing line.

    A page unfolds a text when its label is pressed.  Plain text has no folds and leaves them out.
    """

    mark: str
    heading: str
    rows: tuple[tuple[str, str], ...] = ()
    closing: str = ""
    colour: str = BLUE
    passed: bool | None = None
    folded: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return self.passed is not False

    def __repr__(self) -> str:
        lines = [f"{self.mark} {self.heading}"]
        width = max((len(label) for label, _ in self.rows), default=0)
        for label, text in self.rows:
            indented = text.replace("\n", "\n" + " " * (width + 4))
            lines.append(f"  {label:<{width}}  {indented}")
        if self.closing:
            lines.append(f"  {self.closing}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr style='background:none'>"
            "<th style='text-align:left;vertical-align:top;padding:2px 16px 2px 0;"
            f"font-weight:600;white-space:nowrap'>{escape(label)}</th>"
            "<td style='text-align:left;padding:2px 0;white-space:pre-wrap'>"
            f"{_inline(text)}</td></tr>"
            for label, text in self.rows
        )
        table = f"<table style='margin:6px 0 0;border:0'>{rows}</table>" if rows else ""
        quiet = "margin-top:6px;color:var(--jp-ui-font-color2,#616161)"
        folded = "".join(
            f"<details style='{quiet}'><summary style='cursor:pointer;display:list-item'>"
            f"{escape(label)}</summary><div style='padding:2px 0 2px 18px'>{_inline(text)}</div>"
            "</details>"
            for label, text in self.folded
        )
        closing = f"<div style='{quiet}'>{escape(self.closing)}</div>" if self.closing else ""
        return (
            f"<div role='status' style='border-left:4px solid {self.colour};padding:6px 12px;"
            "max-width:860px;background:var(--jp-layout-color1,transparent);"
            "color:var(--jp-content-font-color1,inherit)'>"
            f"<strong><span aria-hidden='true'>{escape(self.mark)}</span> "
            f"{_inline(self.heading)}</strong>{table}{folded}{closing}</div>"
        )


def _inline(text: str) -> str:
    """Escaped, with what is between backticks as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text))


def question(exercise_id: str, reply: Mapping, kept: str = "", answer: str = "") -> Card:
    """The question and its choices; `kept` is the line about the answer there is."""
    call = f'lab.{reply["kind"]}("{exercise_id}", '
    if not reply["choices"]:
        closing = f"Answer with {reply['form']}: {call}…)."
    elif reply["several"]:
        closing = f'More than one is right: answer with {call}"a", "b").'
    else:
        closing = f'Answer with {call}"a").'
    choices = tuple(
        (f"{letter} ●" if letter == answer else letter, text)
        for letter, text in reply["choices"].items()
    )
    return Card("?", f"{exercise_id}  {reply['question']}", choices, kept or closing)


def recorded(answer: str) -> str:
    """The line under a prediction that has its answer."""
    return f"Recorded: {answer}. Run the next cell to see."


def settled(
    exercise_id: str, answer: str, reply: Mapping, closing: str = "", is_later: bool = False
) -> Card:
    """What a run says of a prediction; a later run with the same prediction only shows."""
    choices = reply["choices"]

    def text(value: str) -> str:
        return f"{value}  {choices[value]}" if value in choices else value or "none of the choices"

    sides = reply["right"]
    if len(sides) == 2 and len(set(sides.values())) == 1:
        shown = [(f"{' and '.join(sides)} show", text(next(iter(sides.values()))))]
    else:
        shown = [(f"{side or 'the run'} shows", text(value)) for side, value in sides.items()]
    rows = [("you predicted", text(answer)), *shown] if answer else shown
    if reply["because"]:
        rows.append(("", reply["because"]))
    if reply["why_not"]:
        rows.append((f"why not {reply['tempting']}", reply["why_not"]))
    if not answer:
        closing = f'You made no prediction: answer lab.predict("{exercise_id}") before you run.'
        return Card("→", f"{exercise_id}  What the run says", tuple(rows), closing)
    passed = None if is_later else reply["passed"]
    heading = {True: "As you predicted", False: NOT_AS_PREDICTED, None: "What the run says"}
    if is_later:
        heading[None] = "What this run says"
    mark = {True: RIGHT, False: WRONG, None: "→"}[passed]
    colour = {True: GREEN, False: ORANGE, None: BLUE}[passed]
    return Card(mark, f"{exercise_id}  {heading[passed]}", tuple(rows), closing, colour, passed)


def verdict(
    exercise_id: str,
    reply: Mapping,
    closing: str = "",
    hints: Sequence[str] = (),
    wrong: str = "not yet",
) -> Card:
    """A judge's reply as a card, without the rows that do not apply; its hints are folded."""
    passed = bool(reply["passed"])
    rows = [("", reply["message"])] if reply["message"] else []
    labels = {"expected": "expected", "seen": "seen", "counter_example": "smallest case"}
    rows += [(label, reply[name]) for name, label in labels.items() if reply.get(name)]
    return Card(
        RIGHT if passed else WRONG,
        f"{exercise_id}  {_judged(reply['title'], 'right' if passed else wrong)}",
        tuple(rows),
        closing,
        GREEN if passed else ORANGE,
        passed,
        tuple((f"Hint {number}", text) for number, text in enumerate(hints, 1)),
    )


def _judged(title: str, word: str) -> str:
    return f"{title} {word.capitalize()}" if title.endswith("?") else f"{title}: {word}"


def hint(exercise_id: str, rung: int, rungs: int, text: str) -> Card:
    if rung > rungs:
        return Card("=", f"{exercise_id}  A solution", (("", text),))
    after = f'lab.hint("{exercise_id}") again gives ' + (
        "the next one." if rung < rungs else "a solution."
    )
    return Card("→", f"{exercise_id}  Hint {rung} of {rungs}", (("", text),), after)


def problem(exercise_id: str, sentence: str) -> Card:
    return Card(PROBLEM, f"{exercise_id}  {sentence}", colour=ORANGE, passed=False)
