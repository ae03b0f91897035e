"""A Fetch that waits for `min_bytes` (long polling)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.api.fetch.answers import fetch_answer, read_all
from engine.events import Outbox, Request
from engine.replication.fetch_sessions import FetchContext, FetchedPartition
from engine.replication.hosted import HostedPartitions
from engine.replication.partition import Partition
from engine.replication.reading import FetchTerms, diverges, readable
from engine.wire import messages as m
from engine.wire.errors import KafkaError


@dataclass(slots=True, eq=False)
class DelayedFetch:
    """`known` has the partitions that are worth waiting for, `segments` where each reader was.

    That is the base offset of a segment.  Only bytes in that segment are worth waiting for:
    once a newer segment begins, the reader gets what its own still holds.
    """

    hosted: HostedPartitions
    outbox: Outbox
    request: Request[m.FetchRequest]
    terms: FetchTerms
    context: FetchContext
    known: list[FetchedPartition]
    segments: tuple[int, ...]

    def try_complete(self, now: int) -> bool:
        available = 0
        for asked, segment in zip(self.known, self.segments, strict=True):
            try:
                available += self._available(asked, segment)
            except KafkaError:
                available = self.terms.min_bytes
            if available >= self.terms.min_bytes:
                self.expire(now)
                return True
        return False

    def _available(self, asked: FetchedPartition, segment: int) -> int:
        """Available bytes; enough for an answer if there is something else to say."""
        partition = readable(self.hosted, self.terms, asked)
        limit = self.terms.limit(partition)
        if asked.fetch_offset > limit or diverges(partition, asked) is not None:
            return self.terms.min_bytes
        if asked.fetch_offset == limit:
            return 0
        if self.terms.min_bytes <= 1 or segment_with(partition, limit - 1) > segment:
            return self.terms.min_bytes
        available = partition.log.bytes_between(asked.fetch_offset, limit)
        return min(available, asked.max_bytes)

    def expire(self, now: int) -> None:
        found = read_all(self.hosted, self.terms, self.context)
        answer = fetch_answer(self.hosted, self.terms, self.context, found)
        self.outbox.reply(self.request, answer)


def segment_with(partition: Partition, offset: int) -> int:
    """The base offset of the segment that holds an offset."""
    return partition.log.segments.from_offset(offset)[0].base_offset
