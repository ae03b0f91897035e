"""Whether a leader has a majority: for its election, for what it commits, and for going on.

    elected      It has the votes of a majority of the voters that its log names.
    stored       What it takes for committed is on the disks of a majority of these voters.
    own epoch    It commits with a record of its own epoch, or not at all.
    counted      It has committed what a majority has fetched, and not less.
    step down    One that no majority has fetched from for ten seconds is a leader no more.

A voter is an id and a directory id (KIP-853): what another directory votes or holds counts for
nothing.  Two majorities of the same voters share one, which is what quorum.py's rules rest on.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.quorum.replica import Replica
from engine.quorum.voter_progress import UNKNOWN, VoterProgress
from engine.quorum.voters import ReplicaKey
from engine.sim.invariants.books import Violation

PATIENCE_US = 10_000_000
"""A leader resigns after 3 s by its own clock, which a fault may have put back by 5 s."""


def check_election(replica: Replica, votes: Mapping[tuple[int, bytes, int], int]) -> None:
    """`votes`: by node, directory and epoch, as they were written down."""
    state = replica.state
    own, voters = state.node_id, state.history.voters
    granted = [
        key for key in voters.keys if key == state.key or votes.get((*key, state.epoch)) == own
    ]
    if len(granted) < voters.majority:
        raise Violation(
            f"elected: {own} leads epoch {state.epoch}, and of its voters {voters.ids} only "
            f"{[each.id for each in granted]} voted for it"
        )


def check_commit(replica: Replica, flushed: Mapping[ReplicaKey, int]) -> None:
    """The leader's high watermark has risen; `flushed`: how much of its log a voter cannot lose."""
    state, progress, offset = replica.state, replica.progress, replica.log.high_watermark
    voters = state.history.voters
    held = [key.id for key in voters.keys if flushed.get(key, 0) >= offset]
    if len(held) < voters.majority:
        raise Violation(
            f"stored: {state.node_id} takes all below {offset} for committed, and of its voters "
            f"{voters.ids} only {held} have it on disk"
        )
    if progress is not None and offset <= progress.epoch_start:
        raise Violation(
            f"own epoch: {state.node_id} takes all below {offset} for committed, and its epoch "
            f"begins at {progress.epoch_start}"
        )


def check_count(replica: Replica, progress: VoterProgress) -> None:
    """Of what the readers have said, nothing is left out."""
    voters = replica.state.history.voters
    ends = [_end(replica, progress, key) for key in voters.keys]
    offset = sorted(ends, reverse=True)[voters.majority - 1]
    if offset > max(progress.epoch_start, replica.log.high_watermark):
        raise Violation(
            f"counted: {replica.node_id} knows that a majority of {voters.ids} has all below "
            f"{offset}, and its high watermark is {replica.log.high_watermark}"
        )


def _end(replica: Replica, progress: VoterProgress, key: ReplicaKey) -> int:
    if key == replica.state.key:
        return replica.log.flushed_to
    counted = progress.current.is_voter(key)
    seen = progress.voters.get(key.id) if counted else progress.observers.get(key)
    return UNKNOWN if seen is None else seen.offset


class StepDown:
    """Since when a majority has not been heard, by virtual time; a pause does not count."""

    def __init__(self) -> None:
        self.heard: dict[int, tuple[VoterProgress, int, int]] = {}

    def check(self, node_id: int, now: int, progress: VoterProgress | None, paused: bool) -> None:
        if progress is None or not progress.others_needed:
            self.heard.pop(node_id, None)
            return
        known = self.heard.get(node_id)
        if known is None or paused or known[:2] != (progress, progress.heard_at):
            self.heard[node_id] = (progress, progress.heard_at, now)
        elif now - known[2] > PATIENCE_US:
            raise Violation(
                f"step down: {node_id} leads on, and no majority has fetched from it for "
                f"{(now - known[2]) // 1_000_000} s"
            )
