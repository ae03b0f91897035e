"""Says in a few words what a message between two nodes means for one partition.

A simulated cluster's messages are objects in flight.  A few kinds of them do most of the
work of replication, and each has a short form:

    fetch from 3, after epoch 0      a follower asks, and thereby says: below 3 I have it all
    record 3, HW 3                   the leader's answer
    epoch 0 ends at 2                the leader's answer to a follower whose history parts
    where does epoch 0 end?          the same as a question of its own, under the older rules
    write B                          a client's; its answer: B is at 1, or the error's name
    ISR 102 103?                     a leader asks the controller
    news: 102 leads, epoch 1         the controller's metadata log reaches a broker

Heartbeats, idle answers and everything about other partitions say nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.cluster.snapshot import DAMAGED
from engine.metadata.records import METADATA_TOPIC_ID, decode_batches
from engine.records import batch
from engine.sim.invariants.chains import is_intact
from engine.wire import messages as m
from engine.wire.errors import Errors

STILL_HELD = 1 << 52
ACKS = {-1: "all", 1: "1", 0: "0"}


@dataclass(frozen=True)
class Word:
    """What one message says about one partition (-1: about the cluster)."""

    partition: int
    kind: str
    says: str
    values: tuple[str, ...] = ()
    offset: int = -1
    acks: str = ""


@dataclass(frozen=True)
class Flight:
    """A message on its way: from, to, when it left and when it will be there.

    One that is `held` waits at a cut until `arrives_us`, when the link is healed or no node
    waits for it any more (STILL_HELD before that).  Then it leaves as another flight.
    """

    sent_us: int
    arrives_us: int
    source: NodeId
    destination: NodeId
    word: Word
    held: bool = False

    def __str__(self) -> str:
        where = "held at the cut" if self.held else "on its way"
        return f"{where}: {self.source} → {self.destination}: {self.word.says}"


def asked(cluster: Cluster, sender: NodeId, to: NodeId, body: Any, topic: str) -> Iterator[Word]:
    """What a request says about a topic's partitions."""
    match type(body).__name__:
        case "FetchRequest" if to == cluster.spec.controller:
            return
        case "FetchRequest":
            yield from _fetch(cluster, sender, to, body, topic)
        case "OffsetForLeaderEpochRequest":
            for one in _named(body.topics, topic):
                for part in one.partitions:
                    says = f"where does epoch {part.leader_epoch} end?"
                    yield Word(part.partition, "question", says)
        case "ProduceRequest":
            acks = ACKS.get(body.acks, "?")
            for one in _of_topic(cluster, body.topic_data, topic):
                for part in one.partition_data:
                    values = values_of(part.records)
                    says = f"write {brief(values)}, acks={acks}"
                    yield Word(part.index, "write", says, values, acks=acks)
        case "AlterPartitionRequest":
            for one in _of_topic(cluster, body.topics, topic):
                for part in one.partitions:
                    isr = " ".join(str(state.broker_id) for state in part.new_isr_with_epochs)
                    yield Word(part.partition_index, "change", f"ISR {isr}?")


def answered(cluster: Cluster, body: Any, topic: str, question: list[Word]) -> Iterator[Word]:
    """What an answer says; `question` is what its request said."""
    match type(body).__name__:
        case "FetchResponse":
            for one in _of_topic(cluster, body.responses, topic):
                for part in one.partitions:
                    yield from _records(part)
            for one in body.responses:
                if one.topic_id == METADATA_TOPIC_ID:
                    yield from _news(cluster, one.partitions[0].records, topic)
        case "OffsetForLeaderEpochResponse":
            for one in _named(body.topics, topic):
                for part in one.partitions:
                    error = Errors(part.error_code)
                    end = f"epoch {part.leader_epoch} ends at {part.end_offset}"
                    end = "I know no such epoch" if part.end_offset < 0 else end
                    yield Word(part.partition, "answer", error.name if error else end)
        case "ProduceResponse":
            for one in _of_topic(cluster, body.responses, topic):
                for part in one.partition_responses:
                    yield from _acknowledged(part, question)
        case "AlterPartitionResponse":
            for one in _of_topic(cluster, body.topics, topic):
                for part in one.partitions:
                    error = Errors(part.error_code)
                    isr = " ".join(map(str, sorted(part.isr)))
                    says = error.name if error else f"granted: ISR {isr}"
                    yield Word(part.partition_index, "change", says)


def _fetch(cluster: Cluster, sender: NodeId, to: NodeId, body: Any, topic: str) -> Iterator[Word]:
    """A follower's fetch says its log end even where an incremental request leaves it out."""
    node: Any = cluster.nodes.get(sender)
    fetcher = node.replicas.fetchers.get(to) if hasattr(node, "replicas") else None
    if fetcher is None:
        for one in _of_topic(cluster, body.topics, topic):
            for part in one.partitions:
                yield Word(part.partition, "fetch", f"fetch from {part.fetch_offset}")
        return
    for following in fetcher.following.values():
        if following.partition.topic == topic and following.asked is not None:
            offset, epoch = following.asked[:2]
            after = f", after epoch {epoch}" if epoch >= 0 else ""
            yield Word(following.partition.index, "fetch", f"fetch from {offset}{after}")


def _records(part: Any) -> Iterator[Word]:
    error = Errors(part.error_code)
    if error:
        yield Word(part.partition_index, "refused", error.name)
    elif part.diverging_epoch is not None:
        told = part.diverging_epoch
        says = f"epoch {told.epoch} ends at {told.end_offset}"
        yield Word(part.partition_index, "answer", says)
    else:
        mark = f"HW {part.high_watermark}"
        held = [header for header, _ in batch.iterate(part.records)] if part.records else []
        if held:
            first, last = held[0].base_offset, held[-1].last_offset
            which = f"record {first}" if first == last else f"records {first}–{last}"
            values = values_of(part.records)
            yield Word(part.partition_index, "records", f"{which}, {mark}", values, first)
        else:
            yield Word(part.partition_index, "mark", mark)


def _acknowledged(part: Any, question: list[Word]) -> Iterator[Word]:
    asked_for = next((word for word in question if word.partition == part.index), None)
    values = asked_for.values if asked_for else ()
    acks = asked_for.acks if asked_for else ""
    error = Errors(part.error_code)
    if error:
        yield Word(part.index, "refused", error.name, values, acks=acks)
    else:
        first, last = part.base_offset, part.base_offset + max(len(values), 1) - 1
        says = f"is at {first}" if first == last else f"are at {first}–{last}"
        yield Word(part.index, "ack", f"{brief(values)} {says}", values, first, acks)


def _news(cluster: Cluster, records: bytes | None, topic: str) -> Iterator[Word]:
    """What the metadata log says about the topic's partitions."""
    ids = _topic_ids(cluster)
    newest: dict[int, Word] = {}  # a broker that starts reads the whole history at once
    for _, record in decode_batches(records or b""):
        if not isinstance(record, m.PartitionRecord | m.PartitionChangeRecord):
            continue
        if ids.get(record.topic_id) != topic:
            continue
        told = []
        if record.leader >= 0:
            told.append(f"{record.leader} leads")
        elif record.leader == -1:
            told.append("nobody leads")
        if record.isr:
            told.append(f"ISR {' '.join(map(str, record.isr))}")
        if told:
            newest[record.partition_id] = Word(record.partition_id, "news", ", ".join(told))
    yield from newest.values()


def values_of(records: Any) -> tuple[str, ...]:
    """The records' values as text."""
    if not records:
        return ()
    data = bytes(records)
    found: list[str] = []
    for _, position in batch.iterate(data):
        if is_intact(data, position):
            decoded = batch.decode(data, position)
            found += [(record.value or b"").decode(errors="replace") for record in decoded]
        else:
            found.append(DAMAGED)
    return tuple(found)


def brief(values: tuple[str, ...]) -> str:
    """One or two values in full, more of them counted."""
    short = len(values) <= 2 and all(len(value) <= 12 for value in values)
    return " ".join(values) if short and values else f"{len(values)} records"


def _topic_ids(cluster: Cluster) -> dict[bytes, str]:
    controller = cluster.nodes.get(cluster.spec.controller)
    if controller is None:
        return {}
    return {topic_id: name for name, topic_id in controller.image.topic_ids.items()}


def _of_topic(cluster: Cluster, parts: Any, topic: str) -> Iterator[Any]:
    ids = _topic_ids(cluster)
    for one in parts:
        named = getattr(one, "name", "") or getattr(one, "topic", "")
        if (named or ids.get(one.topic_id, "")) == topic:
            yield one


def _named(parts: Any, topic: str) -> Iterator[Any]:
    return (one for one in parts if one.topic == topic)
