"""Asks for the committed offsets of partitions that have no position yet (OffsetFetch).

It happens once for each partition, when it is assigned, and inside `poll`.  `require_stable` makes
the coordinator hold offsets back that belong to an open transaction (KIP-447).  A partition without
a committed offset is answered with -1, and not with an error: auto.offset.reset decides.

Without a group id there is nothing to ask: all partitions are reset.
"""

from __future__ import annotations

from engine.client.connections import Answer
from engine.client.consumer.coordinator import Coordinator
from engine.client.consumer.positions import Positions
from engine.client.consumer.settings import ConsumerSettings
from engine.client.consumer.subscription import OffsetAndMetadata, Subscription, name
from engine.client.metadata import Metadata, Place
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.consumer.committed.Committed"
ASK = "committed"
Part = m.OffsetFetchResponse.OffsetFetchResponsePartitions


class Committed:
    """`error` is what the next `poll` must report; one request at a time."""

    def __init__(self, outbox: Outbox, settings: ConsumerSettings, subscription: Subscription,
                 metadata: Metadata, coordinator: Coordinator,
                 positions: Positions) -> None:  # fmt: skip
        self.outbox = outbox
        self.settings = settings
        self.subscription = subscription
        self.metadata = metadata
        self.coordinator = coordinator
        self.positions = positions
        self.asking = False
        self.asked: tuple[int, int | None] = (0, None)
        """When the request was sent, and to which broker."""
        self.retry_at = 0
        self.error = ""

    def work(self, now: int, member: tuple[str | None, int]) -> None:
        """Asks for what has no position; `member` is id and epoch under KIP-848."""
        lacking = self.subscription.lacking()
        if not self.settings.group_id:
            for place in lacking:
                self.positions.begin(place, None)
            return
        is_due = lacking and not self.asking and now >= self.retry_at
        if is_due and self.coordinator.is_ready(now):
            self._ask(now, lacking, member)

    def _ask(self, now: int, lacking: list[Place], member: tuple[str | None, int]) -> None:
        request = m.OffsetFetchRequest
        indexes: dict[str, list[int]] = {}
        for topic, index in lacking:
            indexes.setdefault(topic, []).append(index)
        topics = [
            request.OffsetFetchRequestTopics(
                name=topic, topic_id=self.metadata.topic_ids.get(topic, bytes(16)),
                partition_indexes=wanted,
            )
            for topic, wanted in indexes.items()
        ]  # fmt: skip
        group = request.OffsetFetchRequestGroup(
            group_id=self.settings.group_id, member_id=member[0], member_epoch=member[1],
            topics=topics,
        )  # fmt: skip
        self.asking, self.asked = True, (now, self.coordinator.node)
        ids = {each.topic_id: each.name for each in topics}
        body = request(groups=[group], require_stable=True)
        self.coordinator.send(now, ASK, body, ids)

    def heard(self, now: int, answer: Answer) -> None:
        self.asking = False
        ids = answer.purpose[1]
        body = answer.body
        if not isinstance(body, m.OffsetFetchResponse):
            self._failed(now, answer.error)
            return
        group = body.groups[0]
        if group.error_code:
            self._failed(now, Errors(group.error_code))
            return
        for topic in group.topics:
            for part in topic.partitions:
                place = (topic.name or ids[topic.topic_id], part.partition_index)
                error = Errors(part.error_code)
                if error:
                    self._failed(now, error)
                    continue
                self.outbox.trace(f"{_HERE}.heard", "offset fetched", name(place),
                                  offset=part.committed_offset, asked_us=self.asked[0],
                                  broker=self.asked[1])  # fmt: skip
                self.positions.begin(place, _offset(part))

    def _failed(self, now: int, error: Errors) -> None:
        self.coordinator.check(error)
        self.retry_at = now + self.settings.retry_backoff_ms * 1000
        waits = (Errors.UNSTABLE_OFFSET_COMMIT, Errors.STALE_MEMBER_EPOCH)
        if not error.retriable and error not in waits:
            self.error = error.name

    def next_at(self) -> list[int]:
        return [self.retry_at] if self.subscription.lacking() and not self.asking else []


def _offset(part: Part) -> OffsetAndMetadata | None:
    if part.committed_offset < 0:
        return None
    epoch, note = part.committed_leader_epoch, part.metadata or ""
    return OffsetAndMetadata(part.committed_offset, epoch, note)
