"""A column in virtual time: the engine's own KRaft or ZooKeeper, in a simulated world.

The settings are those of a real cluster (kit/clusters/settings_table.py), so that a timeout is the
same in both columns of a design.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.cluster.processes import PAUSED, RUNNING, STOPPED
from engine.sim.clients.clients import Producer, create_topics
from engine.sim.clients.consumer import Consumer
from engine.sim.world.world import World
from engine.wire.errors import Errors
from engine.zookeeper import znodes
from kit.clusters import settings_table
from kit.clusters.interface import ClusterError
from kit.columns.stage import (
    ANSWER_S,
    FLUSH_S,
    KRAFT,
    NO_ANSWER,
    NONE_ACTIVE,
    PERIOD_S,
    TOPIC,
    TRY_AGAIN,
    WARM,
    Election,
    Led,
    Written,
    longest_pause_s,
)

SEED = 1
START_S = 60.0


class VirtualStage:
    """A world of one design; the `seed` decides what is left to chance."""

    def __init__(self, design: str, seed: int = SEED) -> None:
        self.design = design
        is_kraft = design == KRAFT
        plane: dict[str, Any] = {"controllers": 3} if is_kraft else {"control_plane": "zookeeper"}
        self.world = World(seed, settings=settings_table.as_dict(), rewindable=False, **plane)
        spec = self.world.cluster.spec
        self.brokers = list(spec.brokers)
        self.controllers = list(spec.controllers) if is_kraft else self.brokers
        self.metadata_nodes = list(spec.controllers if is_kraft else spec.ensemble)
        self.elections: list[Election] = []
        self._writer: Producer | None = None
        self._look()

    def now(self) -> float:
        return self.world.now_us / 1e6

    # -- faults and time

    def do(self, fault: str, *nodes: int) -> None:
        getattr(self.world, fault)(*nodes)
        self._look()
        if fault == "stop":
            self.advance(lambda: self.world.cluster.states[nodes[0]] == STOPPED, START_S)
        if fault == "start" and nodes[0] in self.brokers and self._has_majority():
            self.advance(lambda: self.in_service(nodes[0]), START_S)

    def advance(self, until: Callable[[], object] | None, for_s: float) -> bool:
        def holds(_: World) -> bool:
            self._look()
            return until is not None and bool(until())

        return self.world.run(until=holds, for_s=for_s)

    def _look(self) -> None:
        active, epoch = self._elected()
        if not self.elections or (active, epoch) != _named(self.elections[-1]):
            self.elections.append(Election(self.now(), active, epoch))

    def _elected(self) -> tuple[int, int]:
        """Of the world: its active controller; with ZooKeeper what it answers of /controller."""
        cluster = self.world.cluster
        if self.design == KRAFT:
            active = cluster.controller
            return NONE_ACTIVE if active is None else (active.node_id, active.epoch)
        members = [cluster.nodes[m] for m in self.metadata_nodes if self._runs(m)]
        serving = [each for each in members if each.agreement.is_serving]
        if not serving:
            return NONE_ACTIVE
        member = max(serving, key=lambda each: int(each.agreement.applied))
        elected = member.tree.nodes.get(znodes.CONTROLLER)
        if elected is None:
            return NONE_ACTIVE
        return znodes.controller_of(elected.data), member.controller_epoch()

    def _runs(self, node: int) -> bool:
        return self.world.cluster.states.get(node) == RUNNING

    def _has_majority(self) -> bool:
        return 2 * sum(map(self._runs, self.metadata_nodes)) > len(self.metadata_nodes)

    # -- looking and asking

    def create(self, name: str, partitions: int, replicas: int,
               assignment: Mapping[int, list[int]] | None) -> str:  # fmt: skip
        body = create_topics(name, partitions, replicas, None, assignment)
        deadline, asked = self.now() + ANSWER_S, 0
        while True:
            brokers = self._in_touch()
            if not brokers:
                return NO_ANSWER
            number = self.world.post(body, brokers[asked % len(brokers)])
            self.advance(lambda n=number: self.world.answer(n) is not None, ANSWER_S)  # type: ignore[misc]
            answer: Any = self.world.answer(number)
            if not answer:
                return NO_ANSWER
            error = Errors(answer.topics[0].error_code).name
            if error not in TRY_AGAIN or self.now() > deadline:
                return error
            asked += 1
            self.advance(None, PERIOD_S)

    def _in_touch(self) -> list[int]:
        """Running brokers, those with the fewest broken links first."""
        cut = [node for link in self.world.cluster.network.describe() for node in link["between"]]
        return sorted(filter(self._runs, self.brokers), key=cut.count)

    def partition(self, topic: str) -> Led:
        if topic not in self.world.image().topic_ids:
            return Led()
        found = self.world.partition(topic, 0)
        return Led(found.leader, found.leader_epoch, tuple(sorted(found.isr)))

    def in_service(self, broker: int) -> bool:
        return not self.world.is_fenced(broker)

    def believes(self, node: int) -> bool:
        running = self.world.cluster.nodes.get(node)
        if running is None or self.world.cluster.states[node] == PAUSED:
            return False
        part = running if self.design == KRAFT else running.plane.controller
        return bool(part.is_active)

    # -- the writer

    def start_writer(self) -> None:
        self._writer = self.world.load(TOPIC, period_us=round(PERIOD_S * 1e6), idempotent=True)
        self.advance(lambda: self.acknowledged() >= WARM, START_S)

    def acknowledged(self) -> int:
        return len(self._acknowledged())

    def _acknowledged(self) -> list[Any]:
        assert self._writer is not None
        return [sent for sent in self._writer.history[0] if sent.verdict == "acknowledged"]

    def written(self) -> Written:
        writer, ended = self._writer, self.now()
        assert writer is not None
        self.world.tell(self._name_of(writer), "finish")
        self.advance(lambda: writer.idle, FLUSH_S)
        moments = [(sent.ended_us - self.world.cluster.now) / 1e6 + self.now()
                   for sent in self._acknowledged()]  # fmt: skip
        failed = [sent for sent in writer.history[0] if sent.verdict in ("refused", "unknown")]
        values = [sent.value for sent in self._acknowledged()]
        return Written(values, len(failed), longest_pause_s(moments, ended))

    def _name_of(self, client: object) -> str:
        nodes = self.world.cluster.nodes
        return next(str(name) for name, node in nodes.items() if node is client)

    def read(self) -> list[str]:
        reader: Consumer = self.world.reader(TOPIC)
        if not self.advance(lambda: reader.positions[0].is_at_end, FLUSH_S):
            raise ClusterError(f"{TOPIC} cannot be read now: it has no leader that answers.")
        polls = [each for each in reader.operations if hasattr(each, "reads")]
        return [read.value for poll in polls for read in poll.reads]

    def close(self) -> None:
        """Nothing is left over of a world."""


def _named(election: Election) -> tuple[int, int]:
    return election.active, election.epoch
