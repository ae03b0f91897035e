"""The lesson's template as rules, each a function from a lesson to sentences about faults.

A prediction comes directly before its run, the run shows its scenario, the explanation comes
after.  The core of a lesson is small, and every section of *Deeper* works by itself.
docs/authoring.md explains the reasons.
"""

from __future__ import annotations

import ast
import builtins
import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat

from kit.authoring import times, witness
from kit.authoring.sources import Cell, read_source
from kit.course import group_of, reference_notebook, source_files, student_notebook
from kit.exercises import catalogue
from kit.exercises.exercise import Exercise, Prediction

MOST_CELLS, MOST_WORDS, MOST_RUNS, MOST_ROWS, MOST_LINES = 40, 2_500, 8, 8, 30
MOVES_WITHIN = 10
SHOWN = frozenset({"read", "live"})
"""Tags of cells that show something to move or to look at, and settle nothing."""
LESSON_PACKAGES = ("lessons", "labs")
PROVIDED = frozenset(dir(builtins)) | {"display", "get_ipython", "__name__"}
VERDICT = re.compile(r'lab\.verdict\(\s*"([\w-]+)"')
ASKED = re.compile(r'lab\.(?:predict|quiz)\(\s*"([\w-]+)"\s*,\s*(.*)\)\s*$', re.DOTALL)


@dataclass(frozen=True)
class Lesson:
    """A source, as learners see it: one cell for each stub and solution."""

    group: str
    source: Path
    cells: tuple[Cell, ...]

    @property
    def core(self) -> list[Cell]:
        return times.core(self.cells)

    @property
    def key_runs(self) -> list[tuple[int, Cell, str]]:
        """Place, cell and the id of the prediction that it settles."""
        return [
            (place, cell, found.group(1))
            for place, cell in enumerate(self.cells)
            if cell.code and (found := VERDICT.search(cell.text))
        ]

    def sections(self) -> Iterator[list[Cell]]:
        """The sections of Deeper, each from its heading on."""
        starts = [n for n, cell in enumerate(self.cells) if cell.opens_deeper]
        for start, end in pairwise([*starts, len(self.cells)]):
            yield list(self.cells[start:end])


def read(source: Path) -> Lesson:
    cells = read_source(source)
    return Lesson(group_of(source), source, tuple(c for c in cells if not c.has("solution")))


def faults(lesson: Lesson) -> list[str]:
    """What breaks the template, one sentence each."""
    return [f"{lesson.group}: {line}" for rule in RULES for line in rule(lesson)]


def order(lesson: Lesson) -> Iterator[str]:
    """Prediction, its run, its explanation; only a picture to move may be before that."""
    settled = {question: place for place, _, question in lesson.key_runs}
    for place, cell in enumerate(lesson.cells):
        if cell.is_prediction and settled.get(cell.name) != place + 1:
            yield f"the prediction {cell.name} does not stand directly before its run"
    for place, cell, question in lesson.key_runs:
        before = lesson.cells[place - 1]
        if not (before.is_prediction and before.name == question):
            yield f"the run {cell.name} settles {question}, which is not asked directly before"
        behind = [each for each in lesson.cells[place + 1 :] if not SHOWN & {*each.tags}]
        if not behind or behind[0].code:
            yield f"no explanation follows the run {cell.name}"
    if len(settled) > MOST_RUNS:
        yield f"{len(settled)} predictions; {MOST_RUNS} is the limit"


def size(lesson: Lesson) -> Iterator[str]:
    core = lesson.core
    if len(core) > MOST_CELLS:
        yield f"the core has {len(core)} cells; {MOST_CELLS} is the limit"
    if (words := times.words(core)) > MOST_WORDS:
        yield f"the core has {words} words; {MOST_WORDS} is the limit"
    if times.PLACE not in lesson.cells[0].text:
        yield f"the first cell does not say how long the lesson takes: {times.PLACE}"


def scenario(lesson: Lesson) -> Iterator[str]:
    """A key run fits a screen, has a value to change, and hides no scenario in a helper."""
    hidden = _imported_from_lessons(lesson.cells)
    for _, cell, _ in lesson.key_runs:
        tree = ast.parse(cell.text)
        if (lines := len(cell.text.splitlines())) > MOST_LINES:
            yield f"the run {cell.name} has {lines} lines; {MOST_LINES} is the limit"
        if not any(isinstance(s, ast.Assign) and _is_literal(s.value) for s in tree.body):
            yield f"the run {cell.name} has no value to change on a line of its own"
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            if call.args or call.keywords or "(" in name:  # a method of a result is no scenario
                continue
            if name.split(".")[0] in hidden:
                yield f"the run {cell.name} hides its scenario in {ast.unparse(call)}"


def deeper(lesson: Lesson) -> Iterator[str]:
    """Each section uses the set-up of the core, and names of its own."""
    ready = PROVIDED | _bound(cell for cell in lesson.core if cell.has("setup"))
    for section in lesson.sections():
        here = ready | _bound(section)
        for cell in section:
            if unknown := sorted(_loaded(cell) - here):
                heading = section[0].text.splitlines()[0].removeprefix("## ")
                yield f"{heading}, cell {cell.name}: {', '.join(unknown)} comes from elsewhere"


def at_work(lesson: Lesson) -> Iterator[str]:
    """Once per lesson: the raw output of Kafka's tool, and the broker's own log."""
    text = "\n".join(cell.text for cell in lesson.core if cell.code)
    for call in ("lab.tool(", "lab.broker_log("):
        if call not in text:
            yield f"the core never shows {call}…)"


def written(lesson: Lesson) -> Iterator[str]:
    """What the two notebooks hold: no outputs for the learner, all in the solutions."""
    student = nbformat.read(student_notebook(lesson.source), as_version=4)
    if any(cell.get("outputs") or cell.get("execution_count") for cell in student.cells):
        yield "the learner's notebook carries outputs"
    reference = nbformat.read(reference_notebook(lesson.source), as_version=4)
    if not any(noted(cell).get("moves") for cell in reference.cells[:MOVES_WITHIN]):
        yield f"nothing moves within the first {MOVES_WITHIN} cells"
    core = {cell.name for cell in lesson.core}
    for cell in reference.cells:
        rows = noted(cell).get("rows", 0)
        if rows > MOST_ROWS and cell.id in core:
            yield f"the run {cell.id} compares {rows} rows; {MOST_ROWS} is the limit"


def defined(lesson: Lesson) -> Iterator[str]:
    """Every question and exercise has its cells and its definition."""
    there = [found.id for found in catalogue.of_group(lesson.group)]
    cells = {cell.name for cell in lesson.cells if cell.has("stub")}
    for name in sorted(cells - set(there)):
        known = ", ".join(there) or "none"
        yield f"exercises/__init__.py does not define {name}, which has cells; it has {known}"
    for name in sorted(set(there) - cells):
        yield f"exercises/__init__.py defines {name}, which has no cells"
    listed = [found.id for found in catalogue.of_group(lesson.group) if isinstance(found, Exercise)]
    met = [cell.name for cell in lesson.cells if cell.has("stub") and cell.name in listed]
    if set(listed) == set(met) and listed != met:
        yield f"exercises/__init__.py lists its exercises in another order than {', '.join(met)}"


def sentences(lesson: Lesson) -> Iterator[str]:
    """Each choice of a prediction has the sentence for a learner who took it."""
    for found in catalogue.of_group(lesson.group):
        if isinstance(found, Prediction) and (left := set(found.letters()) - set(found.because)):
            yield f"{found.id} has no sentence for {', '.join(sorted(left))}"
        if isinstance(found, Prediction):
            texts = [text for text in found.because.values() if isinstance(text, str)]
            for name in sorted({name for text in texts for name in fields(text)}):
                if set(name) & set(".["):
                    yield f"{found.id} names {{{name}}}: no observation with . or [ can stand there"
        if isinstance(found, Prediction) and not found.choices and not found.form:
            yield f"{found.id} does not say what form its answer has"


def fields(text: str) -> Iterator[str]:
    """The observations that a sentence names."""
    return (name for _, name, _, _ in string.Formatter().parse(text) if name)


RULES: tuple[Callable[[Lesson], Iterator[str]], ...] = (
    order, size, scenario, deeper, at_work, written, defined, sentences,
)  # fmt: skip


# -- over all lessons


def right_letters(source: Path) -> list[str]:
    """The letters that the solutions choose where one letter is right, in order."""
    found = []
    for cell in read_source(source):
        if cell.has("predict") and cell.has("solution") and (call := ASKED.search(cell.text)):
            answer = ast.literal_eval(f"({call.group(2).rstrip(', ')},)")
            if len(answer) == 1 and re.fullmatch("[a-j]", str(answer[0])):
                found.append(str(answer[0]))
    return found


def positions(by_lesson: dict[str, Sequence[str]]) -> list[str]:
    """Faults in where right answers are: no letter is a good guess."""
    found = []
    for group, letters in by_lesson.items():
        for three in zip(letters, letters[1:], letters[2:], strict=False):
            if len(set(three)) == 1:
                found.append(f"{group}: {three[0]} is right three times in a row")
    every = [letter for letters in by_lesson.values() for letter in letters]
    for letter in "abcd" if every else "":
        share = every.count(letter) / len(every)
        if not 0.15 <= share <= 0.4:
            found.append(f"{letter} is right in {share:.0%} of the questions; 15 % to 40 % is fair")
    return found


def everywhere() -> list[Lesson]:
    return [read(source) for source in source_files()]


def noted(cell: Any) -> dict[str, Any]:
    """What the build noted of a cell of the reference notebook."""
    found: dict[str, Any] = cell.metadata.get(witness.KEY, {})
    return found


# -- names in code


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except ValueError:
        return False
    return True


def _imported_from_lessons(cells: Sequence[Cell]) -> set[str]:
    found = set()
    for cell in cells:
        for node in ast.walk(ast.parse(_python(cell))) if cell.code else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(LESSON_PACKAGES):
                found |= {alias.asname or alias.name for alias in node.names}
    return found


def _bound(cells: Any) -> set[str]:
    found: set[str] = set()
    for cell in cells:
        for node in ast.walk(ast.parse(_python(cell))) if cell.code else ():
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    found.add(name)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    found.add(name)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    found |= {alias.asname or alias.name.split(".")[0] for alias in names}
                case ast.ExceptHandler(name=str(name)):
                    found.add(name)
    return found


def _loaded(cell: Cell) -> set[str]:
    return {
        node.id
        for node in (ast.walk(ast.parse(_python(cell))) if cell.code else ())
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _python(cell: Cell) -> str:
    """The cell without IPython's magics."""
    return "\n".join("" if line[:1] in "%!" else line for line in cell.text.splitlines())
