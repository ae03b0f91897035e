"""Consumers of the new protocol, as far as their coordinator sees them."""

from __future__ import annotations

from typing import Any

from engine.wire import messages as m
from engine.wire.errors import Errors


class Consumer:
    """It believes what the last answer said, and gives back what is not in it any more."""

    def __init__(
        self,
        groups: Any,
        name: str,
        topics: tuple[str, ...] | None = ("orders",),
        instance: str | None = None,
        group: str = "g",
        rebalance_ms: int = 30_000,
        assignor: str | None = None,
        regex: str | None = None,
    ) -> None:
        self.groups = groups
        self.id = name
        self.topics = topics
        self.instance = instance
        self.group = group
        self.rebalance_ms = rebalance_ms
        self.assignor = assignor
        self.regex = regex
        self.epoch = 0
        self.assigned: dict[str, list[int]] = {}
        self.answer: Any = None

    def body(self, full: bool = False, **changes: Any) -> m.ConsumerGroupHeartbeatRequest:
        """A heartbeat; a full one says all that a member can say."""
        ids = self.groups.metadata.topic_ids
        owned = [
            m.ConsumerGroupHeartbeatRequest.TopicPartitions(ids[topic], partitions)
            for topic, partitions in self.assigned.items()
            if topic in ids
        ]
        body = m.ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.id,
            member_epoch=self.epoch,
            instance_id=self.instance,
            topic_partitions=owned,
        )
        if full:
            body.rebalance_timeout_ms = self.rebalance_ms
            body.subscribed_topic_names = None if self.topics is None else list(self.topics)
            body.subscribed_topic_regex = self.regex
            body.server_assignor = self.assignor
        for name, value in changes.items():
            setattr(body, name, value)
        return body

    def ask(self, full: bool = False, **changes: Any) -> int:
        return self.groups.ask(self.body(full, **changes), client=self.id)

    def heard(self, number: int) -> Any:
        """Takes the answer over."""
        answer = self.answer = self.groups.answers[number]
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                names = {each: name for name, each in self.groups.metadata.topic_ids.items()}
                self.assigned = {
                    names[each.topic_id]: list(each.partitions)
                    for each in answer.assignment.topic_partitions
                }
        return answer

    def beat(self, full: bool = False, **changes: Any) -> Any:
        return self.heard(self.ask(full, **changes))

    def join(self) -> Any:
        self.epoch, self.assigned = 0, {}
        return self.beat(full=True)

    def leave(self, epoch: int = -1) -> Any:
        return self.groups.answers[self.ask(member_epoch=epoch, topic_partitions=None)]

    def error(self, **changes: Any) -> Errors:
        return Errors(self.groups.answers[self.ask(**changes)].error_code)

    @property
    def partitions(self) -> list[int]:
        return self.assigned.get("orders", [])

    def commit(self, offset: int, partition: int = 0, epoch: int | None = None) -> Errors:
        """What a commit with this member's epoch, or another, is answered."""
        epoch = self.epoch if epoch is None else epoch
        return self.groups.commit_error(
            offset, self.id, epoch, partition=partition, group=self.group
        )


def settle(*consumers: Consumer, rounds: int = 6) -> None:
    """Lets all heartbeat until nothing changes any more."""
    for _ in range(rounds):
        for each in consumers:
            each.beat()


def shown(groups: Any, group: str = "g") -> dict[str, Any]:
    return groups.coordinator.snapshot()[group]


def member(groups: Any, name: str, group: str = "g") -> dict[str, Any]:
    return next(each for each in shown(groups, group)["members"] if each["id"] == name)
