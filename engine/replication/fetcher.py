"""A follower's side of replication: one fetcher for each broker it follows.

The fetcher keeps one Fetch in flight for all partitions that this broker follows there,
each from its own log end on.  The request doubles as an acknowledgement: "send me
from 7 on" says that everything below 7 is here.  A request names only what changed since the
last one (engine/replication/follower_session.py).

Before it may fetch, a follower must agree with the leader about the past.  The
`TruncationRule` says how.  Under `fetch-divergence` the fetch itself carries the epoch of the
last record here, and the leader may answer "that epoch ends at 2 in my log": the follower cuts
there and fetches again.  Older rules first ask OffsetForLeaderEpoch, partition by partition.

A follower that asks for what its leader has in the tier alone (KIP-405) asks where the leader's
local log starts, and begins behind the tier (engine/replication/remote_log_manager.py).

Answers are checked against the request: a partition ignores its answer if its leader epoch or
log end has moved meanwhile.
"""

from __future__ import annotations

from engine.events import Answered, Outbox
from engine.replication.follower_session import FollowerSession, Following, Key
from engine.replication.partition import Partition
from engine.replication.questions import (
    EpochQuestion,
    FetcherTimer,
    FetchRound,
    OffsetQuestion,
    Question,
)
from engine.replication.remote_log_manager import begin_behind_tier
from engine.replication.truncation import TruncationRule, where_to_cut
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

LATEST, EARLIEST, EARLIEST_LOCAL = -1, -2, -4
_HERE = "replication.fetcher.Fetcher"


class Fetcher:
    """Fetches from `leader_id`; `generation` tells this fetcher's answers from a predecessor's."""

    def __init__(
        self,
        node_id: int,
        leader_id: int,
        generation: int,
        settings: Settings,
        outbox: Outbox,
        rule: TruncationRule,
    ) -> None:
        self.node_id = node_id
        self.leader_id = leader_id
        self.generation = generation
        self.outbox = outbox
        self.rule = rule
        self.max_wait_ms: int = settings["replica.fetch.wait.max.ms"]
        self.min_bytes: int = settings["replica.fetch.min.bytes"]
        self.max_bytes: int = settings["replica.fetch.response.max.bytes"]
        self.backoff_us: int = settings["replica.fetch.backoff.ms"] * 1000
        self.broker_epoch = -1
        self.following: dict[Key, Following] = {}
        self.resting: dict[Key, Following] = {}
        """Those that may not be asked for before a later time."""
        self.next_turn = 0
        self.session = FollowerSession(settings["replica.fetch.max.bytes"])
        self.in_flight = False

    # -- what is followed

    def follow(self, partition: Partition) -> None:
        """Starts following in the partition's present leader epoch."""
        key = (partition.topic_id, partition.index)
        if self.rule.cuts_to_high_watermark:
            partition.truncate(partition.high_watermark, "cut at the own high watermark")
        self.session.joined(key)
        self.next_turn += 1
        following = Following(partition, partition.leader_epoch, self.next_turn)
        following.agrees = not self.rule.asks_leader or partition.log.latest_epoch < 0
        self.following[key] = following

    def unfollow(self, partition: Partition) -> None:
        key = (partition.topic_id, partition.index)
        following = self.following.get(key)
        if following is not None and following.partition is partition:
            del self.following[key]
            self.resting.pop(key, None)
            if following.asked is not None:
                self.session.has_left(key)

    def look_again(self, partition: Partition) -> None:
        """A partition's log moved: the next request may have to name it."""
        self.session.look_again((partition.topic_id, partition.index))

    def _rest(self, following: Following, until_us: int) -> None:
        """Asks for a partition again at that time, and not before."""
        partition = following.partition
        following.not_before_us = until_us
        self.resting[partition.topic_id, partition.index] = following
        self.look_again(partition)

    def _wake(self, now: int) -> None:
        for key, following in tuple(self.resting.items()):
            if following.not_before_us <= now:
                del self.resting[key]
                self.session.look_again(key)

    # -- asking

    def poll(self, now: int) -> None:
        """Sends the next request, unless one is under way or nothing may be asked yet."""
        if self.in_flight or not self.following:
            return
        self._wake(now)
        if len(self.resting) < len(self.following):
            disagreeing = self._disagreeing()
            if disagreeing:
                self._ask_epochs(disagreeing)
            else:
                self._fetch()
        if self.resting:
            self._sleep(min(each.not_before_us for each in self.resting.values()))

    def _disagreeing(self) -> list[Following]:
        if not self.rule.asks_leader:
            return []
        ready = (f for k, f in self.following.items() if k not in self.resting)
        return [each for each in ready if not each.agrees]

    def _sleep(self, until_us: int) -> None:
        self.outbox.set_timer(FetcherTimer(self.leader_id), until_us)

    def _fetch(self) -> None:
        body = self.session.request(self.following, self.resting, self.rule)
        body.replica_state = m.FetchRequest.ReplicaState(
            replica_id=self.node_id, replica_epoch=self.broker_epoch
        )
        body.max_wait_ms = self.max_wait_ms
        body.min_bytes = self.min_bytes
        body.max_bytes = self.max_bytes
        self.in_flight = True
        self.outbox.send(self.leader_id, FetchRound(self.leader_id, self.generation), body)

    def _ask_epochs(self, disagreeing: list[Following]) -> None:
        request = m.OffsetForLeaderEpochRequest
        topics: dict[str, list[m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition]] = {}
        for following in disagreeing:
            partition = following.partition
            following.has_asked = True
            topics.setdefault(partition.topic, []).append(
                request.OffsetForLeaderPartition(
                    partition=partition.index,
                    current_leader_epoch=following.leader_epoch if self.rule.fences_epoch else -1,
                    leader_epoch=partition.log.latest_epoch,
                )
            )
        body = request(
            replica_id=self.node_id,
            topics=[
                request.OffsetForLeaderTopic(topic=name, partitions=partitions)
                for name, partitions in topics.items()
            ],
        )
        self.in_flight = True
        self.outbox.send(self.leader_id, EpochQuestion(self.leader_id, self.generation), body)

    # -- hearing back

    def answered(self, now: int, question: Question, body: Answered) -> list[Partition]:
        """Takes in an answer (None: lost); gives partitions whose log or high watermark moved."""
        if question.generation != self.generation:
            return []
        moved: list[Partition] = []
        match question, body:
            case OffsetQuestion(key=key, which=which), m.ListOffsetsResponse() | None:
                moved = self._take_offset(now, key, which, body)
            case _, None:
                self.in_flight = False
                self._start_over(now + self.backoff_us)
            case FetchRound(), m.FetchResponse():
                self.in_flight = False
                moved = self._take_records(now, body)
            case EpochQuestion(), m.OffsetForLeaderEpochResponse():
                self.in_flight = False
                moved = self._take_epochs(now, body)
        self.poll(now)
        return moved

    def _start_over(self, not_before_us: int) -> None:
        """Begins a new session and sends nothing before that time."""
        self.session.end()
        for following in self.following.values():
            self._rest(following, not_before_us)

    def _take_records(self, now: int, body: m.FetchResponse) -> list[Partition]:
        if body.error_code != Errors.NONE:
            forgot = (Errors.FETCH_SESSION_ID_NOT_FOUND, Errors.INVALID_FETCH_SESSION_EPOCH)
            self._start_over(now if body.error_code in forgot else now + self.backoff_us)
            return []
        self.session.answered(body.session_id)
        moved = []
        for topic in body.responses:
            for data in topic.partitions:
                following = self.following.get((topic.topic_id, data.partition_index))
                if following is not None and self._take_partition(now, following, data):
                    moved.append(following.partition)
        return moved

    def _take_partition(
        self, now: int, following: Following, data: m.FetchResponse.PartitionData
    ) -> bool:
        """Takes in one partition of a Fetch answer; True if log or high watermark moved."""
        partition = following.partition
        stale = following.asked is None or following.asked[0] != partition.log.log_end_offset
        if stale or partition.leader_epoch != following.leader_epoch:
            return False
        if data.error_code == Errors.OFFSET_OUT_OF_RANGE:
            self._ask_offset(following, LATEST)
        elif data.error_code == Errors.OFFSET_MOVED_TO_TIERED_STORAGE:
            self._ask_offset(following, EARLIEST_LOCAL)
        elif data.error_code != Errors.NONE:
            self._rest(following, now + self.backoff_us)
        elif data.diverging_epoch is not None:
            diverging = data.diverging_epoch
            self.outbox.trace(f"{_HERE}._take_partition", "diverging", partition.name,
                              f"{self.leader_id} says where the logs diverge",
                              epoch=diverging.epoch, end=diverging.end_offset)  # fmt: skip
            self._cut(following, diverging.epoch, diverging.end_offset)
            return True
        else:
            if data.records and not self._append(now, following, data.records):
                return False
            advanced = partition.follow_high_watermark(data.high_watermark)
            partition.advance_log_start(data.log_start_offset)
            return bool(data.records) or advanced
        return False

    def _append(self, now: int, following: Following, records: bytes) -> bool:
        """Appends what the leader sent; a failure concerns this partition alone."""
        try:
            following.partition.append_as_follower(records)
        except KafkaError as error:
            self._rest(following, now + self.backoff_us)
            self.outbox.trace(f"{_HERE}._append", "append-failed", following.partition.name,
                              error.message, error=error.code.name)  # fmt: skip
            return False
        return True

    def _cut(self, following: Following, leader_epoch: int, end_offset: int) -> None:
        partition = following.partition
        cut = where_to_cut(partition.log, leader_epoch, end_offset, partition.high_watermark)
        partition.truncate(cut.offset, cut.why)
        following.agrees = cut.done or not self.rule.asks_leader

    def _take_epochs(self, now: int, body: m.OffsetForLeaderEpochResponse) -> list[Partition]:
        by_name = {f.partition.key: f for f in self.following.values()}
        moved = []
        for topic in body.topics:
            for answer in topic.partitions:
                following = by_name.get((topic.topic, answer.partition))
                if following is None or following.agrees:
                    continue
                if self.rule.fences_epoch and not following.has_asked:
                    continue
                if answer.error_code != Errors.NONE:
                    self._rest(following, now + self.backoff_us)
                    continue
                epoch = answer.leader_epoch if self.rule.names_epoch else -1
                self._cut(following, epoch, answer.end_offset)
                moved.append(following.partition)
        return moved

    # -- out of range: the leader's log does not contain the offset that we fetch

    def _ask_offset(self, following: Following, which: int) -> None:
        """Asks where the leader's log ends (then, if need be, where it starts)."""
        partition = following.partition
        self._rest(following, 1 << 62)
        request = m.ListOffsetsRequest
        asked = request.ListOffsetsPartition(
            partition_index=partition.index,
            current_leader_epoch=following.leader_epoch if self.rule.fences_epoch else -1,
            timestamp=which,
        )
        topic = request.ListOffsetsTopic(name=partition.topic, partitions=[asked])
        key = (partition.topic_id, partition.index)
        question = OffsetQuestion(self.leader_id, self.generation, key, which)
        body = request(replica_id=self.node_id, topics=[topic])
        self.outbox.send(self.leader_id, question, body)

    def _take_offset(
        self, now: int, key: Key, which: int, body: m.ListOffsetsResponse | None
    ) -> list[Partition]:
        following = self.following.get(key)
        if following is None or following.partition.leader_epoch != following.leader_epoch:
            return []
        answer = body.topics[0].partitions[0] if body is not None else None
        if answer is None or answer.error_code != Errors.NONE:
            self._rest(following, now + self.backoff_us)
            return []
        partition = following.partition
        if which == LATEST and answer.offset >= partition.log.log_end_offset:
            self._ask_offset(following, EARLIEST)
            return []
        self._rest(following, 0)
        if which == EARLIEST_LOCAL:
            if not begin_behind_tier(self.outbox, partition, answer.offset, answer.leader_epoch):
                self._rest(following, now + self.backoff_us)
            return [partition]
        if which == LATEST:
            partition.truncate(answer.offset, "the leader's log ends before ours")
        elif answer.offset > partition.log.log_end_offset:
            partition.restart_at(answer.offset, "the leader's log starts after ours ends")
        return [partition]
