"""Takes ISR changes to the controller, one request at a time (KIP-497).

Proposals that come up while a request is in flight travel together in the next one.
A lost answer is asked again: the partition epoch makes a repeated change harmless.
What was certainly not done is withdrawn.  After any other refusal the proposal stays
pending: an earlier attempt, whose answer was lost, may have succeeded, and only the
metadata log can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.events import Answered, Outbox
from engine.metadata.active_controller import ActiveController
from engine.replication.purgatory import Purgatory
from engine.wire import messages as m
from engine.wire.errors import Errors

if TYPE_CHECKING:
    from engine.replication.partition import Partition

RETRY_US = 100_000
_RETRY = {
    Errors.REQUEST_TIMED_OUT,
    Errors.NOT_CONTROLLER,
    Errors.UNKNOWN_SERVER_ERROR,
    Errors.COORDINATOR_NOT_AVAILABLE,
}
_NOT_DONE = {Errors.INELIGIBLE_REPLICA, Errors.OPERATION_NOT_ATTEMPTED}


@dataclass(frozen=True, slots=True)
class AlterPartitionRound:
    """One request with all ISR changes that were pending."""


@dataclass(frozen=True, slots=True)
class AlterPartitionRetry:
    """Rings when what was refused for the moment is asked again."""


class AlterPartitionQueue:
    """Pending proposals by partition key, in the order they came up."""

    def __init__(
        self, node_id: int, controller: ActiveController, outbox: Outbox, purgatory: Purgatory
    ) -> None:
        self.node_id = node_id
        self.controller = controller
        self.outbox = outbox
        self.purgatory = purgatory
        self.broker_epoch = -1
        self.pending: dict[tuple[str, int], Partition] = {}
        self.sent: list[Partition] = []

    def propose(self, now: int, partition: Partition) -> None:
        self.pending[partition.key] = partition
        self.send(now)

    def send(self, now: int) -> None:
        """Sends everything pending, unless an answer is still due."""
        if self.sent or not self.pending:
            return
        self.sent = [p for p in self.pending.values() if p.isr.proposed is not None and p.is_leader]
        self.pending = {}
        if not self.sent:
            return
        by_topic: dict[bytes, list[Partition]] = {}
        for partition in self.sent:
            by_topic.setdefault(partition.topic_id, []).append(partition)
        request = m.AlterPartitionRequest
        body = request(
            broker_id=self.node_id,
            broker_epoch=self.broker_epoch,
            topics=[
                request.TopicData(
                    topic_id=topic_id, partitions=[self._change(each) for each in partitions]
                )
                for topic_id, partitions in by_topic.items()
            ],
        )
        self.outbox.send(
            self.controller.id, AlterPartitionRound(), body, connection="alter-partition"
        )

    def _change(self, partition: Partition) -> m.AlterPartitionRequest.PartitionData:
        request = m.AlterPartitionRequest
        states = [
            request.BrokerState(broker_id=each, broker_epoch=self._epoch_of(partition, each))
            for each in partition.isr.proposed or ()
        ]
        return request.PartitionData(
            partition_index=partition.index,
            leader_epoch=partition.leader_epoch,
            new_isr_with_epochs=states,
            partition_epoch=partition.isr.partition_epoch,
        )

    def _epoch_of(self, partition: Partition, broker_id: int) -> int:
        """The epoch of a member's last fetch; -1, which claims nothing, before the first."""
        if broker_id == self.node_id:
            return self.broker_epoch
        follower = partition.followers.get(broker_id)
        known = follower.broker_epoch if follower is not None else None
        return -1 if known is None else known

    def answered(self, now: int, body: Answered) -> None:
        """Works an answer (None: lost) into the partitions that it was asked for."""
        sent, self.sent = self.sent, []
        if not isinstance(body, m.AlterPartitionResponse) or body.error_code != Errors.NONE:
            self._retry(now, sent)
            return
        answers = {
            (topic.topic_id, each.partition_index): each
            for topic in body.topics
            for each in topic.partitions
        }
        moved: list[Partition] = []
        for partition in sent:
            answer = answers.get((partition.topic_id, partition.index))
            if answer is None or Errors(answer.error_code) in _RETRY:
                self._retry(now, [partition])
            elif answer.error_code == Errors.NONE:
                if partition.isr_answered(now, tuple(answer.isr), answer.partition_epoch):
                    moved.append(partition)
            elif Errors(answer.error_code) in _NOT_DONE:
                partition.isr.withdraw()
        self.send(now)
        for partition in moved:
            self.purgatory.check(now, partition.key)

    def _retry(self, now: int, partitions: list[Partition]) -> None:
        for partition in partitions:
            self.pending.setdefault(partition.key, partition)
        self.outbox.set_timer(AlterPartitionRetry(), now + RETRY_US)
