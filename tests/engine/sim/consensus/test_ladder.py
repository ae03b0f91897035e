"""The ladder of consensus, searched to its last state: what each rule breaks, and how soon."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from engine.sim.consensus import ladder
from engine.sim.consensus.ladder import RUNGS, Exploration, explore
from engine.sim.consensus.model import LEADER, Record, State, Voter, canonical, problem

LADDER = {
    "no-epochs": (9, "lost"),
    "any-log": (9, "lost"),
    "longest-log": (14, "lost"),
    "vote-in-memory": (7, "two leaders"),
    "old-epoch-by-counting": (18, "lost"),
    "two-voters-at-once": (11, "lost"),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Exploration]:
    return {rule: explore(rule) for rule in RUNGS}


@pytest.mark.parametrize("rule", LADDER)
def test_each_rule_breaks_after_so_many_steps(rule: str, found: dict[str, Exploration]) -> None:
    result = found[rule]
    assert (result.steps, result.broken) == LADDER[rule]
    assert len(result.counter_example) == result.steps
    assert result.verdict == f"broken in {result.steps} steps: {result.broken}"


def test_the_last_rung_holds_in_all_its_states(found: dict[str, Exploration]) -> None:
    result = found["kraft"]
    assert (result.verdict, result.states, result.steps) == ("holds", 60_257, 20)


def test_figure_8_of_the_raft_paper_is_found_with_three_voters(
    found: dict[str, Exploration],
) -> None:
    result = found["old-epoch-by-counting"]
    assert [action.text for action in result.counter_example[-8:]] == [
        "100 leads epoch 3",
        "200 appends B2",
        "200 hears of epoch 3",
        "200 stands for election in epoch 4",
        "300 copies; it has A1",
        "100 commits A1",
        "300 votes for 200 in epoch 4",
        "200 leads epoch 4",
    ]
    last = result.counter_example[-1].state
    assert last["committed"] == ["A1"]
    assert last["voters"][200] == {"role": "leader", "epoch": 4, "voted": True, "log": ["B2"]}


def test_a_vote_that_a_restart_forgot_is_given_twice(found: dict[str, Exploration]) -> None:
    texts = [action.text for action in found["vote-in-memory"].counter_example]
    assert "300 restarts in epoch 1, without the vote that it gave" in texts
    assert [text for text in texts if text.startswith("300 votes")] == [
        "300 votes for 100 in epoch 1",
        "300 votes for 200 in epoch 1",
    ]


def test_two_voters_at_once_leave_two_majorities_without_a_voter_in_common(
    found: dict[str, Exploration],
) -> None:
    texts = [action.text for action in found["two-voters-at-once"].counter_example]
    assert texts[-5:] == [
        "300 stands for election in epoch 2",
        "200 votes for 300 in epoch 2",
        "300 leads epoch 2",
        "100 appends B1; from here on the voters are 100",
        "100 commits A1 B1",
    ]


@pytest.mark.full
def test_one_voter_at_a_time_holds_in_all_its_states() -> None:
    result = explore(replace(RUNGS["kraft"], removes=1))
    assert (result.verdict, result.states) == ("holds", 441_133)


@pytest.mark.parametrize(
    ("guard", "holds"),
    [
        ({"may_grant": ladder.any_log}, False),
        ({"may_copy": ladder.any_epoch}, False),
        ({"may_commit": ladder.counted}, False),
        ({"writes_votes_first": False}, False),
        ({"is_counted": ladder.anyone}, True),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else str(each),
)
def test_what_each_guard_of_the_last_rung_is_for(guard: dict[str, object], holds: bool) -> None:
    assert explore(replace(RUNGS["kraft"], **guard)).holds is holds  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", ["1", "4711"])
def test_the_answer_is_the_same_with_other_hash_seeds(
    seed: str, found: dict[str, Exploration]
) -> None:
    program = (
        "from engine.sim.consensus.ladder import explore\n"
        "for rule in ('any-log', 'vote-in-memory'):\n"
        "    print(*(each.text for each in explore(rule).counter_example), sep='\\n')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [
        action.text
        for rule in ("any-log", "vote-in-memory")
        for action in found[rule].counter_example
    ]
    assert done.stdout.splitlines() == expected


def test_rows_in_another_order_are_one_state() -> None:
    one, other = Voter(1, LEADER, log=(Record(0, 1),)), Voter(2)
    assert canonical(State((one, other))) == canonical(State((other, one)))


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (State((Voter(1, LEADER), Voter(2, LEADER))), ""),
        (State((Voter(1, LEADER), Voter(1, LEADER))), "two leaders"),
        (State((Voter(2, LEADER),), 1, (Record(0, 1),), 1), "lost"),
        (State((Voter(1, LEADER),), 1, (Record(0, 2),), 2), ""),
        (State((Voter(1),), contradicted=True), "two committed"),
    ],
)
def test_what_must_hold(state: State, expected: str) -> None:
    assert problem(state) == expected


def test_what_is_not_on_the_ladder_gets_a_sentence() -> None:
    with pytest.raises(ValueError, match="no rule 'paxos' on the ladder: choose no-epochs"):
        explore("paxos")
    with pytest.raises(ValueError, match="takes 3 or 5 voters, not 4"):
        explore("kraft", voters=4)
