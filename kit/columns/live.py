"""A column in real time: three controllers, or three members of ZooKeeper, and three brokers.

The stage looks up the active controller every LOOK_S, so times are as exact as that.  A KRaft
controller writes down in its file `quorum-state` that it leads; with ZooKeeper, `/controller` says
which broker does.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engine.quorum import election_state
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters import java_management, older_brokers
from kit.clusters.connections import Address, Connections, Unreachable
from kit.clusters.interface import ClusterError
from kit.clusters.java_processes import JavaProcesses
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.snapshot import have_quorum, order_of_trust
from kit.clusters.topics import described
from kit.clusters.zookeeper import ZooKeeperCluster
from kit.columns.stage import (
    ANSWER_S,
    KRAFT,
    NO_ANSWER,
    NONE_ACTIVE,
    PERIOD_S,
    TOPIC,
    TRY_AGAIN,
    WARM,
    ZOOKEEPER,
    Election,
    Led,
    Written,
    longest_pause_s,
)
from kit.probes import clients
from kit.probes.background_load import BackgroundLoad

LOOK_S = 0.02
POLL_S = 0.05
_ACTIVE = "kafka.controller:type=KafkaController,name=ActiveControllerCount"


class LiveStage:
    """A cluster of Java processes, which ends with the stage."""

    def __init__(self, cluster: KafkaCluster) -> None:
        assert isinstance(cluster.provider, JavaProcesses)
        self.cluster, self._provider = cluster, cluster.provider
        self.design = ZOOKEEPER if isinstance(cluster, ZooKeeperCluster) else KRAFT
        self.brokers = cluster.brokers
        self.metadata_nodes = [n.id for n in cluster.provider.nodes().values() if n.is_controller]
        self.controllers = self.metadata_nodes if self.design == KRAFT else self.brokers
        self.elections = [Election(self.now(), *NONE_ACTIVE)]
        self._connections = Connections(ANSWER_S)
        self._load: BackgroundLoad | None = None
        self._load_began = 0.0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, name="elections", daemon=True)
        self._watch.start()

    def now(self) -> float:
        return time.monotonic()

    # -- faults and time

    def do(self, fault: str, *nodes: int) -> None:
        getattr(self.cluster, fault)(*nodes)

    def advance(self, until: Callable[[], object] | None, for_s: float) -> bool:
        deadline = time.monotonic() + for_s
        while True:
            if until is not None and _holds(until):
                return True
            if (left_s := deadline - time.monotonic()) <= 0:
                return False
            time.sleep(min(POLL_S, left_s))

    def _look(self) -> None:
        last = NONE_ACTIVE
        while not self._over.wait(LOOK_S):
            try:
                found = self._elected()
            except ClusterError:
                found = NONE_ACTIVE
            if found != last:
                self.elections.append(Election(self.now(), *found))
                last = found

    def _elected(self) -> tuple[int, int]:
        nodes = self._provider.nodes()
        if not have_quorum(nodes):
            return NONE_ACTIVE
        if isinstance(self.cluster, ZooKeeperCluster):
            return self.cluster.controller()
        found = [(_epoch_led(Path(nodes[c].data_dir or ""), c), c) for c in self.controllers
                 if nodes[c].state in ("running", "paused")]  # fmt: skip
        epoch, active = max(found)
        return (active, epoch) if epoch >= 0 else NONE_ACTIVE

    # -- looking and asking

    def create(self, name: str, partitions: int, replicas: int,
               assignment: Mapping[int, list[int]] | None) -> str:  # fmt: skip
        self.cluster.step = f"creates topic {name}"
        request = m.CreateTopicsRequest
        placed = [request.CreatableReplicaAssignment(index, brokers)
                  for index, brokers in (assignment or {}).items()]  # fmt: skip
        topic = request.CreatableTopic(
            name, -1 if placed else partitions, -1 if placed else replicas, placed
        )
        deadline, asked = self.now() + ANSWER_S, 0
        while True:
            addresses = order_of_trust(self._provider.nodes(), self._provider.links())
            try:
                address = addresses[asked % len(addresses)] if addresses else ("", 0)
                answer = self._connections.ask(address, request([topic], timeout_ms=10_000))
            except Unreachable:
                return NO_ANSWER
            error = Errors(answer.topics[0].error_code).name
            if error not in TRY_AGAIN or self.now() > deadline:
                return error
            asked += 1
            time.sleep(PERIOD_S)

    def partition(self, topic: str) -> Led:
        """By the newest leader epoch: a broker that was away does not know yet what it missed."""
        addresses = order_of_trust(self._provider.nodes(), self._provider.links())
        answers = [self._described_by(each) for each in addresses]
        found = [
            Led(first.leader_id, first.leader_epoch, tuple(sorted(first.isr_nodes)))
            for answer in answers
            for each in answer
            if each.name == topic
            for first in each.partitions
            if first.partition_index == 0
        ]
        return max(found, key=lambda led: led.epoch, default=Led())

    def _described_by(self, address: Address) -> list[Any]:
        try:
            return described(self._connections, [address])
        except Unreachable:
            return []

    def in_service(self, broker: int) -> bool:
        """As the other brokers know it."""
        nodes = {id_: node for id_, node in self._provider.nodes().items() if id_ != broker}
        addresses = order_of_trust(nodes, self._provider.links())
        known = older_brokers.brokers(lambda r: self._connections.ask_first(addresses, r))
        return any(each.broker_id == broker and not each.is_fenced for each in known)

    def believes(self, node: int) -> bool:
        """By its own metric; that of a paused node would never be answered."""
        if self._provider.nodes()[node].state != "running":
            return False
        beans = java_management.beans(self._provider.pid(node), [_ACTIVE])
        return beans.get(_ACTIVE, {}).get("Value", 0) == 1

    # -- the writer

    def start_writer(self) -> None:
        self._load_began = time.monotonic()
        patience = {"socket.timeout.ms": round(ANSWER_S * 1000)}
        self._load = BackgroundLoad(self.cluster, TOPIC, PERIOD_S, settings=patience)
        self._load.wait_for(WARM)

    def acknowledged(self) -> int:
        assert self._load is not None
        return len(self._load.acknowledged)

    def written(self) -> Written:
        assert self._load is not None
        ended = time.monotonic() - self._load_began
        self._load.close()
        pause = longest_pause_s(self._load.moments, ended)
        return Written(list(self._load.acknowledged), len(self._load.failed), pause)

    def read(self) -> list[str]:
        self.cluster.step = f"reads {TOPIC}"
        return clients.values(self.cluster, TOPIC)

    def close(self) -> None:
        self._over.set()
        self._watch.join()
        self._connections.close()
        self.cluster.close()


def _epoch_led(directory: Path, controller: int) -> int:
    """The epoch that a controller says it leads, by its file; -1 if it leads none."""
    try:
        found: dict[str, Any] = json.loads((directory / election_state.PATH).read_bytes())
        return int(found["leaderEpoch"]) if found.get("leaderId", -1) == controller else -1
    except (OSError, ValueError, KeyError):
        return -1


def _holds(condition: Callable[[], object]) -> bool:
    """Not while no broker answers, as in the middle of an election."""
    try:
        return bool(condition())
    except ClusterError:
        return False
