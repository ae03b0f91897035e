"""Plans for half a day, two days and twelve weeks, from the notebooks' own minutes.

A plan says which notebooks come when.  How long each takes is counted from its source
(kit/authoring/times.py), and breaks are put in between, so no time in a plan is typed by hand.
A notebook that this copy of the course does not have is left out.  The tables in
docs/instructor-guide.md are written by `kafkalab guide --write-plans`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kit.authoring import times
from kit.authoring.sources import Cell, read_source
from kit.course import PROJECT, source_of

PAGE = PROJECT / "docs" / "instructor-guide.md"
BEGIN, END = "<!-- plans: written by kafkalab guide --write-plans -->", "<!-- end of plans -->"
WORK_BEFORE_A_BREAK, BREAK, LUNCH = 75, 15, 60
LONG_DAY = 200
"""Minutes of work from which a day has a lunch."""


class NoSuchPlan(RuntimeError):
    """The text says which there are."""


@dataclass(frozen=True, slots=True)
class Plan:
    name: str
    title: str
    about: str
    parts: tuple[tuple[str, ...], ...]
    """Notebooks of each day, or of each week."""
    weekly: bool = False


PLANS = (
    Plan(
        "half-day",
        "Half a day",
        "What every user of Kafka needs: who has a copy of a record, who reads it, and what is "
        "read twice.",
        (("00", "06", "09", "10"),),
    ),
    Plan(
        "two-days",
        "Two days",
        "The first day follows a record into the log and onto its copies; on the second one "
        "brokers and clients fail.",
        (("00", "01", "02", "03", "04", "06"), ("07", "08", "09", "10", "11")),
    ),
    Plan(
        "twelve-weeks",
        "Twelve weeks",
        "The whole course: the core in class, the *Deeper* sections at home.",
        (
            ("00", "01"),
            ("02", "03"),
            ("04", "05"),
            ("06",),
            ("07",),
            ("08", "09"),
            ("10", "11"),
            ("12", "13"),
            ("14", "15", "L1"),
            ("16", "L2", "L3"),
            ("17", "18", "L4", "L5"),
            ("19", "20", "L6"),
        ),
        weekly=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Lesson:
    number: str
    title: str
    core: int
    """Minutes, as the notebook's first cell says them."""
    deeper: int


def lesson(number: str) -> Lesson | None:
    """A notebook's title and minutes; None if this copy does not have it."""
    source = source_of(number)
    if source is None:
        return None
    cells = read_source(source)
    first = times.core(cells)
    rest = times.minutes(number, cells[len(first) :])
    core = times.rounded(times.minutes(number, first))
    return Lesson(number, _title(cells), core, times.rounded(rest) if rest else 0)


def _title(cells: Sequence[Cell]) -> str:
    """`# 06 · Replication and the ISR` -> `06 · Replication and the ISR`."""
    return next(cell.text for cell in cells if not cell.code).splitlines()[0].removeprefix("# ")


def find(name: str) -> Plan:
    """Raises NoSuchPlan."""
    for plan in PLANS:
        if plan.name == name:
            return plan
    raise NoSuchPlan(f"There is no plan {name}; there are {', '.join(p.name for p in PLANS)}.")


def document(plan: Plan) -> str:
    """The plan in Markdown."""
    lessons = [[each for n in part if (each := lesson(n))] for part in plan.parts]
    rows = list(_weeks(lessons) if plan.weekly else _days(lessons))
    return "\n".join([f"### {plan.title}", "", plan.about, "", *rows])


def _weeks(weeks: Sequence[Sequence[Lesson]]) -> Iterator[str]:
    yield "| week | notebooks | in class | at home |"
    yield "|---|---|---|---|"
    for number, week in enumerate(weeks, 1):
        if not week:
            yield f"| {number} | questions, and what was left over | | |"
            continue
        names = "; ".join(each.title for each in week)
        core, deeper = sum(each.core for each in week), sum(each.deeper for each in week)
        yield f"| {number} | {names} | {core} min | {deeper} min |"


def _days(days: Sequence[Sequence[Lesson]]) -> Iterator[str]:
    several = len(days) > 1
    yield f"| {'day | ' if several else ''}from | what | minutes |"
    yield f"|{'---|' if several else ''}---|---|---|"
    for number, day in enumerate(days, 1):
        for at, what, minutes in timetable(day):
            first = f"| {number} " if several else ""
            yield f"{first}| {at // 60}:{at % 60:02} | {what} | {minutes or ''} |"


def timetable(day: Sequence[Lesson]) -> Iterator[tuple[int, str, int]]:
    """Minute, what, how long: the notebooks with breaks between, and the end."""
    whole = sum(each.core for each in day)
    at, worked, since_break, had_lunch = 0, 0, 0, whole < LONG_DAY
    for each in day:
        is_lunch = not had_lunch and worked + each.core / 2 > whole / 2
        if is_lunch or (since_break and since_break + each.core > WORK_BEFORE_A_BREAK):
            pause = LUNCH if is_lunch else BREAK
            yield at, "lunch" if is_lunch else "break", pause
            at, since_break, had_lunch = at + pause, 0, had_lunch or is_lunch
        yield at, each.title, each.core
        at, worked, since_break = at + each.core, worked + each.core, since_break + each.core
    yield at, "end", 0


def section() -> str:
    """What is between the marks in the instructor guide."""
    return "\n\n".join(document(plan) for plan in PLANS)


def written() -> str:
    """The instructor guide with its plans written again."""
    before, _, others = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = others.partition(END)
    return f"{before}{BEGIN}\n\n{section()}\n\n{END}{after}"
