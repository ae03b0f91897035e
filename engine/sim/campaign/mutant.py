"""One rule of the engine, broken: functions replaced for as long as a mutant is in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

Original = Callable[..., Any]
"""The unbroken function."""


@dataclass(frozen=True)
class Patch:
    """`owner.attribute` (a function, method or property) becomes `broken`."""

    owner: object
    attribute: str
    broken: Original

    @contextmanager
    def in_force(self) -> Iterator[None]:
        original = vars(self.owner)[self.attribute]
        is_property = isinstance(original, property)
        call = original.fget if is_property else original

        def broken(*arguments: object, **options: object) -> object:
            return self.broken(call, *arguments, **options)

        setattr(self.owner, self.attribute, property(broken) if is_property else broken)
        try:
            yield
        finally:
            setattr(self.owner, self.attribute, original)


IN_FORCE: list[str] = []
"""The names of the mutants in force now."""


@dataclass(frozen=True)
class Mutant:
    """A rule, how it is broken, and how a campaign finds out."""

    name: str
    breaks: str
    patches: tuple[Patch, ...]
    caught_by: str | tuple[str, ...]
    in_groups: bool = False
    """It takes a schedule with consumer groups to catch it."""
    in_transactions: bool = False
    """It takes one with transactional producers."""
    controllers: int = 1
    voters: int = 0
    """It takes one with so many controllers, so many of which vote at first (0: all, for good)."""

    @property
    def kind(self) -> tuple[bool, bool, int, int, int]:
        """Of the schedules that can catch it: the arguments of `draw` behind `light`."""
        return self.in_groups, self.in_transactions, self.controllers, 0, self.voters

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """The engine with this rule broken."""
        with ExitStack() as stack:
            IN_FORCE.append(self.name)
            stack.callback(IN_FORCE.remove, self.name)
            for patch in self.patches:
                stack.enter_context(patch.in_force())
            yield
