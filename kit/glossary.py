"""The field's words, from docs/glossary.md, as cards and as a table.

The page is a Markdown table with the columns term, meaning and see.  Other names of a term
follow it in parentheses: `in-sync replicas (ISR)`.  Case, hyphens and the plural make no
difference when a term is looked up.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache

from kit.course import PROJECT
from kit.exercises.cards import ORANGE, Card
from kit.tables import Table

PAGE = PROJECT / "docs" / "glossary.md"
ROW = re.compile(
    r"\| (?P<name>[^|(]+?)(?: \((?P<others>[^|]+)\))? \| (?P<meaning>.+?) \|(?P<see>.*)\|"
)
SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class Term:
    """One row of the page; `see` is the setting, KIP, API or file, if there is one."""

    name: str
    others: tuple[str, ...]
    meaning: str
    see: str

    @property
    def title(self) -> str:
        """`in-sync replicas (ISR)`"""
        return f"{self.name} ({', '.join(self.others)})" if self.others else self.name


def term(word: str = "") -> Card | Table:
    """One term as a card, or all of them as a table.

    For an unknown word the card names the nearest terms, and those that a setting or a KIP
    belongs to: `term("linger.ms")`, `term("KIP-101")`.
    """
    terms = read()
    if not word:
        listed = [[each.title, each.meaning, each.see] for each in terms]
        return Table("Glossary", ["term", "meaning", "see"], listed)
    names = {key(name): each for each in terms for name in (each.name, *each.others)}
    found = names.get(key(word))
    if found is not None:
        rows = [("", found.meaning)] + ([("see", found.see)] if found.see else [])
        return Card("·", found.title, tuple(rows))
    near = [each for each in terms if word.lower() in each.see.lower().split(", ")]
    near += [names[name] for name in difflib.get_close_matches(key(word), names, SUGGESTIONS)]
    return Card(
        "!",
        f"The glossary has no term “{word}”.",
        tuple((each.title, each.meaning) for each in dict.fromkeys(near)),
        "" if near else "lab.term() lists all terms.",
        ORANGE,
        passed=False,
    )


@cache
def read() -> tuple[Term, ...]:
    """The terms in the order of the page."""
    return tuple(
        Term(
            row["name"],
            tuple((row["others"] or "").split(", ")) if row["others"] else (),
            row["meaning"],
            row["see"].strip().replace("`", ""),
        )
        for row in ROW.finditer(PAGE.read_text("utf-8"))
        if row["name"] != "term"
    )


def key(name: str) -> str:
    """What a term is found by: `In-Sync Replica` and `in-sync replicas` have the same key."""
    return " ".join(_singular(word) for word in re.split(r"[\s_-]+", name.strip().lower()))


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "xes", "sses")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word.removesuffix("s")
