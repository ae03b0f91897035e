"""A voter: it answers the other voters, asks them, and acts when a time has come.

A controller that is no voter is an observer: it copies the log as a follower does, and does not
stand for election when it hears of no leader (KIP-853).

    Vote                asked by a nominee, before and in a new epoch
    BeginQuorumEpoch    a leader makes itself known to voters that do not fetch from it
    EndQuorumEpoch      a leader stops, and says who should follow it
    Fetch               everything else: copying, counting, and "I am still there"
    FetchSnapshot       what a follower needs that the leader's log no longer has
    UpdateRaftVoter     a voter has another address than the log says
    AddRaftVoter        an observer wants to be one (controller.quorum.auto.join.enable, KIP-853);
    RemoveRaftVoter     before that, if the voter of its id is another directory

Each event changes something; then `poll` does what is due.  So the rules of a state are in two
places: what ends it is in `_advance`, and what it asks of which voter in `Requests.ask`.

Simplified: a follower's fetch timer runs out up to 50 ms late, drawn at random.  In one process
a leader often answers two followers at one instant, and both would stand at one instant, each with
its own vote.  In Kafka networks and disks keep them apart.

Source: KafkaRaftClient of Kafka 4.3.1; KIP-595, KIP-996.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from engine.events import Answered, AnyRequest, Outbox, Request
from engine.metadata.records import encode_batch, encode_leader_change
from engine.metadata.snapshot import SnapshotId
from engine.quorum import fetches, formatting, raft_messages, snapshot_fetches
from engine.quorum.copying import Copying
from engine.quorum.election_state import NONE
from engine.quorum.fetches import Fetches
from engine.quorum.quorum_state import QuorumState
from engine.quorum.raft_log import EpochEnd, RaftLog
from engine.quorum.requests import RaftCall, Requests
from engine.quorum.roles import NOMINEES, Role
from engine.quorum.voter_changes import NewVoterCall, VoterChanges
from engine.quorum.voter_history import BEFORE_THE_LOG
from engine.quorum.voter_progress import VoterProgress
from engine.settings import Settings
from engine.storage.disk import Disk
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.codec import MalformedMessage
from engine.wire.errors import CorruptBatch, Errors
from engine.wire.structures import Message

NEVER = 1 << 62
CHECK_QUORUM_FACTOR = 1.5
APART_US = 50_000
"""The spread of followers' fetch timers; without it, two would stand at one instant."""

IN_TIME = (
    Errors.NONE, Errors.REQUEST_TIMED_OUT, Errors.DUPLICATE_VOTER, Errors.VOTER_NOT_FOUND,
)  # fmt: skip
"""Answers to an observer that wants to be a voter, by one that leads."""

_HERE = "quorum.replica.Replica"

RAFT_REQUESTS = (
    m.FetchRequest, m.VoteRequest, m.BeginQuorumEpochRequest, m.EndQuorumEpochRequest,
    m.FetchSnapshotRequest,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RaftTimer:
    """Rings when something is due: an election, a request, the end of a leader's patience."""


class Machine(Protocol):
    """What the log is for: it applies the records, and decides while its voter leads."""

    def leads(self, now: int) -> None:
        """Its voter leads, and knows everything that was committed before."""

    def follows(self, now: int) -> None:
        """Its voter no longer leads: what is above the high watermark may be lost."""

    def committed(self, now: int) -> None:
        """The high watermark has moved; the log may begin at a snapshot that is news, too."""


class Replica:
    """Replica `node_id`; `ids` is its only source of randomness.

    In a quorum whose voters may change, `address` is its own and `controllers` are the nodes that
    it asks who leads; there are no `voters` then, as they are in the log.
    """

    def __init__(
        self,
        node_id: int,
        voters: Sequence[int],
        cluster_id: str,
        settings: Settings,
        disk: Disk,
        outbox: Outbox,
        ids: Random,
        machine: Machine,
        address: tuple[str, int] | None = None,
        controllers: Sequence[int] = (),
    ) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.settings = settings
        self.disk = disk
        self.outbox = outbox
        self.ids = ids
        self.machine = machine
        self.state = QuorumState(node_id, voters, disk, address)
        self.controllers = tuple(controllers)
        self.log: RaftLog
        self.fetches: Fetches
        self.changes: VoterChanges
        self.copying: Copying
        self.requests: Requests
        self.progress: VoterProgress | None = None
        self.has_claimed = False
        self.deadline = 0  # the end of the present state, if nothing comes in between

    @property
    def is_alone(self) -> bool:
        """The only voter there will ever be."""
        return self.state.address is None and self.state.voters == (self.node_id,)

    # -- what happens to it

    def start(self, now: int) -> None:
        """Goes on where the last process stopped; the only voter leads at once."""
        state, outbox = self.state, self.outbox
        self.log = RaftLog(self.disk, self.settings, outbox, now, state.history)
        self.fetches = Fetches(state, self.log, outbox)
        self.changes = VoterChanges(state, self.log, outbox, self.cluster_id, self.settings)
        if state.address is not None:
            state.directory = formatting.directory_of(
                self.disk, self.cluster_id, self.node_id, self.ids
            )
        self.copying = Copying(state, self.log, outbox, self.cluster_id, self.settings)
        self.requests = Requests(
            state, self.log, self.copying, outbox, self.cluster_id, self.settings, self.ids,
            self.controllers,
        )  # fmt: skip
        state.begin(self.log.last_epoch)
        if self.is_alone:
            self.state.to_candidate()
            self._lead(now)
            return
        self.log.flush()
        if state.is_voter and len(state.voters) == 1:
            state.to_prospective()
        self.requests.update_at = now + self._fetch_timeout_us
        following = state.role is Role.FOLLOWER
        self.deadline = now + (self._fetch_timeout_us if following else self._election_timeout_us())
        if self.log.high_watermark:
            self.machine.committed(now)  # what its newest snapshot holds
        self.poll(now)

    def requested(self, now: int, request: AnyRequest) -> None:
        """Another voter asks, or a broker reads the log: one of RAFT_REQUESTS."""
        body: Any = request.body
        part = raft_messages.partition_of(body)
        if body.cluster_id not in (None, self.cluster_id) and self.cluster_id:
            self._refuse(request, Errors.INCONSISTENT_CLUSTER_ID)
        elif part is None:
            self._refuse(request, Errors.INVALID_REQUEST)
        elif fetches.is_fetch(request):
            self._fetched(now, request, part)
        elif isinstance(body, m.FetchSnapshotRequest):
            piece = snapshot_fetches.answer(self.state, self.log, body, part)
            if self.progress is not None and piece.topics[0].partitions[0].error_code == 0:
                self.progress.heard_from(now, body.replica_id, part.replica_directory_id)
            self.outbox.reply(request, piece)
        else:
            error, granted = self._asked(now, body, part)
            answer = raft_messages.answer(body, self.state.saved, error, granted)
            self.outbox.reply(request, answer)
        self.poll(now)

    def asked_to_change(self, now: int, request: AnyRequest) -> None:
        """One of VOTER_REQUESTS."""
        self.changes.asked(now, request, self.progress)
        self._voters_changed(now)

    def new_voter_answered(self, now: int, call: NewVoterCall, body: Answered) -> None:
        self.changes.answered(now, call, body, self.progress)
        self._voters_changed(now)

    def _voters_changed(self, now: int) -> None:
        """The others may read what was appended, and a majority may be another one."""
        if self.progress is not None:
            self.fetches.look_again()
            self._count(now)
        self.poll(now)

    def answered(self, now: int, call: RaftCall, body: Answered) -> None:
        """Another voter has answered; None if it was lost."""
        if not self.requests.take(call):
            return
        if isinstance(body, m.AddRaftVoterResponse | m.RemoveRaftVoterResponse):
            if body.error_code in IN_TIME:
                self._hears_the_leader(now)
            else:
                self.requests.rest(now, call.peer)
            self.poll(now)
            return
        found = raft_messages.answered_partition(body)
        if found is None:
            self.requests.rest(now, call.peer)
        else:
            error, epoch, leader, part = found
            if error == Errors.SNAPSHOT_NOT_FOUND and self.copying.download is not None:
                self.copying.download = None  # the leader has a newer one by now
                self._hears_the_leader(now)
            if not self._heard_of(now, epoch, leader):
                if error != Errors.NONE or epoch < self.state.epoch:
                    self.requests.rest(now, call.peer)
                else:
                    self._learn(now, call.peer, body, part)
        self.poll(now)

    def expired(self, now: int) -> None:
        self.poll(now)

    def flushed(self, now: int) -> None:
        """The disk has what was appended: it counts now."""
        self.log.flushed()
        self._count(now)
        self.poll(now)

    def append(self, now: int, records: Sequence[Message]) -> Iterator[tuple[int, Message]]:
        """As leader: one change, in one batch; gives each record with its offset."""
        base_offset = self.log.end_offset
        self.log.append(encode_batch(records, now // 1000), self.state.epoch, now)
        if not self.is_alone:
            self.fetches.look_again()
        return enumerate(records, base_offset)

    def resign(self, now: int, why: str) -> None:
        """A leader gives up; the others hear of it, the one with the longest log first."""
        assert self.progress is not None, "only a leader resigns"
        self.requests.successors = self.progress.successors()
        self.requests.unaware = set(self.requests.successors)
        self.state.to_resigned()
        self._changed(now, self._election_timeout_us(), why)

    def close(self) -> None:
        self.log.close()

    # -- what others ask

    def _asked(self, now: int, body: Any, part: Any) -> tuple[Errors, bool]:
        """(error, whether a vote is granted)."""
        epoch = part.replica_epoch if isinstance(body, m.VoteRequest) else part.leader_epoch
        asking = part.replica_id if isinstance(body, m.VoteRequest) else part.leader_id
        if epoch < self.state.epoch:
            return Errors.FENCED_LEADER_EPOCH, False
        if asking < 0 or asking == self.node_id:
            return Errors.INVALID_REQUEST, False
        if isinstance(body, m.VoteRequest):
            return self._vote(now, body, part)
        if epoch == self.state.epoch and self.state.leader not in (NONE, asking):
            return Errors.INVALID_REQUEST, False
        self._heard_of(now, epoch, asking)
        if isinstance(body, m.EndQuorumEpochRequest):
            self._leader_leaves(now, part)
        elif not self._is_meant(body.voter_id, part.voter_directory_id):
            return Errors.INVALID_VOTER_KEY, False
        return Errors.NONE, False

    def _is_meant(self, voter: int, directory: bytes) -> bool:
        """Whether a request is for this replica, or does not say."""
        same = directory in (uuids.ZERO, self.state.directory)
        return voter == NONE or (voter == self.node_id and same)

    def _vote(self, now: int, body: m.VoteRequest, part: Any) -> tuple[Errors, bool]:
        last = part.last_offset_epoch, part.last_offset
        highest = part.replica_epoch if part.pre_vote else part.replica_epoch - 1
        if last[1] < 0 or not 0 <= last[0] <= highest:
            return Errors.INVALID_REQUEST, False
        self._heard_of(now, part.replica_epoch, NONE)
        if not self._is_meant(body.voter_id, part.voter_directory_id):
            return Errors.INVALID_VOTER_KEY, False
        candidate, directory = part.replica_id, part.replica_directory_id
        granted = self.state.grants(candidate, self._reaches(last), part.pre_vote, directory)
        if granted and not part.pre_vote and self.state.voted == NONE:
            self.state.vote_for(candidate, directory)
            self.requests.forget_calls()
            self.deadline = now + self._election_timeout_us()
            self._trace("_vote", "voted", "its log ends where ours does, or later",
                        epoch=self.state.epoch, candidate=candidate)  # fmt: skip
        return Errors.NONE, granted

    def _reaches(self, last: tuple[int, int]) -> bool:
        """Whether a log that ends there ends where this one does, or later."""
        return last >= self.log.last

    def _leader_leaves(self, now: int, part: Any) -> None:
        """The first of the successors stands at once, the others a little later."""
        if self.state.role is not Role.FOLLOWER:
            return
        names = [each.candidate_id for each in part.preferred_candidates]
        longest: int = self.settings["controller.quorum.election.backoff.max.ms"]
        wait_ms = longest
        if self.node_id in names:
            place = names.index(self.node_id)
            wait_ms = min(longest, (longest >> (len(names) - 1)) << (place - 1)) if place else 0
        self.deadline = now + wait_ms * 1000

    def _fetched(self, now: int, request: Request[m.FetchRequest], part: Any) -> None:
        """A reader asks for what comes after its log; a voter is counted by it."""
        epoch, progress = part.current_leader_epoch, self.progress
        reader, copies = self.fetches.reader_of(request.body), self.fetches.copies(request.body)
        if epoch != NONE and epoch < self.state.epoch:
            self.fetches.refuse(request, Errors.FENCED_LEADER_EPOCH)
        elif epoch > self.state.epoch:
            self.fetches.refuse(request, Errors.UNKNOWN_LEADER_EPOCH)
        elif progress is None:
            self.fetches.refuse(request, Errors.NOT_LEADER_OR_FOLLOWER)
        elif part.fetch_offset < 0 or (copies and not 0 <= part.last_fetched_epoch <= epoch):
            self.fetches.refuse(request, Errors.INVALID_REQUEST)
        elif elsewhere := self._elsewhere(part):
            self.fetches.redirect(request, elsewhere)
        else:
            progress.fetched(now, reader, part.fetch_offset, self.log.high_watermark,
                             part.replica_directory_id)  # fmt: skip
            if copies:
                self._count(now)
            self.fetches.answer(now, request)

    def _elsewhere(self, part: Any) -> SnapshotId | EpochEnd | None:
        """What a reader needs before it can read on; a client says nothing of its last epoch."""
        if part.last_fetched_epoch >= 0:
            return self.log.differs(part.last_fetched_epoch, part.fetch_offset)
        return self.log.snapshot_for(part.fetch_offset)

    def _refuse(self, request: AnyRequest, error: Errors) -> None:
        self.outbox.reply(request, raft_messages.refusal(request.body, error))

    # -- what it learns

    def _heard_of(self, now: int, epoch: int, leader: int) -> bool:
        """Another voter is in a later epoch, or knows the leader of ours; True if that is news."""
        known = leader not in (NONE, self.node_id)
        later = epoch > self.state.epoch
        if known and (later or (epoch == self.state.epoch and self.state.leader == NONE)):
            self.state.to_follower(epoch, leader)
            self._changed(now, self._fetch_timeout_us, f"{leader} leads")
            return True
        if later:
            left = self.deadline - now
            goes_on = self.state.role in (Role.UNATTACHED, Role.RESIGNED, *NOMINEES)
            self.state.to_unattached(epoch)
            wait_us = left if goes_on and left > 0 else self._election_timeout_us()
            self._changed(now, wait_us, "there is a later epoch")
        return later

    def _learn(self, now: int, peer: int, body: Answered, part: Any) -> None:
        """An answer without an error, of this epoch."""
        if isinstance(body, m.VoteResponse) and self.state.ballot is not None:
            self.state.ballot.record(peer, part.vote_granted)
        elif isinstance(body, m.EndQuorumEpochResponse):
            self.requests.unaware.discard(peer)
        elif isinstance(body, m.UpdateRaftVoterResponse):
            self._hears_the_leader(now)
        elif isinstance(body, m.FetchResponse) and peer == self.state.leader:
            self._copy(now, part)
        elif isinstance(body, m.FetchSnapshotResponse) and peer == self.state.leader:
            self._copy_piece(now, part)

    def _copy(self, now: int, part: Any) -> None:
        """The leader's answer to a fetch."""
        if self.copying.take(part):
            self._commit(now, part.high_watermark)
        self._hears_the_leader(now)

    def _copy_piece(self, now: int, piece: Any) -> None:
        """The leader's answer to FetchSnapshot."""
        leader, download = self.state.leader, self.copying.download
        try:
            if self.copying.take_piece(now, piece):
                self.machine.committed(now)
        except (CorruptBatch, MalformedMessage) as error:
            self.copying.download = None
            self.requests.rest(now, leader, self._fetch_timeout_us // 4)
            why = f"{error}; another controller may have a good one: stop {leader}"
            assert download is not None, "a piece was asked for"
            self._trace("_copy_piece", "snapshot-refused", why, snapshot=str(download.id))
        else:
            self._hears_the_leader(now)

    def _hears_the_leader(self, now: int) -> None:
        self.state.has_fetched = True
        self.deadline = now + self._fetch_timeout_us + self.ids.randrange(APART_US)

    def _count(self, now: int) -> None:
        """As leader: what does a majority have?"""
        if self.progress is not None:
            offset = self.progress.high_watermark(self.log.flushed_to)
            if offset is not None:
                self._commit(now, offset)

    def _commit(self, now: int, offset: int) -> None:
        if not self.log.raise_high_watermark(offset):
            return
        if self.state.is_leader and not self.has_claimed:
            self.has_claimed = True
            self.machine.leads(now)
        self.machine.committed(now)
        if self.progress is not None:
            self.fetches.look_again()
            self.changes.committed()
            if self.changes.is_settled() and not self.state.is_voter:
                self.resign(now, "it is no voter any more")

    # -- what is due

    def poll(self, now: int) -> None:
        """Does what is due, and sets the timer for what comes next."""
        if self.is_alone:
            return
        self.changes.expire(now)
        while self._advance(now):
            pass
        self.requests.ask(now, self.deadline, self.progress)
        self._set_timer(now)

    def _advance(self, now: int) -> bool:
        """Goes to the next state if this one is over."""
        state, ballot = self.state, self.state.ballot
        is_over = now >= self._ends_at()
        match state.role:
            case Role.PROSPECTIVE if ballot is not None and ballot.is_won:
                state.to_candidate()
                self._changed(now, self._election_timeout_us(), "a majority would vote for it")
            case Role.CANDIDATE if ballot is not None and ballot.is_won:
                self._lead(now, sorted(ballot.granted))
            case Role.PROSPECTIVE if is_over or (ballot is not None and ballot.is_lost):
                self._step_back(now)
            case Role.UNATTACHED | Role.FOLLOWER | Role.CANDIDATE if is_over and state.is_voter:
                tried = state.role is Role.CANDIDATE
                why = "no majority in time" if tried else "it hears of no leader"
                state.to_prospective()
                self._changed(now, self._election_timeout_us(), why)
            case Role.LEADER if is_over:
                self.resign(now, "a majority no longer fetches")
            case Role.RESIGNED if is_over:
                state.to_unattached(state.epoch + 1)
                self._changed(now, self._election_timeout_us(), "it has resigned")
            case _:
                return False
        return True

    def _step_back(self, now: int) -> None:
        """The others would not vote for it: it goes on with the leader it had, or with none."""
        state, why = self.state, "a majority would not vote for it"
        if state.leader not in (NONE, self.node_id):
            state.to_follower(state.epoch, state.leader)
            self._changed(now, self._fetch_timeout_us, why)
        else:
            state.to_unattached(state.epoch)
            self._changed(now, self._election_timeout_us(), why)

    def _lead(self, now: int, granted_by: Sequence[int] = ()) -> None:
        """Opens the epoch with a record of its own; with it, what came before is committed."""
        state, start = self.state, self.log.end_offset
        state.to_leader()
        names = " ".join(map(str, granted_by))
        why = f"{names} voted for it" if granted_by else "the only voter won"
        self._changed(now, 0, why)
        self.progress = VoterProgress(state.key, state.history.voters, start, now)
        self.requests.begin_at = now
        opening = encode_leader_change(
            self.node_id, state.voters, granted_by or state.voters, state.epoch, start,
            now // 1000, self._voters_to_write(),
        )  # fmt: skip
        self.log.append(opening, state.epoch, now)
        if self.is_alone:
            self.has_claimed = True
            self.machine.leads(now)

    def _voters_to_write(self) -> list[m.KRaftVersionRecord | m.VotersRecord]:
        """A new leader's: the first voters are not in the log yet, or its address is another."""
        history, itself = self.state.history, self.state.itself
        if not self.state.may_change or itself is None:
            return []
        if history.offset != BEFORE_THE_LOG and history.voters.find(self.node_id) == itself:
            return []
        voters = history.voters.with_voter(itself)
        return [m.KRaftVersionRecord(0, history.version), voters.record()]

    def _changed(self, now: int, wait_us: int, why: str) -> None:
        """The state is another one: for so long, if nothing comes in between."""
        self.deadline = now + wait_us
        self.requests.forget()
        self.copying.download = None
        self.has_claimed = False
        if self.progress is not None:
            self.progress = None
            self.fetches.fail_all()
            self.changes.give_up()
            self.machine.follows(now)
        if self.state.is_leader:
            self._trace("_lead", "controller", why, leader=self.node_id, epoch=self.state.epoch)
        elif not self.is_alone:
            self.requests.update_at = now + self._fetch_timeout_us
            self._trace("_changed", str(self.state.role), why, epoch=self.state.epoch)

    def _ends_at(self) -> int:
        if self.progress is not None:
            patience_us = int(CHECK_QUORUM_FACTOR * self._fetch_timeout_us)
            needs_others = self.progress.others_needed > 0
            return self.progress.heard_at + patience_us if needs_others else NEVER
        return self.deadline

    # -- times

    def _set_timer(self, now: int) -> None:
        times = [self._ends_at()]
        if self.progress is not None:
            times.append(self.requests.begin_at)
            if self.changes.pending is not None:
                times.append(self.changes.pending.until)
        else:
            times += self.requests.resting.values()
        if due := [at for at in times if now < at < NEVER]:
            self.outbox.set_timer(RaftTimer(), min(due))

    @property
    def _fetch_timeout_us(self) -> int:
        timeout_ms: int = self.settings["controller.quorum.fetch.timeout.ms"]
        return timeout_ms * 1000

    def _election_timeout_us(self) -> int:
        """controller.quorum.election.timeout.ms, up to twice: else all would stand at once."""
        timeout_ms: int = max(1, self.settings["controller.quorum.election.timeout.ms"])
        return (timeout_ms + self.ids.randrange(timeout_ms)) * 1000

    def _trace(self, method: str, kind: str, why: str, **fields: object) -> None:
        self.outbox.trace(f"{_HERE}.{method}", kind, "", why, **fields)
