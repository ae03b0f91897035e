"""Whether a deed can be done at all, asked before it is done.

What a learner misspells shall not begin: half a deed would be on the tape, and each replay
would stumble over it again.  So the names in a deed are looked up first, and who got one wrong
is told what there is, and what to do.  Only a question may be put to nobody, such as to the
leader -1 of a partition that has none: no answer comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.network import NodeId
from engine.cluster.processes import PAUSED, RUNNING
from engine.sim.world.faults import BETWEEN_NODES, Fault
from engine.sim.world.tape import Add, Deed, Tell

DRIVEN = ("start", "step")
"""Methods of every node, which the cluster calls and nobody else."""


def check(cluster: Cluster, deed: Deed) -> None:
    """ValueError, with the remedy, if this cluster has nobody or nothing of that name."""
    match deed:
        case Fault():
            there: Iterable[NodeId] = cluster.disks
            if deed.kind in BETWEEN_NODES:
                there = cluster.states
            for node in deed.nodes:
                _check_name(str(deed), node, tuple(there))
        case Add():
            if deed.name in cluster.nodes:
                raise ValueError(f"There is a node {deed.name!r} already; add it by another name.")
        case Tell():
            _check_name(str(deed), deed.name, tuple(cluster.nodes))
            _check_method(deed, cluster.nodes[deed.name])


def _check_name(deed: str, node: NodeId, there: tuple[NodeId, ...]) -> None:
    if node not in there:
        known = ", ".join(map(str, there))
        raise ValueError(f"{deed}: there is no node {node}; there are {known}.")


def _check_method(deed: Tell, node: Any) -> None:
    kind = type(node)
    if not callable(getattr(node, deed.method, None)):
        names = [name for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))]
        known = ", ".join(name for name in names if name not in DRIVEN) or "none"
        raise ValueError(
            f"{deed}: a {kind.__name__} has no method {deed.method!r}; its methods are {known}."
        )


def who_answers(cluster: Cluster) -> int:
    """The first broker that runs; ValueError if none does."""
    brokers = cluster.spec.brokers
    for broker in brokers:
        if cluster.states[broker] == RUNNING:
            return broker
    paused = [broker for broker in brokers if cluster.states[broker] == PAUSED]
    remedy = f"world.resume({paused[0]})" if paused else f"world.start({brokers[0]})"
    raise ValueError(f"No broker runs that could answer; {remedy} brings one back.")
