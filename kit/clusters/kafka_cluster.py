"""A cluster as a notebook sees it: a provider's nodes, and questions that any Kafka answers.

The provider starts and breaks nodes; topics, leaders, snapshots and waiting are the same
for all of them and are here.  `interface.Cluster` documents the methods.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kit.clusters import older_brokers
from kit.clusters.connections import Address, Connections
from kit.clusters.description import Description
from kit.clusters.faults import FAULTS
from kit.clusters.interface import (
    Assignment,
    Cluster,
    ClusterEnded,
    ClusterError,
    Config,
    Node,
    NotOffered,
    Provider,
    SeenFromInside,
    WaitTimeout,
)
from kit.clusters.snapshot import Inspector, cut_from_controller, have_quorum, order_of_trust
from kit.clusters.topics import Topics

POLL_S = 0.05
START_TIMEOUT_S = 60.0
_ADMIN_ANSWER_S = 30.0
"""A topic of a thousand partitions takes its time."""


class KafkaCluster:
    """Implements `Cluster` on a provider."""

    step = ""
    """What it was last asked to do, in words: for those who wait (kit/both/waiting.py)."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._connections = Connections()
        self._admin_connections = Connections(_ADMIN_ANSWER_S)
        self._topics = Topics(self._admin_connections, self._addresses)
        self._inspector = Inspector(self._connections)

    @property
    def name(self) -> str:
        return self.provider.name

    @property
    def bootstrap(self) -> str:
        return self.provider.bootstrap

    @property
    def bootstrap_controllers(self) -> str:
        """`bootstrap.controllers` for an admin client; NotOffered where they are not known."""
        found: str = getattr(self.provider, "bootstrap_controllers", "")
        if not found:
            raise NotOffered(
                f"The controllers of the {self.name} cluster cannot be reached from here: the "
                "engine's and a local Kafka's can (KAFKALAB_REAL=local)."
            )
        return found

    @property
    def has_ended(self) -> bool:
        try:
            self.provider.nodes()
        except ClusterEnded:
            return True
        except ClusterError:
            return False
        return False

    @property
    def brokers(self) -> list[int]:
        return [node.id for node in self.provider.nodes().values() if not node.is_controller]

    def __repr__(self) -> str:
        states = ", ".join(f"{node.id} {node.state}" for node in self.provider.nodes().values())
        return f"<{self.name} cluster at {self.bootstrap}: {states}>"

    def __enter__(self) -> KafkaCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- topics

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int = 3,
        config: Config | None = None,
        *,
        assignment: Assignment | None = None,
    ) -> None:
        self.step = f"creates topic {name}"
        self._topics.create(name, partitions, replicas, config, assignment)

    def delete_topic(self, name: str) -> None:
        self.step = f"deletes topic {name}"
        self._topics.delete(name)

    # -- faults

    def offers(self, fault: str) -> bool:
        return fault in self.provider.ways

    def refusal(self, fault: str) -> str:
        return "" if self.offers(fault) else self.provider.refusals[fault]

    def kill(self, node: int) -> None:
        self._break("kill", node)

    def stop(self, node: int) -> None:
        self._break("stop", node)

    def start(self, *nodes: int) -> None:
        for node in nodes:
            if self._known(node).state in ("stopped", "killed"):
                self._break("start", node)
        self.step = FAULTS["start"].step.format(_listed(nodes))
        for node in nodes:
            self._serving(node)

    def pause(self, node: int) -> None:
        self._break("pause", node)

    def resume(self, node: int) -> None:
        self._break("resume", node)

    def lose_power(self, node: int) -> None:
        self._break("lose_power", node)

    def cut(self, a: int, b: int) -> None:
        self._break("cut", a, b)

    def isolate(self, node: int) -> None:
        self._break("isolate", node)

    def slow(self, a: int, b: int, ms: int) -> None:
        if ms < 0:
            raise ClusterError(f"A link cannot be {ms} ms slow: give 0 or more.")
        self._break("slow", a, b, ms)

    def heal(self) -> None:
        self.step = FAULTS["heal"].step
        self.provider.ways["heal"]()

    # -- looking

    def wait_until(
        self, predicate: Callable[[Cluster], object], timeout_s: float = 20, what: str = ""
    ) -> None:
        self.step = f"waits for {what or 'what the scenario asks for'}"
        deadline = time.monotonic() + timeout_s
        trouble = ""
        while True:
            try:
                if predicate(self):
                    return
                trouble = ""
            except ClusterError as error:  # no broker answers in the middle of an election
                trouble = f" Last error: {error}"
            if time.monotonic() > deadline:
                waited_for = what or "the condition"
                raise WaitTimeout(
                    f"Gave up after waiting {timeout_s:g} s for {waited_for} on {self!r}.{trouble}"
                )
            time.sleep(POLL_S)

    def leader(self, topic: str, partition: int = 0) -> int:
        found = self._inspector.topics(self._addresses()).get(topic)
        for each in found.partitions if found else ():
            if each.partition_index == partition:
                return int(each.leader_id)
        raise ClusterError(
            f"There is no partition {topic}-{partition} here: create_topic({topic!r}) first."
        )

    def snapshot(self, *, values: bool = False, tail: int = 20) -> dict[str, Any]:
        if isinstance(self.provider, SeenFromInside):
            return self.provider.snapshot(values=values, tail=tail)
        return self._inspector.snapshot(
            self.provider.nodes(), self.provider.links(), values=values, tail=tail
        )

    def trace(self, since: int = 0, limit: int = 1000) -> dict[str, Any]:
        if isinstance(self.provider, SeenFromInside):
            return self.provider.trace(since, limit)
        raise NotOffered(
            f"The {self.name} cluster shows no trace of what happens inside: the engine does."
        )

    def describe(self, topic: str) -> Description:
        snapshot = self.snapshot()
        if topic not in snapshot["topics"]:
            raise ClusterError(f"There is no topic {topic} here: create_topic({topic!r}) first.")
        return Description(self.name, topic, snapshot["topics"][topic])

    def close(self) -> None:
        self._connections.close()
        self._admin_connections.close()
        self.provider.close()

    # -- inside

    def _addresses(self) -> list[Address]:
        return order_of_trust(self.provider.nodes(), self.provider.links())

    def _known(self, node: int, *states: str) -> Node:
        nodes = self.provider.nodes()
        if node not in nodes:
            raise ClusterError(f"There is no node {node}: this cluster has {_listed(nodes)}.")
        if states and nodes[node].state not in states:
            remedy = "resume" if nodes[node].state == "paused" else "start"
            raise ClusterError(f"Node {node} is {nodes[node].state}: call {remedy}({node}) first.")
        return nodes[node]

    def _break(self, name: str, *args: int) -> None:
        """Does a fault of the table to its nodes, which the arguments begin with."""
        fault = FAULTS[name]
        self.step = fault.step.format(*args)
        nodes = args[: fault.nodes]
        for node in nodes:
            self._known(node, *fault.states)
        if len(set(nodes)) < len(nodes):
            raise ClusterError(f"A link needs two different nodes, and both are {nodes[0]}.")
        if reason := self.refusal(name):
            raise NotOffered(reason)
        self.provider.hold()
        self.provider.ways[name](*args)

    def _serving(self, node: int) -> None:
        """Waits until a broker answers, and every other one knows that it is back."""
        nodes, deaf = (
            self.provider.nodes(),
            cut_from_controller(self.provider.nodes(), self.provider.links()),
        )
        controlled = have_quorum(nodes) or not any(n.is_controller for n in nodes.values())
        if nodes[node].is_controller or node in deaf or not controlled:
            return  # it could not register now, and need not
        asked = {n.id: n.address for n in nodes.values() if n.address and n.id not in deaf}

        def serves(_: Cluster) -> bool:
            for other, address in asked.items():
                if other != node and self.provider.nodes()[other].state != "running":
                    continue
                known = older_brokers.brokers(partial(self._connections.ask, address))
                if not any(b.broker_id == node and not b.is_fenced for b in known):
                    return False
            return True

        self.wait_until(serves, START_TIMEOUT_S, f"broker {node} to be back")


def _listed(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(nodes)))
