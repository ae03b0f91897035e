"""Brokers read the metadata log by Fetch, as observers of the quorum (KIP-595).

A broker asks for what comes after the last record that it has applied.  If there is
nothing yet, the request waits here until something is committed or its max.wait is over:
that is how a new leader is known everywhere a moment after it was elected, without any
polling interval.  The answer never goes beyond the high watermark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from engine.control.metadata_log import MetadataLog
from engine.events import AnyRequest, Outbox, Request
from engine.metadata.records import METADATA_TOPIC_ID
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError


@dataclass(frozen=True, slots=True)
class Observer:
    """How far a reader of the log has come, by its last fetch; times in microseconds."""

    offset: int
    fetched_at: int
    caught_up_at: int


@dataclass(frozen=True, slots=True)
class MetadataFetchTimer:
    """When the max.wait of a waiting fetch is over."""

    number: int


class MetadataFetches:
    """Fetches that wait, by number; and what is known of each reader."""

    def __init__(self, node_id: int, log: MetadataLog, outbox: Outbox) -> None:
        self.node_id = node_id
        self.log = log
        self.outbox = outbox
        self.waiting: dict[int, tuple[Request[m.FetchRequest], int]] = {}
        self.last_number = 0
        self.observers: dict[int, Observer] = {}

    def fetch(self, now: int, request: Request[m.FetchRequest]) -> None:
        """Answers at once if there is something (or something is wrong), else waits."""
        body = request.body
        asked = body.topics[0].partitions[0] if body.topics else None
        if asked is None or body.topics[0].topic_id != METADATA_TOPIC_ID:
            self._answer_others(request)
            return
        offset = asked.fetch_offset
        self._observe(now, request, offset)
        try:
            ready = self.log.read(offset, 1) != b""
        except KafkaError:
            ready = True
        if ready or body.max_wait_ms <= 0:
            self._answer(request, offset)
            return
        self.last_number += 1
        self.waiting[self.last_number] = (request, offset)
        self.outbox.set_timer(MetadataFetchTimer(self.last_number), now + body.max_wait_ms * 1000)

    def committed(self) -> None:
        """The high watermark has moved: the requests that wait below it are answered."""
        for number, (request, offset) in tuple(self.waiting.items()):
            if offset < self.log.high_watermark:
                self.outbox.cancel_timer(MetadataFetchTimer(number))
                del self.waiting[number]
                self._answer(request, offset)

    def expired(self, number: int) -> None:
        """max.wait is over: an empty answer says "nothing new, the high watermark is this"."""
        if number in self.waiting:
            self._answer(*self.waiting.pop(number))

    def _observe(self, now: int, request: Request[m.FetchRequest], offset: int) -> None:
        state = request.body.replica_state
        reader = state.replica_id if state is not None else request.body.replica_id
        if reader < 0:
            return
        before = self.observers.get(reader)
        caught_up = now if offset >= self.log.high_watermark else -1
        if before is not None and caught_up < 0:
            caught_up = before.caught_up_at
        self.observers[reader] = Observer(offset, now, caught_up)

    def _answer(self, request: Request[m.FetchRequest], offset: int) -> None:
        response = m.FetchResponse
        data = response.PartitionData(
            partition_index=0,
            high_watermark=self.log.high_watermark,
            last_stable_offset=self.log.high_watermark,
            log_start_offset=self.log.log.log_start_offset,
            current_leader=response.LeaderIdAndEpoch(
                leader_id=self.node_id, leader_epoch=self.log.epoch
            ),
            aborted_transactions=None,
            records=b"",
        )
        try:
            asked = request.body.topics[0].partitions[0]
            data.records = self.log.read(offset, asked.partition_max_bytes)
        except KafkaError as error:
            data.error_code = error.code
        topic = response.FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[data])
        self.outbox.reply(request, response(responses=[topic]))

    def _answer_others(self, request: Request[m.FetchRequest]) -> None:
        """There is one topic here; for others the controller is the wrong node to ask."""
        response = m.FetchResponse
        topics = [
            response.FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    response.PartitionData(
                        partition_index=each.partition,
                        error_code=Errors.UNKNOWN_TOPIC_ID,
                        records=b"",
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.body.topics
        ]
        self.outbox.reply(request, response(responses=topics))


def is_fetch(request: AnyRequest) -> TypeGuard[Request[m.FetchRequest]]:
    return isinstance(request.body, m.FetchRequest)
