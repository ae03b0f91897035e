"""The follower's half of an incremental fetch session (KIP-227): it names only what changed.

Without a session, a follower of a thousand partitions names them all, with their offsets, in
every fetch, though most have not moved.  In a session, leader and follower both remember the
last request.  The next one names only partitions whose position has changed, and those to
forget.  The leader's half: engine/replication/fetch_sessions.py.

    request   session 0, epoch 0        everything; the answer opens session 9
    request   session 9, epoch 1        orders-0 from 7, forget orders-1
    request   session 9, epoch 2        nothing new: the session's partitions as they are
    answer    FETCH_SESSION_ID_NOT_FOUND: from the start, in a new session
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from engine.replication.partition import Partition
from engine.replication.truncation import TruncationRule
from engine.wire import messages as m

Key = tuple[bytes, int]
Position = tuple[int, int, int, int]
"""Fetch offset, epoch of the last record, leader epoch, log start; -1 where not given."""


@dataclass(slots=True)
class Following:
    """One followed partition; `asked` is the position that the last request named.

    `turn` orders the partitions of a request.  `has_asked` is whether the leader was asked for
    epochs since the follower took it up.
    """

    partition: Partition
    leader_epoch: int
    turn: int
    not_before_us: int = 0
    agrees: bool = True
    asked: Position | None = None
    has_asked: bool = False

    def position(self, rule: TruncationRule) -> Position:
        """The position that a fetch names now; older rules leave some of it out."""
        log = self.partition.log
        return (
            log.log_end_offset,
            log.latest_epoch if rule.diverges_on_fetch else -1,
            self.leader_epoch if rule.fences_epoch else -1,
            log.log_start_offset,
        )


class FollowerSession:
    """`id` is 0 until the leader has opened a session; `left` has partitions to forget.

    `changed` has those whose position is perhaps another one than the last request named.
    """

    def __init__(self, partition_max_bytes: int) -> None:
        self.partition_max_bytes = partition_max_bytes
        self.id = 0
        self.epoch = 0
        self.left: dict[Key, None] = {}
        self.changed: dict[Key, None] = {}

    def joined(self, key: Key) -> None:
        self.changed[key] = None

    def has_left(self, key: Key) -> None:
        self.left[key] = None

    def look_again(self, key: Key) -> None:
        self.changed[key] = None

    def end(self) -> None:
        """The next request opens a new session and names everything."""
        self.id = self.epoch = 0
        self.left = {}

    def answered(self, session_id: int) -> None:
        if session_id == 0:
            self.id = self.epoch = 0
        else:
            self.epoch = 1 if session_id != self.id else self.epoch + 1
            self.id = session_id

    def request(
        self, following: dict[Key, Following], resting: Container[Key], rule: TruncationRule
    ) -> m.FetchRequest:
        """A FetchRequest with the session's part filled in: what to add, what to forget.

        Partitions that are `resting` are not asked for, and the leader forgets them.
        """
        request = m.FetchRequest
        changed = following if self.id == 0 else self.changed
        self.changed = {}
        topics: dict[bytes, list[m.FetchRequest.FetchPartition]] = {}
        forgotten: dict[bytes, list[int]] = {}
        for topic_id, index in sorted(
            (key for key in changed if key in following), key=lambda key: following[key].turn
        ):
            each = following[topic_id, index]
            if (topic_id, index) in resting:
                if each.asked is not None:
                    forgotten.setdefault(topic_id, []).append(index)
                    each.asked = None
                continue
            position = each.position(rule)
            if position != each.asked or self.id == 0:
                each.asked = position
                self.left.pop((topic_id, index), None)
                topics.setdefault(topic_id, []).append(self._named(index, position))
        for topic_id, index in self.left:
            forgotten.setdefault(topic_id, []).append(index)
        self.left = {}
        if self.id == 0:
            forgotten = {}
        return request(
            session_id=self.id,
            session_epoch=self.epoch,
            topics=[request.FetchTopic(topic_id=t, partitions=p) for t, p in topics.items()],
            forgotten_topics_data=[
                request.ForgottenTopic(topic_id=t, partitions=p) for t, p in forgotten.items()
            ],
        )

    def _named(self, index: int, position: Position) -> m.FetchRequest.FetchPartition:
        return m.FetchRequest.FetchPartition(
            partition=index,
            fetch_offset=position[0],
            last_fetched_epoch=position[1],
            current_leader_epoch=position[2],
            log_start_offset=position[3],
            partition_max_bytes=self.partition_max_bytes,
        )
