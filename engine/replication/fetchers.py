"""A broker's fetchers: one for each other broker that leads something replicated here.

At most one of them follows a partition.  Whenever its leader or its leader
epoch changes, one fetcher drops it and one picks it up, so no fetcher ever acts on what it
agreed with a former leader.  A fetcher with nothing left to follow ends; its successor has
another generation, which tells a late answer to the old one.
"""

from __future__ import annotations

from collections.abc import ValuesView

from engine.events import Answered, Outbox
from engine.replication.fetcher import Fetcher
from engine.replication.partition import NO_LEADER, Partition
from engine.replication.purgatory import Purgatory
from engine.replication.questions import Question
from engine.replication.truncation import TruncationRule
from engine.settings import Settings


class Fetchers:
    """The fetchers of broker `node_id`, by the leader they fetch from."""

    def __init__(
        self, node_id: int, settings: Settings, outbox: Outbox, purgatory: Purgatory
    ) -> None:
        self.node_id = node_id
        self.settings = settings
        self.outbox = outbox
        self.purgatory = purgatory
        self.by_leader: dict[int, Fetcher] = {}
        self.broker_epoch = -1
        self.next_generation = 0

    def get(self, leader: int) -> Fetcher | None:
        return self.by_leader.get(leader)

    def values(self) -> ValuesView[Fetcher]:
        return self.by_leader.values()

    def registered(self, broker_epoch: int) -> None:
        """Puts this incarnation's broker epoch into every fetch from now on (KIP-903)."""
        self.broker_epoch = broker_epoch
        for fetcher in self.values():
            fetcher.broker_epoch = broker_epoch

    def assign(self, now: int, partition: Partition, rule: TruncationRule) -> None:
        """Follows the partition's leader in its present epoch, or none."""
        self.release(partition)
        leader = partition.leader_id
        if leader in (NO_LEADER, self.node_id):
            return
        fetcher = self.by_leader.get(leader)
        if fetcher is None:
            self.next_generation += 1
            fetcher = self.by_leader[leader] = Fetcher(
                self.node_id, leader, self.next_generation, self.settings, self.outbox, rule
            )
            fetcher.broker_epoch = self.broker_epoch
        fetcher.follow(partition)
        fetcher.poll(now)

    def release(self, partition: Partition) -> None:
        for leader, fetcher in tuple(self.by_leader.items()):
            fetcher.unfollow(partition)
            if not fetcher.following:
                del self.by_leader[leader]

    def look_again(self, partition: Partition) -> None:
        fetcher = self.by_leader.get(partition.leader_id)
        if fetcher is not None:
            fetcher.look_again(partition)

    def answered(self, now: int, question: Question, body: Answered) -> None:
        """Hands an answer to the fetcher that asked, if it still exists."""
        fetcher = self.by_leader.get(question.leader)
        if fetcher is not None:
            for partition in fetcher.answered(now, question, body):
                self.purgatory.check(now, partition.key)

    def poll(self, now: int, leader: int) -> None:
        """Lets a fetcher send its next request, if it still exists."""
        fetcher = self.by_leader.get(leader)
        if fetcher is not None:
            fetcher.poll(now)
