"""A look-up in a log, shown read by read.

    the segment     the last one that begins at or below the offset
    the index       a binary search over its entries, eight bytes a probe
    the log         from the entry's position on, header by header, to the batch

The search is the engine's: `Segments.from_offset`, `Segment.find`, `Segment.offset_for_timestamp`.
It runs over a disk that writes down each read, and the steps here are those reads, in their order,
with what was found in the bytes.  Nothing is searched a second time but to name the batches that
the scan passed.

A timestamp goes through two indexes.  The time index gives an offset before which no record can be
as late, the offset index a position; then the first record that is late enough is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from engine.records.batch import BatchHeader, CorruptBatch
from engine.storage import offset_index, time_index
from engine.storage.segment import Segment
from kit.film.words import plural
from kit.segment_panel.files import Read
from kit.segment_panel.folder import Replica
from kit.segment_panel.wording import moment, name, offsets

SCANNED_SHOWN = 24
"""Steps of a scan; of a longer one the middle is a single step."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step.  `kind`: segment, probe, entry, memory, read, batch, record, answer.

    Probes and entries have a `slot` in the index named `file`, and leave `low` to `high`
    (exclusive) in question; batches have a `position` and a `size` in the segment.
    """

    kind: str
    says: str
    segment: int = -1
    file: str = ""
    slot: int = -1
    low: int = 0
    high: int = 0
    position: int = -1
    size: int = 0
    read: Read | None = None


@dataclass(frozen=True, slots=True)
class LookUp:
    """A question, the steps to its answer, and where the answer is (-1: nowhere)."""

    question: str
    steps: tuple[Step, ...]
    answer: str
    segment: int = -1
    position: int = -1
    offset: int = -1

    @property
    def bytes_read(self) -> int:
        return sum(len(step.read.data) for step in self.steps if step.read is not None)


def of_offset(replica: Replica, offset: int) -> LookUp:
    """How a broker finds an offset."""
    question = f"offset {offset}"
    start, end = replica.log_start, replica.log_end
    if not start <= offset <= end:
        said = f"The log has {start} to {end}: a Fetch of {offset} answers OFFSET_OUT_OF_RANGE."
        return _done(question, [], said)
    if offset == end:
        return _done(question, [], f"{offset} is the log's end: the next record gets it.")
    steps: list[Step] = []
    for segment in replica.log.from_offset(offset):
        steps.append(_chosen(replica, segment, offset, bool(steps)))
        with replica.moment.recorded() as reads:
            position, header = segment.find(offset)
        begin = segment.offset_index.lookup(offset)[1]
        steps += _offset_probes(segment, reads, offset)
        steps += _scan(segment, reads, begin, position, offset)
        if header is not None:
            said = _holds(header, offset, position, segment)
            return _done(question, steps, said, segment.base_offset, position, offset)
    return _done(question, steps, f"No batch ends at or above {offset}.")


def of_timestamp(replica: Replica, timestamp: int) -> LookUp:
    """How a broker finds the first record with a timestamp or a later one."""
    question = f"time {moment(timestamp)}"
    steps: list[Step] = []
    for segment in replica.log:
        if segment.max_timestamp < timestamp:
            said = f"Its largest timestamp is {moment(segment.max_timestamp)}: too early."
            steps.append(Step("segment", f"Segment {segment.base_offset}: {said}",
                              segment.base_offset))  # fmt: skip
            continue
        said = f"Its largest timestamp is {moment(segment.max_timestamp)}: late enough."
        steps.append(Step("segment", f"Segment {segment.base_offset}: {said}",
                          segment.base_offset))  # fmt: skip
        return _in_time(replica, segment, timestamp, question, steps)
    said = "Every segment ends before it: ListOffsets answers offset -1, no such record."
    return _done(question, steps, said)


def _in_time(
    replica: Replica, segment: Segment, timestamp: int, question: str, steps: list[Step]
) -> LookUp:
    start = replica.log_start
    try:
        with replica.moment.recorded() as reads:
            found = segment.offset_for_timestamp(timestamp, start)
    except CorruptBatch as error:
        return _done(question, steps, f"A batch cannot be decoded: {error.message}.")
    steps += _time_probes(segment, reads, timestamp)
    known = max(segment.time_index.lookup(timestamp)[1], start)
    steps += _offset_probes(segment, reads, known)
    begin = segment.offset_index.lookup(known)[1]
    at = -1
    passed: list[Step] = []
    for header, position in segment.headers(begin):
        late = header.max_timestamp >= timestamp and header.last_offset >= start
        says = f"its largest timestamp, {moment(header.max_timestamp)}, is "
        passed.append(
            _batch(segment, header, position, says + ("late enough" if late else "early"))
        )
        if found is not None and header.base_offset <= found[0] <= header.last_offset:
            at = position
            break
    steps += _with_reads(segment, reads, _shortened(passed))
    if found is None:
        said = "No record from the log's start on is as late: ListOffsets answers offset -1."
        return _done(question, steps, said)
    offset, when, epoch = found
    whole = next((r for r in reversed(reads) if r.path == segment.path and r.position == at), None)
    steps.append(
        Step("record", f"The batch is decoded: record {offset} has {moment(when)}.",
             segment.base_offset, position=at, size=whole.length if whole else 0)
    )  # fmt: skip
    said = f"Offset {offset}, of {moment(when)}, written in leader epoch {epoch}."
    return _done(question, steps, said, segment.base_offset, at, offset)


# -- steps


def _chosen(replica: Replica, segment: Segment, offset: int, again: bool) -> Step:
    bases = replica.log.base_offsets
    if again:
        said = f"That segment holds nothing at or above {offset}: on to {segment.base_offset}."
    elif len(bases) == 1:
        said = f"The log has one segment, {segment.base_offset}."
    else:
        said = (
            f"Of {plural(len(bases), 'segment')}, {segment.base_offset} is the last that begins "
            f"at or below {offset}. Base offsets are kept in memory."
        )
    return Step("segment", said, segment.base_offset)


def _offset_probes(segment: Segment, reads: Sequence[Read], offset: int) -> Iterator[Step]:
    index = segment.offset_index
    mine = [read for read in reads if read.path == index.path]
    if not index.entries:
        yield Step("memory", f"{_short(index.path)} has no entry: the scan begins at position 0.",
                   segment.base_offset, _short(index.path), position=0)  # fmt: skip
    elif not mine:
        yield Step(
            "memory",
            f"The last entry, {index.last_offset} at {index.last_position}, is kept in memory. "
            f"{offset} is not below it: no search.",
            segment.base_offset, _short(index.path), index.entries - 1, index.entries - 1,
            index.entries, index.last_position,
        )  # fmt: skip
    yield from _probes(segment, mine, index.entries, offset_index.ENTRY_SIZE, offset)


def _time_probes(segment: Segment, reads: Sequence[Read], timestamp: int) -> Iterator[Step]:
    index = segment.time_index
    mine = [read for read in reads if read.path == index.path]
    if not index.entries:
        said = f"{_short(index.path)} has no entry: the search begins at the segment's start."
        yield Step("memory", said, segment.base_offset, _short(index.path))
    yield from _probes(segment, mine, index.entries, time_index.ENTRY_SIZE, timestamp)


def _probes(
    segment: Segment, reads: Sequence[Read], entries: int, entry_size: int, wanted: int
) -> Iterator[Step]:
    """The binary search as the reads show it: each but the last halves what is in question."""
    low, high = 0, entries
    for read in reads:
        slot = read.position // entry_size
        key, value = entry(read.data, segment.base_offset)
        file = _short(read.path)
        is_time = entry_size == time_index.ENTRY_SIZE
        words = f"{moment(key)} → offset {value}" if is_time else f"offset {key} → position {value}"
        if low == high:
            what = "from there on" if is_time else "the scan begins there"
            yield Step("entry", f"Entry {slot} it is: {words}; {what}.", segment.base_offset, file,
                       slot, slot, slot + 1, -1 if is_time else value, read=read)  # fmt: skip
            continue
        if key <= wanted:
            low, so = slot + 1, "not above it: look further on"
        else:
            high, so = slot, "above it: look before it"
        left = {0: "none", 1: "one"}.get(high - low, str(high - low))
        yield Step("probe", f"Entry {slot}: {words}, {so}. In question: {left}.",
                   segment.base_offset, file, slot, low, high, read=read)  # fmt: skip
    if reads and low == high == 0:
        said = "Every entry is above it: the search begins at the segment's start."
        yield Step("memory", said, segment.base_offset, _short(reads[0].path), position=0)


def entry(data: bytes, base_offset: int) -> tuple[int, int]:
    """An index entry: (offset, position) of eight bytes, (timestamp, offset) of twelve."""
    if len(data) == time_index.ENTRY_SIZE:
        return _signed(data[:8]), base_offset + _signed(data[8:])
    return base_offset + _signed(data[:4]), _signed(data[4:])


def _scan(
    segment: Segment, reads: Sequence[Read], begin: int, found: int, offset: int
) -> Iterator[Step]:
    passed = []
    for header, position in segment.headers(begin):
        ends = header.last_offset
        so = "it holds the offset" if ends >= offset else "it ends below: next"
        if ends >= offset and header.base_offset > offset:
            so = "the first that ends above; the offset itself was compacted away"
        passed.append(_batch(segment, header, position, so))
        if position == found:
            break
    yield from _with_reads(segment, reads, _shortened(passed))


def _batch(segment: Segment, header: BatchHeader, position: int, so: str) -> Step:
    return Step(
        "batch",
        f"Batch {_range(header)} at {position}: {so}.",
        segment.base_offset,
        _short(segment.path),
        position=position,
        size=header.size_in_bytes,
    )


def _shortened(passed: list[Step]) -> list[Step]:
    if len(passed) <= SCANNED_SHOWN:
        return passed
    head, tail = passed[: SCANNED_SHOWN // 2], passed[-SCANNED_SHOWN // 2 :]
    first, last = passed[len(head)], passed[-len(tail) - 1]
    between = replace(
        first,
        says=f"{len(passed) - len(head) - len(tail)} batches more are passed.",
        size=last.position + last.size - first.position,
    )
    return [*head, between, *tail]


def _with_reads(segment: Segment, reads: Sequence[Read], passed: list[Step]) -> Iterator[Step]:
    """Each read of the log before the first batch whose header it brought."""
    mine = [read for read in reads if read.path == segment.path]
    for step in passed:
        while mine and mine[0].position <= step.position:
            read = mine.pop(0)
            said = (
                f"{plural(len(read.data), 'byte')} of {_short(read.path)} from {read.position} on."
            )
            yield Step("read", f"Read {said}", segment.base_offset, _short(read.path),
                       position=read.position, size=len(read.data), read=read)  # fmt: skip
        yield step


def _done(question: str, steps: list[Step], said: str, segment: int = -1, position: int = -1,
          offset: int = -1) -> LookUp:  # fmt: skip
    last = Step("answer", said, segment, position=position)
    return LookUp(question, (*steps, last), said, segment, position, offset)


def _holds(header: BatchHeader, offset: int, position: int, segment: Segment) -> str:
    where = f"position {position} of {_short(segment.path)}"
    size = plural(header.size_in_bytes, "byte")
    return f"Offset {offset} is in the batch {_range(header)}, {size} at {where}."


def _range(header: BatchHeader) -> str:
    return offsets(header.base_offset, header.last_offset)


def _short(path: str) -> str:
    return name(path.rpartition("/")[2])


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)
