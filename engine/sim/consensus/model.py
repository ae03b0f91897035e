"""Voters, an epoch each, and a log: a model of Raft small enough to be searched to its end.

    voter   epoch   role        voted   on disk   log
    100       2     leader      yes     2, yes    A1 B2
    200       2     follower    yes     2, yes    A1
    300       1     follower    yes     1, yes    A1

A record is written A1: the first one ever written, by the leader of epoch 1.  Everything that may
take its time is a step of its own: a voter stands for election, another one grants its vote, a
leader appends, a follower copies one record or cuts one off, a leader commits, a voter restarts.
There are no messages: a request and its answer are one step.  A dead voter takes no step.

The voters are those of the last record in a voter's log that says who they are, committed or not;
without one, all.  Where a rung has such records, a row has its own name in them.

Otherwise names do not matter, so a candidate's row has the number of its votes, and a voter's row
has whether it has voted in its epoch.  States that differ only in the order of their rows are one
state (`canonical`).

`problem` must find nothing in any state:

    an epoch has one leader
    what was committed is in the log of every leader of that epoch and of later ones
    nothing else is committed at its offset

Bounds: three voters (or five), two records, epochs up to 4.
Beside the published specification of KRaft (Vanlightly/kafka-tlaplus, kraft_kip_996): here a
leader counts what followers of its epoch hold at that moment, not what they said before; there
are no observers, no pre-vote and no snapshots; restarts keep the log and forget what was not
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

LOG_SIZE = MAX_RECORDS = 2
MAX_EPOCH = 4
FOLLOWER, CANDIDATE, LEADER = 0, 1, 2


class Record(NamedTuple):
    """The `number`-th record ever written, by the leader of `epoch`.

    With `voters` it says who they are from here on, by the names of their rows.
    """

    number: int
    epoch: int
    voters: tuple[int, ...] = ()


class Voter(NamedTuple):
    """One row; `saved` is (epoch, voted) as its disk has it."""

    epoch: int = 0
    role: int = FOLLOWER
    votes: int = 0
    voted: bool = False
    saved: tuple[int, bool] = (0, False)
    log: tuple[Record, ...] = ()
    name: int = 0


class State(NamedTuple):
    """All rows; how many records were written; what was committed, by the leader of which epoch.

    `contradicted` tells that something else was committed at an offset, too.
    """

    voters: tuple[Voter, ...]
    records: int = 0
    committed: tuple[Record, ...] = ()
    committed_in: int = 0
    contradicted: bool = False


@dataclass(frozen=True)
class Rung:
    """What voters do under one set of rules; each field is a guard."""

    name: str
    change: str
    may_grant: Callable[[Voter, Voter], bool]
    """candidate, voter: is the candidate's log good enough?"""
    may_copy: Callable[[Voter, Voter], bool]
    """follower, leader: does the follower take this leader's answer?"""
    may_commit: Callable[[Voter, int], bool]
    """leader, n: may it commit its first n records, if a majority has them?"""
    is_counted: Callable[[Voter, Voter], bool]
    """follower, leader: does the leader count what this follower has?"""
    writes_votes_first: bool = True
    removes: int = 0
    """So many voters a leader may take away with one record."""


Step = tuple[int, State]


def init(voters: int, named: bool = False) -> State:
    return State(tuple(Voter(name=index * named) for index in range(voters)))


def canonical(state: State) -> State:
    """The one state that stands for all that differ only in the order of their rows."""
    return state._replace(voters=tuple(sorted(state.voters)))


def voters_of(row: Voter) -> tuple[int, ...]:
    """The last that its log says of them; empty if it says nothing, and all are voters."""
    return next((each.voters for each in reversed(row.log) if each.voters), ())


def _is_voter(row: Voter, voters: tuple[int, ...]) -> bool:
    return not voters or row.name in voters


def majority(state: State, row: Voter) -> int:
    """So many are needed by the voters that this row goes by."""
    return (len(voters_of(row)) or len(state.voters)) // 2 + 1


def _with(state: State, changed: dict[int, Voter]) -> State:
    rows = tuple(changed.get(index, row) for index, row in enumerate(state.voters))
    return state._replace(voters=rows)


def _hears(voter: Voter, epoch: int) -> Voter:
    """In a later epoch a voter is a follower that has not voted, and writes that down."""
    if epoch <= voter.epoch:
        return voter
    return Voter(epoch, log=voter.log, saved=(epoch, False), name=voter.name)


# -- the steps


def stand(rung: Rung, state: State) -> Iterator[Step]:
    """A voter hears of no leader: it begins the next epoch with its own vote."""
    for index, row in enumerate(state.voters):
        if row.role != LEADER and row.epoch < MAX_EPOCH and _is_voter(row, voters_of(row)):
            epoch = row.epoch + 1
            yield index, _with(state, {
                index: Voter(epoch, CANDIDATE, 1, True, (epoch, True), row.log, row.name)
            })  # fmt: skip


def grant(rung: Rung, state: State) -> Iterator[Step]:
    """A voter gives a candidate its vote."""
    for index, row in enumerate(state.voters):
        for asking, candidate in enumerate(state.voters):
            if asking == index or candidate.role != CANDIDATE or row.epoch > candidate.epoch:
                continue
            if not _is_voter(row, voters_of(candidate)):
                continue
            voter = _hears(row, candidate.epoch)
            if voter.voted or voter.role != FOLLOWER or not rung.may_grant(candidate, voter):
                continue
            saved = (voter.epoch, True) if rung.writes_votes_first else voter.saved
            yield index, _with(state, {
                index: voter._replace(voted=True, saved=saved),
                asking: candidate._replace(votes=candidate.votes + 1),
            })  # fmt: skip


def hear(rung: Rung, state: State) -> Iterator[Step]:
    """A voter hears of a later epoch, and gives no vote in it yet."""
    epochs = {row.epoch for row in state.voters if row.role != FOLLOWER}
    for index, row in enumerate(state.voters):
        for epoch in epochs:
            if epoch > row.epoch:
                yield index, _with(state, {index: _hears(row, epoch)})


def lead(rung: Rung, state: State) -> Iterator[Step]:
    """A candidate with the votes of a majority becomes leader."""
    for index, row in enumerate(state.voters):
        if row.role == CANDIDATE and row.votes >= majority(state, row):
            yield index, _with(state, {index: row._replace(role=LEADER, votes=0)})


def append(rung: Rung, state: State) -> Iterator[Step]:
    """A leader appends a record."""
    for index, row in enumerate(state.voters):
        if row.role == LEADER and len(row.log) < LOG_SIZE and state.records < MAX_RECORDS:
            for voters in ((), *_next_voters(rung, state, row)):
                log = (*row.log, Record(state.records, row.epoch, voters))
                after = _with(state, {index: row._replace(log=log)})
                yield index, after._replace(records=state.records + 1)


def _next_voters(rung: Rung, state: State, leader: Voter) -> Iterator[tuple[int, ...]]:
    """The sets that a leader may go over to: it stays, some of the others do not.

    It has committed a record of its own epoch, and changes the voters once.
    """
    if not rung.removes or voters_of(leader) or state.committed_in != leader.epoch:
        return
    others = [each.name for each in state.voters if each is not leader]
    for left in combinations(others, len(others) - rung.removes):
        yield tuple(sorted((leader.name, *left)))


def copy(rung: Rung, state: State) -> Iterator[Step]:
    """A follower fetches: it cuts off what its leader does not have, or takes the next record."""
    for index, row in enumerate(state.voters):
        for leading, leader in enumerate(state.voters):
            if leading == index or leader.role != LEADER or not rung.may_copy(row, leader):
                continue
            same = _common(row.log, leader.log)
            log = row.log[:same] if len(row.log) > same else leader.log[: same + 1]
            follower = _hears(row, leader.epoch)._replace(role=FOLLOWER, votes=0, log=log)
            if follower != row:
                yield index, _with(state, {index: follower})


def commit(rung: Rung, state: State) -> Iterator[Step]:
    """A leader commits what a majority has."""
    for index, leader in enumerate(state.voters):
        if leader.role != LEADER:
            continue
        voters = voters_of(leader)
        for size in range(len(leader.log), 0, -1):
            prefix = leader.log[:size]
            holders = sum(
                each.log[:size] == prefix and (each is leader or rung.is_counted(each, leader))
                for each in state.voters
                if _is_voter(each, voters)
            )
            if holders < majority(state, leader) or not rung.may_commit(leader, size):
                continue
            known = state.committed
            if prefix == known[:size]:
                break
            if known == prefix[: len(known)]:
                yield index, state._replace(committed=prefix, committed_in=leader.epoch)
            else:
                yield index, state._replace(contradicted=True)
            break


def write(rung: Rung, state: State) -> Iterator[Step]:
    """A voter writes down its epoch and its vote, if that was left for later."""
    for index, row in enumerate(state.voters):
        if row.saved != (row.epoch, row.voted):
            yield index, _with(state, {index: row._replace(saved=(row.epoch, row.voted))})


def restart(rung: Rung, state: State) -> Iterator[Step]:
    """A voter restarts with its log, and with the epoch and the vote that its disk has."""
    for index, row in enumerate(state.voters):
        epoch, voted = row.saved
        after = Voter(epoch, FOLLOWER, 0, voted, row.saved, row.log, row.name)
        if after != row:
            yield index, _with(state, {index: after})


STEPS = (stand, grant, hear, lead, append, copy, commit, write, restart)


def _common(one: tuple[Record, ...], other: tuple[Record, ...]) -> int:
    """How many records the logs have in common from their start."""
    size = min(len(one), len(other))
    return next((at for at in range(size) if one[at] != other[at]), size)


# -- what must hold


def problem(state: State) -> str:
    """Empty if all is well: which of the three sentences does not hold."""
    leaders = [row for row in state.voters if row.role == LEADER]
    if len({row.epoch for row in leaders}) < len(leaders):
        return "two leaders"
    if state.contradicted:
        return "two committed"
    committed = state.committed
    for row in leaders:
        if row.epoch >= state.committed_in and row.log[: len(committed)] != committed:
            return "lost"
    return ""
