"""The description of a cluster, and how a node is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from engine import api, past
from engine.api import on_controllers
from engine.broker.broker import Apis, Broker
from engine.control.controller import Controller, Listener
from engine.quorum import formatting
from engine.replication.truncation import DEFAULT_RULE
from engine.settings import Settings
from engine.storage.disk import Disk

APIS = Apis(api.dispatch, api.refusal, api.fit)


@dataclass(frozen=True)
class ClusterSpec:
    """Nodes and their settings.  They tell clients these addresses.

    `rule` is the truncation rule of followers; `before` names the KIPs that this cluster does
    not have yet (engine/past.py).  `features` are the finalised levels that a new cluster begins
    with, where they are to differ.  With an `ensemble`, ids of ZooKeeper's members, there are no
    controllers: the brokers elect one of themselves (engine/zookeeper).  Brokers that `chroots`
    keeps apart are Kafka clusters of their own, which share the ensemble.  With `voters`, the
    quorum of controllers begins with these, and may change (kraft.version 1); without, all are
    voters.
    """

    brokers: tuple[int, ...] = (101, 102, 103)
    controllers: tuple[int, ...] = (100,)
    voters: tuple[int, ...] = ()
    cluster_id: str = "kafka-inside-out-00001"
    settings: Mapping[str, Any] = field(default_factory=dict)
    racks: Mapping[int, str] = field(default_factory=dict)
    addresses: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    log_dirs: Mapping[int, str] = field(default_factory=dict)
    seed: int = 0
    rule: str = DEFAULT_RULE
    before: tuple[str, ...] = ()
    features: Mapping[str, int] = field(default_factory=dict)
    ensemble: tuple[int, ...] = ()
    chroots: Mapping[int, str] = field(default_factory=dict)

    @property
    def first_cluster(self) -> tuple[int, ...]:
        """The brokers below the first one's chroot: all of them, if there is one cluster."""
        if not self.chroots:
            return self.brokers
        return tuple(each for each in self.brokers if self.chroot(each) == self.first_chroot)

    @property
    def first_chroot(self) -> str:
        return self.chroot(self.brokers[0])

    def chroot(self, broker: int) -> str:
        """The znode below which its cluster keeps everything; empty for the root."""
        return self.chroots.get(broker, "")

    @property
    def controller(self) -> int:
        """The first one, which is active if there is no other."""
        return (self.controllers or self.brokers)[0]

    @property
    def nodes(self) -> tuple[int, ...]:
        """What brokers depend on comes first."""
        return self.ensemble + self.controllers + self.brokers


def make_node(
    spec: ClusterSpec, node_id: int, incarnation: int, disk: Disk, tier: Disk | None = None
) -> Any:
    """Makes a node that starts on `disk`; each incarnation draws other random ids."""
    ids = Random(f"{spec.seed}/{node_id}/{incarnation}")
    given, plane = spec.settings, None
    if spec.ensemble:
        # Only then: the historic plane is a fifth of what the engine would import at its start.
        from engine.zookeeper import preloaded
        from engine.zookeeper import settings as historic
        from engine.zookeeper.member import Member
        from engine.zookeeper.plane import ZooKeeperPlane

        own_settings, given = historic.divide(given)
        if node_id in spec.ensemble:
            tree = preloaded.tree(own_settings.preloaded, spec.brokers)
            return Member(node_id, spec.ensemble, own_settings, disk, ids, tree)
        plane = partial(ZooKeeperPlane, members=spec.ensemble, settings=own_settings,
                        chroot=spec.chroot(node_id))  # fmt: skip
    settings = Settings(given)
    if node_id in spec.controllers:
        levels = {**past.feature_levels(spec.before), **spec.features}
        address = spec.addresses.get(node_id)
        listener = None if address is None else Listener(address, on_controllers.answer, api.fit)
        quorum: tuple[Any, ...] = spec.controllers, listener
        if spec.voters:
            quorum = (), listener, formatting.address_of(node_id, spec.addresses), spec.controllers
        return Controller(node_id, settings, disk, ids, api.refusal, spec.cluster_id, levels,
                          *quorum)  # fmt: skip
    host, port = spec.addresses.get(node_id, ("127.0.0.1", 9000 + node_id))
    own: dict[str, Any] = {
        "broker.id": node_id,
        "advertised.listeners": f"PLAINTEXT://{host}:{port}",
        "broker.rack": spec.racks.get(node_id),
    }
    if node_id in spec.log_dirs:
        own["log.dirs"] = spec.log_dirs[node_id]
    cluster_id = spec.cluster_id + spec.chroot(node_id).replace("/", "-")
    return Broker(node_id, settings.extended(own), disk, ids, APIS,
                  spec.controllers or spec.brokers, cluster_id, spec.rule, spec.before, tier,
                  plane)  # fmt: skip
