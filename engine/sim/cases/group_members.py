"""A member of a consumer group that a case moves by hand: it joins, and is silent from then on.

It sends no heartbeats, so after its session's timeout the coordinator removes it, and the next one
that joins makes a new generation.  That is what an application looks like that hangs between two
polls (a long pause of the garbage collector, a slow database): it does not know that its
partitions have another owner.

Each member joins alone, leads the group, and takes partition 0 of its topic.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.client.transaction_requests import GroupMetadata
from engine.sim.cases.stage import CaseStage
from engine.wire import consumer_protocol
from engine.wire import messages as m
from engine.wire.errors import Errors

SESSION_MS = 6_000
PAUSE_S, TRIES = 0.2, 100
_TYPE, _ASSIGNOR = "consumer", "range"
_NOT_YET = (
    Errors.COORDINATOR_NOT_AVAILABLE, Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_COORDINATOR,
)  # fmt: skip


@dataclass
class Member:
    """`id` and `generation` are what the group's coordinator has given it."""

    group: str
    topic: str
    id: str = ""
    generation: int = -1

    @property
    def metadata(self) -> GroupMetadata:
        return GroupMetadata(self.group, self.generation, self.id)

    async def join(self, stage: CaseStage) -> str:
        """Until it has its assignment; says which generation it belongs to."""
        for _ in range(TRIES):
            coordinator = await self._coordinator(stage)
            if coordinator is not None and await self._joined(stage, coordinator):
                return f"owns {self.topic}-0 in generation {self.generation}"
            stage.world.run(for_s=PAUSE_S)
        raise ValueError(f"group {self.group} does not take a member")

    async def _coordinator(self, stage: CaseStage) -> int | None:
        request = m.FindCoordinatorRequest(coordinator_keys=[self.group])
        broker = stage.cluster.spec.brokers[0]
        (found,) = (await stage.answer_to(broker, request)).coordinators
        return None if found.error_code else int(found.node_id)

    async def _joined(self, stage: CaseStage, coordinator: int) -> bool:
        subscription = m.ConsumerProtocolSubscription(topics=[self.topic])
        protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(
            _ASSIGNOR, consumer_protocol.encode(subscription)
        )
        joined = await stage.answer_to(
            coordinator,
            m.JoinGroupRequest(
                self.group, SESSION_MS, SESSION_MS, self.id, None, _TYPE, [protocol]
            ),
        )
        error = Errors(joined.error_code)
        if error is Errors.MEMBER_ID_REQUIRED:
            self.id = joined.member_id
            return await self._joined(stage, coordinator)
        if error in _NOT_YET:
            return False
        if error:
            raise ValueError(f"group {self.group} refuses the member: {error.name}")
        self.id, self.generation = joined.member_id, joined.generation_id
        return await self._synced(stage, coordinator)

    async def _synced(self, stage: CaseStage, coordinator: int) -> bool:
        partition = m.ConsumerProtocolAssignment.TopicPartition(self.topic, [0])
        mine = consumer_protocol.encode(m.ConsumerProtocolAssignment([partition]))
        request = m.SyncGroupRequest
        given = [request.SyncGroupRequestAssignment(self.id, mine)]
        body = request(
            self.group, self.generation, self.id, None, _TYPE, _ASSIGNOR, assignments=given
        )
        return not (await stage.answer_to(coordinator, body)).error_code
