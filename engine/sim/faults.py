"""Faults as data: what can go wrong, to whom, and how much of it.

A fault is a word, the nodes it concerns and a few numbers.  It reads and writes itself the
way a trace script does (engine/sim/scripts.py):

    kill 101            slow 101 102 ms=200            lose_power 103 torn=1

Because it is data and not a call, it can be kept on a tape, replayed at the same moment,
taken out to see whether the rest still breaks something, and pasted from one place into
another.  What a fault does is told where it is done: to processes in engine/processes.py, to
links in engine/link_faults.py, to power, clocks and disks in engine/machine_faults.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine import link_faults, machine_faults
from engine.cluster import Cluster
from engine.network import NodeId
from engine.wire import messages

Value = int | str


@dataclass(frozen=True)
class Kind:
    """What a fault does, how many nodes it names, its options with their usual values."""

    does: Callable[..., None]
    nodes: tuple[int, int]
    says: str
    options: Mapping[str, Value] = field(default_factory=dict)


NEXT: Mapping[str, Value] = {"count": 1, "api": ""}
"""How many messages, and of which API (such as Fetch) only; answers count as their request's."""

KINDS: Mapping[str, Kind] = {
    "kill": Kind(Cluster.kill, (1, 1), "the process is gone; its files stay"),
    "start": Kind(Cluster.start, (1, 1), "the process starts on the files it had"),
    "stop": Kind(Cluster.stop, (1, 1), "a clean stop: leaderships move away first"),
    "pause": Kind(Cluster.pause, (1, 1), "the process stands still, as under SIGSTOP"),
    "resume": Kind(Cluster.resume, (1, 1), "it goes on where it stood"),
    "lose_power": Kind(
        machine_faults.lose_power,
        (1, 1),
        "the process dies, and what was not flushed with it",
        {"torn": 0},
    ),
    "write_back": Kind(
        machine_faults.write_back,
        (1, 1),
        "the operating system writes its cached pages to the disk by itself",
    ),
    "isolate": Kind(
        link_faults.isolate, (1, 1), "cut off from every other node; clients still reach it"
    ),
    "cut": Kind(link_faults.cut, (2, 2), "nothing passes between the two"),
    "cut_one_way": Kind(
        link_faults.cut_one_way, (2, 2), "what the first sends does not reach the second"
    ),
    "slow": Kind(
        link_faults.slow, (2, 2), "everything between the two takes so much longer", {"ms": 200}
    ),
    "delay": Kind(
        link_faults.delay,
        (2, 2),
        "the next messages take so much longer, and what follows waits behind them",
        {"ms": 200, **NEXT},
    ),
    "drop": Kind(
        link_faults.drop, (2, 2), "the next messages are lost, each with its connection", NEXT
    ),
    "duplicate": Kind(link_faults.duplicate, (2, 2), "the next requests arrive twice", NEXT),
    "reorder": Kind(
        link_faults.reorder,
        (2, 2),
        "the next messages are overtaken by later ones",
        {"ms": 50, **NEXT},
    ),
    "heal": Kind(link_faults.heal, (0, 2), "mends one link, all links of a node, or all"),
    "jump_clock": Kind(
        machine_faults.jump_clock, (1, 1), "the clock jumps ahead, or back", {"ms": 0}
    ),
    "skew_clock": Kind(
        machine_faults.skew_clock,
        (1, 1),
        "the clock gains so many µs a second, or loses them",
        {"ppm": 0},
    ),
    "set_clock": Kind(machine_faults.set_clock, (1, 1), "the clock shows the true time again"),
    "flip_bit": Kind(
        machine_faults.flip_bit,
        (1, 1),
        "a bit of one batch on the disk is another; offset -1 is the last batch",
        {"topic": "", "partition": 0, "offset": -1},
    ),
    "fill_disk": Kind(machine_faults.fill_disk, (1, 1), "no room is left on the disk"),
    "free_disk": Kind(machine_faults.free_disk, (1, 1), "there is room on the disk again"),
}
BETWEEN_NODES = ("delay", "drop", "duplicate", "reorder", "cut", "cut_one_way", "slow", "heal")
"""May befall a client's messages as well; the rest is for brokers and the controller."""


@dataclass(frozen=True)
class Fault:
    """One fault; ValueError if there is no such thing.  Options left out have their default."""

    kind: str
    nodes: tuple[NodeId, ...] = ()
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
        api = self.amounts.get("api", "")
        if api and not hasattr(messages, f"{api}Request"):
            raise ValueError(f"there is no API {api!r}; write it as Kafka does, such as Fetch.")

    def __str__(self) -> str:
        options = (f"{name}={value}" for name, value in self.options)
        return " ".join((self.kind, *map(str, self.nodes), *options))

    @property
    def amounts(self) -> dict[str, Any]:
        """Every option with its value."""
        return {**KINDS[self.kind].options, **dict(self.options)}

    def happen(self, cluster: Cluster) -> None:
        KINDS[self.kind].does(cluster, *self.nodes, **self.amounts)


def fault(kind: str, *nodes: NodeId, **options: Value) -> Fault:
    """`fault("slow", 101, 102, ms=200)`; options that have their default value are left out."""
    usual = KINDS[kind].options if kind in KINDS else {}
    given = tuple((name, value) for name, value in options.items() if usual.get(name) != value)
    return Fault(kind, nodes, given)


def parse(text: str) -> Fault:
    """Reads what `str(fault)` wrote; ValueError if it cannot."""
    words = text.split()
    nodes = tuple(_value(word) for word in words[1:] if "=" not in word)
    options = (word.split("=", 1) for word in words[1:] if "=" in word)
    return Fault(words[0] if words else "", nodes, tuple((n, _value(v)) for n, v in options))


def _value(word: str) -> Value:
    return int(word) if word.lstrip("-").isdigit() else word
