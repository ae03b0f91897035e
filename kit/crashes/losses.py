"""Mistakes that lose records: a committed offset above work that was not done."""

from __future__ import annotations

from kit.crashes.evidence import Evidence, Place
from kit.crashes.facts import (
    Case,
    Mistake,
    count,
    life,
    middle,
    records,
    stood_at,
    where,
    works_elsewhere,
)
from kit.crashes.journal import Note


def shared_key(case: Case) -> Mistake | None:
    """A record was never processed, because its idempotency key was another record's."""
    for each in case.trials:
        ignored = {(n.details[0], n.details[1]) for n in each.notes if n.kind == "ignored"}
        if harmed := [place for place in each.lost if place in ignored]:
            return Mistake(
                "one key for several records",
                f"Another record had brought the same idempotency key: {records(harmed)} had no "
                "effect in any attempt.",
                "Make the key of what is different in each record, such as the order's id.",
                each,
            )
    return None


def ahead_of_the_work(case: Case) -> Mistake | None:
    """The committed offset went past a record before its work was done."""
    losses = [each for each in case.trials if _ahead(each)]
    if not losses:
        return None
    worst = max(losses, key=lambda each: (len(_ahead(each)), middle(each)))
    partition, offset = _ahead(worst)[0]
    commits = [n for n in life(worst) if n.kind == "commit" and n.who == "A1"
               and dict(n.details[1]).get(partition, 0) > offset]  # fmt: skip
    elsewhere = any(works_elsewhere(each) for each in losses)
    lost, harm = records(_ahead(worst)), where(case, worst)
    if commits:
        call = commits[-1]
        upto, line = dict(call.details[1])[partition], case.line(call.details[4])
        done = len({p for p in worst.done_by(worst.before(call)) if p[0] == partition})
        says = f"Line {line} committed offset {upto} when {count(done, 'record')} had been "
        says += f"processed. {harm} lost {lost}: the next application starts at {upto}."
        if elsewhere:
            return Mistake(
                "commit ahead of async work", says,
                "Commit an offset only when the workers have finished every record below it.",
                worst)  # fmt: skip
        return Mistake(
            "commit before processing", says,
            "Process first, then commit. (This order is right where a record may be lost and must "
            "not be processed twice: at most once.)", worst)  # fmt: skip
    stood = stood_at(worst, partition)
    done = len({p for p in worst.done_by(life(worst)) if p[0] == partition})
    says = f"The client had committed offset {stood} by itself when {count(done, 'record')} had "
    says += f"been processed. {harm} lost {lost}."
    if elsewhere:
        return Mistake(
            "auto-commit with async work", says + " Another thread still had them to do.",
            "Auto-commit takes a record for done when poll has handed it over. Turn it off, and "
            "commit when the workers have finished.", worst)  # fmt: skip
    return Mistake(
        "auto-commit of a record in hand", says,
        "Set enable.auto.offset.store=false and call store_offsets after the work: then "
        "auto-commit only takes what is done.", worst)  # fmt: skip


def _ahead(evidence: Evidence) -> list[Place]:
    """The lost records, except those whose processing had failed before a commit took them."""
    failures = {(n.details[0], n.details[1]): n for n in evidence.of("failed")}
    return [
        place
        for place in evidence.lost
        if place not in failures
        or any(
            dict(n.details[1]).get(place[0], 0) > place[1]
            for n in evidence.before(failures[place])
            if n.kind == "commit"
        )
    ]


def swallowed(case: Case) -> Mistake | None:
    """Processing failed, the loop went on, and a later commit went past the record."""
    for each in case.situation("failure"):
        failed = _went_on_after_failure(each)
        if failed is None:
            continue
        partition, offset = failed.details
        later = [n for n in each.after(failed) if n.kind == "start"]
        stood = stood_at(each, partition)
        return Mistake(
            "swallowed exception",
            f"Processing record {offset} failed, and the exception went no further: the loop went "
            f"on with {count(len(later), 'record')}, and the committed offset rose to {stood}. "
            f"Record {offset} is never processed.",
            "Let the exception end the application, or go back to the record, or put it into a "
            "dead-letter topic before you commit past it.",
            each,
        )
    return None


def _went_on_after_failure(evidence: Evidence) -> Note | None:
    """A failure after which the same run went on to a later record, and lost this one."""
    for failed in evidence.of("failed"):
        if (failed.details[0], failed.details[1]) not in evidence.lost:
            continue
        later = [n for n in evidence.after(failed) if n.who == failed.who]
        if any(n.kind == "start" and n.details[1] > failed.details[1] for n in later):
            return failed
    return None
