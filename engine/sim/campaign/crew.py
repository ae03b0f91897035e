"""Breaks things in a world, within what its settings promise to survive, and repairs them.

What a topic promises to survive depends on how many of its replicas may lose what they had
written.  A replica that has lost something counts until it is back in every ISR that it
belongs to.  While min.insync.replicas - 1 replicas count, another one is only killed.

Members of groups are started, stopped, frozen and killed as well (members.py), and so are
transactional producers (tills.py); an administrator may delete what those write to.
"""

from __future__ import annotations

from typing import Any

from engine.broker.broker import Broker
from engine.cluster.items import NodeId
from engine.cluster.processes import PAUSED, RUNNING
from engine.coordinators.offsets_topic import OFFSETS_TOPIC, coordinator_of
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.sim.campaign import members, tills
from engine.sim.campaign.members import GroupSetup, MemberPlan
from engine.sim.world.faults import BETWEEN_NODES, Fault, Value, fault
from engine.sim.world.world import World
from engine.zookeeper import znodes

AWAIT_ID_S = 6
PRODUCER, CONSUMER = "producer-1", "consumer-3"
LINK_KINDS = ("cut", "cut_one_way", "slow")
MESSAGE_KINDS = ("delay", "drop", "duplicate", "reorder")
STRANDED = ("EndTxn", "Produce", "WriteTxnMarkers", "TxnOffsetCommit", "AddPartitionsToTxn")
PROCESS_KINDS = ("kill", "lose_power", "pause", "stop", "flip_bit", "fill_disk", "isolate")


class Crew:
    """Breaks and repairs a world; only the replicas of `topic` count, and the groups' offsets."""

    def __init__(
        self,
        world: World,
        topic: str,
        min_in_sync: int,
        damaging: tuple[str, ...],
        groups: tuple[GroupSetup, ...] = (),
        setup: tills.TillSetup | None = None,
    ) -> None:
        self.world = world
        self.topic = topic
        self.min_in_sync = min_in_sync
        self.damaging = damaging
        self.groups = groups
        self.setup = setup
        self.dark: list[NodeId] = []
        self.image: Any = None
        """The last metadata image of a running controller."""

    # -- breaking

    def choose(
        self, number: int, kind: str, target: str, amount: int, torn: bool, last: NodeId
    ) -> Fault | None:
        """Turns a plan into a fault, with its broker chosen; None if that broker is not running."""
        if kind == "strand" and target == "controller":
            return self._choose_late_order(number, amount)
        if kind == "strand":
            return self._choose_strand(number, amount)
        broker = last if target == "same" and last else self._target(number, target)
        running = self.world.cluster.states[broker] in (RUNNING, PAUSED)
        if kind in PROCESS_KINDS and not running:
            return None
        peer: NodeId = self._target(number + 1, "other")
        if kind in MESSAGE_KINDS:
            peer = (peer, PRODUCER, CONSUMER, self.world.cluster.spec.controller)[number % 4]
        if target in ("controller", "standby"):
            others = [each for each in self.world.cluster.spec.controllers if each != broker]
            peer = others[number % len(others)] if others else peer
        readers = members.members_of(self.world, self.groups) + tills.tills_of(self.world)
        if (
            target in ("coordinator", "payments")
            and kind in (*LINK_KINDS, *MESSAGE_KINDS)
            and readers
        ):
            peer = readers[number % len(readers)]
        if kind in (*LINK_KINDS, *MESSAGE_KINDS) and broker == peer:
            return None
        ways = ((broker, peer), (peer, broker))
        options: dict[str, Value] = {}
        match kind:
            case "lose_power":
                options = {"torn": int(torn)}
            case "flip_bit":
                options = {"topic": self.topic, "partition": number % len(self._partitions())}
            case "slow" | "jump_clock":
                options = {"ms": amount}
            case "skew_clock":
                options = {"ppm": amount}
            case "delay" | "reorder":
                options = {"ms": amount, "count": 1 + number % 3}
            case "drop" | "duplicate":
                options = {"count": amount}
        if kind in LINK_KINDS:
            return fault(kind, *ways[0], **options)
        if kind == "duplicate":
            return fault(kind, *sorted(ways[0], key=self._rank), **options)
        if kind in MESSAGE_KINDS:
            return fault(kind, *ways[number // 4 % 2], **options)
        return fault(kind, broker, **options)

    def _choose_strand(self, number: int, ms: int) -> Fault | None:
        """A request of a transaction that its sender gives up, and that arrives `ms` later."""
        api, names = STRANDED[number % len(STRANDED)], tills.tills_of(self.world)
        coordinator = self._leader(TRANSACTIONS_TOPIC, 0)
        leader = self._leader(tills.PAYMENTS, number)
        if coordinator is None or leader is None or not names:
            return None
        sender: NodeId = names[number % len(names)]
        ways: dict[str, tuple[NodeId, NodeId | None]] = {
            "EndTxn": (sender, coordinator),
            "Produce": (sender, leader),
            "WriteTxnMarkers": (coordinator, leader),
            "TxnOffsetCommit": (
                sender, coordinator_of(self.world.image(), tills.readers_of(str(sender))),
            ),
            "AddPartitionsToTxn": (leader, coordinator),
        }  # fmt: skip
        a, b = ways[api]
        if b is None or a == b:
            return None
        return fault("strand", a, b, ms=ms, count=1 + number % 3, api=api)

    def _choose_late_order(self, number: int, ms: int) -> Fault | None:
        """A request of the controller that arrives `ms` later, perhaps when there is another."""
        sender = self._controller(number, standby=False)
        brokers = [each for each in self.world.cluster.spec.brokers if each != sender]
        api = ("UpdateMetadata", "LeaderAndIsr")[number % 2]
        return fault("strand", sender, brokers[number % len(brokers)], ms=ms, count=1, api=api)

    def choose_member(self, plan: MemberPlan) -> Fault | None:
        """A member's fate; None if there is no such process, or already one to be started."""
        there = plan.member in self.world.cluster.nodes
        return fault(plan.kind, plan.member) if there != (plan.kind == "start") else None

    def _target(self, number: int, target: str) -> NodeId:
        if target == "member":
            members = self.world.cluster.spec.ensemble
            return members[number % len(members)]
        if target in ("controller", "standby"):
            return self._controller(number, target == "standby")
        if target == "coordinator" and self.world.cluster.controller is not None:
            found = self._coordinator()
            if found is not None:
                return found
        if target == "payments" and (there := self._leader(tills.PAYMENTS, number)) is not None:
            return there
        partitions = self._partitions()
        partition = partitions[number % len(partitions)]
        if target == "leader" and partition.leader > 0:
            return int(partition.leader)
        others = [b for b in partition.replicas if b != partition.leader]
        return int(others[number % len(others)])

    def _controller(self, number: int, standby: bool) -> int:
        """The active one, or another; without an active one, any."""
        spec, active = self.world.cluster.spec, self.world.cluster.controller
        ids = spec.brokers if spec.ensemble else spec.controllers
        if active is None or len(ids) == 1:
            return ids[number % len(ids)]
        others = [each for each in ids if each != active.node_id]
        return others[number % len(others)] if standby else active.node_id

    def _coordinator(self) -> int | None:
        if self.groups:
            return coordinator_of(self.world.image(), self.groups[0].name)
        return self._leader(TRANSACTIONS_TOPIC, 0)

    def _leader(self, topic: str, number: int) -> int | None:
        """Of one of a topic's partitions; None if there is none, or no controller to say so."""
        if self.world.cluster.controller is None:
            return None
        found = self.world.image().topic(topic)
        if found is None:
            return None
        leader = found.partitions[number % len(found.partitions)].leader
        return leader if leader > 0 else None

    def _rank(self, node: NodeId) -> int:
        """Requests go to a higher rank: from clients and followers to a leader, then controller."""
        spec = self.world.cluster.spec
        if node in (*spec.controllers, *spec.ensemble):
            return 3
        if any(node == partition.leader for partition in self._partitions().values()):
            return 2
        return int(isinstance(node, int))

    def _partitions(self) -> Any:
        """The topic's partitions by index, in the controller's last image."""
        if self.world.cluster.controller is not None:
            self.image = self.world.image()
        return self.image.topics[self.image.topic_ids[self.topic]].partitions

    def do(self, wanted: Fault) -> None:
        """Does a fault.  It kills instead if the topic cannot survive another loss of records.

        A bit changes only under a broker that is down.
        """
        broker = wanted.nodes[0] if wanted.nodes else ""
        if wanted.kind in BETWEEN_NODES and not self._are_known(wanted):
            return
        if wanted.kind == "remove_voter" and not self._may_be_removed():
            return
        if isinstance(broker, str) and wanted.kind in members.KINDS and broker:
            self._do_to_member(wanted.kind, broker)
            return
        if wanted.kind in self.damaging and broker in self.world.cluster.spec.brokers:
            if not self._may_lose_records(broker):
                self.world.apply(fault("kill", broker))
                return
            self.dark.append(broker)
            if wanted.kind == "flip_bit" and self.world.cluster.states[broker] in (RUNNING, PAUSED):
                self.world.apply(fault("kill", broker))
        self.world.apply(wanted)

    def _are_known(self, wanted: Fault) -> bool:
        """A tape with some faults taken out may name a client that was never started."""
        return all(node in self.world.cluster.states for node in wanted.nodes)

    def _do_to_member(self, kind: str, name: str) -> None:
        """A tape with some faults taken out may kill a member that is not there."""
        if tills.is_remaker(name) and self.setup is not None:
            tills.remake(self.world, self.setup, self.min_in_sync, name)
        elif tills.is_till(name) and kind == "start":
            tills.start(self.world, name)
        elif kind == "start":
            members.start(self.world, self.groups, self.topic, name)
        elif name not in self.world.cluster.nodes:
            return
        elif kind == "stop":
            members.stop(self.world, name)
        else:
            self.world.apply(fault(kind, name))

    def _may_be_removed(self) -> bool:
        """Of two voters none is removed: see engine/quorum/voter_changes.py."""
        active = self.world.cluster.controller
        return active is not None and len(active.replica.state.voters) > 2

    def _may_lose_records(self, broker: NodeId) -> bool:
        """Whether one more replica may lose what it has not flushed."""
        partitions = list(self._partitions().values())
        for name in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, tills.PAYMENTS):
            stored = self.image.topic(name)
            partitions += [] if stored is None else stored.partitions.values()
        self.dark = [
            b
            for b in self.dark
            if self.world.cluster.states[b] != RUNNING
            or any(b in p.replicas and b not in p.isr for p in partitions)
        ]
        return len([b for b in self.dark if b != broker]) < self.min_in_sync - 1

    # -- repairing

    def undo(self, broken: Fault) -> None:
        """Undoes one fault."""
        match broken.kind:
            case "start":
                return
            case "stop" if isinstance(broken.nodes[0], str):
                return
            case "kill" | "lose_power" | "stop" | "flip_bit":
                self._start(broken.nodes[0])
            case "fill_disk":
                self.do(fault("free_disk", *broken.nodes))
                self._start(broken.nodes[0])
            case "pause" if broken.nodes[0] in self.world.cluster.nodes:
                self.do(fault("resume", *broken.nodes))
            case "isolate" | "cut" | "cut_one_way" | "slow":
                self.do(fault("heal", *broken.nodes))
            case "jump_clock" | "skew_clock":
                self.do(fault("set_clock", *broken.nodes))
            case "remove_voter":
                self.do(fault("add_voter", *broken.nodes))

    def undo_everything(self) -> None:
        cluster = self.world.cluster
        self.do(fault("heal"))
        for node in cluster.spec.nodes:
            if node in cluster.clocks:
                self.do(fault("set_clock", node))
            if cluster.disks[node].full:
                self.do(fault("free_disk", node))
            if cluster.states[node] == PAUSED:
                self.do(fault("resume", node))
            self._start(node)
        if cluster.spec.ensemble:
            # A broker that was started before its former session was over is refused meanwhile.
            self.world.run(for_s=AWAIT_ID_S)
            for node in cluster.spec.brokers:
                self._start(node)
        members.undo_everything(self.world, self.groups, self.topic)
        tills.resume_all(self.world)

    def _start(self, node: NodeId) -> None:
        """Starts a process that is down; one that is still shutting down is killed first."""
        if isinstance(node, str):
            self._do_to_member("start", node)
            return
        broker = self.world.cluster.nodes.get(node)
        if isinstance(broker, Broker) and broker.lifecycle.leaving:
            self.do(fault("kill", node))
        if node not in self.world.cluster.nodes:
            self._await_id(node)
            self.do(fault("start", node))

    def _await_id(self, broker: int) -> None:
        """With ZooKeeper a broker finds its id taken until its former session is over."""
        cluster = self.world.cluster
        if not cluster.spec.ensemble or broker in cluster.spec.ensemble:
            return

        def is_free(world: World) -> bool:
            there = [cluster.nodes.get(each) for each in cluster.spec.ensemble]
            known = [each for each in there if each is not None]
            last = max(known, key=lambda each: each.agreement.applied, default=None)
            return last is not None and znodes.broker(broker) not in last.tree.nodes

        self.world.run(until=is_free, for_s=AWAIT_ID_S)
