"""What every cluster offers to a notebook, on any provider.

`Cluster` is the interface.  `Provider` is the smaller part that differs between a child
process of ours, Java processes, containers and a remote cluster.  Everything that a client
can ask any Kafka (topics, leaders, snapshots) is shared and is in `kafka_cluster.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from kit.clusters.faults import Ways


class ClusterError(RuntimeError):
    """Something about a cluster failed; the message is a sentence with a remedy."""


class ClusterEnded(ClusterError):
    """The cluster's processes are gone for good; another one must be started."""


class NotOffered(ClusterError):
    """This provider cannot do that; the message names the providers that can."""


class LeaseTaken(ClusterError):
    """Another notebook holds the lease of this shared cluster."""


class WaitTimeout(ClusterError):
    """`wait_until` gave up."""


Config = Mapping[str, object]
Assignment = Mapping[int, Sequence[int]]
"""Partition to its replicas, preferred leader first."""


@dataclass(frozen=True)
class Node:
    """A broker or the controller as its provider knows it."""

    id: int
    state: str
    """`running`, `paused`, `stopped` (cleanly) or `killed`."""
    address: tuple[str, int] | None = None
    """Where this machine reaches it; None for a controller that clients cannot reach."""
    data_dir: str | None = None
    """Its files, where this machine can read them."""
    is_controller: bool = False
    """Whether it is no broker but keeps the metadata; true of ZooKeeper's members, too."""


class Provider(Protocol):
    """Starts nodes, breaks them and ends them."""

    name: str
    bootstrap: str
    ways: Ways
    """The faults that it offers (faults.py)."""
    refusals: Mapping[str, str]
    """For each other fault: why it does not, and what does."""

    def nodes(self) -> dict[int, Node]:
        """All nodes by id, with the state they are in now."""
        ...

    def links(self) -> list[dict[str, Any]]:
        """Links that are cut or slow: between, state, delay_ms."""
        ...

    def hold(self) -> None:
        """Takes the lease of a shared cluster: only its holder may break it."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class SeenFromInside(Protocol):
    """A provider that knows its cluster's state and need not ask over the protocol."""

    def snapshot(self, *, values: bool, tail: int) -> dict[str, Any]: ...

    def trace(self, since: int, limit: int) -> dict[str, Any]:
        """The story's lines from number `since` on: `lines`, and `next` to go on with."""
        ...


class Cluster(Protocol):
    """A cluster as a notebook sees it.

    Errors are `ClusterError`s: one sentence, and what to do.
    """

    @property
    def name(self) -> str:
        """`engine`, `local`, `docker`, `remote` or `zookeeper`."""
        ...

    @property
    def step(self) -> str:
        """What it was last asked to do, in words, such as "kills 102"."""
        ...

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` for any Kafka client."""
        ...

    @property
    def bootstrap_controllers(self) -> str:
        """`bootstrap.controllers` for an admin client; NotOffered where they are not known."""
        ...

    @property
    def has_ended(self) -> bool:
        """Whether it is gone for good; a broker that was killed can be started again."""
        ...

    @property
    def brokers(self) -> list[int]:
        """Ids of all brokers, running or not."""
        ...

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int = 3,
        config: Config | None = None,
        *,
        assignment: Assignment | None = None,
    ) -> None:
        """Creates a topic and waits until every running broker knows it.

        Replaces a topic of that name that the kit made; refuses to replace any other.
        `assignment` places replicas by hand (partition to broker ids, preferred leader
        first), instead of `partitions` and `replicas`.
        """
        ...

    def delete_topic(self, name: str) -> None:
        """Deletes a topic that the kit made, if it is there, and waits until it is gone."""
        ...

    def offers(self, fault: str) -> bool:
        """Whether this cluster offers a fault, named as its method here."""
        ...

    def refusal(self, fault: str) -> str:
        """Why it does not offer a fault; empty if it does."""
        ...

    def kill(self, node: int) -> None:
        """Ends a node without warning (SIGKILL)."""
        ...

    def stop(self, node: int) -> None:
        """Shuts a node down cleanly and waits until it has ended."""
        ...

    def start(self, *nodes: int) -> None:
        """Starts killed or stopped nodes on their old files and ports; waits until they serve.

        Several are started at the same time.
        """
        ...

    def pause(self, node: int) -> None:
        """Freezes a node: its connections stay open, and nothing answers."""
        ...

    def resume(self, node: int) -> None:
        """Lets a paused node go on."""
        ...

    def lose_power(self, node: int) -> None:
        """Ends a node and loses what it had not flushed to disk."""
        ...

    def cut(self, a: int, b: int) -> None:
        """Cuts the link between two nodes, both ways; clients still reach both.

        A follower that is cut off leaves the ISR replica.lag.time.max.ms after it missed
        a record: while nothing is written, it is not behind.
        """
        ...

    def isolate(self, node: int) -> None:
        """Cuts a node off from all other nodes, the controller included."""
        ...

    def slow(self, a: int, b: int, ms: int) -> None:
        """Delays messages between two nodes by `ms`, each way."""
        ...

    def heal(self) -> None:
        """Undoes every cut, isolation and slow link.  Nodes that are down stay down."""
        ...

    def wait_until(
        self, predicate: Callable[[Cluster], object], timeout_s: float = 20, what: str = ""
    ) -> None:
        """Returns when `predicate(cluster)` is true; WaitTimeout says what was seen last."""
        ...

    def leader(self, topic: str, partition: int = 0) -> int:
        """The broker that leads a partition; -1 when none does."""
        ...

    def snapshot(self, *, values: bool = False, tail: int = 20) -> dict[str, Any]:
        """The whole state as plain data, in the shape that engine/cluster/snapshot.py gives.

        With `values`, the record values of the last `tail` offsets of each log.
        """
        ...

    def trace(self, since: int = 0, limit: int = 1000) -> dict[str, Any]:
        """What happened inside, line by line; NotOffered where the cluster does not tell.

        `lines` from number `since` on (time_us, node, kind, partition, fields, why, rule),
        and `next`, the number to go on with.
        """
        ...

    def describe(self, topic: str) -> Any:
        """Leader, ISR, LEO, HW and epoch per partition: `.text`, and HTML in a notebook."""
        ...

    def close(self) -> None:
        """Ends what this object started; a shared cluster stays, and only its lease is released."""
        ...
