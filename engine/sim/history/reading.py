"""Judges one consumer's reads of a partition, from one seek to the next.

A consumer's position only rises, and it gets every record that it passes.  Three things can go
wrong in such a run; for `skipped`, other readers are the witnesses:

    non-monotonic   it is given an offset at or below the one that it was given before
    skipped         it went past an offset at which another reader read a record,
                    or found the end before such an offset
    aborted-read    it asked for read_committed, and was given what was aborted

A read_committed consumer may rightly not see the records of a transaction that was aborted, or
whose end is not known; so those are never skipped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from engine.sim.history.evidence import Evidence, PartitionEvidence, Run
from engine.sim.history.findings import Finding, finding, name_of, offset_of
from engine.sim.history.operations import ABORTED, Send


def judge_run(
    evidence: Evidence, partition: PartitionEvidence, run: Run, known: list[int]
) -> Iterator[Finding]:
    """All that is wrong with a run; `known` are the offsets that have a record for certain."""
    yield from _non_monotonic(run)
    yield from _skipped(evidence, partition, run, known)
    yield from _stopped_early(evidence, partition, run, known)
    yield from _aborted(evidence, run)


def _non_monotonic(run: Run) -> Iterator[Finding]:
    for before, after in pairwise(run.sights):
        if after.read.offset <= before.read.offset:
            place = after.read[:2]
            what = (f"{run.client} had read offset {before.read.offset} of {name_of(place)}, and "
                    f"then reads offset {after.read.offset}, without a seek")  # fmt: skip
            yield finding("non-monotonic", place, after.read.offset, after.read.value, what,
                          before.as_poll(), after.as_poll())  # fmt: skip


def _skipped(
    evidence: Evidence, partition: PartitionEvidence, run: Run, known: list[int]
) -> Iterator[Finding]:
    first, last = bisect_left(known, run.start), bisect_left(known, run.end)
    mine = {sight.read.offset: None for sight in run.sights}
    hides = run.client in evidence.read_committed
    gap: list[int] = []
    for offset in (*known[first:last], -1):
        missing = offset >= 0 and offset not in mine
        if missing and not (hides and evidence.may_be_hidden(partition.settled[offset].read)):
            gap.append(offset)
        elif gap and not missing:
            sight = partition.settled[gap[0]].first
            sends = evidence.sources(sight.read)[:1]
            what = (
                f"{run.client} went past {offset_of(partition.place, gap[0])}, where "
                f"{sight.client} read {sight.read.value!r}, without seeing it{_more(len(gap))}"
            )
            yield finding("skipped", partition.place, gap[0], sight.read.value, what,
                          *(evidence.proof(*sends) if hides else sends), sight.as_poll(),
                          *run.around(gap[0]))  # fmt: skip
            gap = []


def _more(count: int) -> str:
    return f" and {count - 1} more" if count > 1 else ""


def _stopped_early(
    evidence: Evidence, partition: PartitionEvidence, run: Run, known: list[int]
) -> Iterator[Finding]:
    """A reader that took an offset for the end, though records were there already."""
    stop, end = run.reached, partition.reached
    if stop is None or end is None or stop.offset >= end.offset:
        return
    hides = run.client in evidence.read_committed
    gap: list[tuple[int, list[Send]]] = []
    for offset in known[bisect_left(known, run.end) : bisect_left(known, end.offset)]:
        seen = partition.settled[offset]
        sends = evidence.sources(seen.read)
        if seen.first.at_us > stop.at_us:  # read too late to say; a promise may have come in time
            sends = [each for each in sends if each.offset == offset
                     and evidence.is_promised(each) and each.was_over(stop.at_us)]  # fmt: skip
        if sends and not (hides and evidence.may_be_hidden(seen.read)):
            gap.append((offset, sends))
    if gap:
        offset, sends = gap[0]
        sight = partition.settled[offset].first
        late = sight.at_us > stop.at_us
        what = (
            f"{run.client} took {offset_of(partition.place, stop.offset)} for the end, which is "
            f"at offset {end.offset}, and missed offset {offset}, where {sight.client} "
            f"{'reads' if late else 'had read'} {sight.read.value!r}{_more(len(gap))}"
        )
        yield finding("skipped", partition.place, offset, sight.read.value, what,
                      *(evidence.proof(sends[0]) if hides or late else sends[:1]),
                      sight.as_poll(), stop, end)  # fmt: skip


def _aborted(evidence: Evidence, run: Run) -> Iterator[Finding]:
    if run.client not in evidence.read_committed:
        return
    for sight in run.by_offset:
        sends = evidence.sources(sight.read)
        if sends and all(evidence.outcome(send) == ABORTED for send in sends):
            send, read = sends[0], sight.read
            what = (f"{run.client} reads {read.value!r} at {offset_of(read[:2], read.offset)}, "
                    f"and {send.transaction} was aborted")  # fmt: skip
            yield finding("aborted-read", read[:2], read.offset, read.value, what,
                          send, evidence.ends[send.client, send.transaction],
                          sight.as_poll())  # fmt: skip
