"""A member of a classic group, and what scenarios do with members; see actors.py."""

from __future__ import annotations

import time
from typing import Any

from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.conformance.probe.actors import Actor, Stage
from tests.conformance.probe.side import TOPIC, UNKNOWN_ID

J, S, L = m.JoinGroupRequest, m.SyncGroupRequest, m.LeaveGroupRequest
C, F = m.OffsetCommitRequest, m.OffsetFetchRequest
LONG_MS, SHORT_MS = 30_000, 1_500
SHOWN_S = 0.5
"""Kafka shows a new group once its first record is replicated, the engine at once."""


def wants(*topics: str) -> bytes:
    """A subscription as consumers write it."""
    return consumer_protocol.encode(m.ConsumerProtocolSubscription(topics=list(topics)), 1)


READS = wants(TOPIC)


class Member:
    """An actor that keeps the id and the generation it was given."""

    def __init__(self, stage: Stage, name: str, *, instance: str | None = None,
                 protocols: dict[str, bytes] | None = None, kind: str = "consumer",
                 session_ms: int = LONG_MS, rebalance_ms: int = LONG_MS) -> None:  # fmt: skip
        self.stage = stage
        self.name = name
        self.instance, self.kind = instance, kind
        self.protocols = protocols or {"range": READS}
        self.session_ms, self.rebalance_ms = session_ms, rebalance_ms
        self.id, self.generation, self.protocol = "", -1, ""

    @property
    def actor(self) -> Actor:
        return self.stage.actor(self.name)

    def send_join(self, version: int | None = None, reason: str | None = None) -> None:
        offered = [J.JoinGroupRequestProtocol(*each) for each in self.protocols.items()]
        body = J(self.stage.group, self.session_ms, self.rebalance_ms, self.id, self.instance,
                 self.kind, offered, reason)  # fmt: skip
        if version is not None and version < 5:
            body.group_instance_id = None
        self.actor.send(body, version)

    def joined(self) -> Any:
        """The answer to JoinGroup; one without error is remembered."""
        answer = self.actor.hear()
        if not answer.error_code:
            self.id, self.generation = answer.member_id, answer.generation_id
            self.protocol = answer.protocol_name
        return answer

    def take_id(self) -> None:
        """The first of a dynamic member's two JoinGroups (KIP-394)."""
        self.send_join()
        answer = self.actor.hear()
        assert answer.error_code == Errors.MEMBER_ID_REQUIRED
        self.id = answer.member_id

    def knock(self) -> None:
        """Sends the JoinGroup that may have to wait, with an id if one is needed."""
        if self.instance is None and not self.id:
            self.take_id()
        self.send_join()

    def join(self) -> Any:
        self.knock()
        return self.joined()

    def send_sync(self, *others: Member) -> None:
        """The leader gives itself and `others` what their names say."""
        given = [S.SyncGroupRequestAssignment(each.id, each.name.encode()) for each in others]
        group, who = self.stage.group, (self.id, self.instance)
        self.actor.send(S(group, self.generation, *who, self.kind, self.protocol, given))

    def sync(self, *others: Member) -> Any:
        self.send_sync(*others)
        return self.actor.hear()

    def beat(self) -> Errors:
        answer = self.actor.ask(
            m.HeartbeatRequest(self.stage.group, self.generation, self.id, self.instance)
        )
        return Errors(answer.error_code)

    def beat_until(self, error: Errors) -> None:
        """Heartbeats that are not compared, until one is answered so."""
        deadline = time.monotonic() + 60
        while not self.beat_is(error):
            assert time.monotonic() < deadline, f"no {error!r}"
            time.sleep(0.05)

    def beat_is(self, error: Errors) -> bool:
        """A heartbeat that is not compared."""
        told = len(self.stage.told)
        found = self.beat()
        del self.stage.told[told:]
        return found is error

    def leave(self) -> Any:
        leaving = [L.MemberIdentity(self.id, self.instance)]
        return self.actor.ask(L(self.stage.group, members=leaving))

    def commit(self, offset: int = 3, epoch: int = 0, version: int | None = None) -> Any:
        row = C.OffsetCommitRequestPartition(0, offset, epoch, "note")
        topic = C.OffsetCommitRequestTopic(TOPIC, self.stage.side.topic_ids[TOPIC], [row])
        if version is not None and version < 6:
            row.committed_leader_epoch = -1
        return self.actor.ask(
            C(self.stage.group, self.generation, self.id, self.instance, topics=[topic]), version
        )


def both_join(one: Member, two: Member) -> None:
    """`two` asks to join, and the member that is there joins again: a new generation."""
    two.knock()
    one.beat_until(Errors.REBALANCE_IN_PROGRESS)
    one.send_join()
    one.joined()
    two.joined()


def both_sync(one: Member, two: Member) -> None:
    """The follower waits for its assignment until the leader `one` has sent it."""
    two.send_sync()
    one.sync(one, two)
    two.actor.hear()


def describe(stage: Stage) -> None:
    stage.actor("admin").ask(m.DescribeGroupsRequest([stage.group]))


def listed(stage: Stage, states: list[str], types: list[str]) -> None:
    """Whether the group is in the list; other groups are not compared."""
    actor = stage.actor("admin")
    told = len(stage.told)
    found = actor.ask(m.ListGroupsRequest(states, types)).groups
    del stage.told[told:]
    own = [each for each in found if each.group_id == stage.group]
    stage.told.append(("admin", (states, types, own)))


def pair(stage: Stage, **terms: Any) -> tuple[Member, Member]:
    """Two members of a stable group; the first leads."""
    one, two = Member(stage, "one", **terms), Member(stage, "two", **terms)
    one.join()
    one.sync(one)
    both_join(one, two)
    two.send_sync()
    two.actor.hears_nothing()
    one.sync(one, two)
    two.actor.hear()
    return one, two


def deletion(stage: Stage, topic: str, *partitions: int) -> Any:
    d = m.OffsetDeleteRequest
    parts = [d.OffsetDeleteRequestPartition(each) for each in partitions]
    return d(stage.group, [d.OffsetDeleteRequestTopic(topic, parts)])


def reading_of(
    stage: Stage, version: int, *groups: str, topic: str = TOPIC, stable: bool = False,
    everything: bool = False, topic_id: bytes | None = None,
) -> Any:  # fmt: skip
    ids = stage.side.topic_ids
    if version < 8:
        asked = None if everything else [F.OffsetFetchRequestTopic(topic, [0, 1])]
        return F(stage.group, asked, require_stable=stable)
    named = ids.get(topic, UNKNOWN_ID) if topic_id is None else topic_id
    rows = None if everything else [F.OffsetFetchRequestTopics(topic, named, [0, 1])]
    wanted = [F.OffsetFetchRequestGroup(each, topics=rows) for each in groups or (stage.group,)]
    return F(groups=wanted, require_stable=stable)
