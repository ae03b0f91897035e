"""A member of a consumer group (KIP-848), and what scenarios do with members; see actors.py.

A target is computed as soon as one is due: each group has an assignment interval of 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from engine.settings.sources import GROUP
from engine.wire import messages as m
from tests.conformance.probe.actors import Actor, Stage
from tests.conformance.probe.members import SHOWN_S
from tests.conformance.probe.side import TOPIC

H = m.ConsumerGroupHeartbeatRequest
C = m.OffsetCommitRequest
LONG_MS = 30_000


class Consumer:
    """An actor that believes what it hears, and lists what it believes."""

    def __init__(self, stage: Stage, name: str, *topics: str, instance: str | None = None,
                 rebalance_ms: int = LONG_MS, **terms: Any) -> None:  # fmt: skip
        self.stage = stage
        self.name = self.id = name
        self.topics: tuple[str, ...] | None = topics or (TOPIC,)
        self.instance = instance
        self.rebalance_ms = rebalance_ms
        self.terms = terms
        self.epoch = 0
        self.owned: list[Any] = []

    @property
    def actor(self) -> Actor:
        return self.stage.actor(self.name)

    def body(self, full: bool = False, **changes: Any) -> H:
        body = H(group_id=self.stage.group, member_id=self.id, member_epoch=self.epoch,
                 instance_id=self.instance, topic_partitions=self.owned)  # fmt: skip
        if full:
            body.rebalance_timeout_ms = self.rebalance_ms
            body.subscribed_topic_names = None if self.topics is None else list(self.topics)
            for name, value in self.terms.items():
                setattr(body, name, value)
        for name, value in changes.items():
            setattr(body, name, value)
        return body

    def ask(self, full: bool = False, **changes: Any) -> Any:
        """A heartbeat whose answer is not believed."""
        return self.actor.ask(self.body(full, **changes))

    def beat(self, full: bool = False, **changes: Any) -> Any:
        answer = self.ask(full, **changes)
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = [
                    H.TopicPartitions(each.topic_id, list(each.partitions))
                    for each in answer.assignment.topic_partitions
                ]
        return answer

    def join(self) -> Any:
        self.epoch, self.owned = 0, []
        return self.beat(full=True)

    def leave(self, epoch: int = -1) -> Any:
        return self.ask(member_epoch=epoch, topic_partitions=None)

    def beat_until(self, holds: Callable[[Any], bool], full: bool = False) -> None:
        """Heartbeats that are not compared, up to the one that holds."""
        deadline = time.monotonic() + 60
        while True:
            told = len(self.stage.told)
            if holds(self.beat(full)):
                return
            del self.stage.told[told:]
            assert time.monotonic() < deadline, f"{self.name} does not come to it"
            time.sleep(0.05)

    def commit(self, offset: int, epoch: int, partition: int = 0, version: int = 10) -> Any:
        row = C.OffsetCommitRequestPartition(partition, offset, -1, "note")
        topic = C.OffsetCommitRequestTopic(TOPIC, self.stage.side.topic_ids[TOPIC], [row])
        body = C(self.stage.group, epoch, self.id, self.instance, topics=[topic])
        return self.actor.ask(body, version)


def without_interval(stage: Stage) -> None:
    """The group's own assignment interval is 0; not compared."""
    change = m.IncrementalAlterConfigsRequest
    row = change.AlterableConfig("consumer.assignment.interval.ms", 0, "0")
    admin, told = stage.actor("admin"), len(stage.told)
    answer = admin.ask(change([change.AlterConfigsResource(GROUP, stage.group, [row])]))
    assert answer.responses[0].error_code == 0
    asked = m.DescribeConfigsRequest
    described = asked([asked.DescribeConfigsResource(GROUP, stage.group)])
    while not any(
        each.name == row.name and each.value == "0"
        for each in admin.ask(described).results[0].configs
    ):
        time.sleep(0.05)
    time.sleep(0.3)
    del stage.told[told:]


def described(stage: Stage, *others: str) -> None:
    """Kafka describes what is replicated, which may be a little later."""
    time.sleep(SHOWN_S)
    stage.actor("admin").ask(m.ConsumerGroupDescribeRequest([stage.group, *others], True))


def pair(stage: Stage, **terms: Any) -> tuple[Consumer, Consumer]:
    """Two members of a stable group, one partition each."""
    without_interval(stage)
    one, two = Consumer(stage, "one", **terms), Consumer(stage, "two", **terms)
    one.join()
    two.join()
    one.beat()
    one.beat()
    two.beat()
    return one, two
