"""What must hold in transactions beyond one log: who decides, and what counts from when on.

    decided         after PrepareCommit comes CompleteCommit, and after PrepareAbort CompleteAbort,
                    also on another coordinator; a producer's epoch never falls
    verified        a transaction that is replicated in a partition began there in an epoch for
                    which its coordinator had that partition: no zombie's record, none that came
                    too late (KIP-890)
    offsets         a group's offset that was committed in a transaction counts only when the
                    producer has asked for the commit, and goes with its topic

An unclean election may lose any of what transactions rest on: from then on nothing is judged here.

The logs themselves are judged by stable.py, and at the end of a schedule
engine/sim/campaign/till_ending.py judges what was promised to each producer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.events import Trace
from engine.plain import Plain
from engine.replication.partition import Partition
from engine.sim.invariants.books import Books, Violation
from engine.sim.invariants.groups import GroupInvariants
from engine.sim.invariants.ledger import Ledger
from engine.sim.invariants.written import Written

Identity = tuple[int, int]
"""Producer id and epoch."""
UNCLEAN = ("unclean", "last known")
DECIDED = {"PrepareCommit": "CompleteCommit", "PrepareAbort": "CompleteAbort"}


@dataclass
class Id:
    """A transactional id as its coordinators have shown it."""

    state: str = "Empty"
    identity: Identity = (-1, -1)


@dataclass
class TransactionInvariants:
    """Reads the trace lines of coordinators and producers; `note` raises Violation."""

    cluster: Cluster
    topic: str = ""
    """Where the transactions write, if that may be deleted and made again."""
    written: Written = field(default_factory=Written)
    removed_us: int = -1
    """When a replica of it was last removed."""
    ids: dict[str, Id] = field(default_factory=dict)
    added: dict[Identity, dict[str, None]] = field(default_factory=dict)
    """By identity: the partitions that its transactions had."""
    asked: dict[str, dict[int, None]] = field(default_factory=dict)
    """By group: the offsets whose commit was asked for."""

    highest: dict[str, int] = field(default_factory=dict)
    """By partition of `__transaction_state`: the highest high watermark of a coordinator."""
    losses: dict[str, None] = field(default_factory=dict)
    """Partitions that had an unclean election."""

    def __post_init__(self) -> None:
        self.groups = GroupInvariants(self.cluster)

    def note(self, node: NodeId, line: Trace) -> None:
        if line.kind == "elected" and dict(line.fields)["reason"] in UNCLEAN:
            self.losses[line.partition] = None
        if self.losses:
            return
        if self.topic and line.partition.rpartition("-")[0] == self.topic:
            self._note_topic(node, line)
        match line.kind:
            case "transaction":
                self._changed(node, line.partition, dict(line.fields))
            case "transactions-loaded":
                self._loaded(node)
            case "commits":
                fields = dict(line.fields)
                offsets = self.asked.setdefault(fields["group"], {})
                if fields["offset"] >= 0:
                    offsets[fields["offset"]] = None
        if line.partition.startswith(OFFSETS_TOPIC):
            self.check_offsets()

    def _note_topic(self, node: NodeId, line: Trace) -> None:
        broker = self.cluster.nodes.get(node)
        if broker is None or node not in self.cluster.spec.brokers:
            return
        replica = broker.replicas.partitions.get(_place(line.partition))
        match line.kind:
            case "append" if replica is not None:
                self.written.appended(replica)
            case "truncate" | "recovered" if replica is not None:
                self.written.cut(replica)
            case "removed" if dict(line.fields)["deleted"]:
                self.removed_us = self.cluster.now
                self._check_offsets_went(node)

    def _check_offsets_went(self, node: NodeId) -> None:
        """With its topic an offset goes, also one of an open transaction, if its coordinator hears
        of that and can write."""
        broker = self.cluster.nodes[node]
        for group in self.asked:
            for index, runtime in broker.groups.runtime.shards.items():
                replica = broker.replicas.partitions.get((OFFSETS_TOPIC, index))
                if replica is None or not replica.is_leader or replica.is_under_min_isr:
                    continue
                left = [each for each in runtime.state.written(group).places(group)
                        if each[0] == self.topic]  # fmt: skip
                if left:
                    raise Violation(
                        f"offsets: {group}: {self.topic} is deleted, and on {node} it still has "
                        f"an offset for {left[0][0]}-{left[0][1]}"
                    )

    def _is_newest(self, node: NodeId, name: str) -> bool:
        """Whether no replica of the partition has shown more.  A former coordinator may still
        learn, when it wakes, that what it wrote long ago was replicated."""
        broker = self.cluster.nodes.get(node)
        replica = broker.replicas.partitions.get(_place(name)) if broker else None
        if replica is None or replica.high_watermark < self.highest.get(name, 0):
            return False
        self.highest[name] = replica.high_watermark
        return True

    def _changed(self, node: NodeId, name: str, fields: Plain) -> None:
        identity = (fields.get("producer_id", -1), fields.get("epoch", -1))
        if self._is_newest(node, name):
            self._is(node, fields["id"], fields["state"], identity)
        if fields["state"] == "Ongoing":
            self._had(identity, fields["partitions"])

    def _is(self, node: NodeId, name: str, state: str, identity: Identity) -> None:
        if state == "Dead":
            self.ids.pop(name, None)
            return
        known = self.ids.setdefault(name, Id())
        wanted = DECIDED.get(known.state)
        if wanted is not None and state not in (wanted, known.state):
            raise Violation(
                f"decided: {name} is {state} on {node}, after {known.state} was replicated"
            )
        if identity[0] == known.identity[0] and identity[1] < known.identity[1]:
            raise Violation(
                f"decided: {name} goes back from epoch {known.identity[1]} to {identity[1]}"
            )
        known.state, known.identity = state, identity

    def _loaded(self, node: NodeId) -> None:
        """A new coordinator has what was replicated, and perhaps more.  That may include changes
        that the one before never showed, so what follows an older state is not judged."""
        broker = self.cluster.nodes.get(node)
        if broker is None:
            return
        for shard in broker.transactions.shards:
            for each in shard.by_id.values():
                metadata = each.metadata
                known = self.ids.setdefault(each.id, Id())
                if known.state != str(metadata.state):
                    known.state = ""
                names = [f"{topic}-{index}" for topic, index in metadata.partitions]
                self._had((metadata.producer_id, metadata.producer_epoch), names)
                if metadata.bumps_epochs:
                    self._had((metadata.producer_id, metadata.producer_epoch - 1), names)

    def _had(self, identity: Identity, partitions: list[str]) -> None:
        had = self.added.setdefault(identity, {})
        for name in partitions:
            had[name] = None

    def check_openings(self, books: Books, leader: Partition, ledger: Ledger) -> None:
        """Of transactions whose first record is replicated now."""
        waiting, books.openings = books.openings, []
        if self.losses:
            return
        begins = {each.offset: each for each in ledger.entries[-len(waiting) * 64 :]}
        for offset, producer_id, epoch in waiting:
            if offset >= leader.high_watermark:
                books.openings.append((offset, producer_id, epoch))
                continue
            there = begins.get(offset)
            if there is None or (there.producer_id, there.epoch) != (producer_id, epoch):
                continue
            if books.name not in self.added.get((producer_id, epoch), {}):
                raise Violation(
                    f"verified: {books.name}: a transaction of producer {producer_id}, epoch "
                    f"{epoch}, begins at {offset}, and its coordinator has never put this "
                    f"partition into one"
                )

    def check_offsets(self) -> None:
        """No group has an offset whose commit no producer has asked for."""
        for group in self.asked:
            self._check_group(group)

    def _check_group(self, group: str) -> None:
        shard = self.groups.shard(group)
        if shard is None:
            return
        for (topic, index), committed in shard.offsets.of(group).items():
            if committed.offset not in self.asked[group]:
                raise Violation(
                    f"offsets: {group}: {committed.offset} counts for {topic}-{index}, and no "
                    f"producer has asked to commit it"
                )


def _place(name: str) -> tuple[str, int]:
    topic, _, index = name.rpartition("-")
    return topic, int(index)
