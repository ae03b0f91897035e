"""Records in the producer: a `Sent` for each, and the batches that carry them.

The application waits for a record; the producer sends batches.  What happens to a batch
happens to all records in it, and each ends in one of three ways:

    acknowledged   the broker said so (with acks=0 the client only assumes it)
    refused        certainly not in the log: every attempt was refused before the append
    unknown        an attempt got no answer, or one that came after the append

The third is why there is `maybe_stored`.  A timeout never means "no".

A batch keeps the sequence numbers that it got when it was first sent, however often it is
sent again.  That is the whole of idempotence on the client's side.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.records import batch
from engine.records.record import encode_records

HEADER_SIZE = batch.HEADER_SIZE
NO_SEQUENCE = -1
SEQUENCES = 1 << 31
"""How many there are: after 2,147,483,647 comes 0."""
PENDING, ACKNOWLEDGED, REFUSED, UNKNOWN = "pending", "acknowledged", "refused", "unknown"
Place = tuple[str, int]
"""(topic, partition)"""


@dataclass(slots=True)
class Sent:
    """One record that the application handed over, and its verdict.

    `number` counts the producer's records.  `offset` is -1 unless the broker named one,
    `error` names what ended it, `made_us` and `done_us` are when it was handed over and ended.
    """

    number: int
    topic: str
    partition: int
    key: bytes | None
    value: bytes
    made_us: int
    verdict: str = PENDING
    error: str = ""
    offset: int = -1
    done_us: int = -1

    @property
    def text(self) -> str:
        return self.value.decode(errors="replace")


@dataclass(slots=True, eq=False)
class ProducerBatch:
    """Records for one partition that travel together.

    `retries` counts how often it went back into the queue.  `last_attempt_us` is when it was made,
    or last put back; its backoff lasts `backoff_us` from then on.  `was_resequenced` means that it
    got new numbers since it was last sent: an answer to the attempt in flight is about the old
    ones.
    """

    number: int
    place: Place
    created_us: int
    limit: int
    codec: int
    records: list[Sent] = field(default_factory=list)
    size: int = HEADER_SIZE
    is_closed: bool = False
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = NO_SEQUENCE
    was_resequenced: bool = False
    retries: int = 0
    last_attempt_us: int = 0
    backoff_us: int = 0
    sent_us: int = -1
    sent_in_epoch: int = -1
    memory: int = 0
    maybe_stored: bool = False
    is_done: bool = False

    # -- filling

    def has_room(self, record: Sent) -> bool:
        """An empty batch has room for any.  One that has none is closed."""
        if self.records and self.size + self._size_of(record) > self.limit:
            self.is_closed = True
        return not self.is_closed

    def takes(self, record: Sent) -> bool:
        """Puts a record in; False if there is no room."""
        if not self.has_room(record):
            return False
        self.size += self._size_of(record)
        self.records.append(record)
        return True

    @property
    def is_full(self) -> bool:
        return self.is_closed or self.size >= self.limit

    def _size_of(self, record: Sent) -> int:
        base_timestamp = (self.records[0] if self.records else record).made_us // 1000
        return record_size(record, len(self.records), base_timestamp)

    # -- identity

    @property
    def has_sequence(self) -> bool:
        return self.base_sequence != NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        return (self.base_sequence + len(self.records) - 1) % SEQUENCES

    def number_from(self, producer_id: int, epoch: int, base_sequence: int) -> None:
        self.was_resequenced = self.has_sequence
        self.producer_id, self.producer_epoch = producer_id, epoch
        self.base_sequence = base_sequence % SEQUENCES

    # -- sending

    def encode(self, transactional: bool = False) -> bytes:
        """The batch as it goes over the wire: written when it is sent, not before."""
        return batch.encode(
            [batch.Record(0, r.made_us // 1000, r.key, r.value, ()) for r in self.records],
            compression=self.codec,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            transactional=transactional,
        )

    def is_backing_off(self, now: int, leader_epoch: int) -> bool:
        """Whether it is in its backoff; a new leader ends that, as the reason is gone (KIP-951)."""
        if self.retries == 0 or leader_epoch > self.sent_in_epoch:
            return False
        return now < self.last_attempt_us + self.backoff_us

    def split(self, first_number: int, count: int) -> list[ProducerBatch]:
        """The first `count` records and the others, with their share of the sequence numbers."""
        parts: list[ProducerBatch] = []
        for at, records in ((0, self.records[:count]), (count, self.records[count:])):
            part = ProducerBatch(
                first_number + len(parts), self.place, self.created_us, self.limit, self.codec
            )
            part.last_attempt_us = self.last_attempt_us
            part.maybe_stored = self.maybe_stored
            if self.has_sequence:
                part.number_from(self.producer_id, self.producer_epoch, self.base_sequence + at)
            for record in records:
                part.takes(record)
            part.is_closed = True
            parts.append(part)
        return parts


def record_size(record: Sent, delta: int, base_timestamp: int) -> int:
    """Bytes that a record adds to a batch, uncompressed."""
    plain = batch.Record(0, record.made_us // 1000, record.key, record.value, ())
    return len(encode_records([plain], [delta], base_timestamp))
