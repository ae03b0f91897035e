"""The leader's side of Fetch: controllers copy the log, brokers read what is committed (KIP-595).

A voter that asks for what comes after its log's end tells the leader how far it has got.  Does its
log end where the leader's never was, the answer says where the two part, and the voter cuts there.
A reader that needs what the log no longer has is sent to the newest snapshot.

If there is nothing yet, the request waits: a voter's until something is appended or the high
watermark moves, a broker's until something is committed, at most its max.wait.  That is how a new
leader of a partition is known everywhere a moment after it was elected, without any polling.

Simplified: a broker gets no more than is committed, so it never has to cut.  In Kafka it copies the
log as a voter does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

from engine.events import AnyRequest, Outbox, Request
from engine.metadata.records import METADATA_TOPIC_ID
from engine.metadata.snapshot import SnapshotId
from engine.quorum import raft_messages
from engine.quorum.quorum_state import QuorumState
from engine.quorum.raft_log import EpochEnd, RaftLog
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError


@dataclass(frozen=True, slots=True)
class FetchWait:
    """Token of the timer that ends a fetch's wait."""

    number: int


class Fetches:
    """Fetches that wait, by number."""

    def __init__(self, state: QuorumState, log: RaftLog, outbox: Outbox) -> None:
        self.state = state
        self.log = log
        self.outbox = outbox
        self.waiting: dict[int, Request[m.FetchRequest]] = {}
        self.last_number = 0

    def answer(self, now: int, request: Request[m.FetchRequest]) -> None:
        """Answers at once if there is something (or something is wrong), else later."""
        if request.body.max_wait_ms <= 0 or self._has_news(request):
            self._answer(request)
            return
        self.last_number += 1
        self.waiting[self.last_number] = request
        wait_us = request.body.max_wait_ms * 1000
        self.outbox.set_timer(FetchWait(self.last_number), now + wait_us)

    def redirect(self, request: Request[m.FetchRequest], to: SnapshotId | EpochEnd) -> None:
        """The reader needs a snapshot first, or its log is none of ours beyond an epoch's end."""
        data, response = self._data(), m.FetchResponse
        if isinstance(to, SnapshotId):
            data.snapshot_id = response.SnapshotId(*to)
        else:
            data.diverging_epoch = response.EpochEndOffset(*to)
        self._reply(request, data)

    @staticmethod
    def reader_of(body: m.FetchRequest) -> int:
        """The id of the voter or broker that fetches; -1 for a client."""
        state = body.replica_state
        return body.replica_id if state is None or state.replica_id < 0 else state.replica_id

    def look_again(self) -> None:
        """Something was appended, or the high watermark has moved."""
        for number, request in tuple(self.waiting.items()):
            if self._has_news(request):
                self.outbox.cancel_timer(FetchWait(number))
                del self.waiting[number]
                self._answer(request)

    def expired(self, number: int) -> None:
        """max.wait is over: an empty answer says "nothing new, the high watermark is this"."""
        if number in self.waiting:
            self._answer(self.waiting.pop(number))

    def fail_all(self) -> None:
        """The leader is none any more: its readers look for the next one."""
        for number, request in self.waiting.items():
            self.outbox.cancel_timer(FetchWait(number))
            self.refuse(request, Errors.NOT_LEADER_OR_FOLLOWER)
        self.waiting.clear()

    def refuse(self, request: Request[m.FetchRequest], error: Errors) -> None:
        """Names the leader, as far as it is known here."""
        data = self._data()
        data.error_code = error
        self._reply(request, data)

    def copies(self, body: m.FetchRequest) -> bool:
        """Whether a controller fetches, voter or not: it says which epoch it is in."""
        asked = raft_messages.partition_of(body)
        return self.reader_of(body) in self.state.voters or asked.current_leader_epoch >= 0

    def _limit(self, request: Request[m.FetchRequest]) -> int:
        """What this reader may have: controllers copy, brokers read what is committed."""
        return self.log.end_offset if self.copies(request.body) else self.log.high_watermark

    def _has_news(self, request: Request[m.FetchRequest]) -> bool:
        """Something to read, a high watermark to learn, or an offset that does not exist."""
        asked = raft_messages.partition_of(request.body)
        if self.copies(request.body) and asked.high_watermark < self.log.high_watermark:
            return True
        exists = self.log.start_offset <= asked.fetch_offset <= self.log.end_offset
        return not exists or asked.fetch_offset < self._limit(request)

    def _answer(self, request: Request[m.FetchRequest]) -> None:
        asked = raft_messages.partition_of(request.body)
        data = self._data()
        try:
            data.records = self.log.read(
                asked.fetch_offset, asked.partition_max_bytes, self._limit(request)
            )
        except KafkaError as error:
            data.error_code = error.code
        self._reply(request, data)

    def _data(self) -> Any:
        response = m.FetchResponse
        return response.PartitionData(
            partition_index=0,
            high_watermark=self.log.high_watermark,
            last_stable_offset=self.log.high_watermark,
            log_start_offset=self.log.start_offset,
            current_leader=response.LeaderIdAndEpoch(
                leader_id=self.state.leader, leader_epoch=self.state.epoch
            ),
            aborted_transactions=None,
            records=b"",
        )

    def _reply(self, request: Request[m.FetchRequest], data: Any) -> None:
        topic = m.FetchResponse.FetchableTopicResponse(
            topic_id=METADATA_TOPIC_ID, partitions=[data]
        )
        self.outbox.reply(request, m.FetchResponse(responses=[topic]))


def is_fetch(request: AnyRequest) -> TypeGuard[Request[m.FetchRequest]]:
    return isinstance(request.body, m.FetchRequest)
