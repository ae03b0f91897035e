"""A sequence diagram of one partition, drawn while a simulated cluster runs.

    diagram = SequenceDiagram(world, "orders")
    diagram.send("A", "B", "C")
    diagram.run(for_s=0.1)
    diagram

It has a lane per node and a row per event, in order of virtual time.  Followers' fetches
and their answers are arrows; a replica's decision (an append, a high watermark that moves)
is in its lane.  Idle fetches carry no news and are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.cluster.calls import Arrived, Sent
from engine.cluster.items import Answer
from engine.sim.world.world import World
from kit.drawings import lanes
from kit.drawings.lanes import ANSWER, NOTE, REQUEST, Heard
from kit.probes import messages
from kit.probes.virtual import post, topic_id

CLIENT = "admin"
LANE_OF_CLIENT = "producer"
SHOWN = ("append", "high_watermark", "isr", "truncate", "leader")


class SequenceDiagram:
    """Messages and decisions about partition 0 of `topic` since the diagram was made."""

    def __init__(self, world: World, topic: str) -> None:
        self.world = world
        self.topic = topic
        self.topic_id = topic_id(world, topic)
        self.since_us = world.now_us
        self.heard: list[Heard] = []
        self._traced = world.cluster.trace_count

    def send(self, *values: str, acks: str = "all") -> None:
        """Sends one batch to the leader; the answer is heard as the world runs on."""
        post(self.world, self.topic, *values, acks=acks)

    def run(
        self, until: Callable[[World], bool] | None = None, for_s: float | None = None
    ) -> SequenceDiagram:
        """Like the world's own run, and listens."""
        end_us = None if for_s is None else self.world.now_us + int(for_s * 1e6)
        self.world.listen(self._listen)
        try:
            while until is None or not until(self.world):
                at = self.world.next_at
                ahead_us = 0 if at is None else at - self.world.cluster.now
                if at is None or (end_us is not None and self.world.now_us + ahead_us > end_us):
                    break
                self.world.step()
                self._read_trace()
        finally:
            self.world.unlisten(self._listen)
        if end_us is not None:
            self.world.run(for_s=max(0, end_us - self.world.now_us) / 1e6)
        return self

    # -- listening

    def _listen(self, what: Sent | Arrived) -> None:
        if isinstance(what, Sent):
            return
        kind, source, destination = REQUEST, lane(what.call.sender), lane(what.call.destination)
        if isinstance(what.message, Answer):
            kind, source, destination = ANSWER, destination, source
        message = messages.first(what.message.body, self.topic, self.topic_id)
        if message is not None:
            at_us = what.at_us - self.world.cluster.now + self.world.now_us
            self.heard.append(Heard(at_us, kind, message.kind, source, destination, message.brief))

    def _read_trace(self) -> None:
        cluster = self.world.cluster
        new = cluster.trace_count - self._traced
        self._traced = cluster.trace_count
        for at, node, line in list(cluster.trace)[-new:] if new else ():
            if line.kind in SHOWN and line.partition == f"{self.topic}-0":
                where = lane(node)
                at_us = at - cluster.now + self.world.now_us
                says = _in_words(line.kind, dict(line.fields))
                self.heard.append(Heard(at_us, NOTE, line.kind, where, where, says))

    # -- showing

    @property
    def lanes(self) -> list[str]:
        """The producer, then the leader, then the followers."""
        brokers = [str(each) for each in self.world.partition(self.topic, 0).replicas]
        has_client = any(LANE_OF_CLIENT in (h.source, h.destination) for h in self.heard)
        return [*([LANE_OF_CLIENT] if has_client else []), *brokers]

    @property
    def text(self) -> str:
        return lanes.text(self.heard, self.since_us)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return lanes.html(self.heard, self.lanes, self.since_us)


def lane(node: int | str) -> str:
    return LANE_OF_CLIENT if node == CLIENT else str(node)


def _in_words(kind: str, fields: dict[str, Any]) -> str:
    match kind:
        case "append":
            base, last = fields["base"], fields["last"]
            return f"append {base}" if base == last else f"append {base}–{last}"
        case "high_watermark":
            return f"HW → {fields['to']}"
        case "isr":
            return f"ISR {' '.join(map(str, fields['isr']))}"
        case "truncate":
            return f"truncate {fields['was']} → {fields['to']}"
        case _:
            return f"epoch {fields['epoch']}: {fields['leader']} leads"
