"""The language of texts, messages, docstrings and test names: plain English, the field's words.

Each rule is a pattern and the remedy.  Quotes and Kafka's own names are not affected: the rules
hold for words of the course.
"""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
THIS = Path(__file__).relative_to(ROOT)
CHECKED = ("CONTRIBUTING.md", "README.md", "docs", "engine", "kit", "labs", "lessons", "tests")

BEGIN = r"(?:^|(?<=[.!?] )|(?<=[.!?]  ))"
RULES = {
    r"\bdeeds?\b": "action",
    r"\boffices?\b": "leadership, or controller",
    r"\bthe rests?\b(?! interface)": "the others, or what they are",
    r"\b(?:\d+|a|an?other|between|both|each|failed|first|how many|last|more|of|second|the|two) "
    r"(?:tries|try)\b": "attempt",
    r"\btold\b": "answered, received, reported",
    r"\bfor ever\b": "forever",
    r"\banew\b": "again",
    r"\bbefall(?:s|en)?\b|\bbefell\b": "happen to",
    r"\b(?:henceforth|hitherto|lest|nought|thence|thereof|whence)\b": "a word of today",
    r"\b(?:is|be|are|leads?|serves?) no more\b(?! than)": "no longer, has ended",
    r"\bwhat (?:became|becomes|befell) of\b": "say what happened",
    r"\b(?:who|what|which)ever\b|\bwhom(?:ever)?\b": "a real subject or object",
    r"(?<!user )(?<!\{)\b(?:nobody|somebody)(?:'s)?\b": "no broker, a client: a real subject",
    r"\b(?:(?:de)?serial|initial|minim|normal|optim|organ|recogn|summar|synchron)is(?:e|ation|ing)"
    r"|\b(?:behavi|fav|hon|neighb)our": "the American spelling",
    BEGIN + r"(?-i:Who) [^.!?]*[.!;]": "a real subject",
    BEGIN + r"(?-i:Never|Not until|Only then|Nor) (?:are|can|did|do|does|has|have|is|will)\b":
        "subject, verb, object",
}  # fmt: skip
"""Pattern -> what to write instead."""
PATTERN = re.compile("|".join(f"(?P<r{number}>{rule})" for number, rule in enumerate(RULES)), re.I)
NAME = re.compile(r"^def test_(\w+)", re.M)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line number and text of what a person reads in a file."""
    content = (ROOT / path).read_text("utf-8")
    if path.parts[0] == "tests":
        for found in NAME.finditer(content):
            yield content.count("\n", 0, found.start()) + 1, found[1].replace("_", " ")
    elif path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(content).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                for number, line in enumerate(token.string.split("\n")):
                    yield token.start[0] + number, line.strip("#\"'").strip()
    else:
        yield from enumerate(content.split("\n"), 1)


def files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *CHECKED],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    kinds = (".py", ".md", ".js", ".table", ".txt")
    return [
        path
        for path in map(Path, listed.stdout.splitlines())
        if path.suffix in kinds
        and path != THIS
        and (path.parts[0] != "tests" or path.suffix == ".py")
        and (ROOT / path).exists()
    ]


def remedies(text: str) -> list[str]:
    """For each rule that a text breaks: the words, and what to write instead."""
    use = list(RULES.values())
    return [
        f"“{found[0]}”: {use[int((found.lastgroup or 'r0')[1:])]}"
        for found in PATTERN.finditer(text)
    ]


def faults(paths: list[Path]) -> list[str]:
    return [
        f"{path}:{line}: {remedy}"
        for path in paths
        for line, text in texts(path)
        for remedy in remedies(text)
    ]


def test_texts_speak_plain_english() -> None:
    assert len(files()) > 300
    assert faults(files()) == []


@pytest.mark.parametrize(
    "text",
    [
        "Its deed is on the tape.",
        "the rest is flushed",
        "after two tries",
        "The producer is told NOT_LEADER.",
        "Who leads is decided here.",
        "The leader died.  Who fetches next waits.",
        "Never does a follower append.",
        "whoever leads",
        "nobody's record",
        "The leader recognises a repeat.",
    ],
)
def test_house_words_are_found(text: str) -> None:
    assert remedies(text)


@pytest.mark.parametrize(
    "text",
    [
        "The controller tries to elect a leader.",
        "Who leads in epoch 2?",
        "the user nobody",
        "the REST interface",
        "It takes no more bytes.",
        "untold",
    ],
)
def test_plain_words_are_not(text: str) -> None:
    assert remedies(text) == []
