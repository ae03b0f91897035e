"""Names the mistake behind lost and repeated records, from what the trials have shown.

Each rule is a function from the evidence of all trials to a mistake, or None.  It looks at the
journal: what was committed, by which thread and listener, and what was processed by then.  No rule
reads the loop's source, so the same mistake is found however it is written.
"""

from __future__ import annotations

from kit.crashes.facts import (
    AT_LEAST_ONCE,
    AT_MOST_ONCE,
    EXACTLY_ONCE,
    Case,
    Mistake,
    records,
    where,
    writes,
)
from kit.crashes.losses import ahead_of_the_work, shared_key, swallowed
from kit.crashes.repeats import leaving, listener, never, one_short, seek_back, slow, zombie

IN_ONE_TRANSACTION = (
    "Write the results, and the offsets of what they come from, in one transaction."
)


def find(case: Case) -> list[Mistake]:
    """Every mistake that the trials show, the one with the plainest evidence first."""
    if writes(case):
        return [mistake for mistake in [_broken(case)] if mistake is not None]
    for first in (never, shared_key):
        if (alone := first(case)) is not None:
            return [alone]
    rules = [one_short, slow, zombie, seek_back, listener, leaving]
    if case.promise != AT_MOST_ONCE:
        rules = [ahead_of_the_work, swallowed, *rules]
    found = [mistake for rule in rules if (mistake := rule(case)) is not None]
    return found or [mistake for mistake in [_broken(case)] if mistake is not None]


def _broken(case: Case) -> Mistake | None:
    """The promise is broken, in a way that no rule explains."""
    must_not_lose = case.promise != AT_MOST_ONCE
    must_not_repeat = case.promise != AT_LEAST_ONCE
    for each in sorted(case.trials, key=lambda e: -len(e.lost) - len(e.repeated)):
        harm = [f"lost {records(each.lost)}"] if must_not_lose and each.lost else []
        if must_not_repeat and each.repeated:
            harm.append(f"repeated {records(each.repeated)}")
        if harm:
            committed = ", ".join(str(each.committed(partition)) for partition in each.values)
            return Mistake(
                f"not {case.promise}",
                f"{where(case, each)} {' and '.join(harm)}; the committed offset was {committed}.",
                IN_ONE_TRANSACTION if writes(case) else
                {AT_MOST_ONCE: "Commit before you process.",
                 EXACTLY_ONCE: "Give each effect a key by which a repetition is known."}.get(
                     case.promise, "Commit only what is processed."),
                each,
            )  # fmt: skip
    return None
