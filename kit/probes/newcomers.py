"""One more broker process beside those of a local Kafka: how it ends, or what it takes over.

    ended = newcomers.start(real, {"a taken id": Newcomer(101), "no id": Newcomer(None)})
    ended["a taken id"].refused     DUPLICATE_BROKER_REGISTRATION, 4 times
    ended["no id"].why              Missing required configuration "node.id" which has …

    with newcomers.moved(real, 101) as address:     101's files under another process
        ...

A newcomer listens on ports of its own.  Nothing of it is left afterwards.  The engine's brokers
share one process, so only a local Kafka has newcomers.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from kit.clusters.connections import Address
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster, ClusterError, NotOffered
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.local import LocalProvider
from kit.clusters.reaper import Child
from kit.probes import registration

PATIENCE_S = 60.0
GIVES_UP = "initial.broker.registration.timeout.ms"
_FREE_ID = 104
_REFUSAL = re.compile(r" error ([A-Z]+_[A-Z_]+)")
_REASON = re.compile(r"(Shutting down because .*?)(?: \(|$)|Exception: (.*)")


@dataclass(frozen=True)
class Newcomer:
    """`node_id` is what its server.properties say, None for nothing.

    Its files are formatted for `formatted_for`, by default the same node, and for `cluster_id`, by
    default this cluster's.  Not registered after `gives_up_ms`, it stops.  `changes` are those of
    other properties; None leaves one out.
    """

    node_id: int | None
    formatted_for: int | None = None
    cluster_id: str = ""
    gives_up_ms: int = 2_000
    changes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """How a process ended, by its log: the errors that controllers answered, and its own reason."""

    code: int
    refusals: Counter[str]
    why: str

    @property
    def refused(self) -> str:
        return ", ".join(f"{error}, {times} times" for error, times in self.refusals.items())


def start(cluster: Cluster, wanted: Mapping[str, Newcomer]) -> dict[str, Ended]:
    """Starts all of them at once and waits until each has ended; ClusterError if one goes on."""
    provider = _provider(cluster)
    with ExitStack() as leaving:
        running = {}
        for number, (what, newcomer) in enumerate(wanted.items()):
            name = f"newcomer{number}"
            leaving.callback(provider.forget, name)
            node = newcomer.node_id or _FREE_ID
            files = provider.format_newcomer(
                name, newcomer.formatted_for or node, newcomer.cluster_id
            )
            changes = {
                "node.id": None if newcomer.node_id is None else str(node),
                GIVES_UP: str(newcomer.gives_up_ms),
                **newcomer.changes,
            }
            child, _ = provider.launch_newcomer(name, cluster.brokers[0], files, changes)
            leaving.callback(_end, child, signal.SIGKILL)
            running[what] = child
        return {what: _ended(provider, child) for what, child in running.items()}


@contextmanager
def moved(cluster: Cluster, broker: int) -> Iterator[Address]:
    """A broker's files in another place, under another process; its address for clients.

    Afterwards the files are back, and the broker is down.
    """
    provider = _provider(cluster)
    name, old = f"moved{broker}", data_dir(cluster, broker)
    new = old.with_name(f"{name}-data")
    cluster.stop(broker)
    old.rename(new)
    with ExitStack() as leaving:
        leaving.callback(provider.forget, name)
        leaving.callback(new.rename, old)
        child, address = provider.launch_newcomer(name, broker, new, {})
        leaving.callback(_end, child, signal.SIGTERM)
        there = f"{broker} in service"
        cluster.wait_until(
            lambda c: there in registration.standing(c), PATIENCE_S, f"broker {broker} elsewhere"
        )
        yield address


def _ended(provider: LocalProvider, child: Child) -> Ended:
    try:
        code = child.wait(PATIENCE_S)
    except TimeoutError:
        raise ClusterError(f"{child.name} goes on, so it was not refused: try again.") from None
    lines = provider.said(child.name)
    refusals = Counter(found[1] for line in lines if (found := _REFUSAL.search(line)))
    reasons = (found for line in lines if (found := _REASON.search(line)))
    why = next((found[1] or found[2] for found in reasons), "it gave no reason")
    return Ended(code, refusals, why.replace(f"{provider.directory}/", "").partition(". ")[0])


def _end(child: Child, number: int) -> None:
    child.signal(number)
    child.wait(PATIENCE_S)


def _provider(cluster: Cluster) -> LocalProvider:
    provider = cluster.provider if isinstance(cluster, KafkaCluster) else None
    if isinstance(provider, LocalProvider):
        return provider
    raise NotOffered(
        f"The {cluster.name} cluster takes no more processes: a local Kafka does "
        "(KAFKALAB_REAL=local)."
    )
