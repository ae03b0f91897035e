"""What must hold among the controllers of a quorum, after every event.

    one leader    An epoch has one leader, for all voters and over restarts.
    one vote      A voter gives one vote an epoch.
    epochs        A voter's epoch only grows, over restarts too.
    committed     What is below the high watermark of one voter is in the log of every later
                  leader, and is below no other voter's high watermark with other contents.
    monotonic     A voter's high watermark only rises while it runs.
    applied       A controller that is not active has applied all below its high watermark.
    written       What a voter says of epoch, leader and vote is what its disk says.
    snapshot      A snapshot says what the committed records below its offset say, and is never
                  ahead of the high watermark.
    log start     A log that does not begin at 0 begins at its oldest snapshot.
    in force      A replica goes by the last set of voters that its log has, committed or not.
    one change    A set of voters has one voter more or less than the one before it.  A leader
                  appends it after that one, and a record of its own epoch, are committed.
    obeyed        A broker has applied nothing that is not committed: it obeys no controller that
                  was deposed.
    copied        A broker's own copy of the log holds what it has applied, to the byte.

What a leader needs a majority for is in majority.py.

Names of the Raft paper: election safety, state machine safety, leader completeness.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.broker.broker import Broker
from engine.cluster.cluster import Cluster
from engine.control.controller import Controller
from engine.metadata import image_records
from engine.metadata.image import MetadataImage
from engine.metadata.records import decode_batches
from engine.metadata.snapshot import SnapshotId
from engine.quorum import election_state
from engine.quorum.election_state import NONE, ElectionState
from engine.quorum.raft_log import RaftLog
from engine.quorum.replica import Replica
from engine.quorum.voter_history import BEFORE_THE_LOG
from engine.quorum.voters import ReplicaKey, VoterSet
from engine.records import batch
from engine.sim.invariants import majority
from engine.sim.invariants.books import Violation
from engine.sim.invariants.majority import StepDown
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.structures import Message

READ_BYTES = 1 << 20


@dataclass(slots=True)
class Seen:
    """A voter as it was last seen, in its life number `life`; with another disk it is another."""

    directory: bytes = uuids.ZERO
    life: int = 0
    saved: ElectionState = field(default_factory=ElectionState)
    led: bool = False
    end_offset: int = 0
    flushed_to: int = 0
    high_watermark: int = 0
    voters_at: int = BEFORE_THE_LOG
    snapshot: SnapshotId | None = None


class QuorumInvariants:
    """`after_event` raises Violation."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.seen = {each: Seen() for each in cluster.spec.controllers}
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[int, bytes, int], int] = {}
        self.committed: dict[int, bytes] = {}
        """By base offset: each batch that some voter has known to be committed."""
        self.committed_to = 0
        self.step_down = StepDown()
        self.lives: dict[int, int] = {}
        """Of each broker, the life in which its copy was compared."""

    def after_event(self) -> None:
        for node_id, before in self.seen.items():
            controller = self.cluster.nodes.get(node_id)
            if controller is None:
                continue
            replica = controller.replica
            state, log = replica.state, replica.log
            if state.directory != before.directory:
                before = Seen(state.directory)
            # What an earlier life has flushed is still there.
            flushed_to = min(max(before.flushed_to, log.flushed_to), log.end_offset)
            now = Seen(state.directory, self.cluster.processes.life(node_id), state.saved,
                       state.is_leader, log.end_offset, flushed_to, log.high_watermark,
                       state.history.offset, log.snapshots.newest)  # fmt: skip
            if now != before:
                self.seen[node_id] = now
                self._check(node_id, before, now, controller)
            if replica.progress is not None:
                majority.check_count(replica, replica.progress)
            paused = self.cluster.processes.is_paused(node_id)
            self.step_down.check(node_id, self.cluster.now, replica.progress, paused)
        for node_id in self.cluster.spec.brokers:
            broker = self.cluster.nodes.get(node_id)
            if broker is not None:
                self._check_broker(node_id, broker)

    def _check_broker(self, node_id: int, broker: Broker) -> None:
        applied, copy = broker.metadata.offset, broker.metadata_fetcher.copy
        if applied > self.committed_to:
            raise Violation(
                f"obeyed: {node_id} has applied up to {applied}, and up to {self.committed_to} is "
                "committed"
            )
        if copy.end_offset != applied:
            raise Violation(
                f"copied: {node_id} has applied up to {applied}, and its copy ends at "
                f"{copy.end_offset}"
            )
        life = self.cluster.processes.life(node_id)
        if self.lives.get(node_id) != life:
            self.lives[node_id] = life
            self._compare(node_id, copy, 0, applied, "begins with")

    def _check(self, node_id: int, before: Seen, now: Seen, controller: Controller) -> None:
        log = controller.replica.log
        if now.saved != before.saved:
            self._check_election(node_id, before, now.saved)
        if now.life == before.life and now.high_watermark < before.high_watermark:
            raise Violation(
                f"monotonic: the high watermark of {node_id} falls from {before.high_watermark} "
                f"to {now.high_watermark}"
            )
        if not controller.is_active and controller.image.offset != log.high_watermark:
            raise Violation(
                f"applied: {node_id} has applied up to {controller.image.offset}, and its high "
                f"watermark is {log.high_watermark}"
            )
        same_life = now.life == before.life
        if now.high_watermark > before.high_watermark or not same_life:
            since = before.high_watermark if same_life else 0
            self._compare(node_id, log, since, min(log.high_watermark, self.committed_to),
                          "takes for committed")  # fmt: skip
            for base_offset, data, end in _batches(log, self.committed_to, log.high_watermark):
                self.committed[base_offset] = data
                self.committed_to = end
        if now.led and not before.led:
            self._compare(node_id, log, 0, self.committed_to, "leads, and has")
            majority.check_election(controller.replica, self._votes())
        elif now.led and now.high_watermark > before.high_watermark:
            majority.check_commit(controller.replica, self._flushed())
        if now.snapshot is not None and now.snapshot != before.snapshot:
            self._check_snapshot(node_id, log, now.snapshot)
        kept = log.snapshots.ids
        if log.start_offset and (not kept or kept[0].end_offset != log.start_offset):
            raise Violation(
                f"log start: the log of {node_id} begins at {log.start_offset}, and its snapshots "
                f"are {', '.join(map(str, kept)) or 'none'}"
            )
        if log.history.version:
            since = before.end_offset if same_life else log.end_offset
            self._check_voters(node_id, controller.replica, since)

    def _votes(self) -> dict[tuple[int, bytes, int], int]:
        """Those that were seen, and those of voters that have ended in the moment of their vote."""
        ended = [each for each in self.seen if each not in self.cluster.nodes]
        found = dict(self.votes)
        for each in ended:
            saved = election_state.read(self.cluster.disks[each], self.cluster.spec.controllers)
            found[each, self.seen[each].directory, saved.epoch] = saved.voted
        return found

    def _flushed(self) -> dict[ReplicaKey, int]:
        known = self.seen.items()
        return {ReplicaKey(node_id, each.directory): each.flushed_to for node_id, each in known}

    def _check_voters(self, node_id: int, replica: Replica, since: int) -> None:
        """What it goes by is the last set in its log; of a leader, also when it was appended."""
        log, history = replica.log, replica.log.history
        if history.offset >= log.end_offset:
            raise Violation(
                f"in force: {node_id} goes by voters of {history.offset}, and its log ends at "
                f"{log.end_offset}"
            )
        for _, data, _ in _batches(log, max(since, log.start_offset), log.end_offset):
            if not batch.read_header(data).is_control:
                continue
            for offset, record in decode_batches(data):
                if isinstance(record, m.VotersRecord) and offset >= history.offset:
                    self._check_set(node_id, replica, offset, VoterSet.of_record(record))

    def _check_set(self, node_id: int, replica: Replica, offset: int, voters: VoterSet) -> None:
        log, history = replica.log, replica.log.history
        if history.voters != voters:
            raise Violation(
                f"in force: {node_id} goes by {history.voters.ids}, and at {offset} its log says "
                f"{voters.ids}"
            )
        at, _, former = history.entries[-2]
        changed = {*voters.keys} ^ {*former.keys} if former.voters else ()
        if len(changed) > 1:
            raise Violation(f"one change: {len(changed)} voters changed at {offset}")
        if changed and replica.progress is not None:
            known = log.high_watermark
            if known <= at or known <= replica.progress.epoch_start:
                raise Violation(
                    f"one change: {node_id} changes the voters at {offset}, and has committed up "
                    f"to {known}, not what was before"
                )

    def _check_snapshot(self, node_id: int, log: RaftLog, snapshot: SnapshotId) -> None:
        """It is what all that was committed below its offset leads to."""
        if snapshot.end_offset > min(log.high_watermark, self.committed_to):
            raise Violation(
                f"snapshot: {snapshot} of {node_id} is ahead of its high watermark, "
                f"{log.high_watermark}, or of what was ever committed, {self.committed_to}"
            )
        image, epoch, voters = MetadataImage(), 0, list[Message]()
        for base_offset in sorted(at for at in self.committed if at < snapshot.end_offset):
            data = self.committed[base_offset]
            epoch = batch.read_header(data).partition_leader_epoch
            for _, record in decode_batches(data):
                image.apply(record)
                if isinstance(record, m.VotersRecord):
                    voters = [m.KRaftVersionRecord(0, 1), record]
        found = log.snapshots.load(snapshot)
        if snapshot.epoch != epoch or found != [*voters, *image_records.records(image)]:
            raise Violation(
                f"snapshot: {snapshot} of {node_id} does not say what was committed up to there"
            )

    def _check_election(self, node_id: int, seen: Seen, now: ElectionState) -> None:
        before = seen.saved
        if now.epoch < before.epoch:
            raise Violation(f"epochs: {node_id} goes back from {before.epoch} to {now.epoch}")
        if now != election_state.read(self.cluster.disks[node_id], self.cluster.spec.controllers):
            raise Violation(f"written: {node_id} is in {now}, and its disk says something else")
        if now.leader != NONE and self.leaders.setdefault(now.epoch, now.leader) != now.leader:
            raise Violation(
                f"one leader: epoch {now.epoch} has {self.leaders[now.epoch]} and, for {node_id}, "
                f"{now.leader}"
            )
        if now.voted == NONE:
            return
        given = self.votes.setdefault((node_id, seen.directory, now.epoch), now.voted)
        if given != now.voted:
            raise Violation(
                f"one vote: {node_id} votes for {given} and for {now.voted} in epoch {now.epoch}"
            )

    def _compare(self, node_id: int, log: RaftLog, since: int, limit: int, what: str) -> None:
        """The batches of this log from one offset to another are those that were committed."""
        since = max(since, log.start_offset)
        own = {base: data for base, data, _ in _batches(log, since, min(limit, log.end_offset))}
        committed = {at: data for at, data in self.committed.items() if since <= at < limit}
        for at in sorted(own.keys() | committed.keys()):
            if own.get(at) != committed.get(at):
                raise Violation(
                    f"committed: {node_id} {what} something else at {at} than what was committed"
                )


def _batches(log: RaftLog, offset: int, limit: int) -> list[tuple[int, bytes, int]]:
    """(base offset, bytes, end offset) of the batches from `offset` up to `limit`."""
    found = []
    while offset < limit and (data := log.log.read(offset, READ_BYTES, limit)):
        for header, position in batch.iterate(data):
            content = bytes(data[position : position + header.size_in_bytes])
            found.append((header.base_offset, content, header.next_offset))
            offset = header.next_offset
    return found
