"""The rules of the ladder in the controllers' own code: what each rung leaves out, left out there.

A rule is broken only while its mutant is in force.  Invariants that fail before the model's
sentence does are overlooked.  In old-epoch-by-counting, for one, a leader commits a record of an
earlier epoch, which an invariant forbids; the record is lost a moment later, which shows what that
is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.events import Answered
from engine.quorum import raft_messages
from engine.quorum.election_state import ElectionState
from engine.quorum.quorum_state import QuorumState
from engine.quorum.replica import Replica
from engine.quorum.requests import RaftCall
from engine.sim.campaign.mutant import Mutant, Original, Patch
from engine.sim.campaign.mutants import MUTANTS
from engine.sim.invariants.invariants import Invariants, Violation
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors


def _counts_any_epoch(original: Original, self: Replica, now: int, request: Any, part: Any) -> None:
    """A leader treats every fetch as one of its own epoch."""
    if self.progress is not None and part.current_leader_epoch >= 0:
        part.current_leader_epoch = self.state.epoch
    original(self, now, request, part)


def _hears_of_no_epoch(
    original: Original, self: Replica, now: int, call: RaftCall, body: Answered
) -> None:
    """A follower copies what any leader answers; a leader learns nothing from answers."""
    if self.progress is not None:
        self.requests.take(call)
        return
    answered = raft_messages.answered_partition(body)
    if isinstance(body, m.FetchResponse) and answered is not None and answered[0] == Errors.NONE:
        if self.requests.take(call):
            self._copy(now, answered[3])
            if self.log.is_flushed:
                self.poll(now)
    else:
        original(self, now, call, body)


def _is_longer(original: Original, self: Replica, last: tuple[int, int]) -> bool:
    return last[1] >= self.log.last[1]


def _in_memory(
    original: Original, self: QuorumState, candidate: int, directory: bytes = uuids.ZERO
) -> None:
    self.saved = ElectionState(self.epoch, self.leader, candidate, directory)
    self.ballot = None


class Overlooking(Invariants):
    """`invariants`; a violation with one of these names ends the checks of its event, no more."""

    def __init__(self, invariants: Invariants, names: tuple[str, ...]) -> None:
        super().__init__(invariants.cluster)
        self.invariants = invariants
        self.names = names

    def after_event(self) -> None:
        try:
            self.invariants.after_event()
        except Violation as violation:
            if not str(violation).startswith(self.names):
                raise


@dataclass(frozen=True)
class BrokenRule:
    """A rule of the controllers, broken; the invariant that its scene ends with."""

    mutant: Mutant
    breaks: str
    overlooks: tuple[str, ...] = ()


def _as_mutant(name: str, *patches: Patch) -> Mutant:
    return Mutant(name, "", patches, "", controllers=3)


BROKEN_RULES: dict[str, BrokenRule] = {
    "no-epochs": BrokenRule(
        _as_mutant(
            "no-epochs",
            Patch(Replica, "_fetched", _counts_any_epoch),
            Patch(Replica, "answered", _hears_of_no_epoch),
        ),
        "committed",
    ),
    "any-log": BrokenRule(MUTANTS["compare-no-logs"], "committed"),
    "longest-log": BrokenRule(
        _as_mutant("longest-log", Patch(Replica, "_reaches", _is_longer)), "committed"
    ),
    "vote-in-memory": BrokenRule(
        _as_mutant("vote-in-memory", Patch(QuorumState, "vote_for", _in_memory)),
        "one leader",
        ("written", "elected"),
    ),
    "old-epoch-by-counting": BrokenRule(
        MUTANTS["commit-an-earlier-epoch"], "committed", ("own epoch",)
    ),
    "two-voters-at-once": BrokenRule(MUTANTS["two-voters-at-once"], "committed", ("one change",)),
}
