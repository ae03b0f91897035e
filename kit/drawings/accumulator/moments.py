"""The accumulator's state after each thing that a producer noted.

    moments(producer.notes, producer.records, producer.producer.settings, partitions=6)

Notes of one kind at one time make one moment: sixty records that are handed over at once are one
step for the reader.  Sizes are those of the producer's own rules: a batch grows by each record's
encoded size, and takes batch.size from buffer.memory, or more for a larger record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from engine.client.producer_batch import HEADER_SIZE, Sent, record_size
from engine.client.settings import ProducerSettings
from engine.events import Trace

Note = tuple[float, Trace]
SHOWN = ("record", "blocked", "sent", "answered", "retry", "acknowledged", "reported", "refused",
         "unknown", "expired", "split")  # fmt: skip
QUEUED, FLYING = "queued", "in flight"


@dataclass
class Lot:
    """One batch on its way: `size` in bytes, `since_ms` its first record, `sent_ms` its request."""

    number: int
    partition: int
    since_ms: float
    place: str = QUEUED
    records: int = 0
    size: int = HEADER_SIZE
    memory: int = 0
    base_ms: int = 0
    request: int = 0
    broker: int = 0
    attempt: int = 0
    sent_ms: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class Moment:
    """`lots` are the batches that wait or are in flight; `stored` counts records by partition."""

    ms: float
    kind: str
    sentence: str
    lots: tuple[Lot, ...]
    stored: dict[int, int]
    blocked: int
    refused: int
    memory: int


@dataclass
class _State:
    settings: ProducerSettings
    records: Sequence[Sent]
    lots: dict[int, Lot] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)
    blocked: set[int] = field(default_factory=set)
    refused: int = 0

    def moment(self, ms: float, kind: str, sentence: str) -> Moment:
        return Moment(
            ms, kind, sentence,
            tuple(replace(each) for each in self.lots.values()),
            dict(self.stored), len(self.blocked), self.refused,
            sum(each.memory for each in self.lots.values()),
        )  # fmt: skip


def moments(
    notes: Iterable[Note], records: Sequence[Sent], settings: ProducerSettings
) -> list[Moment]:
    """One moment for each step, the empty beginning first."""
    state = _State(settings, records)
    found = [state.moment(0.0, "start", "The accumulator is empty.")]
    shown = [(ms, line) for ms, line in notes if line.kind in SHOWN]
    for (ms, kind, _), group in groupby(shown, key=lambda note: _step(*note)):
        sentences = list(_applied(state, kind, ms, [line for _, line in group]))
        if sentences:
            found.append(state.moment(ms, kind, " ".join(sentences)))
    return found


def _step(ms: float, line: Trace) -> tuple[float, str, object]:
    """Notes with the same step are one moment."""
    apart = dict(line.fields).get("request") if line.kind == "sent" else None
    return ms, line.kind, apart


def _applied(state: _State, kind: str, ms: float, lines: list[Trace]) -> Iterator[str]:
    """Changes the state by notes of one kind; yields what to say about it."""
    if kind == "record":
        yield _joined(state, ms, lines)
    elif kind == "blocked":
        state.blocked |= {dict(line.fields)["record"] for line in lines}
        yield _blocks(state, len(lines))
    elif kind == "sent":
        yield _sent(state, ms, lines)
    else:
        for line in lines:
            yield from _one(state, kind, line)


def _joined(state: _State, ms: float, lines: list[Trace]) -> str:
    grown: dict[int, int] = {}
    for line in lines:
        fields = dict(line.fields)
        record = state.records[fields["record"] - 1]
        state.blocked.discard(fields["record"])
        lot = state.lots.get(fields["batch"])
        if lot is None:
            lot = Lot(fields["batch"], _index(line), ms, base_ms=record.made_us // 1000)
            first = HEADER_SIZE + record_size(record, 0, lot.base_ms)
            lot.memory = max(state.settings.batch_size, first)
            state.lots[lot.number] = lot
        lot.size += record_size(record, lot.records, lot.base_ms)
        lot.records += 1
        grown[lot.number] = grown.get(lot.number, 0) + 1
    said = [_grown(state.lots[number], count) for number, count in grown.items()]
    more = f" and {len(said) - 3} more batches" if len(said) > 3 else ""
    return f"{'; '.join(said[:3])}{more}."


def _grown(lot: Lot, count: int) -> str:
    if lot.records == count:
        return f"batch {lot.number} begins in partition {lot.partition} with {many(count)}"
    return f"{many(count)} join{'s' * (count == 1)} batch {lot.number}, which has {lot.records}"


def _blocks(state: _State, count: int) -> str:
    used = sum(each.memory for each in state.lots.values())
    if used + state.settings.batch_size > state.settings.buffer_memory:
        why = f"{used:,} of {state.settings.buffer_memory:,} bytes of memory are taken"
    else:
        why = "the partitions are not known yet"
    return f"send() blocks with {many(count)}: {why}."


def _sent(state: _State, ms: float, lines: list[Trace]) -> str:
    said = []
    for line in lines:
        fields = dict(line.fields)
        lot = state.lots.get(fields["batch"])
        if lot is None:
            continue
        why = _reason(state, lot, ms)
        lot.place, lot.request, lot.broker = FLYING, fields["request"], fields["broker"]
        lot.attempt, lot.sent_ms, lot.error = fields["attempt"], ms, ""
        said.append(f"batch {lot.number} ({many(lot.records)}; {why})")
    fields = dict(lines[0].fields)
    more = f" and {len(said) - 3} more" if len(said) > 3 else ""
    return f"Request {fields['request']} to {fields['broker']} takes {', '.join(said[:3])}{more}."


def _reason(state: _State, lot: Lot, ms: float) -> str:
    """Why a batch leaves now."""
    behind = any(each.partition == lot.partition and each.number > lot.number
                 and each.place == QUEUED for each in state.lots.values())  # fmt: skip
    if lot.attempt:
        return f"attempt {lot.attempt + 1}"
    if behind or lot.size >= state.settings.batch_size:
        return "full"
    if state.blocked:
        return "to free memory"
    if ms - lot.since_ms >= state.settings.linger_ms - 0.01:
        return f"linger.ms={state.settings.linger_ms} is over"
    return "goes along"


def _one(state: _State, kind: str, line: Trace) -> Iterator[str]:
    fields = dict(line.fields)
    lot = state.lots.get(fields.get("batch", -1))
    if kind == "refused" and "record" in fields:
        state.blocked.discard(fields["record"])
        state.refused += 1
        yield f"Record {fields['record']} is refused: {fields['error']}."
    elif lot is None:
        return
    elif kind == "answered":
        lot.error = "" if fields["error"] == "NONE" else fields["error"]
        if lot.error:
            yield f"{fields['broker']} answers batch {lot.number}: {lot.error}."
    elif kind == "retry":
        lot.place = QUEUED
        yield f"Batch {lot.number} goes back to the front of its queue."
    elif kind in ("acknowledged", "reported"):
        state.stored[lot.partition] = state.stored.get(lot.partition, 0) + lot.records
        del state.lots[lot.number]
        yield f"Batch {lot.number} is {kind}: {many(lot.records)} in partition {lot.partition}."
    elif kind in ("refused", "unknown"):
        state.refused += lot.records
        del state.lots[lot.number]
        yield f"Batch {lot.number} is {kind}: {fields['error']}."
    elif kind == "expired":
        yield f"delivery.timeout.ms of batch {lot.number} is over."
    elif kind == "split":
        yield from _split(state, lot, fields["into"])


def _split(state: _State, lot: Lot, into: Sequence[int]) -> Iterator[str]:
    """The broker found the batch too large: two take its place."""
    del state.lots[lot.number]
    first = lot.records // 2
    for number, count in zip(into, (first, lot.records - first), strict=True):
        state.lots[number] = replace(
            lot, number=number, place=QUEUED, records=count, attempt=0, error="",
            size=lot.size * count // lot.records, memory=lot.memory // 2,
        )  # fmt: skip
    yield f"Batch {lot.number} was too large: it is cut in two."


def _index(line: Trace) -> int:
    return int(line.partition.rpartition("-")[2])


def many(count: int) -> str:
    return f"{count} record{'s' * (count != 1)}"
