"""One classic group: its members, its generation, its votes.  Plain data with rules.

A *dynamic* member gets its id from the coordinator and loses it when it leaves.  A
*static* member (KIP-345) also brings a name of its own, `group.instance.id`: it may go
away and come back under that name, within its session timeout, and nothing rebalances.
The last member to join under a name owns it; the id before is *fenced*.

    members          id -> Member, in the order in which they came
    static_members   instance id -> member id
    pending_members  ids handed out that have not joined yet (KIP-394)
    pending_syncs    members of this generation that have not sent SyncGroup yet

Answers that must wait are parked as the requests themselves: `Member.joining` until
the generation is complete, `Member.syncing` until the assignment is stored.

Simplified: nothing here but the choice of a leader among equals, which Kafka takes
from a hash map and we from the order of joining, so that a run can be repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.coordinators.classic.states import TRANSITIONS, GroupEvent, GroupState
from engine.events import Request
from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors

JoinRequest = Request[m.JoinGroupRequest]


@dataclass(slots=True)
class Member:
    """One member; `protocols` maps an assignor's name to metadata, best liked first."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: dict[str, bytes]
    assignment: bytes = b""
    is_new: bool = False
    joining: JoinRequest | None = None
    syncing: Request[m.SyncGroupRequest] | None = None
    session_ends_at: int = 0
    timer_at: int = 0

    def vote(self, candidates: Mapping[str, object]) -> str:
        """The first of its protocols that everybody speaks."""
        return next(name for name in self.protocols if name in candidates)

    def metadata(self, protocol: str | None) -> bytes:
        return self.protocols.get(protocol or "", b"")


@dataclass(slots=True)
class Group:
    """A group and its generation; `generation` counts completed join phases."""

    id: str
    state: GroupState = GroupState.EMPTY
    previous_state: GroupState = GroupState.DEAD
    generation: int = 0
    protocol_type: str = ""
    protocol: str | None = None
    leader: str | None = None
    state_timestamp_ms: int = -1
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    pending_members: dict[str, None] = field(default_factory=dict)
    pending_syncs: dict[str, None] = field(default_factory=dict)
    supporters: dict[str, int] = field(default_factory=dict)
    joins_waiting: int = 0
    subscribed_topics: tuple[str, ...] | None = None
    new_member_added: bool = False
    initial_delay_left_ms: int = 0

    # -- states

    def moves(self, now: int, event: GroupEvent) -> None:
        """Takes the transition for `event`; there must be one."""
        target = TRANSITIONS[self.state, event]
        self.previous_state, self.state = self.state, target
        self.state_timestamp_ms = now // 1000

    def is_in(self, *states: GroupState) -> bool:
        return self.state in states

    @property
    def can_rebalance(self) -> bool:
        return (self.state, GroupEvent.REBALANCE) in TRANSITIONS

    # -- who is in

    def add(self, member: Member) -> None:
        if not self.members:
            self.supporters.clear()
        if member.instance_id is not None:
            assert member.instance_id not in self.static_members
            self.static_members[member.instance_id] = member.id
        self.members[member.id] = member
        self._count_protocols(member, 1)
        self.pending_members.pop(member.id, None)
        if self.leader is None:
            self.leader = member.id
        if member.joining is not None:
            self.joins_waiting += 1

    def remove(self, member_id: str) -> None:
        """Forgets a member or a pending id; a parked answer must have been given before."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            if member.joining is not None:
                self.joins_waiting -= 1
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_members.pop(member_id, None)
        self.pending_syncs.pop(member_id, None)

    def rename(self, old_id: str, new_id: str) -> Member:
        """A static member came back: same seat, new id, at the end of the line."""
        member = self.members.pop(old_id)
        assert member.instance_id is not None
        member.id = new_id
        member.timer_at = 0
        self.members[new_id] = member
        self.static_members[member.instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return member

    def update(
        self, member: Member, protocols: dict[str, bytes], rebalance_ms: int, session_ms: int
    ) -> None:
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_ms
        member.session_timeout_ms = session_ms

    def check_member(self, member_id: str, instance_id: str | None) -> Errors:
        """NONE, UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID when the name has a new owner."""
        if instance_id is not None:
            owner = self.static_members.get(instance_id)
            if owner is None:
                return Errors.UNKNOWN_MEMBER_ID
            if owner != member_id:
                return Errors.FENCED_INSTANCE_ID
        return Errors.NONE if member_id in self.members else Errors.UNKNOWN_MEMBER_ID

    # -- parked answers

    def park_join(self, member: Member, request: JoinRequest) -> JoinRequest | None:
        """Keeps `request` until the join phase ends; gives the one it replaces."""
        replaced, member.joining = member.joining, request
        self.joins_waiting += replaced is None
        return replaced

    def take_join(self, member: Member) -> JoinRequest | None:
        request, member.joining = member.joining, None
        self.joins_waiting -= request is not None
        return request

    @property
    def all_joined(self) -> bool:
        return self.joins_waiting == len(self.members) and not self.pending_members

    def waits_for(self, member: Member) -> str:
        """Where a member is in a rebalance: `joined` and `synced` wait for the others."""
        if self.is_in(GroupState.PREPARING_REBALANCE):
            return "joined" if member.joining is not None else "to join"
        if self.is_in(GroupState.COMPLETING_REBALANCE):
            return "synced" if member.syncing is not None else "to sync"
        return "stable"

    @property
    def rebalance_timeout_ms(self) -> int:
        """The patience of the most patient member."""
        return max((each.rebalance_timeout_ms for each in self.members.values()), default=0)

    # -- generations

    def next_generation(self, now: int) -> None:
        """The join phase is over: choose the protocol and count on."""
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        self.subscribed_topics = self._subscriptions()
        self.pending_syncs.clear()
        self.moves(now, GroupEvent.ALL_JOINED if self.members else GroupEvent.ALL_LEFT)

    def elect_leader(self) -> bool:
        """The leader if it has joined, else the first member that has; False if none has."""
        leader = self.members.get(self.leader or "")
        if leader is not None and leader.joining is not None:
            return True
        joined = (each.id for each in self.members.values() if each.joining is not None)
        elected = next(joined, None)
        if elected is None:
            return False
        self.leader = elected
        return True

    def supports(self, protocol_type: str, protocols: Mapping[str, bytes]) -> bool:
        """Whether a member with these protocols could join the others."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(protocols)
        return protocol_type == self.protocol_type and any(
            self.supporters.get(name, 0) == len(self.members) for name in protocols
        )

    def select_protocol(self) -> str:
        """Of the protocols all members speak, the one most members like best."""
        candidates = {
            name: 0 for name, count in self.supporters.items() if count == len(self.members)
        }
        for member in self.members.values():
            candidates[member.vote(candidates)] += 1
        return max(candidates, key=lambda name: candidates[name])

    def is_subscribed(self, topic: str) -> bool:
        """When the subscription cannot be read, a consumer group counts as subscribed."""
        if self.subscribed_topics is None:
            return self.protocol_type == consumer_protocol.PROTOCOL_TYPE
        return topic in self.subscribed_topics

    def restore_subscriptions(self) -> None:
        """After loading, when the members came from the log."""
        self.subscribed_topics = self._subscriptions()

    def _subscriptions(self) -> tuple[str, ...] | None:
        if self.protocol_type != consumer_protocol.PROTOCOL_TYPE:
            return None
        topics: dict[str, None] = {}
        for member in self.members.values():
            wanted = consumer_protocol.subscribed_topics(member.metadata(self.protocol))
            if wanted is None:
                return None
            topics.update(dict.fromkeys(wanted))
        return tuple(sorted(topics))

    def _count_protocols(self, member: Member, step: int) -> None:
        for name in member.protocols:
            self.supporters[name] = self.supporters.get(name, 0) + step
            if not self.supporters[name]:
                del self.supporters[name]
