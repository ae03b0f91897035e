"""A cluster that has nothing but group coordinators, and consumers to talk to them.

Brokers 101 and 102 share the log of one `__consumer_offsets` partition; one of them
leads it.  Every request and answer goes through the codec in its version.  Time moves
only in `wait`; appends are replicated at once, or when `replicate` says so.
"""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pytest

from engine import api
from engine.coordinators.group_coordinator import GroupCoordinator
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.events import Appended, CancelTimer, Outbox, Reply, Request, Send, SetTimer, Token
from engine.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage
from engine.records import batch
from engine.settings import Settings
from engine.wire import codec, consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors

ORDERS, PAYMENTS = bytes([1] * 16), bytes([2] * 16)
OFFSETS_ID = bytes([9] * 16)
START_US = 1_800_000_000_000_000


class SharedLog:
    """What is in the partition, on whichever broker leads it."""

    def __init__(self) -> None:
        self.log_start_offset = 0
        self.batches: list[bytes] = []
        self.log_end_offset = 0

    def append(self, data: bytes) -> None:
        self.batches.append(bytes(batch.assign(data, self.log_end_offset, 0)))
        self.log_end_offset = batch.read_header(self.batches[-1]).next_offset

    def read(self, offset: int, max_bytes: int) -> bytes:
        kept = [each for each in self.batches if batch.read_header(each).last_offset >= offset]
        return kept[0] if kept else b""


class SharedPartition:
    def __init__(self) -> None:
        self.log = SharedLog()
        self.high_watermark = 0
        self.leader_epoch = 0
        self.leader = 101
        self.under_way: list[tuple[Appended, int]] = []
        self.refuses = Errors.NONE
        self.holds = False

    def lose_tail(self, lose: bool) -> None:
        """The next leader has what is replicated, and perhaps the rest, now replicated too."""
        if lose:
            kept = [
                each
                for each in self.log.batches
                if batch.read_header(each).next_offset <= self.high_watermark
            ]
            self.log.batches, self.log.log_end_offset = kept, self.high_watermark
        self.high_watermark = self.log.log_end_offset


class StubReplicas:
    def __init__(self, broker: StubBroker, partition: SharedPartition) -> None:
        self.broker = broker
        self.shared = partition

    def partition(self, topic: str, index: int) -> SharedPartition | None:
        return self.shared if (topic, index) == (OFFSETS_TOPIC, 0) else None

    def append(
        self,
        now: int,
        topic: str,
        index: int,
        batch: bytes,
        then: Appended,
        timeout_ms: int,
        *rest: object,
    ) -> Errors:
        shared = self.shared
        if shared.leader != self.broker.node_id:
            return Errors.NOT_LEADER_OR_FOLLOWER
        if shared.refuses is not Errors.NONE:
            return shared.refuses
        shared.log.append(batch)
        shared.under_way.append((then, shared.log.log_end_offset))
        if not shared.holds:
            self.deliver(now)
        return Errors.NONE

    def deliver(self, now: int, error: Errors = Errors.NONE) -> None:
        shared = self.shared
        under_way, shared.under_way = shared.under_way, []
        for then, end in under_way:
            if error is Errors.NONE:
                shared.high_watermark = max(shared.high_watermark, end)
            then.appended(now, error)


class StubBroker:
    def __init__(
        self, node_id: int, settings: Settings, metadata: MetadataImage, shared: SharedPartition
    ) -> None:
        self.node_id = node_id
        self.controller_id = 100
        self.settings = settings
        self.metadata = metadata
        self.ids = Random(node_id)
        self.outbox = Outbox()
        self.replicas = StubReplicas(self, shared)
        self.groups = GroupCoordinator(self)


class Groups:
    """The cluster, its clock, and the answers that came back, by request number."""

    def __init__(self, **overrides: Any) -> None:
        self.now = START_US
        self.settings = Settings(
            {
                "offsets.topic.num.partitions": 1,
                "group.initial.rebalance.delay.ms": 0,
                **{name.replace("_", "."): value for name, value in overrides.items()},
            }
        )
        self.metadata = MetadataImage(features={"metadata.version": 30, "group.version": 1})
        for node in (101, 102):
            self.metadata.brokers[node] = BrokerImage(
                node, 1, bytes(16), "localhost", node, fenced=False
            )
        for name, topic_id, count in (("orders", ORDERS, 4), ("payments", PAYMENTS, 2)):
            self.add_topic(name, topic_id, count, 101)
        self.shared = SharedPartition()
        self.brokers = {
            node: StubBroker(node, self.settings, self.metadata, self.shared) for node in (101, 102)
        }
        self.timers: dict[tuple[int, Token], int] = {}
        self.answers: dict[int, Any] = {}
        self.waiting: dict[int, Request] = {}
        self.sent: list[Send] = []
        self.traced: list[Any] = []
        self.last_request = 0

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

    # -- requests, answers, time

    def ask(
        self, body: Any, version: int | None = None, client: str = "c", broker: int | None = None
    ) -> int:
        """Sends a request to the coordinator; its number finds the answer."""
        node = broker or self.shared.leader
        chosen = type(body).LATEST if version is None else version
        body = codec.decode(type(body).__name__, chosen, codec.encode(body, chosen))
        self.last_request += 1
        request = Request("conn", (self.last_request,), chosen, body, client, "127.0.0.1")
        self.waiting[self.last_request] = request
        api.dispatch(self.brokers[node], self.now, request)  # type: ignore[arg-type]
        self.carry_out(node)
        return self.last_request

    def call(self, body: Any, version: int | None = None, **how: Any) -> Any:
        """Like `ask`, for an answer that is there at once."""
        return self.answers[self.ask(body, version, **how)]

    def carry_out(self, node: int) -> None:
        for effect in self.brokers[node].outbox.drain():
            if isinstance(effect, Reply):
                number = effect.token[0]
                assert number in self.waiting, f"request {number} was answered twice"
                del self.waiting[number]
                name = type(effect.body).__name__
                data = codec.encode(effect.body, effect.version)
                self.answers[number] = codec.decode(name, effect.version, data)
            elif isinstance(effect, SetTimer):
                self.timers[node, effect.token] = effect.at
            elif isinstance(effect, CancelTimer):
                self.timers.pop((node, effect.token), None)
            elif isinstance(effect, Send):
                self.sent.append(effect)
            else:
                self.traced.append(effect)

    def wait(self, ms: int) -> None:
        """Lets time pass, firing timers in order."""
        until = self.now + ms * 1000
        while self.timers:
            (node, token), at = min(self.timers.items(), key=lambda item: (item[1], str(item[0])))
            if at > until:
                break
            self.now = max(self.now, at)
            del self.timers[node, token]
            self.brokers[node].groups.on_timer(self.now, token)
            self.carry_out(node)
        self.now = until

    def replicate(self, error: Errors = Errors.NONE) -> None:
        """Ends the appends under way."""
        node = self.shared.leader
        self.brokers[node].replicas.deliver(self.now, error)
        self.carry_out(node)

    def restored(self) -> Groups:
        """A copy by way of pickle, as the simulator makes them."""
        return pickle.loads(pickle.dumps(self))

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
