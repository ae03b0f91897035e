"""Judges a history: is what consumers read what producers were promised?

After the Kafka workload of Jepsen (jepsen.tests.kafka), with its idea of proof: every
anomaly names the few operations that contradict each other, and nothing is called lost
unless somebody read past the place where it should be.

    lost           v was acknowledged at 3 …         … and a reader went from 2 to 4,
                                                       or read w at 3, or found the end at 3
    unseen         v was acknowledged at 9 …         … and nobody has read as far
    duplicate      v was sent once …                 … and is read at 3 and at 7
    reordered      v was sent before w …             … and w is at 3, v at 4
    skipped        a reader has v at 3 …             … another one goes from 2 to 4
    non-monotonic  a reader is at 7 …                … and reads 5 next, without a seek
    phantom        nobody sent v, or it was refused  … and it is read
    aborted-read   v's transaction was aborted …     … and a read_committed reader has it

One mistake gives one kind.  Where two readers see different records at one offset, the one
that was seen last counts as what is there, and the other is lost.  A record that was read
counts as promised, as an acknowledged one does.  What is lost has no place in the log, so its
promised offset says nothing of the order.

What is left out: compacted topics, where records go missing rightly; and torn
transactions, which need all partitions at once.  Each step is a sort or a single pass.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from engine.sim.history.evidence import Evidence, PartitionEvidence, Run, Sight
from engine.sim.history.findings import KINDS, Finding, Findings
from engine.sim.history.operations import ABORTED, REFUSED, History, Operation, Place, Send


def check(history: History) -> Findings:
    """Every anomaly of a history, in the order of KINDS, then of place and offset."""
    evidence = Evidence(history)
    found: list[Finding] = []
    first_seen: dict[tuple[str, str], list[Sight]] = {}
    for place in sorted(evidence.partitions):
        partition = evidence.partitions[place]
        found += _replaced(evidence, partition)
        found += _phantoms(evidence, partition)
        known = _known(evidence, partition)
        for run in partition.runs:
            found += _non_monotonic(run)
            found += _skipped(evidence, partition, run, known)
            found += _aborted(evidence, run)
        for sight in partition.settled.values():
            first_seen.setdefault((sight.read.topic, sight.read.value), []).append(sight)
    for send in evidence.sends:
        found += _missing(evidence, send, first_seen)
    found += _duplicates(evidence, first_seen)
    lost = {(each.place, each.offset, each.value) for each in found if each.kind == "lost"}
    found += _reordered(evidence, first_seen, lost)
    order = {kind: number for number, kind in enumerate(KINDS)}
    found.sort(key=lambda each: (order[each.kind], each.place, each.offset))
    return Findings(tuple(found), history.text)


def _finding(kind: str, place: Place, offset: int, value: str, sentence: str,
             *operations: Operation) -> Finding:  # fmt: skip
    proof = tuple(sorted(dict.fromkeys(operations), key=lambda each: each.at_us))
    return Finding(kind, *place, offset, value, f"{sentence}.", proof)


def _name(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


# -- lost and unseen


def _missing(
    evidence: Evidence, send: Send, first_seen: dict[tuple[str, str], list[Sight]]
) -> Iterator[Finding]:
    """An acknowledged record that nobody saw at its offset."""
    if not evidence.is_promised(send):
        return
    place, offset, value = (send.topic, send.partition), send.offset, send.value
    partition = evidence.partitions.get(place)
    elsewhere = first_seen.get((send.topic, value))
    was = f"{value!r} was acknowledged at offset {offset} of {_name(place)}"
    if offset < 0:
        was = f"{value!r} was acknowledged by {_name(place)}"
        partition = None if elsewhere else partition
    if partition is None:
        if not elsewhere:
            there = f"{was}, and nobody has read that far"
            yield _finding("unseen", place, offset, value, there, *evidence.proof(send))
        return
    at_offset = partition.seen.get(offset, {})
    if value in at_offset:
        return
    stands = f", and stands at offset {elsewhere[0].read.offset}" if elsewhere else ""
    proof: tuple[Operation, ...] = evidence.proof(send)
    if elsewhere:
        proof = (*proof, elsewhere[0].as_poll())
    run = partition.passed(offset) if offset >= 0 else None
    end = partition.reached
    if at_offset:
        other = partition.settled[offset]
        there = f"{was}, where {other.client} reads {other.read.value!r}{stands}"
        yield _finding("lost", place, offset, value, there, *proof, other.as_poll())
    elif run is not None:
        there = f"{was}, and {run.client} went past it without seeing it{stands}"
        yield _finding("lost", place, offset, value, there, *proof, *run.around(offset))
    elif (
        end is not None
        and max(send.ended_us, send.at_us) <= end.at_us
        and (offset < 0 or offset >= end.offset)
    ):
        there = f"{was}, which ends at offset {end.offset}{stands}"
        yield _finding("lost", place, offset, value, there, *proof, end)
    elif not elsewhere:
        there = f"{was}, and nobody has read that far"
        yield _finding("unseen", place, offset, value, there, *proof)


def _replaced(evidence: Evidence, partition: PartitionEvidence) -> Iterator[Finding]:
    """A record that somebody read, and that later is another one, or beyond the end."""
    end = partition.reached
    for offset, now_there in partition.settled.items():
        for value, sight in partition.seen[offset].items():
            promise = [s for s in evidence.candidates(sight.read)
                       if s.offset == offset and evidence.is_promised(s)]  # fmt: skip
            done = "acknowledged and read" if promise else "read"
            was = f"{value!r} was {done} at offset {offset} of {_name(partition.place)}"
            proof = (*evidence.proof(*promise[:1]), sight.as_poll())
            if sight is not now_there:
                what = f"{was} by {sight.client}, where {now_there.client} reads "
                what += f"{now_there.read.value!r}"
                yield _finding("lost", partition.place, offset, value, what, *proof,
                               now_there.as_poll())  # fmt: skip
            elif end is not None and offset >= end.offset and sight.at_us < end.at_us:
                what = f"{was} by {sight.client}, and the partition ends at offset {end.offset}"
                yield _finding("lost", partition.place, offset, value, what, *proof, end)


# -- the log against the sends


def _phantoms(evidence: Evidence, partition: PartitionEvidence) -> Iterator[Finding]:
    for offset, values in partition.seen.items():
        for value, sight in values.items():
            sends = evidence.candidates(sight.read)
            if any(send.verdict != REFUSED for send in sends):
                continue
            why = "was refused" if sends else "was never sent"
            what = f"{value!r} is read at offset {offset} of {_name(partition.place)}, and {why}"
            yield _finding("phantom", partition.place, offset, value, what,
                           *sends[:1], sight.as_poll())  # fmt: skip


def _duplicates(
    evidence: Evidence, first_seen: dict[tuple[str, str], list[Sight]]
) -> Iterator[Finding]:
    for key, sights in first_seen.items():
        sends = [send for send in evidence.by_value.get(key, ()) if send.verdict != REFUSED]
        for again in sights[len(sends) :] if sends else ():
            first, read = sights[0], again.read
            times = "once" if len(sends) == 1 else f"{len(sends)} times"
            what = (f"{read.value!r} was sent {times}, and is at offset {first.read.offset} of "
                    f"{_name(first.read[:2])} and at offset {read.offset} of "
                    f"{_name(read[:2])}")  # fmt: skip
            yield _finding("duplicate", read[:2], read.offset, read.value, what,
                           *sends, *(each.as_poll() for each in sights[: len(sends)]),
                           again.as_poll())  # fmt: skip


def _reordered(
    evidence: Evidence,
    first_seen: dict[tuple[str, str], list[Sight]],
    lost: set[tuple[Place, int, str]],
) -> Iterator[Finding]:
    """Neighbours in the log, of one producer, that were sent the other way round."""
    logs: dict[tuple[str, Place], list[tuple[int, int, Send, Sight | None]]] = {}
    for number, send in enumerate(evidence.sends):
        if send.verdict == REFUSED or len(evidence.by_value[send.topic, send.value]) > 1:
            continue
        sights = first_seen.get((send.topic, send.value))
        if sights:
            read = sights[0].read
            log = logs.setdefault((send.client, read[:2]), [])
            log.append((read.offset, number, send, sights[0]))
        elif (
            send.offset >= 0
            and evidence.is_promised(send)
            and ((send.topic, send.partition), send.offset, send.value) not in lost
        ):
            log = logs.setdefault((send.client, (send.topic, send.partition)), [])
            log.append((send.offset, number, send, None))
    for (client, place), log in logs.items():
        log.sort(key=lambda entry: entry[:2])
        for earlier, later in pairwise(log):
            if later[1] < earlier[1] and later[0] > earlier[0]:
                what = (
                    f"{client} sent {later[2].value!r} before {earlier[2].value!r}, and in "
                    f"{_name(place)} they are at offsets {later[0]} and {earlier[0]}"
                )
                seen = [sight.as_poll() for _, _, send, sight in (earlier, later)
                        if sight is not None and (sight.read.offset != send.offset
                                                  or not evidence.is_promised(send))]  # fmt: skip
                yield _finding("reordered", place, later[0], later[2].value, what,
                               *evidence.proof(later[2], earlier[2]), *seen)  # fmt: skip


# -- one consumer's way through the log


def _non_monotonic(run: Run) -> Iterator[Finding]:
    for before, after in pairwise(run.sights):
        if after.read.offset <= before.read.offset:
            place = after.read[:2]
            what = (f"{run.client} had read offset {before.read.offset} of {_name(place)}, and "
                    f"then reads offset {after.read.offset}, without a seek")  # fmt: skip
            yield _finding("non-monotonic", place, after.read.offset, after.read.value, what,
                           before.as_poll(), after.as_poll())  # fmt: skip


def _known(evidence: Evidence, partition: PartitionEvidence) -> list[int]:
    """The offsets at which there is a record for certain, because somebody has read it."""
    return [
        offset
        for offset, sight in partition.settled.items()
        if any(send.verdict != REFUSED for send in evidence.candidates(sight.read))
    ]


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
            sight, count = partition.settled[gap[0]], len(gap)
            sends = evidence.candidates(sight.read)[:1]
            more = f" and {count - 1} more" if count > 1 else ""
            what = (
                f"{run.client} went past offset {gap[0]} of {_name(partition.place)}, where "
                f"{sight.client} read {sight.read.value!r}, without seeing it{more}"
            )
            yield _finding("skipped", partition.place, gap[0], sight.read.value, what,
                           *(evidence.proof(*sends) if hides else sends), sight.as_poll(),
                           *run.around(gap[0]))  # fmt: skip
            gap = []


def _aborted(evidence: Evidence, run: Run) -> Iterator[Finding]:
    if run.client not in evidence.read_committed:
        return
    for sight in run.by_offset:
        sends = evidence.candidates(sight.read)
        if sends and all(evidence.fate(send) == ABORTED for send in sends):
            send, read = sends[0], sight.read
            what = (f"{run.client} reads {read.value!r} at offset {read.offset} of "
                    f"{_name(read[:2])}, and {send.transaction} was aborted")  # fmt: skip
            yield _finding("aborted-read", read[:2], read.offset, read.value, what,
                           send, evidence.ends[send.client, send.transaction],
                           sight.as_poll())  # fmt: skip
