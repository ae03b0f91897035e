"""Group coordinators on the bench of two brokers (bench.py), and consumers to talk to them."""

from __future__ import annotations

from typing import Any

import pytest

from engine.coordinators.group_coordinator import GroupCoordinator
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.metadata.image import PartitionImage, TopicImage
from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.coordinators import bench

ORDERS, PAYMENTS = bytes([1] * 16), bytes([2] * 16)
OFFSETS_ID = bytes([9] * 16)


class StubBroker(bench.StubBroker):
    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.groups = GroupCoordinator(self)

    @property
    def coordinator(self) -> GroupCoordinator:
        return self.groups


class Groups(bench.Bench):
    """The cluster, with two topics."""

    def __init__(self, **overrides: Any) -> None:
        settings = {"offsets.topic.num.partitions": 1, "group.initial.rebalance.delay.ms": 0}
        features = {"metadata.version": 30, "group.version": 1}
        super().__init__(StubBroker, OFFSETS_TOPIC, (101, 102), features, settings, overrides)
        for name, topic_id, count in (("orders", ORDERS, 4), ("payments", PAYMENTS, 2)):
            self.add_topic(name, topic_id, count, 101)

    def add_topic(self, name: str, topic_id: bytes, count: int, leader: int) -> None:
        image = PartitionImage((101, 102), (101, 102), leader=leader)
        partitions = dict.fromkeys(range(count), image)
        self.metadata.topics[topic_id] = TopicImage(name, topic_id, partitions)
        self.metadata.topic_ids[name] = topic_id

    def lead(self, node: int | None) -> None:
        """Moves the coordinator to `node`; the log is the same, the memory is not."""
        old = self.shared.leader
        self.shared.leader = node or -1
        self.shared.under_way = []
        self.add_topic(OFFSETS_TOPIC, OFFSETS_ID, 1, node or -1)
        if old in self.brokers:
            self.brokers[old].groups.on_resign(self.now, 0)
            self.carry_out(old)
        if node is not None:
            self.brokers[node].groups.on_leader(self.now, 0)
            self.carry_out(node)

    @property
    def coordinator(self) -> GroupCoordinator:
        return self.brokers[self.shared.leader].groups

    def call(self, body: Any, version: int | None = None, **how: Any) -> Any:
        """Like `ask`, for an answer that is there at once."""
        return self.answers[self.ask(body, version, **how)]

    # -- what a consumer does

    def join(
        self,
        member_id: str = "",
        instance: str | None = None,
        topics: tuple[str, ...] = ("orders",),
        group: str = "g",
        version: int = 9,
        protocols: tuple[str, ...] = ("range",),
        session_ms: int = 10_000,
        rebalance_ms: int = 30_000,
        client: str = "c",
    ) -> int:
        metadata = subscription(topics)
        body = m.JoinGroupRequest(
            group_id=group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms if version >= 1 else -1,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(p, metadata) for p in protocols],
        )
        return self.ask(body, version, client)

    def new_id(self, **how: Any) -> str:
        """The id that a dynamic member is sent back with."""
        answer = self.answers[self.join(**how)]
        assert answer.error_code == Errors.MEMBER_ID_REQUIRED
        return answer.member_id

    def sync(
        self,
        member_id: str,
        generation: int,
        shares: dict[str, list[int]] | None = None,
        instance: str | None = None,
        group: str = "g",
    ) -> int:
        assignments = [
            m.SyncGroupRequest.SyncGroupRequestAssignment(each, assignment({"orders": partitions}))
            for each, partitions in (shares or {}).items()
        ]
        return self.ask(
            m.SyncGroupRequest(
                group_id=group,
                generation_id=generation,
                member_id=member_id,
                group_instance_id=instance,
                protocol_type="consumer",
                protocol_name="range",
                assignments=assignments,
            )
        )

    def heartbeat(
        self, member_id: str, generation: int, instance: str | None = None, group: str = "g"
    ) -> Errors:
        body = m.HeartbeatRequest(group, generation, member_id, instance)
        return Errors(self.call(body).error_code)

    def leave(self, *members: tuple[str, str | None], group: str = "g") -> Any:
        identities = [m.LeaveGroupRequest.MemberIdentity(*each) for each in members]
        return self.call(m.LeaveGroupRequest(group_id=group, members=identities))

    def commit(
        self,
        offset: int,
        member_id: str = "",
        generation: int = -1,
        instance: str | None = None,
        partition: int = 0,
        group: str = "g",
        version: int = 9,
        topic: str = "orders",
    ) -> int:
        request = m.OffsetCommitRequest
        row = request.OffsetCommitRequestPartition(partition, offset, 5, "note")
        if version < 6:
            row.committed_leader_epoch = -1
        topics = [request.OffsetCommitRequestTopic(name=topic, partitions=[row])]
        if version >= 10:
            topics[0].topic_id = self.metadata.topic_ids[topic]
        return self.ask(request(group, generation, member_id, instance, topics=topics), version)

    def commit_error(self, offset: int, *who: Any, **how: Any) -> Errors:
        answer = self.answers[self.commit(offset, *who, **how)]
        return Errors(answer.topics[0].partitions[0].error_code)

    def committed(self, group: str = "g", partition: int = 0, topic: str = "orders") -> int:
        """The offset that a consumer which starts now would be given."""
        request = m.OffsetFetchRequest
        topics = [request.OffsetFetchRequestTopics(name=topic, partition_indexes=[partition])]
        asked = request.OffsetFetchRequestGroup(group_id=group, topics=topics)
        answer = self.call(request(groups=[asked]), 9).groups[0]
        assert answer.error_code == Errors.NONE
        return answer.topics[0].partitions[0].committed_offset

    def stable_pair(self) -> tuple[str, str, int]:
        """Two dynamic members that share four partitions: leader, follower, generation."""
        first, second = self.new_id(), self.new_id()
        joins = self.join(first), self.join(second)
        self.wait(self.settings["group.initial.rebalance.delay.ms"])
        generation = self.answers[joins[0]].generation_id
        follower = self.sync(second, generation)
        self.sync(first, generation, {first: [0, 1], second: [2, 3]})
        self.replicate()
        assert follower in self.answers
        return first, second, generation

    def state(self, group: str = "g") -> str:
        return self.coordinator.snapshot()[group]["state"]


def subscription(topics: tuple[str, ...]) -> bytes:
    return consumer_protocol.encode(m.ConsumerProtocolSubscription(topics=list(topics)), 3)


def assignment(partitions: dict[str, list[int]]) -> bytes:
    part = m.ConsumerProtocolAssignment.TopicPartition
    rows = [part(topic, indexes) for topic, indexes in partitions.items()]
    return consumer_protocol.encode(m.ConsumerProtocolAssignment(rows), 3)


@pytest.fixture
def make_groups() -> type[Groups]:
    """The cluster's class: call it with settings, dots written as underscores."""
    return Groups


@pytest.fixture
def groups() -> Groups:
    """A cluster whose coordinator is broker 101."""
    cluster = Groups()
    cluster.lead(101)
    return cluster
