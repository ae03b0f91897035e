"""Fetches ahead, and keeps the records until `poll` takes them.

    poll() <── 500 records ── buffer <── answers ── Fetch: one per broker, for all its partitions

A broker holds a Fetch until fetch.min.bytes are there or fetch.max.wait.ms is over; an answer has
at most fetch.max.bytes, and max.partition.fetch.bytes of one partition.  While the application
works on the records of one answer, the next is on its way.  max.poll.records has nothing to do with
fetching: it cuts what is in the buffer into portions for `poll`.

A partition is fetched again only when its records are used up.  So a partition with a slow
reader holds up itself, not the others of the same broker.  The records of a paused partition
stay in the buffer; those of a partition that was revoked, or was sought elsewhere, are dropped.

A Fetch names the leader epoch that the consumer knows; a broker with another refuses it
(FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH).  With `client.rack`, the leader may name a follower in
the same rack to fetch from (KIP-392).

Simplified: each Fetch names all its partitions, so there are no fetch sessions (KIP-227); the
nearest follower is kept until it fails, where the Java client asks the leader again after
metadata.max.age.ms.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.client.connections import Answer, Connections
from engine.client.consumer.settings import ConsumerSettings
from engine.client.consumer.subscription import FETCHING, PartitionState, Subscription, name
from engine.client.metadata import Metadata, Place
from engine.events import Outbox
from engine.records import batch
from engine.wire import messages as m
from engine.wire.errors import CorruptBatch, Errors

_HERE = "client.consumer.fetcher.Fetcher"
FETCH = "fetch"
Part = m.FetchResponse.PartitionData
STALE_METADATA = (
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.REPLICA_NOT_AVAILABLE,
    Errors.KAFKA_STORAGE_ERROR,
    Errors.FENCED_LEADER_EPOCH,
    Errors.OFFSET_NOT_AVAILABLE,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.UNKNOWN_TOPIC_ID,
    Errors.INCONSISTENT_TOPIC_ID,
)
"""Errors after which the client asks for metadata again, and then fetches again."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record, as `poll` returns it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    leader_epoch: int

    @property
    def text(self) -> str:
        return (self.value or b"").decode()


@dataclass(slots=True)
class Fetched:
    """One partition's part of an answer, as far as `poll` has not taken it."""

    place: Place
    records: list[Record]
    next_offset: int
    """Where to go on; behind the last record if that is a control record."""
    epoch: int


class Fetcher:
    """`error` is what the next `poll` must report."""

    def __init__(self, outbox: Outbox, settings: ConsumerSettings, subscription: Subscription,
                 metadata: Metadata, connections: Connections) -> None:  # fmt: skip
        self.outbox = outbox
        self.settings = settings
        self.subscription = subscription
        self.metadata = metadata
        self.connections = connections
        self.buffer: list[Fetched] = []
        self.asked: dict[int, None] = {}
        """The brokers with a Fetch in flight."""
        self.error = ""

    # -- asking

    def send(self, now: int) -> None:
        """One Fetch to each broker that has none in flight."""
        waiting = {fetched.place for fetched in self.buffer}
        wanted: dict[int, list[Place]] = {}
        for place, state in self.subscription.assigned.items():
            if not state.is_fetchable or place in waiting:
                continue
            broker = state.nearest if state.nearest >= 0 else self.metadata.leader(place)
            if broker < 0:
                self.metadata.want()
            elif broker not in self.asked:
                wanted.setdefault(broker, []).append(place)
        for broker, places in wanted.items():
            if self.connections.is_ready(now, broker):
                self._send(now, broker, places)

    def _send(self, now: int, broker: int, places: list[Place]) -> None:
        request = m.FetchRequest
        topics: dict[str, m.FetchRequest.FetchTopic] = {}
        offsets = {}
        for place in places:
            topic, index = place
            position = self.subscription.assigned[place].position
            offsets[place] = position.offset
            if topic not in topics:
                topics[topic] = request.FetchTopic(
                    topic=topic, topic_id=self.metadata.topic_ids[topic]
                )
            topics[topic].partitions.append(
                request.FetchPartition(
                    partition=index, fetch_offset=position.offset,
                    current_leader_epoch=self.metadata.epoch(place),
                    partition_max_bytes=self.settings.max_partition_fetch_bytes,
                )
            )  # fmt: skip
        body = request(
            max_wait_ms=self.settings.fetch_max_wait_ms, min_bytes=self.settings.fetch_min_bytes,
            max_bytes=self.settings.fetch_max_bytes, session_epoch=-1, topics=list(topics.values()),
            rack_id=self.settings.client_rack,
        )  # fmt: skip
        self.asked[broker] = None
        ids = {each.topic_id: topic for topic, each in topics.items()}
        self.connections.send(now, broker, (FETCH, offsets, ids), body)

    # -- answers

    def heard(self, now: int, answer: Answer) -> None:
        self.asked.pop(answer.node, None)
        _, offsets, ids = answer.purpose
        body = answer.body
        if not isinstance(body, m.FetchResponse):
            for place in offsets:
                state = self.subscription.assigned.get(place)
                if state is not None:
                    state.nearest = -1
            return
        addresses = {each.node_id: (each.host, each.port) for each in body.node_endpoints}
        for topic in body.responses:
            for part in topic.partitions:
                place = (topic.topic or ids[topic.topic_id], part.partition_index)
                state = self.subscription.assigned.get(place)
                is_current = state is not None and state.position.offset == offsets[place]
                if state is None or not is_current or state.state != FETCHING:
                    continue  # revoked or sought meanwhile
                if leader := part.current_leader:
                    self.metadata.learn_from_refusal(
                        place, leader.leader_id, leader.leader_epoch, addresses
                    )
                self._take(now, place, state, part)
        if Errors(body.error_code):
            self.metadata.want()

    def _take(self, now: int, place: Place, state: PartitionState, part: Part) -> None:
        error = Errors(part.error_code)
        if error:
            self._refused(place, state, error)
            return
        state.high_watermark, state.log_start = part.high_watermark, part.log_start_offset
        if part.preferred_read_replica >= 0 and part.preferred_read_replica != state.nearest:
            state.nearest = part.preferred_read_replica
            self.outbox.trace(f"{_HERE}._take", "nearest", name(place), broker=state.nearest,
                              why="the leader names a replica in our rack")  # fmt: skip
            return
        data = part.records or b""
        try:
            found = _decoded(place, data, state.position.offset)
        except CorruptBatch as damage:
            self.error = f"CORRUPT_MESSAGE: {damage}"
            return
        if found is not None:
            self.buffer.append(found)

    def _refused(self, place: Place, state: PartitionState, error: Errors) -> None:
        was_near, state.nearest = state.nearest, -1
        self.outbox.trace(f"{_HERE}._refused", "fetch refused", name(place), error=error.name,
                          offset=state.position.offset)  # fmt: skip
        if error in STALE_METADATA:
            self.metadata.want()
        elif error == Errors.OFFSET_OUT_OF_RANGE:
            if was_near < 0:
                self._out_of_range(place, state)
        elif error not in (Errors.UNKNOWN_LEADER_EPOCH, Errors.UNKNOWN_SERVER_ERROR):
            self.error = error.name

    def _out_of_range(self, place: Place, state: PartitionState) -> None:
        """The records are deleted, or the log was truncated: auto.offset.reset decides."""
        strategy = self.settings.auto_offset_reset
        if strategy == "none":
            self.error = Errors.OFFSET_OUT_OF_RANGE.name
        else:
            state.reset(strategy)

    # -- handing over

    def collect(self) -> list[Record]:
        """At most max.poll.records; the positions move behind them."""
        taken: list[Record] = []
        kept: list[Fetched] = []
        for fetched in self.buffer:
            state = self.subscription.assigned.get(fetched.place)
            first = fetched.records[0].offset if fetched.records else fetched.next_offset
            if state is None or state.state != FETCHING or first < state.position.offset:
                continue
            room = self.settings.max_poll_records - len(taken)
            if not state.is_fetchable or room == 0:
                kept.append(fetched)
                continue
            portion, fetched.records = fetched.records[:room], fetched.records[room:]
            taken += portion
            if fetched.records:
                kept.append(fetched)
                last = portion[-1]
                self.subscription.moved(fetched.place, last.offset + 1, last.leader_epoch)
            else:
                self.subscription.moved(fetched.place, fetched.next_offset, fetched.epoch)
        self.buffer = kept
        return taken

    def forget(self, place: Place) -> None:
        """Drops what was fetched of a partition: it is read from elsewhere now."""
        self.buffer = [fetched for fetched in self.buffer if fetched.place != place]


def _decoded(place: Place, data: bytes, position: int) -> Fetched | None:
    """The records from `position` on; control records are skipped.  None if there is nothing."""
    records: list[Record] = []
    next_offset, epoch = position, -1
    for _, at in batch.iterate(data):
        header = batch.validate(data, at)
        next_offset, epoch = header.next_offset, header.partition_leader_epoch
        if header.is_control:
            continue
        records += [
            Record(*place, each.offset, each.key, each.value, each.timestamp, epoch)
            for each in batch.decode(data, at)
            if each.offset >= position
        ]
    return None if next_offset == position else Fetched(place, records, next_offset, epoch)
