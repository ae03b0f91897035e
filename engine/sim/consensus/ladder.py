"""The ladder of consensus: rules that were once believed, each with the shortest way to break it.

    rule                      what it leaves out
    no-epochs                 a follower copies from any leader, also from one of an earlier epoch
    any-log                   a vote is granted without comparing the logs
    longest-log               the logs are compared by their length alone
    vote-in-memory            a vote is answered before it is on the disk
    old-epoch-by-counting     a record of an earlier epoch is committed once a majority has it
    two-voters-at-once        two voters are removed with one record (KIP-853 removes one)
    kraft                     nothing: all of its states hold

    >>> explore("any-log").verdict
    'broken in 9 steps: lost'

The search (engine/sim/model/search.py) finds the shortest way, or sees every state, and the rules
hold in each: a proof, for three voters, two records and four epochs.  Take a guard off the last
rung, and see what it was for:

    explore(replace(RUNGS["kraft"], may_grant=any_log)).verdict

With `removes=1` the last rung lets a leader remove one voter, once it has committed a record of its
own epoch; that holds, too, in seven times as many states.

A leader need not ask for the epoch of a follower that it counts, as long as a follower takes no
answer of an earlier epoch: by its fetch the follower has said that it is in the leader's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.plain import Plain
from engine.sim.consensus.model import (
    CANDIDATE,
    LEADER,
    STEPS,
    Record,
    Rung,
    State,
    Voter,
    canonical,
    init,
    problem,
)
from engine.sim.model.search import Progress, Step, Taken, search

FIRST_VOTER = 100
VOTERS = (3, 5)

# -- the guards


def any_log(candidate: Voter, voter: Voter) -> bool:
    return True


def longer_log(candidate: Voter, voter: Voter) -> bool:
    return len(candidate.log) >= len(voter.log)


def later_log(candidate: Voter, voter: Voter) -> bool:
    """Its last record is of a later epoch; or of the same one, and the log is as long."""
    return _end(candidate) >= _end(voter)


def _end(voter: Voter) -> tuple[int, int]:
    return (voter.log[-1].epoch if voter.log else 0), len(voter.log)


def not_earlier(follower: Voter, leader: Voter) -> bool:
    """The leader is of the follower's epoch or of a later one, and no leader follows its equal."""
    return leader.epoch > follower.epoch or (
        leader.epoch == follower.epoch and follower.role != LEADER
    )


def any_epoch(follower: Voter, leader: Voter) -> bool:
    return follower.role != LEADER


def same_epoch(follower: Voter, leader: Voter) -> bool:
    return follower.epoch == leader.epoch


def anyone(follower: Voter, leader: Voter) -> bool:
    return True


def own_epoch(leader: Voter, size: int) -> bool:
    """The last record is of the leader's own epoch; those before it are committed with it."""
    return leader.log[size - 1].epoch == leader.epoch


def counted(leader: Voter, size: int) -> bool:
    return True


_KRAFT = Rung("kraft", "the rules of KRaft", later_log, not_earlier, own_epoch, same_epoch)
RUNGS = {
    each.name: each
    for each in (
        replace(_KRAFT, name="no-epochs", change="an answer of an earlier epoch is taken",
                may_copy=any_epoch, is_counted=anyone),
        replace(_KRAFT, name="any-log", change="a vote is granted without comparing the logs",
                may_grant=any_log),
        replace(_KRAFT, name="longest-log", change="the longer log wins, even with older records",
                may_grant=longer_log),
        replace(_KRAFT, name="vote-in-memory", change="a vote is answered before it is written",
                writes_votes_first=False),
        replace(_KRAFT, name="old-epoch-by-counting",
                change="what a majority has is committed, also if it is of an earlier epoch",
                may_commit=counted),
        replace(_KRAFT, name="two-voters-at-once",
                change="two of the voters are removed with one record", removes=2),
        _KRAFT,
    )
}  # fmt: skip


# -- the search


@dataclass(frozen=True)
class Action:
    """One step of a counter-example, about `voter`; `state` is the state after it."""

    name: str
    voter: int
    text: str
    state: Plain


@dataclass(frozen=True)
class Exploration:
    """What a search found: `states` seen, the farthest in `steps`.

    `broken` is the sentence of the model that does not hold, empty if all hold;
    `counter_example` is then the shortest way there.
    """

    rule: str
    states: int
    steps: int
    broken: str = ""
    counter_example: tuple[Action, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.broken

    @property
    def verdict(self) -> str:
        return "holds" if self.holds else f"broken in {self.steps} steps: {self.broken}"


def explore(rule: str | Rung, voters: int = 3, progress: Progress | None = None) -> Exploration:
    """Searches all states of a rule, or until the first that is broken.

    `rule` is a name in `RUNGS`, or a rung of your own; `progress(steps, states)` is called after
    each step outwards.  ValueError names what can be chosen.
    """
    if isinstance(rule, str) and rule not in RUNGS:
        raise ValueError(f"There is no rule {rule!r} on the ladder: choose {', '.join(RUNGS)}.")
    if voters not in VOTERS:
        raise ValueError(f"The model takes {' or '.join(map(str, VOTERS))} voters, not {voters}.")
    rung = RUNGS[rule] if isinstance(rule, str) else rule

    def steps_from(state: State) -> Iterator[Step[State]]:
        return ((step.__name__, *taken) for step in STEPS for taken in step(rung, state))

    begin = init(voters, named=rung.removes > 0)
    found = search(begin, steps_from, canonical, problem, progress)
    return Exploration(rung.name, found.states, found.steps, found.broken,
                       tuple(map(_action, found.way)))  # fmt: skip


# -- in words


def _action(taken: Taken[State]) -> Action:
    text = sentence(taken.name, taken.row, taken.before, taken.after)
    return Action(taken.name, name_of(taken.row), text, as_data(taken.after))


def name_of(index: int) -> int:
    """Row i is voter 100 × (i + 1)."""
    return FIRST_VOTER * (index + 1)


def shown(record: Record) -> str:
    """A1: the first record, written in epoch 1."""
    return f"{chr(ord('A') + record.number)}{record.epoch}"


def sentence(name: str, index: int, before: State, after: State) -> str:
    """What a step did."""
    voter, old, row = name_of(index), before.voters[index], after.voters[index]
    log = " ".join(map(shown, row.log)) or "nothing"
    match name:
        case "stand":
            return f"{voter} stands for election in epoch {row.epoch}"
        case "grant":
            asked = next(
                name_of(at)
                for at, each in enumerate(after.voters)
                if each.votes > before.voters[at].votes and at != index
            )
            return f"{voter} votes for {asked} in epoch {row.epoch}"
        case "hear":
            return f"{voter} hears of epoch {row.epoch}"
        case "lead":
            return f"{voter} leads epoch {row.epoch}"
        case "append":
            left = " ".join(str(name_of(each)) for each in row.log[-1].voters)
            alone = f"; from here on the voters are {left}" if left else ""
            return f"{voter} appends {shown(row.log[-1])}{alone}"
        case "copy":
            cut = len(row.log) < len(old.log)
            return f"{voter} cuts its log: {log}" if cut else f"{voter} copies; it has {log}"
        case "commit":
            kept = " ".join(map(shown, after.committed))
            other = f"; {kept} was committed there before" if after.contradicted else ""
            return f"{voter} commits {log if after.contradicted else kept}{other}"
        case "write":
            return f"{voter} writes down its epoch and its vote"
    forgot = "" if old.saved == (old.epoch, old.voted) else ", without the vote that it gave"
    return f"{voter} restarts in epoch {row.epoch}{forgot}"


def as_data(state: State) -> Plain:
    """`{"committed": ["A1"], "voters": {100: {"role", "epoch", "voted", "log": ["A1"]}}}`."""
    roles = {CANDIDATE: "candidate", LEADER: "leader"}
    return {
        "committed": [shown(each) for each in state.committed],
        "voters": {
            name_of(index): {
                "role": roles.get(row.role, "follower"),
                "epoch": row.epoch,
                "voted": row.voted,
                "log": [shown(each) for each in row.log],
            }
            for index, row in enumerate(state.voters)
        },
    }
