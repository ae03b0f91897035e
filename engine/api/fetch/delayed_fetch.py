"""A Fetch that waits for `min_bytes` (long polling)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.api.fetch.answers import fetch_answer, read_all, segment_with
from engine.events import Outbox, Request
from engine.replication.fetch_sessions import FetchContext, FetchedPartition
from engine.replication.hosted import HostedPartitions
from engine.replication.reading import FetchTerms, diverges, readable
from engine.wire import messages as m
from engine.wire.errors import KafkaError


@dataclass(slots=True, eq=False)
class DelayedFetch:
    """`unknown` are the partitions that are not worth waiting for: no metadata has them.

    Only bytes in the segment where a reader was are worth waiting for: once a newer one begins,
    the reader gets what its own still holds.
    """

    hosted: HostedPartitions
    outbox: Outbox
    request: Request[m.FetchRequest]
    terms: FetchTerms
    context: FetchContext
    unknown: dict[FetchedPartition, None]

    def try_complete(self, now: int, moved: FetchedPartition | None = None) -> bool:
        available = 0
        for asked in self._to_look_at(moved):
            if asked in self.unknown:
                continue
            try:
                available += self._available(asked)
            except KafkaError:
                available = self.terms.min_bytes
            if available >= self.terms.min_bytes:
                self.expire(now)
                return True
        return False

    def _to_look_at(self, moved: FetchedPartition | None) -> Iterable[FetchedPartition]:
        """If one byte is enough, what moved: at the last look no other had any."""
        due = self.context.may_have_bytes
        if moved is None or self.terms.min_bytes > 1:
            return due
        return (moved,) if moved in due else ()

    def _available(self, asked: FetchedPartition) -> int:
        """Available bytes; enough for an answer if there is something else to say."""
        partition = readable(self.hosted, self.terms, asked)
        limit = self.terms.limit(partition)
        if asked.fetch_offset > limit or diverges(partition, asked) is not None:
            return self.terms.min_bytes
        if asked.fetch_offset == limit:
            return 0
        newest = segment_with(self.hosted, asked, limit - 1)
        if self.terms.min_bytes <= 1 or newest > asked.segment:
            return self.terms.min_bytes
        available = partition.log.bytes_between(asked.fetch_offset, limit)
        return min(available, asked.max_bytes)

    def expire(self, now: int) -> None:
        found = read_all(self.hosted, self.terms, self.context)
        answer = fetch_answer(self.hosted, self.terms, self.context, found)
        self.outbox.reply(self.request, answer)
