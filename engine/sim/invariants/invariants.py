"""What must hold after every event, no matter what fails.

Each check looks only at what the event touched, so it costs the same for three brokers
or fifty.  Logs are compared by their chains (engine/sim/invariants/chains.py).

    log matching     two replicas with the same (offset, epoch) hold the same there and below
    no loss          what was acknowledged under acks=all, or read, is on every later ISR
                     and ELR member, unless a client deleted it and the log says so
    one leader       per partition and epoch, and only it appends in that epoch
    epochs           they only grow, in a replica and in a log; no record is of an epoch
                     that the replica has not heard of (where a fetch names the epoch)
    strong ISR       every ISR member holds what the leader holds below its high watermark
    monotonic        within an epoch the high watermark and the log start only rise, in the
                     leader and for each consumer; "latest" never goes back at all
    compaction       the latest record of each key survives, survivors stay where they were, and
                     a tombstone outlives its delete horizon
    idempotence      no (producer id, epoch, sequence) twice in a log, none out of order; a
                     producer's epoch does not fall, and a new one begins at sequence 0
    control          the leader is in the ISR and not fenced; no one is in ISR and ELR at once
    deleted          a topic begins empty, also where there was one of its name
    transactions     the last stable offset and the aborted index say what the log says, in every
                     replica, and a reader with read_committed gets committed records only

An unclean election may lose records: `losses` names the partition and what was promised.
Requests sent before it promise nothing; from then on all holds again, with one exception: if
`__transaction_state` had one, a coordinator may give an epoch twice, and a new batch of a
transaction may be taken for an old one.  Such an acknowledgement promises nothing.

The schedule sees to it that at most min.insync.replicas - 1 machines have lost power and are not
back in sync.  A replica that lost power, or whose log has a changed bit, is not judged until it has
registered again.  A changed batch that no recovery has found yet counts as what it was: the disk is
wrong, not the replica.

A topic that was deleted promises nothing any more; one that has its name is another topic, with
books of its own (successors.py).

From the first pass of the cleaner on, the copies of a compacted log need not be alike: what
compares their bytes ends there, and compaction.py judges each pass instead.

appended.py judges what a log takes in; promises.py judges what was promised, and where logs may
start.  stable.py judges what such readers rely on, and quorum.py the controllers, if there are
several; zookeeper.py judges the historic control plane.  groups.py judges consumer groups, and
transactions.py what coordinators of transactions decide, where a campaign asks for it.
"""

from __future__ import annotations

from itertools import islice

from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.events import Trace
from engine.metadata.image import PartitionImage
from engine.plain import Plain
from engine.replication.partition import Partition
from engine.replication.truncation import RULES
from engine.sim.invariants import appended, compaction, promises, stable, successors
from engine.sim.invariants.books import Books, Heard, Violation
from engine.sim.invariants.chains import Chain, Link
from engine.sim.invariants.groups import GroupInvariants
from engine.sim.invariants.ledger import Ledger
from engine.sim.invariants.quorum import QuorumInvariants
from engine.sim.invariants.transactions import TransactionInvariants
from engine.sim.invariants.zookeeper import ZooKeeperInvariants

NOTED = frozenset(
    ("append", "truncate", "recovered", "deleted", "leader", "leader_epoch", "high_watermark",
     "acknowledged", "read", "received", "latest", "elected", "cleaning", "cleaned", "removed")
)  # fmt: skip
HEARD = frozenset(("acknowledged", "read", "received", "latest"))
UNCLEAN = ("unclean", "last known")
__all__ = ["Invariants", "Violation"]


class Invariants:
    """Watches a cluster's trace; `after_event` raises Violation."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.books: dict[str, Books] = {}
        self.seen = cluster.trace_count
        self.dark: dict[int, None] = {}
        self.damaged: dict[int, None] = {}
        self.losses: list[str] = []
        self.forgot_epochs = False
        """Whether coordinators of transactions may have lost epochs that they gave."""
        self.groups: GroupInvariants | None = None
        """What must hold in consumer groups, if they are watched."""
        self.transactions: TransactionInvariants | None = None
        """What must hold in transactions beyond the logs, if that is watched."""
        several = len(cluster.spec.controllers) > 1
        self.quorum = QuorumInvariants(cluster) if several else None
        """What must hold among the controllers, if there are several."""
        self.zookeeper = ZooKeeperInvariants(cluster) if cluster.spec.ensemble else None
        """What must hold on the historic control plane."""

    # -- driving

    def after_event(self) -> None:
        """Looks at the trace lines since the last call, and at what they touched."""
        for plane in (self.quorum, self.zookeeper):
            if plane is not None:
                plane.after_event()
        fresh = self.cluster.trace_count - self.seen
        if not fresh:
            return
        self.seen = self.cluster.trace_count
        touched: dict[str, Books] = {}
        moved: dict[str, None] = {}
        newest = list(islice(reversed(self.cluster.trace), fresh))
        for _, node, line in reversed(newest):
            if self.groups is not None:
                self.groups.note(node, line)
            if self.transactions is not None:
                self.transactions.note(node, line)
            if not line.partition:
                if isinstance(node, int):
                    self._note_process(node, line)
                continue
            books = touched.get(line.partition) or self._books(line.partition)
            if books is not None:
                touched[line.partition] = books
                if line.kind in HEARD:
                    self._heard(books, node, line)
                    continue
                moved[line.partition] = None
                if line.kind in NOTED and isinstance(node, int):
                    self._note(books, node, line)
        for name, books in touched.items():
            image = self._image(books)
            if image is not None:
                self._check(books, image, name in moved)

    def _note_process(self, node: int, line: Trace) -> None:
        match line.kind:
            case "power-lost" | "disk-replaced":
                self.dark[node] = None
            case "bit-flipped":
                self.dark[node] = self.damaged[node] = None
            case "registered":
                self.dark.pop(dict(line.fields)["broker"], None)
            case "started":
                # The files are read again when the logs are opened.
                for books in self.books.values():
                    books.kept = None
                    for known in (books.chains, books.bounds, books.epochs, books.indexed):
                        known.pop(node, None)
                    books.reread[node] = None
                    if self.cluster.spec.ensemble:
                        # Without a controller that sees it, a leader that restarts leads on in
                        # its epoch, from the high watermark of its checkpoint.
                        books.received.clear()

    def _heard(self, books: Books, client: NodeId, line: Trace) -> None:
        fields = dict(line.fields)
        if not successors.is_heard(books, self.cluster, client):
            return
        match line.kind:
            case "acknowledged" | "read":
                if fields["asked_us"] > books.unclean_at:
                    epoch, value = fields.get("epoch", -1), fields.get("value", "")
                    in_transaction = fields.get("isolation") == "read_committed"
                    heard = Heard(fields["offset"], epoch, value, in_transaction)
                    books.unsettled.append(heard)
            case "received":
                self._received(books, client, fields)
            case "latest":
                self._latest(books, client, fields)

    def _note(self, books: Books, node: int, line: Trace) -> None:
        fields = dict(line.fields)
        match line.kind:
            case "append":
                self._appended(books, node)
            case "truncate":
                self._cut(books, node, fields["to"])
            case "recovered":
                self._cut(books, node, fields["end"])
            case "deleted":
                promises.delete(books, node, self._replica(books, node), fields["to"])
            case "high_watermark":
                books.highest[node] = max(fields["to"], books.highest.get(node, 0))
            case "removed":
                books.removed(node, self.cluster.now)
            case "leader":
                successors.check_empty(books, self._replica(books, node))
                self._epoch_heard(books, node, fields["epoch"])
            case "leader_epoch":
                self._epoch_began(books, node, fields["epoch"])
            case "cleaning":
                books.is_compacted = True
            case "cleaned":
                replica = self._replica(books, node)
                if replica is not None:
                    compaction.judge(books, replica, fields["now_ms"])
            case "elected" if fields["reason"] in UNCLEAN:
                self._forgive(books, fields["leader"], fields["epoch"])

    # -- books, images and replicas

    def _books(self, name: str) -> Books | None:
        """The books of a partition; new ones for a topic that was deleted and created again."""
        books = self.books.get(name)
        controller = self.cluster.controller
        if controller is None:
            return books
        topic_ids = controller.image.topic_ids
        if books is not None and topic_ids.get(books.key[0]) == books.topic_id:
            return books
        topic, _, index = name.rpartition("-")
        topic_id = topic_ids.get(topic)
        if topic_id is None:
            return None
        if books is None or books.topic_id != topic_id:
            # What was asked of an earlier topic of this name says nothing about this one.
            since = -1 if books is None else self.cluster.now
            books = Books(
                name, (topic, int(index)), topic_id, unclean_at=since, is_successor=since >= 0
            )
            self.books[name] = books
        return books

    def _image(self, books: Books) -> PartitionImage | None:
        controller = self.cluster.controller
        topic = controller.image.topics.get(books.topic_id) if controller is not None else None
        return topic.partitions.get(books.key[1]) if topic is not None else None

    def _replica(self, books: Books, node: NodeId) -> Partition | None:
        broker = self.cluster.nodes.get(node)
        if broker is None:
            return None
        found: Partition | None = broker.replicas.partitions.get(books.key)
        return found if found is not None and found.topic_id == books.topic_id else None

    def ledger(self, name: str) -> Ledger | None:
        """The transactions in a partition, as its leader's log has them; None if none leads."""
        books = self._books(name)
        image = self._image(books) if books is not None else None
        leader = self._leader(books, image) if books is not None and image is not None else None
        return None if books is None or leader is None else self._chain(books, leader).ledger

    def _leader(self, books: Books, image: PartitionImage) -> Partition | None:
        """The replica that the controller made leader, once it has heard of that."""
        leader = self._replica(books, image.leader)
        if leader is None or not leader.is_leader or leader.leader_epoch != image.leader_epoch:
            return None
        return leader

    # -- keeping the books

    def _chain(self, books: Books, replica: Partition) -> Chain:
        if replica.node_id not in books.chains:
            self._appended(books, replica.node_id)
        return books.chains[replica.node_id]

    def _appended(self, books: Books, node: int) -> None:
        replica = self._replica(books, node)
        if replica is None:
            return
        chain = books.chains.setdefault(node, Chain())
        fenced = RULES[self.cluster.spec.rule].fences_epoch
        appended.judge(books, replica, chain, node in self.damaged, fenced, self.cluster.now)
        self._judge_stable(books, replica, chain)
        if replica.is_leader and books.leaders.get(replica.leader_epoch, node) != node:
            raise Violation(
                f"one leader: {books.name}: {node} appends in epoch {replica.leader_epoch} of "
                f"{books.leaders[replica.leader_epoch]}"
            )

    def _judge_stable(self, books: Books, replica: Partition, chain: Chain) -> None:
        if not chain.ledger.entries or replica.node_id in (*self.dark, *self.damaged):
            return
        if chain.end(replica.log) == replica.log.log_end_offset:
            stable.judge(books, replica, chain.ledger)
        if self.transactions is not None and replica.is_leader and books.openings:
            self.transactions.check_openings(books, replica, chain.ledger)

    def _cut(self, books: Books, node: int, end_offset: int) -> None:
        books.kept = None
        books.indexed.pop(node, None)
        books.reread[node] = None
        chain, replica = books.chains.get(node), self._replica(books, node)
        if chain is None:
            return
        if replica is not None and replica.log.local_log_start_offset >= end_offset:
            chain.restart_at(replica.log.local_log_start_offset)
        else:
            chain.cut(end_offset)

    def _epoch_heard(self, books: Books, node: int, epoch: int) -> None:
        if epoch <= books.epochs.get(node, -1):
            raise Violation(f"epochs: {books.name} on {node}: {epoch} is no newer one")
        books.epochs[node] = epoch

    def _epoch_began(self, books: Books, node: int, epoch: int) -> None:
        replica = self._replica(books, node)
        if replica is None or not replica.is_leader or replica.leader_epoch != epoch:
            return
        other = books.leaders.setdefault(epoch, node)
        if other != node:
            raise Violation(f"one leader: {books.name} epoch {epoch} is led by {other} and {node}")

    def _forgive(self, books: Books, leader: int, epoch: int) -> None:
        """After an unclean election, notes as lost what the new leader lacks."""
        books.unclean_at, books.unclean_epoch = self.cluster.now, epoch
        self.forgot_epochs = self.forgot_epochs or books.key[0] == TRANSACTIONS_TOPIC
        books.unsettled.clear()
        books.latest.clear()
        replica = self._replica(books, leader)
        if replica is not None:
            # Records beyond its end are new: they were not deleted.
            books.deleted_to = min(books.deleted_to, replica.log.log_end_offset)
        promised = books.promised
        if promised is None or books.is_compacted:
            return
        if replica is None or self._chain(books, replica).at(promised[0]) != promised:
            self.losses.append(f"{books.name}: up to offset {promised[0]}, led by {leader}")
            books.promised = None

    # -- what consumers receive

    def _received(self, books: Books, consumer: NodeId, fields: Plain) -> None:
        place = (consumer, fields["epoch"])
        now_received = (fields["high_watermark"], fields["log_start"])
        before = books.received.get(place, now_received)
        if now_received[0] < before[0] or now_received[1] < before[1]:
            raise Violation(
                f"monotonic: {books.name}: {consumer} receives high watermark and log start "
                f"{now_received} after {before}, within epoch {fields['epoch']}"
            )
        books.received[place] = now_received

    def _latest(self, books: Books, consumer: NodeId, fields: Plain) -> None:
        if fields["asked_us"] <= books.unclean_at or 0 <= fields["epoch"] < books.unclean_epoch:
            return  # a former leader may not have heard of the election yet
        before = books.latest.get(consumer, 0)
        if fields["offset"] < before:
            raise Violation(
                f"monotonic: {books.name}: the latest offset goes back from {before} to "
                f"{fields['offset']} for {consumer}"
            )
        books.latest[consumer] = fields["offset"]

    # -- the checks

    def _check(self, books: Books, image: PartitionImage, moved: bool) -> None:
        """`moved` is False if clients heard something and nothing else happened."""
        if moved and image.leader >= 0:
            if image.leader not in image.isr:
                raise Violation(f"control: {books.name} is led by {image.leader}, not in the ISR")
            # ZooKeeper's controller decides in steps: it knows that a broker is gone before it
            # has written who leads in its place.
            controller = None if self.cluster.spec.ensemble else self.cluster.controller
            if controller is not None and controller.image.brokers[image.leader].fenced:
                raise Violation(f"control: {books.name} is led by {image.leader}, which is fenced")
        if image.elr and any(broker in image.elr for broker in image.isr):
            raise Violation(f"control: {books.name} has a broker in ISR and ELR at once")
        leader = self._leader(books, image)
        if leader is not None:
            if moved:
                self._check_leader(books, image, leader)
            if books.unsettled and not books.is_compacted:
                damaged = leader.node_id in self.damaged
                chain = self._chain(books, leader)
                promises.settle(books, leader, chain, damaged, self.forgot_epochs)
            elif books.unsettled:
                promises.settle_compacted(books, leader, self._chain(books, leader))
        if books.promised is not None and not books.is_compacted:
            self._check_promise(books, image, books.promised)

    def _check_leader(self, books: Books, image: PartitionImage, leader: Partition) -> None:
        high_watermark, log_start = leader.high_watermark, leader.log.log_start_offset
        epoch, committed, started = books.bounds.get(leader.node_id, (-1, 0, 0))
        falls = high_watermark < committed or log_start < started
        if falls and epoch == leader.leader_epoch:
            raise Violation(
                f"monotonic: {books.name}: high watermark and log start go from {committed} and "
                f"{started} to {high_watermark} and {log_start} within epoch {epoch}"
            )
        books.bounds[leader.node_id] = (leader.leader_epoch, high_watermark, log_start)
        if leader.node_id in self.dark:
            return
        self._judge_stable(books, leader, self._chain(books, leader))
        promises.check_log_start(books, leader)
        last = high_watermark - 1
        held = self._chain(books, leader).at(last)
        for broker_id in image.isr:
            member = self._replica(books, broker_id)
            if member is None or member is leader or broker_id in self.dark:
                continue
            if member.log.log_end_offset < high_watermark:
                raise Violation(
                    f"strong ISR: {books.name}: high watermark {high_watermark} of leader "
                    f"{leader.node_id} is above the log end {member.log.log_end_offset} of "
                    f"{broker_id}, which is in the ISR"
                )
            promises.check_log_start(books, member)
            if last < max(member.log.log_start_offset, log_start) or books.is_compacted:
                continue
            if self._chain(books, member).at(last) != held:
                raise Violation(
                    f"strong ISR: {books.name}: below the high watermark {high_watermark} of "
                    f"leader {leader.node_id}, {broker_id}, which is in the ISR, holds other "
                    f"records"
                )

    def _check_promise(self, books: Books, image: PartitionImage, promised: Link) -> None:
        offset = promised[0]
        if books.kept == (offset, image.partition_epoch):
            return
        seen = 0
        for broker_id in (*image.isr, *image.elr):
            member = self._replica(books, broker_id)
            if member is None or broker_id in self.dark:
                continue
            seen += 1
            promises.check_keeper(books, member, self._chain(books, member), promised)
        if seen == len(image.isr) + len(image.elr):
            books.kept = (offset, image.partition_epoch)
