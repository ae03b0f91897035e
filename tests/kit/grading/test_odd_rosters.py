"""A roster as a school exports it, and the names that learners give their files.

Credit for the wrong learner is the worst of all faults here: what is not sure gets a note.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.grading import identity, intake

NUMBERED = "Name,ID\nAnna Müller,1\nBob Stone,2\nCarl Jung,2026\nDora Lee,1000017\nEve Fox,s001\n"
NAMED = "Name,Username\nAnna Müller,anna\nBob Stone,bob\n"
SHORT = "Name,ID\nAnna Müller,a01\n"
SCHOOL = "_1005_assignsubmission_file/06.ipynb"
NO_ONE = ""


def one(name: str, header: str = "Name") -> str:
    return f'{header}\n"{name}"\n'


CLAIMS = [
    # a roster, the place of a file, whose it is by the roster
    # A number beside a name is a try, a week or a year before it is an id.
    (NUMBERED, "anna 2.ipynb", NO_ONE),
    (NUMBERED, "Anna Müller 2.ipynb", NO_ONE),
    (NUMBERED, "anna muller 2026.ipynb", NO_ONE),
    (NUMBERED, "week 1.ipynb", NO_ONE),
    (NUMBERED, "2026 homework.ipynb", NO_ONE),
    (NUMBERED, "v2/06.ipynb", NO_ONE),
    (NUMBERED, "2.ipynb", "Bob Stone"),
    (NUMBERED, "06 2.ipynb", "Bob Stone"),
    (NUMBERED, "homework 1000017.ipynb", "Dora Lee"),
    (NUMBERED, "homework s001 final.ipynb", "Eve Fox"),
    (NUMBERED, "Bob Stone (2).ipynb", "Bob Stone"),
    (NUMBERED, "Bob Stone - Copy.ipynb", "Bob Stone"),
    (NUMBERED, "s001 1000017.ipynb", NO_ONE),
    # A user name that is a first name is a stranger's first name, too.
    (NAMED, "Anna Stranger.ipynb", NO_ONE),
    (NAMED, "Anna Stranger/06.ipynb", NO_ONE),
    (NAMED, "anna bob.ipynb", NO_ONE),
    (NAMED, "anna.ipynb", "Anna Müller"),
    (NAMED, "stranger_anna_06.ipynb", NO_ONE),
    # Separators, headers and ends of lines.
    ("sep=;\nName;ID\nAnna Müller;a01\n", "a01.ipynb", "Anna Müller"),
    ("Name,ID\r\nAnna Müller,a01\r\n", "a01.ipynb", "Anna Müller"),
    ("Name,ID\rAnna Müller,a01\r", "a01.ipynb", "Anna Müller"),
    ("Name|ID\nAnna Müller|a01\n", "a01.ipynb", "Anna Müller"),
    ("Name\tID\nAnna Müller\ta01\n", "a01.ipynb", "Anna Müller"),
    ("\n\nName,ID\nAnna Müller,a01\n", "a01.ipynb", "Anna Müller"),
    ("Name , ID \n Anna Müller , a01 \n", "a01.ipynb", "Anna Müller"),
    ('"Surname, first";Name;ID\nx;Anna Müller;a01\n', "a01.ipynb", "Anna Müller"),
    ('Name;ID\n"Müller; Anna";a01\n', "Anna Müller.ipynb", "Müller; Anna"),
    ("Name;ID\nAnna, Dr.;a01\n", "a01.ipynb", "Anna, Dr."),
    ("firstname,lastname,username\nAnna,Müller,a01\n", "Anna Müller.ipynb", "Anna Müller"),
    ("First_Name,Last_Name,User-Name\nAnna,Müller,a01\n", "a01.ipynb", "Anna Müller"),
    ("FIRST NAME,LAST NAME\nAnna,Müller\n", "Müller Anna.ipynb", "Anna Müller"),
    ("Name,Name,ID\nAnna Müller,x,a01\n", "Anna Müller.ipynb", "Anna Müller"),
    ("Name,Student ID\nAnna,E 12\n", "e12.ipynb", "Anna"),
    ("Name,E-Mail\nAnna,anna+k@x.org\n", "ANNA+K@X.ORG.ipynb", "Anna"),
    ("Student,ID,SIS Login ID\n\"Student, Test\",9,\nAnna,8,an8\n", "an8.ipynb", "Anna"),
    # Cells that are empty, rows that come again.
    ("ID,Name\na01,\n,Bob Stone\n,\n", "a01.ipynb", "a01"),
    ("ID,Name\na01,\n,Bob Stone\n,\n", "Bob Stone.ipynb", "Bob Stone"),
    ("Name,ID,Section\nAnna,a01,A\nAnna,a01,B\n", "Anna.ipynb", "Anna"),
    ("Name\nAnna\nAnna\n", "Anna.ipynb", NO_ONE),
    ("Name,ID\nAnna,a01\nBob,a01\n", "a01.ipynb", NO_ONE),
    ("Name,Email\nAnna,info@x.org\nBob,info@y.org\n", "info.ipynb", NO_ONE),
    ("Name,ID\nAnna Müller,007\n", "7.ipynb", NO_ONE),
    ("Name,ID\nAnna Müller,007\n", "007.ipynb", "Anna Müller"),
    # A system's number is no id.
    ("Name,ID\nAnna Müller,1005\n", f"Eve Fox{SCHOOL}", NO_ONE),
    ("Name,ID\n1005,7\n", f"1005{SCHOOL}", "1005"),
    # Names of the world.
    (one("王伟"), "王伟.ipynb", "王伟"),
    (one("Иванов Пётр"), "Пётр Иванов.ipynb", "Иванов Пётр"),
    (one("Łukasz Żak"), "Lukasz Zak.ipynb", "Łukasz Żak"),
    (one("Søren Ærø"), "soren aero.ipynb", "Søren Ærø"),
    (one("Straße Groß"), "STRASSE GROSS.ipynb", "Straße Groß"),
    (one("Müller Anna\nMuller Anna"), "anna.ipynb", NO_ONE),
    ("Name\nMuller Anna\nMüller Anna\n", "anna muller.ipynb", NO_ONE),
    (one("Plato"), "plato.ipynb", "Plato"),
    ('Name\nAnna "Annie" Müller\n', "Anna Annie Müller.ipynb", 'Anna "Annie" Müller'),
    (one("van der Berg Smith, Anna Maria"), f"Anna Maria van der Berg Smith{SCHOOL}",
     "van der Berg Smith, Anna Maria"),
    (one("de la Cruz y Soto, Juan"), "delacruzysotojuan_1_2_06.ipynb", "de la Cruz y Soto, Juan"),
    (one("Garcia Lopez, Ana Belen"), "garcialopezanabelen_1_2_06.ipynb",
     "Garcia Lopez, Ana Belen"),
    ("Name,ID\n🙂,a01\n", "a01.ipynb", "🙂"),
    ("Name,ID\n🙂,a01\n", "🙂.ipynb", NO_ONE),
    ("Name,ID\nAnna\0Müller,a01\n", "a01.ipynb", r"Anna\x00Müller"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "place", "name"), CLAIMS, ids=[str(n) for n in range(len(CLAIMS))]
)
def test_whose_a_file_is(tmp_path, text, place, name) -> None:
    roster = written(tmp_path, text)
    path = tmp_path / "class" / place
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    (learner,) = identity.learners(intake.search([tmp_path / "class"]), roster)
    assert (learner.name if learner.source.startswith("roster") else NO_ONE) == name
    assert bool(learner.note) is (name == NO_ONE)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('Name,ID\n"Anna Müller,a01\nBob Stone,b02\n', "quotation mark without its second"),
        ('Name,ID\n"Anna" Müller,a01\n', "quotation mark without its second"),
        (f"Name,ID\n{'x' * 200_000},a01\n", "larger than field limit"),
        ("Class of 2026\nName,ID\nAnna,a01\n", "needs a header with name or id"),
        ("Student,ID\n    Points Possible,\n", "and a row for each"),
        ("Name,ID\n,\n", "and a row for each"),
        ("sep=;", "needs a header"),
        ("\n \n", "needs a header"),
    ],
)
def test_what_is_no_roster_gets_a_sentence(tmp_path, text, sentence) -> None:
    with pytest.raises(RuntimeError, match=sentence):
        written(tmp_path, text)


def written(folder: Path, text: str) -> identity.Roster:
    (folder / "roster.csv").write_bytes(text.encode())
    return identity.read_roster(folder / "roster.csv")
