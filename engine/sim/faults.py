"""Faults as data: what can go wrong, to whom, and how much of it.

A fault is a word, the nodes it concerns and a few numbers.  It reads and writes itself the
way a trace script does (engine/sim/scripts.py):

    kill 101            slow 101 102 ms=200            lose_power 103 torn=1

Because it is data and not a call, it can be kept on a tape, replayed at the same moment,
taken out to see whether the rest still breaks something, and pasted from one place into
another.  What a fault does to processes, links and disks is the cluster's business: the
method of `Cluster` that has the fault's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Value = int | str


@dataclass(frozen=True)
class Kind:
    """How many nodes a fault names, and its options with their values if not given."""

    nodes: tuple[int, int]
    says: str
    options: Mapping[str, Value] = field(default_factory=dict)


KINDS: Mapping[str, Kind] = {
    "kill": Kind((1, 1), "the process is gone; its files stay"),
    "start": Kind((1, 1), "the process starts on the files it had"),
    "stop": Kind((1, 1), "a clean stop: leaderships move away first"),
    "pause": Kind((1, 1), "the process stands still, as under SIGSTOP"),
    "resume": Kind((1, 1), "it goes on where it stood"),
    "lose_power": Kind((1, 1), "the process dies, and what was not flushed with it", {"torn": 0}),
    "isolate": Kind((1, 1), "cut off from every other node; clients still reach it"),
    "cut": Kind((2, 2), "nothing passes between the two"),
    "slow": Kind((2, 2), "everything between the two takes so much longer", {"ms": 200}),
    "heal": Kind((0, 2), "mends one link, all links of a node, or all"),
}


@dataclass(frozen=True)
class Fault:
    """One fault; ValueError if there is no such thing.  Options left out have their default."""

    kind: str
    nodes: tuple[int, ...] = ()
    options: tuple[tuple[str, Value], ...] = ()

    def __post_init__(self) -> None:
        kind = KINDS.get(self.kind)
        if kind is None:
            raise ValueError(f"no fault {self.kind!r}; there are {', '.join(KINDS)}.")
        least, most = kind.nodes
        if not least <= len(self.nodes) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise ValueError(f"{self.kind} names {wanted} nodes, not {len(self.nodes)}: {self}")
        for name, _ in self.options:
            if name not in kind.options:
                known = ", ".join(kind.options) or "no options"
                raise ValueError(f"{self.kind} has no option {name!r}; it takes {known}.")

    def __str__(self) -> str:
        options = (f"{name}={value}" for name, value in self.options)
        return " ".join((self.kind, *map(str, self.nodes), *options))

    @property
    def amounts(self) -> dict[str, Any]:
        """Every option with its value."""
        return {**KINDS[self.kind].options, **dict(self.options)}


def fault(kind: str, *nodes: int, **options: Value) -> Fault:
    """`fault("slow", 101, 102, ms=200)`; options that have their default value are left out."""
    usual = KINDS[kind].options if kind in KINDS else {}
    given = tuple((name, value) for name, value in options.items() if usual.get(name) != value)
    return Fault(kind, nodes, given)


def parse(text: str) -> Fault:
    """Reads what `str(fault)` wrote; ValueError if it cannot."""
    words = text.split()
    nodes = tuple(int(word) for word in words[1:] if "=" not in word)
    options = (word.split("=", 1) for word in words[1:] if "=" in word)
    return Fault(words[0] if words else "", nodes, tuple((n, _value(v)) for n, v in options))


def _value(word: str) -> Value:
    return int(word) if word.lstrip("-").isdigit() else word
