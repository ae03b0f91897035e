"""Every state of the replication model, breadth first: a proof, or the shortest way to fail.

    >>> explore("kip-101", replicas=3).steps
    10

The search (`search.py`) finds the shortest way to a state in which strong ISR is broken.  If there
is none, it has seen every state, and the property holds in each: that is a proof, for logs and
epochs of this size.  Each step of the way becomes an `Action`: a sentence about broker 101, 102, …,
and the state after it as plain data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.plain import Plain
from engine.sim.model.model import Rung, State, canonical, init, strong_isr
from engine.sim.model.rules import RUNGS
from engine.sim.model.search import Progress, Step, Taken, search
from engine.sim.model.steps import STEPS
from engine.sim.model.words import FIRST_BROKER, as_data, sentence, what_broke

MAX_REPLICAS = 4


@dataclass(frozen=True)
class Action:
    """One step of a counter-example, about `broker`; `name` is its function in the model.

    `state` is the state after it, as `words.as_data` gives it.
    """

    name: str
    broker: int
    text: str
    state: Plain


@dataclass(frozen=True)
class Exploration:
    """What a search found: `states` seen (renamed brokers count once), the farthest in `steps`.

    If the property does not hold, the farthest is the broken one, `counter_example` the
    shortest way to it, and `why` says what is wrong there.
    """

    rule: str
    replicas: int
    states: int
    holds: bool
    steps: int
    counter_example: tuple[Action, ...] = ()
    why: str = ""

    @property
    def verdict(self) -> str:
        return "holds" if self.holds else f"violated in {self.steps} steps"


def explore(rule: str | Rung, replicas: int = 3, progress: Progress | None = None) -> Exploration:
    """Searches all states of a rule, or until the first in which strong ISR is broken.

    `rule` is a name in `RUNGS`, or a rung of your own; `progress(steps, states)` is called
    after each step outwards.  ValueError names what can be chosen.
    """
    rung = _rung(rule)
    if not 2 <= replicas <= MAX_REPLICAS:
        raise ValueError(f"The model takes 2 to {MAX_REPLICAS} replicas, not {replicas}.")

    def steps_from(state: State) -> Iterator[Step[State]]:
        return ((step.__name__, *taken) for step in STEPS for taken in step(rung, state))

    def broken(state: State) -> str:
        return "" if strong_isr(state) else what_broke(state)

    found = search(init(replicas), steps_from, canonical, broken, progress)
    actions = tuple(_action(rung, taken) for taken in found.way)
    why = what_broke(found.way[-1].after) if found.way else ""
    return Exploration(rung.name, replicas, found.states, not why, found.steps, actions, why)


def _rung(rule: str | Rung) -> Rung:
    if isinstance(rule, Rung):
        return rule
    if rule not in RUNGS:
        raise ValueError(f"There is no rule {rule!r} in the model: choose from {', '.join(RUNGS)}.")
    return RUNGS[rule]


def _action(rung: Rung, taken: Taken[State]) -> Action:
    text = sentence(rung, taken.name, taken.row, taken.before, taken.after)
    return Action(taken.name, FIRST_BROKER + taken.row, text, as_data(taken.after))
