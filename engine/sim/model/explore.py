"""Every state of the replication model, breadth first: a proof, or the shortest way to fail.

    >>> explore("kip-101", replicas=3).steps
    10

The search takes all steps from a state before any step from a later one, so no shorter way
leads to the first broken state that it finds.  If it finds none, it has seen every state, and
the property holds in each: that is a proof, for logs and epochs of this size.

States are kept with their rows sorted: which broker a row is does not matter.  On the way back from
a broken state the rows get their brokers' numbers (101, 102, …) again, and each step becomes
an `Action`: a sentence, and the state after it as plain data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.plain import Plain
from engine.sim.model.model import Rung, State, canonical, init, strong_isr
from engine.sim.model.rules import RUNGS
from engine.sim.model.steps import STEPS
from engine.sim.model.words import FIRST_BROKER, as_data, sentence, what_broke

MAX_REPLICAS = 4
Progress = Callable[[int, int], None]


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
    first = init(replicas)
    came_from: dict[State, State] = {first: first}
    frontier, steps = [first], 0
    while frontier:
        found: list[State] = []
        for state in frontier:
            for step in STEPS:
                for _, reached in step(rung, state):
                    reached = canonical(reached)
                    if reached in came_from:
                        continue
                    came_from[reached] = state
                    found.append(reached)
                    if not strong_isr(reached):
                        way = _way(rung, came_from, reached)
                        return Exploration(rung.name, replicas, len(came_from), False, steps + 1,
                                           *_in_words(rung, way))  # fmt: skip
        frontier = found
        steps += bool(found)
        if progress is not None:
            progress(steps, len(came_from))
    return Exploration(rung.name, replicas, len(came_from), True, steps)


def _rung(rule: str | Rung) -> Rung:
    if isinstance(rule, Rung):
        return rule
    if rule not in RUNGS:
        raise ValueError(f"There is no rule {rule!r} in the model: choose from {', '.join(RUNGS)}.")
    return RUNGS[rule]


def _way(rung: Rung, came_from: dict[State, State], state: State) -> list[State]:
    """The states from `init` to this one, each in the order of its rows."""
    way = [state]
    while came_from[way[-1]] is not way[-1]:
        way.append(came_from[way[-1]])
    return way[::-1]


def _in_words(rung: Rung, way: list[State]) -> tuple[tuple[Action, ...], str]:
    """Walks the way again with brokers that keep their rows, and tells each step."""
    now, actions = way[0], []
    for milestone in way[1:]:
        name, index, after = next(
            (step.__name__, index, reached)
            for step in STEPS
            for index, reached in step(rung, now)
            if canonical(reached) == milestone
        )
        text = sentence(rung, name, index, now, after)
        actions.append(Action(name, FIRST_BROKER + index, text, as_data(after)))
        now = after
    return tuple(actions), what_broke(now)
