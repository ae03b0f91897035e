"""Judges what a group's applications did with the records of a partition.

A consumer that reads a record has not processed it yet, and a committed offset only claims that
everything below it was processed.  The three facts can disagree, and that is what delivery
semantics are about:

    unprocessed    5 is below the committed offset …  … and no application has processed it: the
                                                       next one starts above it
    reprocessed    one application processed 5 …      … and then the same or another one did
    disordered     7 was processed …                  … before 5 was for the first time

At most once means that nothing is reprocessed, at least once that nothing is unprocessed.  A
record that is neither processed nor committed is only late: the next application gets it.  So a
history that judges a group should end when its applications have nothing more to read.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.sim.history.evidence import Evidence, PartitionEvidence
from engine.sim.history.findings import Finding, finding, offset_of
from engine.sim.history.operations import Commit, Process


def judge_processing(evidence: Evidence, partition: PartitionEvidence) -> Iterator[Finding]:
    """Nothing, for a partition of which a history has no Process and no Commit."""
    yield from _unprocessed(evidence, partition)
    yield from _reprocessed(partition)
    yield from _disordered(partition)


def _unprocessed(evidence: Evidence, partition: PartitionEvidence) -> Iterator[Finding]:
    if not partition.commits:
        return
    highest = max(commit.offset for commit in partition.commits)
    for offset, seen in partition.settled.items():
        known = offset < highest and evidence.sources(seen.read)
        if not known or offset in partition.processed:
            continue
        record, value = seen.first.as_poll(), seen.read.value
        past = min((each for each in partition.commits if each.offset > offset), key=_when)
        what = (
            f"{value!r} is at {offset_of(partition.place, offset)}, the committed offset is "
            f"{past.offset}, and no application has processed it"
        )
        yield finding("unprocessed", partition.place, offset, value, what,
                      *evidence.sources(seen.read)[:1], record, past)  # fmt: skip


def _reprocessed(partition: PartitionEvidence) -> Iterator[Finding]:
    for offset, done in sorted(partition.processed.items()):
        first, *more = sorted(done, key=_when)
        for again in more:
            by = f"by {first.client} and again by {again.client}"
            if first.client == again.client:
                by = f"twice by {first.client}"
            what = f"{again.value!r}, {offset_of(partition.place, offset)}, was processed {by}"
            yield finding("reprocessed", partition.place, offset, again.value, what, first, again)


def _disordered(partition: PartitionEvidence) -> Iterator[Finding]:
    firsts = [min(done, key=_when) for done in partition.processed.values()]
    firsts.sort(key=lambda each: (each.at_us, each.offset))
    highest = firsts[0] if firsts else None
    for each in firsts:
        assert highest is not None
        if each.offset < highest.offset:
            what = (
                f"{each.value!r}, {offset_of(partition.place, each.offset)}, was first processed "
                f"after {highest.value!r}, offset {highest.offset}"
            )
            yield finding(
                "disordered", partition.place, each.offset, each.value, what, highest, each
            )
        else:
            highest = each


def _when(step: Process | Commit) -> tuple[int, str]:
    return step.at_us, step.client
