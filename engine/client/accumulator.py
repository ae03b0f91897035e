"""Where records wait to be sent: a queue of batches per partition.

    send() ──> [batch][batch][filling…]   orders-0      full, or linger.ms old: ready
               [filling…]                 orders-1      younger: let it fill

`batch.size` limits how large a batch grows, `linger.ms` how long it waits for more records.  A
batch is ready as soon as it reaches either limit.  Even linger.ms=0 makes batches: records gather
while earlier requests are in flight.

All batches together take at most `buffer.memory`.  A record that finds no room makes `send` wait
(`max.block.ms`), and then every partition counts as ready, to free memory.

A batch that must be sent again goes back into the queue.  With idempotence its sequence numbers
give its place.  Without, it goes to the very front: the batch that comes back last overtakes the
others.

Simplified: memory is counted, not pooled; a batch of compressed records is cut off by its
uncompressed size, where the Java client guesses the ratio; a batch that is too large for
the broker is cut in two, where the Java client cuts it by batch.size.
"""

from __future__ import annotations

from collections import deque

from engine.client.producer_batch import HEADER_SIZE, Place, ProducerBatch, Sent
from engine.client.settings import ProducerSettings
from engine.records.varint import encode_varint

OVERHEAD_MAX = 21
"""A record's length, attributes, timestamp delta and offset delta, at their longest."""


class Accumulator:
    """The queues.  Times are microseconds; the sender decides which leaders can be reached."""

    def __init__(self, settings: ProducerSettings) -> None:
        self.settings = settings
        self.queues: dict[Place, deque[ProducerBatch]] = {}
        self.free = settings.buffer_memory
        self.made = 0
        self.flushing = False
        self.completing = False
        """A transaction ends: its batches do not linger."""
        self.exhausted = False
        """A record waits for memory."""

    # -- in

    def append(self, now: int, record: Sent) -> tuple[ProducerBatch | None, int]:
        """Puts a record into its partition's last batch or a new one; None without memory.
        The number is how many bytes the queue has grown by."""
        place = (record.topic, record.partition)
        queue = self.queues.setdefault(place, deque())
        last = queue[-1] if queue else None
        if last is not None and not last.has_sequence and not last.retries:
            before = last.size
            if last.takes(record):
                return last, last.size - before
        need = self._need(record)
        if need > self.free:
            self.exhausted = True
            return None, 0
        self.free -= need
        self.made += 1
        batch = ProducerBatch(
            self.made, place, now, self.settings.batch_size, self.settings.codec,
            last_attempt_us=now, memory=need,
        )  # fmt: skip
        batch.takes(record)
        queue.append(batch)
        return batch, batch.size

    def _need(self, record: Sent) -> int:
        """What a new batch that begins with a record takes from memory: batch.size, or more."""
        return max(self.settings.batch_size, _size_at_most(record))

    def too_large(self, record: Sent) -> str:
        """The setting that a record, or the batch made for it, exceeds; empty if none."""
        if _size_at_most(record) > self.settings.max_request_size:
            return "max.request.size"
        return "buffer.memory" if self._need(record) > self.settings.buffer_memory else ""

    def queue_lengths(self, topic: str) -> dict[int, int]:
        return {place[1]: len(q) for place, q in self.queues.items() if place[0] == topic}

    def all_full(self, place: Place, record: Sent | None = None) -> bool:
        """Whether no batch of a partition has room (for this record): then none is left half
        full if the next record goes to another partition."""
        queue = self.queues.get(place)
        if not queue or queue[-1].is_full:
            return True
        return record is not None and not queue[-1].has_room(record)

    # -- out

    def first(self, place: Place) -> ProducerBatch | None:
        queue = self.queues.get(place)
        return queue[0] if queue else None

    def waiting(self) -> list[Place]:
        """The partitions that have a batch."""
        return [place for place, queue in self.queues.items() if queue]

    def ready_at(self, place: Place, leader_epoch: int) -> int:
        """When the first batch of a partition may go; the past if it already may."""
        queue = self.queues[place]
        batch = queue[0]
        if batch.is_backing_off(batch.last_attempt_us, leader_epoch):
            return batch.last_attempt_us + batch.backoff_us
        full = len(queue) > 1 or batch.is_full or batch.retries > 0
        if full or self.exhausted or self.flushing or self.completing:
            return batch.last_attempt_us
        return batch.last_attempt_us + self.settings.linger_ms * 1000

    def take(self, place: Place) -> ProducerBatch:
        """The first batch, closed: no more records join it."""
        batch = self.queues[place].popleft()
        batch.is_closed = True
        return batch

    # -- back into the queue, and out

    def put_back(self, batch: ProducerBatch) -> None:
        """For another attempt, ahead of what was never sent, in sequence order."""
        queue = self.queues[batch.place]
        at = 0
        if batch.has_sequence:
            while (
                at < len(queue)
                and queue[at].has_sequence
                and queue[at].base_sequence < batch.base_sequence
            ):
                at += 1
        queue.insert(at, batch)

    def split(self, batch: ProducerBatch) -> list[ProducerBatch]:
        """A batch that the broker found too large, cut in two and put back."""
        parts = batch.split(self.made + 1, len(batch.records) // 2)
        self.made += len(parts)
        for part in reversed(parts):
            part.memory = batch.memory // len(parts)
            self.put_back(part)
        batch.memory -= sum(part.memory for part in parts)
        return parts

    def release(self, batch: ProducerBatch) -> None:
        """Gives a finished batch's memory back."""
        self.free += batch.memory
        batch.memory = 0

    def take_unsent(self) -> list[ProducerBatch]:
        """Takes out the batches without sequence numbers: those that never left."""
        gone = []
        for queue in self.queues.values():
            kept = [batch for batch in queue if batch.has_sequence]
            gone += [batch for batch in queue if not batch.has_sequence]
            queue.clear()
            queue.extend(kept)
        return gone

    def expired(self, now: int) -> list[ProducerBatch]:
        """Takes out the batches whose delivery.timeout.ms is over, oldest first."""
        limit = self.settings.delivery_timeout_ms * 1000
        gone = []
        for queue in self.queues.values():
            while queue and now - queue[0].created_us >= limit:
                gone.append(queue.popleft())
        return gone

    def is_empty(self) -> bool:
        return not any(self.queues.values())


def _size_at_most(record: Sent) -> int:
    """The size of a batch of this record alone, as the Java client estimates it: the record's place
    in its batch is not known yet, so the estimate is a few bytes high."""
    parts = (record.key or b"", record.value)
    lengths = sum(len(encode_varint(len(part))) + len(part) for part in parts)
    return HEADER_SIZE + OVERHEAD_MAX + lengths + 1  # no headers: a count of 0
