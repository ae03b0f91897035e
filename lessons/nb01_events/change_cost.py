"""The shop as a graph, in four designs: what one request changes, releases and stops.

An arrow a -> b says that a's code names b: it calls it, or imports it.  A reader names the log
and the fields that it uses; the producer names the log.  A unit is what is released and what
fails as one.  The requests are the same for all designs, and the counts follow from the arrows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kit.tables import Table

PARTS = ("checkout", "payment", "stock", "mail")
USES = {"payment": "total", "stock": "items", "mail": "email"}
"""Field of an order by the part that reads it."""


@dataclass(frozen=True)
class Design:
    """`names` maps a part to those that its code names; `unit` to what it is released with.

    With `hides` a part has an interface, and its inside can change alone.
    """

    name: str
    names: Mapping[str, tuple[str, ...]]
    unit: Mapping[str, str]
    hides: bool = True

    @property
    def arrows(self) -> int:
        return sum(len(named) for named in self.names.values())

    @property
    def units(self) -> int:
        return len({self.unit[part] for part in PARTS})

    def added(self, part: str) -> tuple[set[str], set[str]]:
        """A part that needs the orders is added: the parts changed, the old units released.

        A part that hands orders to each reader by name must name the new one, too.
        """
        changed = {each for each, named in self.names.items() if set(USES) <= set(named)}
        released = {self.unit[each] for each in changed | {part} if each in self.unit}
        return changed, released

    def changed_inside(self, part: str) -> tuple[set[str], set[str]]:
        """A part changes behind its interface, if it has one."""
        readers = {each for each, named in self.names.items() if part in named}
        changed = {part} | (set() if self.hides else readers)
        return changed, {self.unit[each] for each in changed}

    def renamed(self, field: str) -> tuple[set[str], set[str]]:
        """A field of an order gets a new name."""
        changed = {"checkout", *(part for part, used in USES.items() if used == field)}
        return changed, {self.unit[part] for part in changed}

    def stopped(self, part: str) -> set[str]:
        """The parts that stop when this one fails: those of its unit, and those that name them."""
        down = {each for each in PARTS if self.unit[each] == self.unit[part]}
        while more := {a for a, named in self.names.items() if down & set(named)} - down:
            down |= more
        return down


ALONE = {part: part for part in PARTS}
CALLED = {"checkout": ("payment", "stock", "mail"), "stock": ("mail",)}
TANGLED = {part: tuple(each for each in PARTS if each != part) for part in PARTS}
TOGETHER = dict.fromkeys((*PARTS, "loyalty"), "shop")
SHOP = (
    Design("one program, no modules", TANGLED, TOGETHER, hides=False),
    Design("one program, modules", CALLED, TOGETHER),
    Design("services that call", CALLED, ALONE),
    Design("services on a log", dict.fromkeys(PARTS, ("log",)), ALONE),
)


def table(designs: tuple[Design, ...]) -> Table:
    """A row for each question, a column for each design."""

    def counted(found: tuple[set[str], set[str]]) -> str:
        changed, released = found
        return f"{len(changed)} changed, {len(released)} released"

    rows = [
        ("arrows between the parts", *(f"{d.arrows} arrows" for d in designs)),
        ("units to release", *(str(d.units) for d in designs)),
        ("loyalty is added: of the other parts", *(counted(d.added("loyalty")) for d in designs)),
        ("mail changes inside", *(counted(d.changed_inside("mail")) for d in designs)),
        ("total gets a new name", *(counted(d.renamed("total")) for d in designs)),
        ("mail fails: parts that stop", *(str(len(d.stopped("mail"))) for d in designs)),
    ]
    return Table("What a request costs", ("request", *(d.name for d in designs)), rows)
