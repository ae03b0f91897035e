"""`kafkalab report FOLDER…`."""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "folders", nargs="+", type=Path, metavar="FOLDER", help="what kafkalab grade has written"
    )
    command.add_argument("--out", type=Path, default=Path("course"), help="folder for the summary")
    command.add_argument("--roster", type=Path, metavar="CSV", help="the class: names or ids")
    command.add_argument("--title", default="Course", help="of the page")


def run(chosen: argparse.Namespace) -> int:
    from kit.grading.class_files import totals_table, write_course
    from kit.grading.identity import read_roster
    from kit.tables import Table

    roster = read_roster(chosen.roster) if chosen.roster else None
    book = write_course(chosen.folders, chosen.out, roster, chosen.title)
    head, *rows = totals_table(book)
    closing = f"{len(book.marked)} submissions; {chosen.out / 'course.html'} has the details."
    print(Table(chosen.title, head, rows, closing))
    return 0
