"""What the members of a group and its coordinator say to each other, drawn from a run.

    talk = Conversation(world, "billing")
    talk.run(for_s=5)
    talk                       # a lane per member and one for the coordinator

Only requests about the group are heard; heartbeats without news are counted and left out.  With
`whole=True` the search for the coordinator and each member's first heartbeat are drawn as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.cluster.calls import Arrived, Sent
from engine.cluster.items import Answer
from engine.sim.world.world import World
from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.drawings import lanes
from kit.drawings.lanes import ANSWER, REQUEST, Heard

SEARCH = (m.FindCoordinatorRequest, m.FindCoordinatorResponse)
COORDINATOR, ANY_BROKER = "coordinator", "any broker"


class Conversation:
    """The messages about one group since it was made."""

    def __init__(self, world: World, group: str, *, whole: bool = False) -> None:
        self.world, self.group, self.whole = world, group, whole
        self.since_us = world.now_us
        self.heard: list[Heard] = []
        self.quiet_heartbeats = 0
        self._beating: set[str] = set()
        self.assigned_by: list[str] = []
        """The author of each assignment: a member's name, or the coordinator."""
        self.member_lists: dict[str, int] = {}
        """By member: how many members its answer to JoinGroup lists."""
        self.brokers: set[int] = set()
        """Those to which the members have sent requests about the group."""

    def run(self, for_s: float) -> Conversation:
        self.world.listen(self._listen)
        try:
            self.world.run(for_s=for_s)
        finally:
            self.world.unlisten(self._listen)
        return self

    # -- listening

    def _listen(self, what: Sent | Arrived) -> None:
        if isinstance(what, Sent):
            return
        client = str(what.call.sender)
        is_answer = isinstance(what.message, Answer)
        told = self._told(client, what.message.body, is_answer)
        is_about_it = getattr(what.message.body, "group_id", None) == self.group
        if is_about_it and isinstance(what.call.destination, int):
            self.brokers.add(what.call.destination)
        if told is None:
            return
        broker = ANY_BROKER if isinstance(what.message.body, SEARCH) else COORDINATOR
        source, destination = (broker, client) if is_answer else (client, broker)
        at_us = what.at_us - self.world.cluster.now + self.world.now_us
        kind = ANSWER if is_answer else REQUEST
        name = type(what.message.body).__name__
        self.heard.append(Heard(at_us, kind, name, source, destination, told))

    def _told(self, client: str, body: Any, is_answer: bool) -> str | None:
        """A message in a few words; None if it does not belong here."""
        if not is_answer and self.group not in _groups(body):
            return None
        if isinstance(body, SEARCH) and not self.whole:
            return None
        match body:
            case m.FindCoordinatorRequest():
                return f"FindCoordinator of {self.group}"
            case m.FindCoordinatorResponse():
                return _found(body)
            case m.JoinGroupRequest():
                return f"JoinGroup: {'I am new' if not body.member_id else 'I join again'}"
            case m.JoinGroupResponse():
                return self._joined(client, body)
            case m.SyncGroupRequest():
                if not body.assignments:
                    return "SyncGroup: what do I get?"
                self.assigned_by.append(client)
                return f"SyncGroup: the assignment of {len(body.assignments)}"
            case m.SyncGroupResponse() if body.error_code == Errors.NONE:
                return f"you get {_partitions(body.assignment)}"
            case m.HeartbeatRequest():
                return self._quiet(client)
            case m.HeartbeatResponse() | m.SyncGroupResponse():
                return None if body.error_code == Errors.NONE else Errors(body.error_code).name
            case m.ConsumerGroupHeartbeatRequest():
                return self._beat(client, body)
            case m.ConsumerGroupHeartbeatResponse():
                return self._answered(body)
            case m.LeaveGroupRequest():
                return "LeaveGroup"
        return None

    def _joined(self, client: str, body: m.JoinGroupResponse) -> str:
        if body.error_code != Errors.NONE:
            return Errors(body.error_code).name
        self.member_lists[client] = len(body.members)
        generation = f"generation {body.generation_id}"
        if body.leader == body.member_id:
            count = len(body.members)
            members = "is 1 member" if count == 1 else f"are {count} members"
            return f"{generation}; you lead, here {members}"
        return f"{generation}; another leads"

    def _beat(self, client: str, body: m.ConsumerGroupHeartbeatRequest) -> str | None:
        if body.member_epoch == 0:
            return "Heartbeat: I am new"
        if body.member_epoch < 0:
            return "Heartbeat: I leave"
        if body.topic_partitions is None:
            return self._quiet(client)
        return f"Heartbeat: I have {sum(len(each.partitions) for each in body.topic_partitions)}"

    def _answered(self, body: m.ConsumerGroupHeartbeatResponse) -> str | None:
        if body.error_code != Errors.NONE:
            return Errors(body.error_code).name
        if body.assignment is None:
            return None
        self.assigned_by.append(COORDINATOR)
        named = [str(i) for each in body.assignment.topic_partitions for i in each.partitions]
        return f"epoch {body.member_epoch}; you get {' '.join(named) or 'nothing'}"

    def _quiet(self, client: str) -> str | None:
        self.quiet_heartbeats += 1
        if client in self._beating or not self.whole:
            return None
        self._beating.add(client)
        return "Heartbeat, the first of many"

    # -- showing

    @property
    def lanes(self) -> list[str]:
        """The members in the order in which they came, the coordinator and other brokers last."""
        found = dict.fromkeys(
            name for each in self.heard for name in (each.source, each.destination)
        )
        brokers = [name for name in (COORDINATOR, ANY_BROKER) if name in found]
        return [*(name for name in found if name not in brokers), *brokers]

    @property
    def text(self) -> str:
        return lanes.text(self.heard, self.since_us)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return lanes.html(self.heard, self.lanes, self.since_us)


def _groups(body: Any) -> list[str]:
    if isinstance(body, m.FindCoordinatorRequest):
        return body.coordinator_keys
    return [getattr(body, "group_id", "")]


def _found(body: m.FindCoordinatorResponse) -> str:
    found = body.coordinators[0]
    if found.error_code != Errors.NONE:
        return Errors(found.error_code).name
    return f"the coordinator is {found.node_id}"


def _partitions(assignment: bytes) -> str:
    given: Mapping[str, list[int]] = consumer_protocol.assigned_partitions(assignment) or {}
    return " ".join(str(index) for each in given.values() for index in each) or "nothing"
