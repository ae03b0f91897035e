"""What must hold on the historic control plane, after every event.

one controller   A controller epoch belongs to one broker, and each is later than the one before.
epochs           A broker obeys no controller of an earlier epoch than it has obeyed before.
fenced           No controller writes a partition's state after the next one was elected.
one order        All members carry out the same change at the same zxid, over restarts too.
ephemeral        An ephemeral znode belongs to a session that is not over.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.cluster.cluster import Cluster
from engine.sim.invariants.books import Violation
from engine.zookeeper import znodes
from engine.zookeeper.member import Member
from engine.zookeeper.messages import Proposal
from engine.zookeeper.tree import Multi, SetData, Tree


@dataclass(slots=True)
class Obeyed:
    """A broker, in its life number `life`: the epoch of the controller that it obeys."""

    life: int = 0
    epoch: int = 0


@dataclass
class ZooKeeperInvariants:
    """`after_event` raises Violation."""

    cluster: Cluster
    controllers: dict[int, int] = field(default_factory=dict)
    obeyed: dict[int, Obeyed] = field(default_factory=dict)
    applied: dict[int, tuple[int, int]] = field(default_factory=dict)
    committed: dict[int, Proposal] = field(default_factory=dict)

    def after_event(self) -> None:
        for broker_id in self.cluster.spec.brokers:
            broker = self.cluster.nodes.get(broker_id)
            if broker is not None:
                self._check_broker(broker_id, broker.plane)
        for member_id in self.cluster.spec.ensemble:
            member = self.cluster.nodes.get(member_id)
            if member is None:
                continue
            seen = (self.cluster.processes.life(member_id), member.agreement.applied)
            before = self.applied.get(member_id)
            if before != seen:
                self.applied[member_id] = seen
                since = before[1] if before is not None and before[0] == seen[0] else 0
                self._check_member(member_id, member, since)

    def _check_broker(self, broker_id: int, plane: object) -> None:
        controller, orders = plane.controller, plane.orders  # type: ignore[attr-defined]
        if controller.context.is_active:
            known = self.controllers.setdefault(controller.epoch, broker_id)
            if known != broker_id:
                raise Violation(
                    f"one controller: epoch {controller.epoch} has {known} and {broker_id}"
                )
        now = Obeyed(self.cluster.processes.life(broker_id), orders.controller_epoch)
        before = self.obeyed.get(broker_id)
        if before is not None and before.life == now.life and now.epoch < before.epoch:
            raise Violation(
                f"epochs: {broker_id} obeys controller epoch {now.epoch} after {before.epoch}"
            )
        self.obeyed[broker_id] = now

    def _check_member(self, member_id: int, member: Member, since: int) -> None:
        tree = member.tree
        for session, paths in tree.ephemerals.items():
            if paths and session not in tree.sessions:
                raise Violation(f"ephemeral: {min(paths)} outlives its session {hex(session)}")
        for proposal in reversed(member.agreement.recent):
            if proposal.zxid <= since:
                break
            known = self.committed.setdefault(proposal.zxid, proposal)
            if known != proposal:
                raise Violation(f"one order: {member_id} has another change {hex(proposal.zxid)}")
            self._check_state(tree, proposal)

    def _check_state(self, tree: Tree, proposal: Proposal) -> None:
        """A partition's state that was just written, if it was."""
        write = proposal.write
        for part in write.parts if isinstance(write, Multi) else (write,):
            if not isinstance(part, SetData) or not part.path.endswith("/state"):
                continue
            znode = tree.nodes.get(part.path)
            if znode is None or znode.mzxid != proposal.zxid:
                continue
            epoch = znodes.fields(znode.data)["controller_epoch"]
            last = tree.nodes[znodes.CONTROLLER_EPOCH]
            if last.mzxid < proposal.zxid and epoch < int(last.data):
                raise Violation(
                    f"fenced: {part.path} is written by controller epoch {epoch} after {last.data}"
                )
