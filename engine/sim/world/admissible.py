"""Refuses an action that cannot be done, before it begins.

A misspelled name must not get as far as the tape: half an action would be on it, and each replay
would fail there again.  So the names in an action are looked up first.  A wrong one gets
a sentence that says which names there are.  Only a request may go to a broker that does not
exist, such as the leader -1 of a partition without one: no answer comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.cluster.processes import PAUSED, RUNNING
from engine.sim.world.faults import BETWEEN_NODES, OF_PROCESSES, Fault
from engine.sim.world.tape import Action, Add, Tell

ADMIN = "admin"
"""The world's own client, which asks on its behalf."""
DRIVEN = ("start", "step")
"""Methods of every node that only the cluster calls."""


def check(cluster: Cluster, action: Action) -> None:
    """ValueError, with the remedy, if this cluster has nothing of that name."""
    match action:
        case Fault():
            there: Iterable[NodeId] = cluster.disks
            if action.kind in BETWEEN_NODES:
                there = cluster.states
            elif action.kind in OF_PROCESSES:
                there = [name for name in cluster.states if name != ADMIN]
            for node in action.nodes:
                _check_name(str(action), node, tuple(there))
        case Add():
            if action.name in cluster.nodes:
                raise ValueError(
                    f"There is a node {action.name!r} already; add it by another name."
                )
        case Tell():
            _check_name(str(action), action.name, tuple(cluster.nodes))
            _check_method(action, cluster.nodes[action.name])


def _check_name(action: str, node: NodeId, there: tuple[NodeId, ...]) -> None:
    if node not in there:
        known = ", ".join(map(str, there))
        raise ValueError(f"{action}: there is no node {node}; there are {known}.")


def _check_method(action: Tell, node: Any) -> None:
    kind = type(node)
    if not callable(getattr(node, action.method, None)):
        names = [name for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))]
        known = ", ".join(name for name in names if name not in DRIVEN) or "none"
        raise ValueError(
            f"{action}: a {kind.__name__} has no method {action.method!r}; its methods are {known}."
        )


def first_running(cluster: Cluster) -> int:
    """The first broker that runs; ValueError if none does."""
    brokers = cluster.spec.brokers
    for broker in brokers:
        if cluster.states[broker] == RUNNING:
            return broker
    paused = [broker for broker in brokers if cluster.states[broker] == PAUSED]
    remedy = f"world.resume({paused[0]})" if paused else f"world.start({brokers[0]})"
    raise ValueError(f"No broker runs that could answer; {remedy} brings one back.")
