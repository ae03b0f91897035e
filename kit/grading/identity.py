"""Tells whose submission a file is: from its folder, its name or a roster.

The contents say nothing about it, because a learner can type any name there.  The first that
holds decides:

1. the folder (or inner archive) right below the place that the command line named, unless its
   files have Canvas names of several learners;
2. the file's own name, without the notebook's;
3. the place itself, where the file has only the notebook's name, or several have one name.

The folders of Moodle and the file names of Canvas are understood.  With a roster, the name
found so is looked up there, and the report carries the roster's name and id.  The number in such a
folder or file name counts a system's participants or groups.  It is no roster's id: another learner
may have that one, so only the name beside it decides.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

from kit.course import group_of, source_files, student_notebook
from kit.grading.intake import Found, read_file, stem
from kit.grading.messages import natural, one_line

LONGEST = 80
MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>[0-9]+)_assignsubmission_(?:file|onlinetext)_?")
CANVAS = re.compile(r"(?P<name>[^_\W\d][^_\W]*)_(?:LATE_)?(?P<id>[0-9]+)_[0-9]+_.+")
COPY = re.compile(r"(?:[ _-]*\([0-9]+\)|[ _-]+copy[ _-]*[0-9]*)+$", re.IGNORECASE)
ROSTER_NOTE = "The roster has "
SAYS_NOTHING = {"", "notebook", "untitled", "submission", "nb", "solution", "homework"}
"""Names of files that name no learner."""
NO_ACCENTS = str.maketrans(
    {"ß": "ss", "ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"}
)
"""Letters that Unicode does not take apart."""


@dataclass(frozen=True, slots=True)
class Learner:
    name: str
    source: str
    """What the name was taken from: "folder", "file name", "archive" or "roster"."""
    id: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """One row of a roster.  Two of one name are two people."""

    name: str
    id: str
    keys: frozenset[str]
    row: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Roster:
    header: tuple[str, ...] = ()
    people: tuple[Person, ...] = ()
    by_key: dict[str, list[Person]] = field(default_factory=dict)

    def find(self, claim: str) -> list[Person]:
        """The people that a name, an id or an address fits: what a teacher or a learner wrote."""
        whole = self.by_key.get(_key(claim), [])
        ids = [word for word in _words(claim) if _is_surely_an_id(word)]
        words = [p for word in ids for p in self.by_key.get(f"id {word}", [])]
        return list(dict.fromkeys(whole or words))

    def named(self, name: str) -> list[Person]:
        """The people of this name; an id is no name."""
        return self.by_key.get(f"name {_key(name)}", [])


def learners(found: list[Found], roster: Roster | None = None) -> list[Learner]:
    """For each file, in order, the learner it belongs to."""
    words = _notebook_names()
    packs = _packs(found)
    claims = [(each, _claim(each, words, packs)) for each in found]
    names = Counter(claim[0].casefold() for each, claim in claims if not each.inside)
    shared = {name for name, count in names.items() if count > 1}
    return [_learner(each, claim, shared, roster) for each, claim in claims]


def _packs(found: list[Found]) -> set[str]:
    """Folders that a teacher filled with a download of Canvas: no learner's."""
    names: dict[str, set[str]] = {}
    for each in found:
        if match := CANVAS.fullmatch(stem(each.trail[-1])):
            names.setdefault(each.trail[0], set()).add(match["name"])
    return {folder for folder, there in names.items() if len(there) > 1}


def read_roster(path: Path) -> Roster:
    """Reads a CSV with a header.  Raises RuntimeError with a sentence.

    It needs a column of names (`name`, `student`, `full name`, or `first name` and `last name`)
    or of ids (`id`, `id number`, `username`, `login`, `sis user id`); `email` helps.  The exports
    of common learning systems have these.
    """
    try:
        text = io.TextIOWrapper(io.BytesIO(read_file(path)), encoding="utf-8-sig").read()
    except UnicodeDecodeError:
        raise RuntimeError(f"The roster {path} is not in UTF-8; save it as UTF-8.") from None
    except Exception as error:
        raise RuntimeError(f"The roster {path}: {error}") from None
    try:
        header, *rows = _rows(text) or [[]]
    except csv.Error as error:
        raise RuntimeError(
            f"The roster {path} is not CSV ({error}); look for a quotation mark without its second."
        ) from None
    columns = {_key(cell): number for number, cell in reversed(list(enumerate(header)))}
    people: dict[tuple[str, str | int], Person] = {}
    for number, row in enumerate(rows):
        if person := _person(columns, row, len(header)):
            people.setdefault((person.name, person.id or number), person)  # once for two sections
    if not people:
        raise RuntimeError(f"The roster {path} needs a header with name or id, and a row for each.")
    by_key: dict[str, list[Person]] = {}
    for person in people.values():
        for key in sorted(person.keys):
            by_key.setdefault(key, []).append(person)
    return Roster(tuple(map(str.strip, header)), tuple(people.values()), by_key)


IDS = ("idnumber", "sisuserid", "studentid", "sisloginid", "username", "login", "id")
NAMES = ("name", "fullname", "student", "learner")
ADDRESSES = ("emailaddress", "email")
FIRST_NAMES, LAST_NAMES = ("firstname", "givenname"), ("lastname", "surname", "familyname")
COLUMNS = {*IDS, *NAMES, *ADDRESSES, *FIRST_NAMES, *LAST_NAMES}
"""The columns of a roster, by the letters of their names: `firstname` is "First name", too."""


def _rows(text: str) -> list[list[str]]:
    """The rows that are not empty.  Raises csv.Error."""
    if match := re.match(r"sep=.\s+", text):  # a note to spreadsheets
        text = text[match.end() :]
    header = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t|", key=lambda each: len(COLUMNS & set(map(_key, header.split(each)))))
    lines = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    return [row for row in lines if any(map(str.strip, row))]


def _person(columns: dict[str, int], row: list[str], width: int) -> Person | None:
    row = [*row, *[""] * width][:width]

    def of(names: tuple[str, ...]) -> str:
        cells = [row[columns[name]].strip() for name in names if name in columns]
        return next(filter(None, cells), "")

    name = of(NAMES) or f"{of(FIRST_NAMES)} {of(LAST_NAMES)}".strip()
    ids = [row[columns[n]].strip() for n in (*IDS, *ADDRESSES) if n in columns]
    ids = [each for each in ids if each]
    ids += [each.partition("@")[0] for each in ids if "@" in each]
    if name.casefold() == "points possible" or not (name or ids):
        return None
    keys = {f"id {_key(each)}" for each in ids} | {_key(each) for each in ids}
    words = _words(name)
    orders = permutations(words) if len(words) <= 4 else _rotations(words)
    names = {"".join(order) for order in orders}
    names -= {""}
    keys |= names | {f"name {each}" for each in names}
    shown = one_line(name or of(IDS) or of(ADDRESSES), LONGEST)
    return Person(shown, one_line(of(IDS) or of(ADDRESSES), LONGEST), frozenset(keys - {""}),
                  tuple(row))  # fmt: skip


def _learner(
    found: Found, claim: tuple[str, str, str], shared: set[str], roster: Roster | None
) -> Learner:
    name, identifier, source = claim
    if not name or (not found.inside and name.casefold() in shared):
        name, source = found.holder, "folder" if not found.inside else _kind(found)
        identifier = ""
    if match := MOODLE.fullmatch(name):
        name, identifier = match["name"], match["id"]
    name = one_line(unicodedata.normalize("NFC", name), LONGEST) or "unknown"
    if roster is None:
        return Learner(name, source, identifier)
    people = roster.named(name) if identifier else roster.find(name)
    if len(people) == 1:
        return Learner(people[0].name, f"roster, by {source}", people[0].id)
    note = f"{ROSTER_NOTE}no such learner."
    if people:
        note = f"{ROSTER_NOTE}{len(people)} learners of this name; name the folder by the id."
    return Learner(name, source, identifier, note)


def _claim(found: Found, words: list[str], packs: set[str]) -> tuple[str, str, str]:
    """A learner's name, an id and where they were found; empty where the file names no learner."""
    if len(found.trail) > 1 and found.trail[0] not in packs:
        name = found.trail[0]
        name = stem(name) if name.casefold().endswith(".zip") else name
        match = MOODLE.fullmatch(name)
        return (match["name"], match["id"], "folder") if match else (name, "", "folder")
    name = stem(found.trail[-1])
    if match := CANVAS.fullmatch(name):
        return match["name"], match["id"], "file name"
    name = COPY.sub("", name)
    for word in words:
        name = re.sub(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", "", name, flags=re.IGNORECASE)
    name = name.strip(" ._-")
    return ("" if name.casefold() in SAYS_NOTHING else name), "", "file name"


def _kind(found: Found) -> str:
    return "archive" if ".zip" in found.file.casefold() else "folder"


def _notebook_names() -> list[str]:
    """Names and numbers of the course's notebooks, the longest first."""
    sources = source_files()
    names = {student_notebook(source).stem for source in sources}
    names |= {name.replace("-", "_") for name in names} | {group_of(s) for s in sources}
    return sorted(names, key=lambda name: (-len(name), natural(name)))


def _is_surely_an_id(word: str) -> bool:
    """Whether a word beside others can be an id alone: no name, year, week or attempt."""
    return any(map(str.isdigit, word)) and len(word) >= (6 if word.isdigit() else 4)


def _rotations(words: list[str]) -> list[list[str]]:
    """The last names may come first."""
    return [words[n:] + words[:n] for n in range(len(words))]


def _words(text: str) -> list[str]:
    """The words in small letters without accents: "Müller, Anna" -> ["muller", "anna"]."""
    plain = unicodedata.normalize("NFKD", text).casefold().translate(NO_ACCENTS)
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return re.findall(r"[^\W_]+", plain)


def _key(text: str) -> str:
    return "".join(_words(text))
