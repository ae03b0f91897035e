"""A stage for replayed counter-examples: a world, and the moves made in it.

A move is a fault, a request, or a wait for a condition; it says which steps of the model's story it
stands for.  The moves are real ones: an operator's request, a client's record, a fault of
engine/sim/world/faults.py.  After `until` a little time passes, more than a message takes: so the
same tape, action for action at its moment, makes sense under another rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self

from engine.sim.invariants.invariants import Violation
from engine.sim.world.faults import fault
from engine.sim.world.tape import Done
from engine.sim.world.world import World

PATIENCE_S = 10.0
PAUSE_S = 0.02


class Told(Protocol):
    """A step of a model's story, in words."""

    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class Move:
    """What was done or waited for, up to which event; `steps` of the model's story, from 1."""

    event: int
    text: str
    steps: tuple[int, ...] = ()


@dataclass
class Stage:
    """A scene played in `world`; `violation` is the invariant it broke, empty if none.

    Until the event `begins`, the stage is set; nothing depends on the rule so far.  `story`
    is the model's counter-example that the scene replays; `otherwise` says where it differs.
    """

    rule: str
    world: World
    begins: int
    story: tuple[Told, ...] = ()
    moves: list[Move] = field(default_factory=list)
    violation: str = ""
    otherwise: str = ""
    whose: ClassVar[str] = "nodes"

    @property
    def tape(self) -> list[Done]:
        """What was done since the scene began."""
        return [done for done in self.world.tape if done.event > self.begins]

    def __str__(self) -> str:
        lines = [f"{self.rule}, in the {self.whose}' code"]
        for move in self.moves:
            lines.append(f"  event {move.event:5}  {move.text}")
            lines += [f"{'':16}= {n}. {self.story[n - 1].text}" for n in move.steps]
        lines += [f"  {self.violation or 'every invariant holds'}", f"  {self.otherwise}".rstrip()]
        return "\n".join(lines).rstrip()

    def watched(self, play: Callable[[], None]) -> Self:
        """Plays on until it ends or an invariant is broken."""
        try:
            play()
        except Violation as violation:
            self.violation = str(violation)
        return self

    # -- moves

    def note(self, text: str, *steps: int) -> None:
        self.moves.append(Move(self.world.events, text, steps))

    def until(self, condition: Callable[[World], bool], text: str, *steps: int) -> None:
        """Runs until the condition holds; AssertionError if it never does: the scene is wrong."""
        self.at(condition, text, *steps)
        self.world.run(for_s=PAUSE_S)

    def at(self, condition: Callable[[World], bool], text: str, *steps: int) -> None:
        """The same, and no time passes after that event; a violation on the way ends the move."""
        try:
            happened = self.world.run(until=condition, for_s=PATIENCE_S)
        except Violation:
            self.note(text, *steps)
            raise
        assert happened, f"never happened: {text}"
        self.note(text, *steps)

    def apply(self, kind: str, *nodes: int, text: str, steps: tuple[int, ...] = (),
              **options: Any) -> None:  # fmt: skip
        self.world.apply(fault(kind, *nodes, **options))
        self.note(text, *steps)
