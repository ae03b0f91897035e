"""Reads what a message between two nodes says about partition 0 of one topic.

Every drawing of messages reads them here, so that one message has one meaning in all of
them.  Its words come in two lengths: `brief` for an arrow, `full`, with the epochs, for a
line.

    fetch        fetch from 3             Fetch in epoch 1: offset 3, last epoch 0
    fetched      HW 3, records 3–4        HW 3, records 3 (epoch 1), 4 (epoch 1)
    diverging    epoch 0 ends at 2        diverging: epoch 0 ends at 2
    produce      produce A, B (acks=all)  Produce: A B (acks=all)
    produced     acknowledged, offset 3   acknowledged from offset 3 on
    list, listed                          ListOffsets: latest; offset 3
    refused                               the error's name
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine.records import batch
from engine.wire import messages as m
from kit.probes import requests


@dataclass(frozen=True, slots=True)
class Message:
    """`kind` is one of the words on the left of the table above."""

    kind: str
    brief: str
    full: str


def read(body: Any, topic_id: bytes) -> Message | None:
    """None where a message says nothing about the topic."""
    match body:
        case m.FetchRequest():
            return next(map(_fetch, _parts(body.topics, topic_id)), None)
        case m.FetchResponse():
            return next(map(_fetched, _parts(body.responses, topic_id)), None)
        case m.ProduceRequest():
            values = requests.values(body.topic_data[0].partition_data[0].records)
            acks = "all" if body.acks == -1 else body.acks
            brief = f"produce {', '.join(values)} (acks={acks})"
            return Message("produce", brief, f"Produce: {' '.join(values)} (acks={acks})")
        case m.ProduceResponse():
            told = requests.told(body)
            brief = f"acknowledged, offset {told.base_offset}"
            full = f"acknowledged from offset {told.base_offset} on"
            return _refused(told) or Message("produced", brief, full)
        case m.ListOffsetsRequest():
            return Message("list", "ListOffsets: latest", "ListOffsets: latest")
        case m.ListOffsetsResponse():
            told = requests.told(body)
            return _refused(told) or Message("listed", *[f"offset {told.offset}"] * 2)
    return None


def _parts(topics: Iterable[Any], topic_id: bytes) -> Iterable[Any]:
    return (topic.partitions[0] for topic in topics if topic.topic_id == topic_id)


def _refused(part: Any) -> Message | None:
    error = requests.refusal(part)
    return Message("refused", error, error) if error else None


def _fetch(part: Any) -> Message:
    offset, believed, last = part.fetch_offset, part.current_leader_epoch, part.last_fetched_epoch
    when = f" in epoch {believed}" if believed >= 0 else ""
    after = f", last epoch {last}" if last >= 0 else ""
    return Message("fetch", f"fetch from {offset}", f"Fetch{when}: offset {offset}{after}")


def _fetched(part: Any) -> Message:
    if refused := _refused(part):
        return refused
    if part.diverging_epoch is not None:
        end = f"epoch {part.diverging_epoch.epoch} ends at {part.diverging_epoch.end_offset}"
        return Message("diverging", end, f"diverging: {end}")
    mark = f"HW {part.high_watermark}"
    headers = [header for header, _ in batch.iterate(part.records or b"")]
    if not headers:
        return Message("fetched", f"{mark}, no records", f"{mark}, no records")
    first, last = headers[0].base_offset, headers[-1].last_offset
    which = f"record {first}" if first == last else f"records {first}–{last}"
    each = [
        f"{offset} (epoch {header.partition_leader_epoch})"
        for header in headers
        for offset in range(header.base_offset, header.last_offset + 1)
    ]
    return Message("fetched", f"{mark}, {which}", f"{mark}, records {', '.join(each)}")
