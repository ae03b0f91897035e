"""Reads what a message between two nodes says about the partitions of one topic.

Every drawing of messages reads them here, so that one message has one meaning in all of
them.  Its words come in two lengths: `brief` for an arrow, `full`, with the epochs, for a
line.

    fetch        fetch from 3             Fetch in epoch 1: offset 3, last epoch 0
    fetched      HW 3, records 3–4        HW 3, records 3 (epoch 1), 4 (epoch 1)
    idle         HW 3, no records
    diverging    epoch 0 ends at 2        diverging: epoch 0 ends at 2
    end, ended   where does epoch 0 end?; epoch 0 ends at 2 (before the Fetch answer said so)
    produce      produce A, B (acks=all)
    produced     A, B are at 3–4; or, if the request is not known, acknowledged, offset 3
    list, listed ListOffsets: latest; offset 3
    change       ISR 102 103?; granted: ISR 102 103
    refused      the error's name
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.cluster.snapshot import DAMAGED
from engine.records import batch
from engine.sim.invariants.chains import is_intact
from engine.wire import messages as m
from kit.probes import requests

SHORT = 12


@dataclass(frozen=True, slots=True)
class Message:
    """What one message says about one partition; `kind` is a word on the left of the table.

    A write and its answer also have the records' `values`, the first one's `offset` and the `acks`
    asked for; an answer with records has their values and the first one's offset.
    """

    partition: int
    kind: str
    brief: str
    full: str = ""
    values: tuple[str, ...] = ()
    offset: int = -1
    acks: str = ""

    @property
    def line(self) -> str:
        return self.full or self.brief


def read(
    body: Any, topic: str, topic_id: bytes, asked: Sequence[Message] = ()
) -> Iterator[Message]:
    """What a request or an answer says, a message for each partition of the topic.

    `asked` is what an answer's request said, if it is known.
    """

    def parts(topics: Iterable[Any], rows: str = "partitions") -> Iterator[Any]:
        for each in topics:
            name = getattr(each, "name", "") or getattr(each, "topic", "")
            if name == topic or (not name and each.topic_id == topic_id):
                yield from getattr(each, rows)

    match body:
        case m.FetchRequest():
            yield from map(_fetch, parts(body.topics))
        case m.FetchResponse():
            yield from map(_fetched, parts(body.responses))
        case m.ProduceRequest():
            acks = "all" if body.acks == -1 else str(body.acks)
            yield from (_produce(part, acks) for part in parts(body.topic_data, "partition_data"))
        case m.ProduceResponse():
            rows = parts(body.responses, "partition_responses")
            yield from (_produced(part, asked) for part in rows)
        case m.ListOffsetsRequest():
            for part in parts(body.topics):
                yield Message(part.partition_index, "list", f"ListOffsets: {_place(part)}")
        case m.ListOffsetsResponse():
            for part in parts(body.topics):
                listed = Message(part.partition_index, "listed", f"offset {part.offset}")
                yield _refused(part, part.partition_index) or listed
        case m.OffsetForLeaderEpochRequest():
            for part in parts(body.topics):
                yield Message(part.partition, "end", f"where does epoch {part.leader_epoch} end?")
        case m.OffsetForLeaderEpochResponse():
            for part in parts(body.topics):
                yield _refused(part, part.partition) or _ended(part)
        case m.AlterPartitionRequest():
            for part in parts(body.topics):
                isr = " ".join(str(state.broker_id) for state in part.new_isr_with_epochs)
                yield Message(part.partition_index, "change", f"ISR {isr}?")
        case m.AlterPartitionResponse():
            for part in parts(body.topics):
                granted = f"granted: ISR {' '.join(map(str, sorted(part.isr)))}"
                says = requests.refusal(part) or granted
                yield Message(part.partition_index, "change", says)


def first(body: Any, topic: str, topic_id: bytes) -> Message | None:
    """What a message says about the topic's partition 0; None if it says nothing."""
    return next((each for each in read(body, topic, topic_id) if each.partition == 0), None)


def values_of(records: Any) -> tuple[str, ...]:
    """The records' values as text; a batch that cannot be read counts as one damaged value."""
    data = bytes(records or b"")
    found: list[str] = []
    for _, position in batch.iterate(data):
        if is_intact(data, position):
            decoded = batch.decode(data, position)
            found += [(record.value or b"").decode(errors="replace") for record in decoded]
        else:
            found.append(DAMAGED)
    return tuple(found)


def _refused(part: Any, index: int, values: tuple[str, ...] = (), acks: str = "") -> Message | None:
    error = requests.refusal(part)
    return Message(index, "refused", error, values=values, acks=acks) if error else None


def _fetch(part: Any) -> Message:
    offset, believed, last = part.fetch_offset, part.current_leader_epoch, part.last_fetched_epoch
    when = f" in epoch {believed}" if believed >= 0 else ""
    after = f", last epoch {last}" if last >= 0 else ""
    full = f"Fetch{when}: offset {offset}{after}"
    return Message(part.partition, "fetch", f"fetch from {offset}", full)


def _fetched(part: Any) -> Message:
    index = part.partition_index
    if refused := _refused(part, index):
        return refused
    if part.diverging_epoch is not None:
        end = f"epoch {part.diverging_epoch.epoch} ends at {part.diverging_epoch.end_offset}"
        return Message(index, "diverging", end, f"diverging: {end}")
    mark = f"HW {part.high_watermark}"
    headers = [header for header, _ in batch.iterate(part.records or b"")]
    if not headers:
        return Message(index, "idle", f"{mark}, no records")
    base, last = headers[0].base_offset, headers[-1].last_offset
    which = f"record {base}" if base == last else f"records {base}–{last}"
    each = [
        f"{offset} (epoch {header.partition_leader_epoch})"
        for header in headers
        for offset in range(header.base_offset, header.last_offset + 1)
    ]
    full = f"{mark}, records {', '.join(each)}"
    return Message(index, "fetched", f"{mark}, {which}", full, values_of(part.records), base)


def _produce(part: Any, acks: str) -> Message:
    values = values_of(part.records)
    says = f"produce {_few(values)} (acks={acks})"
    return Message(part.index, "produce", says, values=values, acks=acks)


def _produced(part: Any, asked: Sequence[Message]) -> Message:
    request = next((each for each in asked if each.partition == part.index), None)
    values, acks = (request.values, request.acks) if request else ((), "")
    if refused := _refused(part, part.index, values, acks):
        return refused
    base, last = part.base_offset, part.base_offset + max(len(values), 1) - 1
    says = f"acknowledged, offset {base}"
    if values:
        says = _few(values) + (f" is at {base}" if base == last else f" are at {base}–{last}")
    return Message(part.index, "produced", says, values=values, offset=base, acks=acks)


def _place(part: Any) -> str:
    """The end of the log that a ListOffsets request asks for, or its timestamp."""
    places = {requests.LATEST: "latest", requests.EARLIEST: "earliest"}
    return places.get(part.timestamp, f"timestamp {part.timestamp}")


def _ended(part: Any) -> Message:
    says = f"epoch {part.leader_epoch} ends at {part.end_offset}"
    return Message(part.partition, "ended", says if part.end_offset >= 0 else "no such epoch")


def _few(values: tuple[str, ...]) -> str:
    """Up to three short values in full, more of them counted."""
    short = len(values) <= 3 and all(len(value) <= SHORT for value in values)
    return ", ".join(values) if short and values else f"{len(values)} records"
