"""A member of a classic group that is nothing but its requests.

    with ByHand(cluster, "billing") as first, ByHand(cluster, "billing") as second:
        first.join()                    knocks, and waits for the answer
        second.knock()                  JoinGroup, without waiting
        first.beat()                    "REBALANCE_IN_PROGRESS"
        first.join(), second.joined()
        first.sync({first: [0], second: [1]})

A client library answers each of these for you.  Here nothing happens that the cell does not send.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.interface import Cluster, WaitTimeout
from kit.probes import clients
from kit.probes.raw_client import RawClient

TOPIC = "orders"
JOIN, SYNC, BEAT, LEAVE = 9, 5, 4, 5
"""Versions of the requests: the latest that Kafka 4.3 and the engine both have."""
COORDINATOR_S = 20.0
BUSY = (Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS)


def coordinator_of(cluster: Cluster, group: str, asked: int | None = None) -> int:
    """The id of the broker that FindCoordinator names; the first call makes the offsets topic.

    `asked` is the broker that is asked.
    """
    deadline = time.monotonic() + COORDINATOR_S
    request = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    while time.monotonic() < deadline:
        found = clients.ask(cluster, asked or cluster.brokers[0], request).coordinators[0]
        if found.error_code == Errors.NONE:
            return int(found.node_id)
        time.sleep(0.1)
    raise WaitTimeout(f"{group} has no coordinator after {COORDINATOR_S:g} s: are brokers down?")


class ByHand:
    """One connection to the coordinator."""

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        protocols: Sequence[str] = ("range",),
        session_ms: int = 10_000,
        instance: str | None = None,
        topic: str = TOPIC,
    ) -> None:
        self.group, self.protocols, self.session_ms = group, tuple(protocols), session_ms
        self.instance, self.topic = instance, topic
        self.id, self.generation, self.member_count = "", -1, 0
        self.leads = False
        self._early: Any = None
        """The answer to a first JoinGroup that was refused at once."""
        self._client = RawClient(cluster, coordinator_of(cluster, group), "by-hand")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.instance is None and self.id:
            self._leave()
        self._client.socket.close()

    # -- JoinGroup

    def knock(self) -> None:
        """Sends JoinGroup; the answer comes when all members have sent theirs."""
        if not self.id and self.instance is None:
            self._send_join()
            answer = self._hear()
            if answer.error_code != Errors.MEMBER_ID_REQUIRED:
                self._early = answer
                return
            self.id = answer.member_id
        self._send_join()

    def joined(self) -> str:
        """Waits for the answer to JoinGroup; its error."""
        answer, self._early = self._early or self._hear(), None
        if answer.error_code == Errors.NONE:
            self.id, self.generation = answer.member_id, answer.generation_id
            self.member_count = len(answer.members)
            self.leads = answer.leader == answer.member_id
        return Errors(answer.error_code).name

    def join(self) -> str:
        """JoinGroup and its answer."""
        self.knock()
        return self.joined()

    def _send_join(self) -> None:
        request = m.JoinGroupRequest
        offered = [
            request.JoinGroupRequestProtocol(
                each, consumer_protocol.encode(m.ConsumerProtocolSubscription(topics=[self.topic]))
            )
            for each in self.protocols
        ]
        wait_ms, who = self.session_ms, (self.id, self.instance)
        body = request(self.group, self.session_ms, wait_ms, *who, "consumer", offered)
        self._client.send(body, JOIN)

    # -- SyncGroup, Heartbeat, LeaveGroup

    def sync(self, given: Mapping[ByHand, Sequence[int]] | None = None) -> str:
        """SyncGroup; the leader says what each member gets.  The partitions of its own answer."""
        request = m.SyncGroupRequest
        assignments = [
            request.SyncGroupRequestAssignment(member.id, _assignment(self.topic, partitions))
            for member, partitions in (given or {}).items()
        ]
        who, protocol = (self.id, self.instance), self.protocols[0]
        body = request(self.group, self.generation, *who, "consumer", protocol, assignments)
        self._client.send(body, SYNC)
        return "" if given is None else self.synced()

    def synced(self) -> str:
        """Waits for the answer to SyncGroup: this member's partitions, or an error."""
        answer = self._hear()
        if answer.error_code != Errors.NONE:
            return Errors(answer.error_code).name
        mine = consumer_protocol.assigned_partitions(answer.assignment) or {}
        return " ".join(str(index) for index in mine.get(self.topic, []))

    def beat(self, generation: int | None = None) -> str:
        """One Heartbeat; its error."""
        at = self.generation if generation is None else generation
        self._client.send(m.HeartbeatRequest(self.group, at, self.id, self.instance), BEAT)
        return Errors(self._hear().error_code).name

    def _leave(self) -> None:
        """A static member does not say this: its place is kept."""
        request = m.LeaveGroupRequest
        self._client.send(request(self.group, members=[request.MemberIdentity(self.id)]), LEAVE)
        self._hear()

    def _hear(self) -> Any:
        answer = self._client.receive()
        if answer is None:
            raise WaitTimeout(f"{self.group}: the coordinator does not answer; is it running?")
        return answer[1]


def _assignment(topic: str, partitions: Sequence[int]) -> bytes:
    given = m.ConsumerProtocolAssignment
    row = given.TopicPartition(topic, list(partitions))
    return consumer_protocol.encode(given([row]))
