"""A question with its choices as buttons, or with a field for a free answer.

Tab and the arrow keys move between the choices, Enter or Space takes one.  The answer is
kept in the progress file, so the same cell shows it again after a restart of the kernel.

State lives in traits: `answer` is what was taken, `note` the line below.  Tests press by
`press("b")` and need no browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from kit.exercises.cards import Card

HERE = Path(__file__).parent


class QuestionWidget(anywidget.AnyWidget):
    """`take` receives the letters or the text of an answer.

    It returns what is marked then, the line below the choices, and a quiz's verdict as HTML.
    """

    _esm = HERE / "question.js"
    _css = HERE / "question.css"

    name = traitlets.Unicode().tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    choices: traitlets.List[Any] = traitlets.List().tag(sync=True)
    several = traitlets.Bool().tag(sync=True)
    form = traitlets.Unicode().tag(sync=True)
    answer: traitlets.List[Any] = traitlets.List().tag(sync=True)
    note = traitlets.Unicode().tag(sync=True)
    verdict = traitlets.Unicode().tag(sync=True)

    passed: bool | None = None

    def __init__(
        self,
        name: str,
        reply: Mapping[str, Any],
        card: Card,
        take: Callable[[list[str]], tuple[list[str], str, str]],
        answer: list[str],
        note: str,
    ) -> None:
        super().__init__(
            name=name,
            question=reply["question"],
            choices=[[letter, text] for letter, text in reply["choices"].items()],
            several=reply["several"],
            form=reply["form"],
            answer=answer,
            note=note,
        )
        self._card = card
        self._take = take
        self.on_msg(lambda widget, content, buffers: self.press(*content.get("answer", ())))

    def press(self, *answer: str) -> None:
        """What a button does."""
        kept, note, verdict = self._take([str(part) for part in answer])
        with self.hold_sync():
            self.answer, self.note, self.verdict = kept, note, verdict

    def __repr__(self) -> str:
        return repr(self._card)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        live = super()._repr_mimebundle_(**kwargs)
        bundle, metadata = live if isinstance(live, tuple) else (live or {}, {})
        return {**bundle, "text/plain": repr(self), "text/html": self._card._repr_html_()}, metadata
