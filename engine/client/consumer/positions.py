"""Gives each partition a valid position: asks for one, resets it, and checks it after an election.

    nothing committed, or out of range     ListOffsets: earliest, latest, or the first record of a
                                           time (auto.offset.reset)
    another leader, and we know the epoch  OffsetForLeaderEpoch: where did our epoch end with you?
    of our last record (KIP-320)

        it ends at or behind our position      all is well: go on
        it ends before it                      the log was truncated; what we have read between is
                                               gone.  Go on from there (or, without a reset policy,
                                               report LOG_TRUNCATION and stop)

`latest` means the end at the moment of the reset.  What was written before is skipped.  It
also skips what is written between the creation of a partition and its first fetch; by_duration
(KIP-1106) goes back by a fixed time.

A committed offset brings its epoch along, so it is checked before the first fetch.  An offset
from `seek` or a reset has none, and is taken as it is.

Simplified: one round of requests per broker at a time; a time that has no record goes to the end at
once.
"""

from __future__ import annotations

from dataclasses import replace

from engine.client.connections import Answer, Connections
from engine.client.consumer.settings import BY_DURATION, EARLIEST, LATEST, NONE, ConsumerSettings
from engine.client.consumer.subscription import (
    FETCHING,
    NO_EPOCH,
    RESETTING,
    VALIDATING,
    OffsetAndMetadata,
    PartitionState,
    Position,
    Subscription,
    name,
)
from engine.client.metadata import Metadata, Place
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.consumer.positions.Positions"
LIST, VALIDATE = "list-offsets", "validate"
TIMESTAMPS = {LATEST: -1, EARLIEST: -2}
Listed = m.ListOffsetsResponse.ListOffsetsPartitionResponse
EpochEnd = m.OffsetForLeaderEpochResponse.EpochEndOffset
NO_OFFSET = "NO_OFFSET_FOR_PARTITION"
TRUNCATED = "LOG_TRUNCATION"


class Positions:
    """`error` is what the next `poll` must report."""

    def __init__(self, outbox: Outbox, settings: ConsumerSettings, subscription: Subscription,
                 metadata: Metadata, connections: Connections) -> None:  # fmt: skip
        self.outbox = outbox
        self.settings = settings
        self.subscription = subscription
        self.metadata = metadata
        self.connections = connections
        self.error = ""

    # -- where to begin

    def begin(self, place: Place, committed: OffsetAndMetadata | None) -> None:
        """A partition without a position gets the committed one, or is reset."""
        state = self.subscription.assigned.get(place)
        if state is None or state.state != "no position":
            return
        if committed is not None:
            self.seek(place, committed)
            self.outbox.trace(f"{_HERE}.begin", "position", name(place), offset=committed.offset,
                              why="committed")  # fmt: skip
        elif self.settings.auto_offset_reset == NONE:
            self.error = NO_OFFSET
        else:
            state.reset(self.settings.auto_offset_reset)

    def seek(self, place: Place, to: OffsetAndMetadata) -> None:
        """Goes on from here; checked first if the epoch is known."""
        state = self.subscription.assigned[place]
        state.seek(Position(to.offset, to.epoch, self.metadata.epoch(place)))
        if to.epoch != NO_EPOCH:
            state.state = VALIDATING

    # -- a round

    def work(self, now: int) -> None:
        """Notices new leaders, and asks what must be asked."""
        asks: dict[tuple[int, str], list[Place]] = {}
        for place, state in self.subscription.assigned.items():
            leader = self.metadata.leader(place)
            if state.state == FETCHING:
                self._notice_leader(place, state)
            if state.state not in (RESETTING, VALIDATING) or state.asked or now < state.retry_at:
                continue
            if leader < 0:
                self.metadata.want()
            elif self.connections.is_ready(now, leader):
                asks.setdefault((leader, state.state), []).append(place)
        for (leader, what), places in asks.items():
            for place in places:
                self.subscription.assigned[place].asked = True
            (self._list if what == RESETTING else self._validate)(now, leader, places)

    def next_at(self) -> list[int]:
        states = self.subscription.assigned.values()
        return [each.retry_at for each in states if each.state in (RESETTING, VALIDATING)]

    def _notice_leader(self, place: Place, state: PartitionState) -> None:
        epoch = self.metadata.epoch(place)
        if epoch <= state.position.leader_epoch:
            return
        state.position = replace(state.position, leader_epoch=epoch)
        state.nearest = -1
        if state.position.epoch != NO_EPOCH:
            state.state, state.asked = VALIDATING, False

    # -- resets

    def _list(self, now: int, leader: int, places: list[Place]) -> None:
        request = m.ListOffsetsRequest
        topics: dict[str, m.ListOffsetsRequest.ListOffsetsTopic] = {}
        for place in places:
            topic, index = place
            at = topics.setdefault(topic, request.ListOffsetsTopic(name=topic))
            at.partitions.append(
                request.ListOffsetsPartition(
                    partition_index=index, current_leader_epoch=self.metadata.epoch(place),
                    timestamp=self._timestamp(now, self.subscription.assigned[place].strategy),
                )
            )  # fmt: skip
        body = request(
            replica_id=-1, topics=list(topics.values()),
            timeout_ms=self.settings.request_timeout_ms,
        )  # fmt: skip
        self.connections.send(now, leader, (LIST, tuple(places)), body)

    def _timestamp(self, now: int, strategy: str) -> int:
        if strategy.startswith(BY_DURATION):
            return now // 1000 - self.settings.reset_back_ms
        return TIMESTAMPS[strategy]

    def _was_reset(self, now: int, place: Place, state: PartitionState, part: Listed) -> None:
        if part.offset < 0:  # no record has such a timestamp, or a later one
            state.reset(LATEST)
            return
        state.seek(Position(part.offset, NO_EPOCH, self.metadata.epoch(place)))
        self.outbox.trace(f"{_HERE}._was_reset", "reset", name(place), offset=part.offset,
                          to=state.strategy)  # fmt: skip

    # -- validation

    def _validate(self, now: int, leader: int, places: list[Place]) -> None:
        request = m.OffsetForLeaderEpochRequest
        topics: dict[str, m.OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = {}
        for place in places:
            topic, index = place
            at = topics.setdefault(topic, request.OffsetForLeaderTopic(topic=topic))
            at.partitions.append(
                request.OffsetForLeaderPartition(
                    partition=index, current_leader_epoch=self.metadata.epoch(place),
                    leader_epoch=self.subscription.assigned[place].position.epoch,
                )
            )  # fmt: skip
        body = request(replica_id=-1, topics=list(topics.values()))
        self.connections.send(now, leader, (VALIDATE, tuple(places)), body)

    def _was_validated(self, now: int, place: Place, state: PartitionState, part: EpochEnd) -> None:
        position = state.position
        is_known = part.end_offset >= 0 and part.leader_epoch >= 0
        if is_known and part.end_offset >= position.offset:
            state.state = FETCHING
            self.outbox.trace(f"{_HERE}._was_validated", "validated", name(place),
                              offset=position.offset, epoch=position.epoch)  # fmt: skip
            return
        self.outbox.trace(f"{_HERE}._was_validated", "truncated", name(place),
                          offset=position.offset, epoch=position.epoch, ends_at=part.end_offset,
                          why="the log was truncated below our position")  # fmt: skip
        if self.settings.auto_offset_reset == NONE:
            self.error = TRUNCATED  # and checked again, should the application go on as it is
            state.retry_at = now + self.settings.request_timeout_ms * 1000
        elif is_known:
            state.seek(replace(position, offset=part.end_offset, epoch=part.leader_epoch))
        else:
            state.reset(self.settings.auto_offset_reset)

    # -- answers

    def heard(self, now: int, answer: Answer) -> None:
        what, places = answer.purpose
        parts = _parts(answer)
        wanted = RESETTING if what == LIST else VALIDATING
        for place in places:
            state = self.subscription.assigned.get(place)
            if state is None or state.state != wanted:
                continue
            state.asked = False
            part = parts.get(place)
            error = answer.error if part is None else Errors(part.error_code)
            if part is None or error:
                self._failed(now, place, state, error)
            elif isinstance(part, Listed):
                self._was_reset(now, place, state, part)
            else:
                self._was_validated(now, place, state, part)

    def _failed(self, now: int, place: Place, state: PartitionState, error: Errors) -> None:
        state.retry_at = now + self.settings.retry_backoff_ms * 1000
        self.metadata.want()
        self.outbox.trace(f"{_HERE}._failed", "position refused", name(place), error=error.name)
        if error == Errors.TOPIC_AUTHORIZATION_FAILED:
            self.error = error.name


def _parts(answer: Answer) -> dict[Place, Listed | EpochEnd]:
    match answer.body:
        case m.ListOffsetsResponse(topics=listed):
            return {(t.name, part.partition_index): part for t in listed for part in t.partitions}
        case m.OffsetForLeaderEpochResponse(topics=ended):
            return {(t.topic, part.partition): part for t in ended for part in t.partitions}
    return {}
