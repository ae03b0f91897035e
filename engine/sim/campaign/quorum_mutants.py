"""Rules of the quorum of controllers, broken one at a time; see mutants.py.

Each says how many controllers its schedules have, and, if voters come and go, how many vote first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.control import elections
from engine.control.controller import Controller
from engine.metadata import image_records
from engine.quorum import replica as replicas
from engine.quorum.election_state import ElectionState
from engine.quorum.fetches import Fetches
from engine.quorum.quorum_state import QuorumState
from engine.quorum.raft_log import RaftLog
from engine.quorum.replica import Replica
from engine.quorum.roles import Role
from engine.quorum.voter_changes import VoterChanges
from engine.quorum.voter_history import VoterHistory
from engine.quorum.voter_progress import VoterProgress
from engine.quorum.voters import ReplicaKey, VoterSet
from engine.sim.campaign.mutant import Mutant, Original, Patch

# -- votes


def _every_vote(
    original: Original, self: QuorumState, candidate: int, log_is_current: bool, *rest: object
) -> bool:
    return log_is_current and self.role is not Role.LEADER


def _not_written(original: Original, self: QuorumState, *rest: object) -> None:
    """Only in memory, and not even there."""


def _any_log(
    original: Original, self: QuorumState, candidate: int, log_is_current: bool, *rest: object
) -> bool:
    return bool(original(self, candidate, True, *rest))


def _without_a_past(original: Original, self: QuorumState, log_epoch: int) -> None:
    self._become(Role.UNATTACHED, ElectionState(log_epoch))


def _former_voters_too(original: Original, self: QuorumState, *rest: object) -> None:
    original(self, *rest)
    if self.ballot is not None and len(self.history.entries) > 1:
        former = self.history.entries[-2][2].ids
        self.ballot.voters = tuple(sorted({*self.ballot.voters, *former}))


def _any_directory(original: Original, self: VoterSet, key: ReplicaKey) -> bool:
    return key.id in self.ids


def _meant_by_id(original: Original, self: Replica, voter: int, directory: bytes) -> bool:
    return voter in (-1, self.node_id)


# -- what counts


def _one_has_it(original: Original, self: VoterProgress, flushed_to: int) -> int:
    return flushed_to


def _all_have_it(original: Original, self: VoterProgress, flushed_to: int) -> int | None:
    offset = min([flushed_to, *(each.offset for each in self.voters.values())])
    return offset if offset > self.epoch_start else None


def _with_observers(original: Original, self: VoterProgress, flushed_to: int) -> int | None:
    ends = [flushed_to, *(each.offset for each in self.voters.values())]
    ends += [each.offset for each in self.observers.values()]
    offset = sorted(ends, reverse=True)[self.current.majority - 1]
    return offset if offset > self.epoch_start else None


def _of_any_epoch(original: Original, self: VoterProgress, flushed_to: int) -> int:
    ends = [flushed_to, *(each.offset for each in self.voters.values())]
    return sorted(ends, reverse=True)[self.current.majority - 1]


def _former_voters(original: Original, self: VoterProgress, *rest: object) -> None:
    """The set of the leader's election counts on."""


def _as_if_flushed(original: Original, self: RaftLog) -> bool:
    return True


def _leads_on(original: Original, self: Replica) -> int:
    return replicas.NEVER if self.progress is not None else int(original(self))


# -- logs and snapshots


def _never(original: Original, *rest: object) -> None:
    return None


def _whole_epoch(original: Original, self: RaftLog, epoch: int, end_offset: int) -> None:
    start = self.log.epochs.entries[-1][1]
    self.log.truncate_to(start)
    self.flushed_to = self.high_watermark = min(self.high_watermark, start)


def _still_decided(original: Original, self: Controller, now: int) -> None:
    self.is_active = False
    self.unanswered.clear()
    self.sessions.by_broker.clear()


def _with_the_open_end(original: Original, self: Replica, now: int, records: Any) -> Any:
    rows, log, machine = list(original(self, now, records)), self.log, self.machine
    assert isinstance(machine, Controller)
    yield from rows
    committed, log.high_watermark = log.high_watermark, log.end_offset
    if log.needs_snapshot(now):
        log.write_snapshot(now, machine.image.epoch, image_records.records(machine.image))
    log.high_watermark = committed


def _log_end(original: Original, self: Fetches, *rest: object) -> int:
    return self.log.end_offset


# -- voters that come and go


def _at_once(original: Callable[..., None], self: VoterChanges, *rest: object) -> None:
    self.pending = None
    original(self, *rest)


def _always(original: Original, *rest: object) -> bool:
    return True


FIRST_SETS = 3
"""Offsets of the records that a new quorum begins with."""


def _not_before_commit(original: Original, self: VoterHistory, offset: int, record: Any) -> None:
    if offset < FIRST_SETS:
        original(self, offset, record)


QUORUM_MUTANTS: tuple[Mutant, ...] = (
    Mutant("grant-every-vote", "a voter grants every vote whose log is long enough",
           (Patch(QuorumState, "grants", _every_vote),), ("one leader", "one vote", "elected"),
           controllers=3),
    Mutant("votes-are-not-written", "a vote is given before it is written, and never is",
           (Patch(QuorumState, "vote_for", _not_written),), "elected", controllers=3),
    Mutant("compare-no-logs", "a voter votes for one whose log ends before its own",
           (Patch(QuorumState, "grants", _any_log),), "committed", controllers=3),
    Mutant("begin-without-a-past", "a voter that starts has its epoch from its log, and no vote",
           (Patch(QuorumState, "begin", _without_a_past),), "epochs", controllers=3),
    Mutant("former-voters-elect", "a voter that was removed still has a vote",
           (Patch(QuorumState, "_become", _former_voters_too),), "elected",
           controllers=4, voters=3),
    Mutant("another-directory-votes", "a voter that lost its disk votes under its id",
           (Patch(VoterSet, "is_voter", _any_directory),
            Patch(Replica, "_is_meant", _meant_by_id)), ("elected", "stored"),
           controllers=3, voters=3),
    Mutant("one-is-enough", "a leader commits what it has itself",
           (Patch(VoterProgress, "high_watermark", _one_has_it),), "stored", controllers=3),
    Mutant("all-must-have-it", "a leader commits what all voters have, not a majority",
           (Patch(VoterProgress, "high_watermark", _all_have_it),), "counted", controllers=3),
    Mutant("observers-count", "what an observer has counts for the majority",
           (Patch(VoterProgress, "high_watermark", _with_observers),), "stored",
           controllers=5, voters=3),
    Mutant("former-voters-count", "the voters of the leader's election count for a majority",
           (Patch(VoterProgress, "use_voters", _former_voters),), ("stored", "counted"),
           controllers=5, voters=3),
    Mutant("commit-an-earlier-epoch", "what a majority has is committed, of any epoch",
           (Patch(VoterProgress, "high_watermark", _of_any_epoch),), "own epoch", controllers=3),
    Mutant("fetch-before-the-flush", "a voter asks for more before its disk has what it got",
           (Patch(RaftLog, "is_flushed", _as_if_flushed),), "stored", controllers=3),
    Mutant("never-step-down", "a leader that no majority fetches from leads on",
           (Patch(Replica, "_ends_at", _leads_on),), "step down", controllers=3),
    Mutant("append-where-it-is", "a leader does not compare where a follower's log ends",
           (Patch(RaftLog, "differs", _never),), ("applied", "committed"), controllers=3),
    Mutant("cut-what-is-committed", "a follower whose log differs drops all of its last epoch",
           (Patch(RaftLog, "truncate", _whole_epoch),), "monotonic", controllers=3),
    Mutant("a-deposed-one-keeps-its-image", "what a controller could not commit stays decided",
           (Patch(Controller, "follows", _still_decided),), "applied", controllers=3),
    Mutant("brokers-obey-a-deposed-one", "brokers read what their controller has not committed",
           (Patch(Fetches, "_limit", _log_end),), "obeyed", controllers=3),
    Mutant("snapshot-the-open-end", "the active controller's snapshot has what is not committed",
           (Patch(Replica, "append", _with_the_open_end),), "snapshot", controllers=3),
    Mutant("two-voters-at-once", "a change of voters does not wait for the one before",
           (Patch(VoterChanges, "asked", _at_once), Patch(VoterChanges, "is_settled", _always)),
           "one change", controllers=5, voters=3),
    Mutant("voters-not-before-commit", "a set of voters does not count when it is appended",
           (Patch(VoterHistory, "read", _not_before_commit),), "in force",
           controllers=5, voters=3),
    Mutant("voters-outlive-their-record", "a log is cut, and its voters stay",
           (Patch(VoterHistory, "truncate_to", _never),), "in force", controllers=5, voters=3),
    Mutant("a-fenced-broker-leads", "a broker that is fenced keeps its partitions",
           (Patch(elections, "without_broker", _never),), "control", controllers=3),
)  # fmt: skip
