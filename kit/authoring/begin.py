"""Begins a lesson: `python -m kit.authoring new 05 the-control-plane`.

The folder `template/` beside this file is a small lesson that runs: a prediction with its run
beside Kafka, an exercise, a quiz, a Deeper section, a page for the teacher, a test.  It is copied
under the new number and name, and is green once it is built.  Then each part is replaced.
"""

from __future__ import annotations

import re
from pathlib import Path

TEMPLATE = Path(__file__).parent / "template"
NUMBER, SLUG = re.compile(r"[0-9]{2}"), re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
PAGE = "docs/instructor-guide.md"


class CannotBegin(RuntimeError):
    """The text says why, and what to do."""


def begin(root: Path, number: str, slug: str) -> list[Path]:
    """Writes the lesson's files below `root`; returns them.  Raises CannotBegin."""
    if not NUMBER.fullmatch(number):
        raise CannotBegin(f"{number!r} is no lesson's number; give two digits, such as 05.")
    if not SLUG.fullmatch(slug):
        raise CannotBegin(f"{slug!r} is no name; give words with dashes: the-control-plane.")
    if there := next(root.glob(f"lessons/*/source/{number}_*.py"), None):
        raise CannotBegin(f"Lesson {number} is there: {there.relative_to(root)}.")
    name = slug.replace("-", "_")
    lesson, tests = root / f"lessons/nb{number}_{name}", root / f"tests/lessons/nb{number}_{name}"
    title = slug.replace("-", " ").capitalize()
    files = {
        lesson / "source" / f"{number}_{name}.py": _filled("source.py", number, title),
        lesson / "exercises" / "__init__.py": _filled("exercises.py", number, title),
        lesson / "facilitator.md": _filled("facilitator.md", number, title),
        lesson / "__init__.py": f'"""Notebook {number}: {title.lower()}."""\n',
        tests / "test_verdicts.py": _filled("verdicts.py", number, title),
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [*files, *_linked(root, lesson, number, title)]


def _filled(name: str, number: str, title: str) -> str:
    text = (TEMPLATE / f"{name}.txt").read_text("utf-8")
    return text.replace("NN", number).replace("TITLE", title).replace("LOWER", title.lower())


def _linked(root: Path, lesson: Path, number: str, title: str) -> list[Path]:
    """Adds the lesson's row to the table of pages, in the order of the numbers."""
    page = root / PAGE
    if not page.is_file():
        return []
    lines = page.read_text("utf-8").splitlines(keepends=True)
    rows = [
        at for at, line in enumerate(lines) if re.match(r"\| \w\w .*\[facilitator page\]", line)
    ]
    after = [at for at in rows if lines[at][2:4] > number]
    link = f"[facilitator page](../{lesson.relative_to(root)}/facilitator.md)"
    row = f"| {number} {title.lower()} | {link} |\n"
    lines.insert(min(after, default=rows[-1] + 1), row)
    page.write_text("".join(lines), encoding="utf-8")
    return [page]
