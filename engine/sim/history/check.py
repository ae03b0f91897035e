"""Judges a history: is what consumers read what producers were promised?

After the Kafka workload of Jepsen (jepsen.tests.kafka), with its idea of proof: every
anomaly names the few operations that contradict each other, and a record is called lost only
if a consumer read past its place.

    lost           v was acknowledged at 3 …         … and a reader went from 2 to 4,
                                                       or read w at 3, or found the end at 3
    unseen         v was acknowledged at 9 …         … and no reader has read there
    duplicate      v was sent once …                 … and is read at 3 and at 7, or is
                                                       read at 3 and acknowledged at 7
    reordered      v was sent before w …             … and w is at 3, v at 4
    skipped        a reader has v at 3 …             … another one goes from 2 to 4, or takes
                                                       3 for the end, where it is not
    non-monotonic  a reader is at 7 …                … and reads 5 next, without a seek
    phantom        v was not sent there, or it was    … and it is read
                   refused
    aborted-read   v's transaction was aborted …     … and a read_committed reader has it

Where a history says what applications have processed, processing.py judges that, too:
*unprocessed*, *reprocessed* and *disordered*.

One mistake gives one kind.  Where readers see different records at one offset, the one that
was seen last counts as what is there, and the others are lost.  Where they find different
ends, the highest counts: a lower one is a reader that stopped early, if a record was there
to be read (transaction markers also take offsets, and no consumer reads them).  A record that was
read counts as promised, as an acknowledged one does.  What is lost has no place in the log, so
its promised offset says nothing of the order, nor of duplicates.

With acks=0 an acknowledgement has no offset: no broker acknowledged anything, the producer only
takes the record for sent.  It counts as a promise all the same, and the record is called lost once
a reader has read the whole log without seeing it.

What is left out: records that are rightly gone, in compacted topics and below a log start that
DeleteRecords or retention has moved; and torn transactions, which need all partitions at once.  A
reader that is reset to such a log start seems to have gone past the deleted records, unless the
history has a seek to it; a deleted record that was not read before is unseen.  Each step is a
sort or a single pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from engine.sim.history.evidence import Evidence, PartitionEvidence, Sight
from engine.sim.history.findings import KINDS, Finding, Findings, finding, name_of, offset_of
from engine.sim.history.operations import REFUSED, History, Operation, Place, Send
from engine.sim.history.processing import judge_processing
from engine.sim.history.reading import judge_run

Key = tuple[str, str]
"""Topic and value."""
Lost = set[tuple[Place, int, str]]


def check(history: History) -> Findings:
    """Every anomaly of a history, in the order of KINDS, then of place and offset."""
    evidence = Evidence(history)
    found: list[Finding] = []
    sights: dict[Key, list[Sight]] = {}
    for place in sorted(evidence.partitions):
        partition = evidence.partitions[place]
        found += _replaced(evidence, partition)
        found += _phantoms(evidence, partition)
        known = _known(evidence, partition)
        for run in partition.runs:
            found += judge_run(evidence, partition, run, known)
        found += judge_processing(evidence, partition)
        for offset in known:
            sight = partition.settled[offset].first
            sights.setdefault((sight.read.topic, sight.read.value), []).append(sight)
    for send in evidence.sends:
        found += _lost(evidence, send, sights.get((send.topic, send.value), []))
    lost = {(each.place, each.offset, each.value) for each in found if each.kind == "lost"}
    for key in evidence.by_value:
        found += _duplicate_or_unseen(evidence, key, sights.get(key, []), lost)
    found += _reordered(evidence, sights, lost)
    order = {kind: number for number, kind in enumerate(KINDS)}
    found.sort(key=lambda each: (order[each.kind], each.place, each.offset))
    return Findings(tuple(found), history.text)


def _known(evidence: Evidence, partition: PartitionEvidence) -> list[int]:
    """The offsets that certainly hold a record, because a consumer has read it."""
    return [offset for offset, seen in partition.settled.items() if evidence.sources(seen.read)]


def _was(send: Send) -> str:
    place = send.topic, send.partition
    if send.offset < 0:
        return f"{send.value!r} was taken for sent to {name_of(place)}, without an offset"
    return f"{send.value!r} was acknowledged at {offset_of(place, send.offset)}"


# -- lost


def _lost(evidence: Evidence, send: Send, sights: list[Sight]) -> Iterator[Finding]:
    """An acknowledged record that is not at its offset, or nowhere if it has no offset."""
    partition = evidence.partitions.get((send.topic, send.partition))
    if partition is None or not evidence.is_promised(send):
        return
    place, offset, value = partition.place, send.offset, send.value
    proof: tuple[Operation, ...] = evidence.proof(send)
    if offset < 0:
        run = partition.whole
        if run is not None and not sights and send.was_over(run.reached_us):
            there = f"{_was(send)}, and {run.client} read all there is without seeing it"
            yield finding("lost", place, offset, value, there, *proof, *run.ends)
        return
    at_offset = partition.seen.get(offset, {})
    if value in at_offset:
        return
    stands = ""
    if sights:
        stands = f", and stands at offset {sights[0].read.offset}"
        stands += f" of {name_of(sights[0].read[:2])}" if sights[0].read[:2] != place else ""
        proof = (*proof, sights[0].as_poll())
    run, end = partition.passed(offset), partition.reached
    if at_offset:
        other = partition.settled[offset].last
        there = f"{_was(send)}, where {other.client} reads {other.read.value!r}{stands}"
        yield finding("lost", place, offset, value, there, *proof, other.as_poll())
    elif run is not None:
        there = f"{_was(send)}, and {run.client} went past it without seeing it{stands}"
        yield finding("lost", place, offset, value, there, *proof, *run.around(offset))
    elif end is not None and offset >= end.offset and send.was_over(end.at_us):
        there = f"{_was(send)}, which ends at offset {end.offset}{stands}"
        yield finding("lost", place, offset, value, there, *proof, end)


def _replaced(evidence: Evidence, partition: PartitionEvidence) -> Iterator[Finding]:
    """A record was read, and later its offset holds another one or is beyond the end."""
    end = partition.reached
    for offset, now_there in partition.settled.items():
        for value, seen in partition.seen[offset].items():
            sight = seen.first
            promise = [s for s in evidence.candidates(sight.read)
                       if s.offset == offset and evidence.is_promised(s)]  # fmt: skip
            done = "acknowledged and read" if promise else "read"
            was = f"{value!r} was {done} at offset {offset} of {name_of(partition.place)}"
            proof = (*evidence.proof(*promise[:1]), sight.as_poll())
            if seen is not now_there:
                what = f"{was} by {sight.client}, where {now_there.last.client} reads "
                what += f"{now_there.read.value!r}"
                yield finding("lost", partition.place, offset, value, what, *proof,
                              now_there.last.as_poll())  # fmt: skip
            elif end is not None and offset >= end.offset and seen.last.at_us < end.at_us:
                what = f"{was} by {sight.client}, and the partition ends at offset {end.offset}"
                yield finding("lost", partition.place, offset, value, what, *proof, end)


# -- the log against the sends


def _phantoms(evidence: Evidence, partition: PartitionEvidence) -> Iterator[Finding]:
    for offset, values in partition.seen.items():
        for value, seen in values.items():
            read = seen.read
            if evidence.sources(read):
                continue
            here = evidence.candidates(read)
            sends = here or evidence.by_value.get((read.topic, value), [])
            why = "was never sent"
            if sends:
                elsewhere = f"was sent to {name_of((read.topic, sends[0].partition))}"
                why = "was refused" if here else elsewhere
            what = f"{value!r} is read at offset {offset} of {name_of(partition.place)}, and {why}"
            yield finding("phantom", partition.place, offset, value, what,
                          *sends[:1], seen.first.as_poll())  # fmt: skip


def _duplicate_or_unseen(
    evidence: Evidence, key: Key, sights: list[Sight], lost: Lost
) -> Iterator[Finding]:
    """A value's places beyond its number of sends; if there are none, its unseen promises.

    A value has a place where a reader saw it, or where it was promised; each takes one send.
    """
    sends = [send for send in evidence.by_value[key] if send.verdict != REFUSED]
    places: dict[tuple[Place, int], Sight | Send] = {}
    for sight in sights:
        at = (sight.read.topic, sight.read.partition), sight.read.offset
        if (*at, key[1]) not in lost:
            places[at] = sight
    promised = [send for send in sends if evidence.is_promised(send)]
    for send in promised:
        at = (send.topic, send.partition), send.offset
        if send.offset >= 0 and (*at, key[1]) not in lost:
            places.setdefault(at, send)
    stands = list(places.items())
    for at, again in stands[len(sends) :]:
        used = [where for _, where in stands[: len(sends)]] + [again]
        seen = [each.as_poll() for each in used if isinstance(each, Sight)]
        commits = evidence.proof(*(each for each in used if isinstance(each, Send)))
        times = "once" if len(sends) == 1 else f"{len(sends)} times"
        word = "at" if isinstance(again, Sight) else "was acknowledged at"
        what = f"{key[1]!r} was sent {times}, and is at {offset_of(*stands[0][0])}"
        what += f" and {word} {offset_of(*at)}"
        yield finding("duplicate", *at, key[1], what, *sends, *commits, *seen)
    if len(stands) > len(sends):
        return
    for send in promised:
        place = send.topic, send.partition
        is_open = places.get((place, send.offset)) is send if send.offset >= 0 else not sights
        if is_open and (place, send.offset, send.value) not in lost:
            there = f"{_was(send)}, and no reader has read there"
            yield finding("unseen", place, send.offset, send.value, there, *evidence.proof(send))


def _reordered(
    evidence: Evidence,
    first_seen: dict[Key, list[Sight]],
    lost: Lost,
) -> Iterator[Finding]:
    """Neighboring records of one producer in the log, sent in the other order."""
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
                    f"{name_of(place)} they are at offsets {later[0]} and {earlier[0]}"
                )
                seen = [sight.as_poll() for _, _, send, sight in (earlier, later)
                        if sight is not None and (sight.read.offset != send.offset
                                                  or not evidence.is_promised(send))]  # fmt: skip
                yield finding("reordered", place, later[0], later[2].value, what,
                              *evidence.proof(later[2], earlier[2]), *seen)  # fmt: skip
