"""Faults as data: the kind of fault, the nodes it hits, and its amounts.

A fault is a word, the nodes it concerns and a few numbers.  It reads and writes itself the
way a trace script does (engine/sim/scripts/scripts.py):

    kill 101            slow 101 102 ms=200            lose_power 103 torn=1

Because it is data and not a call, it can be kept on a tape, replayed at the same moment,
taken out to see whether the others still break something, and pasted from one place into
another.  So it holds nothing that its text could not say, and no amount that would stop
virtual time.  engine/cluster carries them out: processes.py for processes, link_faults.py for
links, machine_faults.py for power, clocks and disks, voters.py for who votes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.cluster import link_faults, machine_faults, voters
from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.plain import Plain
from engine.wire import messages
from engine.zookeeper.messages import HISTORIC_APIS

Value = int | str
MOST = 1_000_000_000_000
"""Milliseconds: 32 years, so that a clock may jump back and still show a time after 1970."""
STANDSTILL_PPM = 1_000_000
NUMBER, NAME = re.compile("-?[0-9]+"), re.compile("[A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Option:
    """An option's default value, which has the option's type, and for a number its bounds."""

    usual: Value
    least: int = 0
    most: int = MOST

    def objection(self, value: Value) -> str:
        """What is wrong with a value; empty if nothing is."""
        if isinstance(self.usual, str):
            is_name = isinstance(value, str) and NAME.fullmatch(value)
            return "" if is_name else "a name of letters, digits, dots, _ and -"
        fits = type(value) is int and self.least <= value <= self.most
        return "" if fits else f"a whole number from {self.least} to {self.most}"


@dataclass(frozen=True)
class Kind:
    """What a fault does, how many nodes it names, and its options."""

    does: Callable[..., None]
    nodes: tuple[int, int]
    says: str
    options: Mapping[str, Option] = field(default_factory=dict)


NEXT: Mapping[str, Option] = {"count": Option(1, least=1), "api": Option("")}
"""How many messages, and of which API (such as Fetch) only; answers count as their request's."""

KINDS: Mapping[str, Kind] = {
    "kill": Kind(Cluster.kill, (1, 1), "the process is gone; its files stay"),
    "start": Kind(Cluster.start, (1, 1), "the process starts on the files it had"),
    "stop": Kind(Cluster.stop, (1, 1), "a clean stop: leaderships move away first"),
    "pause": Kind(Cluster.pause, (1, 1), "the process is paused, as by SIGSTOP"),
    "resume": Kind(Cluster.resume, (1, 1), "the process continues where it was paused"),
    "lose_power": Kind(
        machine_faults.lose_power,
        (1, 1),
        "the process dies, and what was not flushed is lost",
        {"torn": Option(0, most=1)},
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
        link_faults.slow,
        (2, 2),
        "every message between the two is delayed by so much",
        {"ms": Option(200)},
    ),
    "delay": Kind(
        link_faults.delay,
        (2, 2),
        "the next messages are delayed by so much, and later ones wait behind them",
        {"ms": Option(200), **NEXT},
    ),
    "drop": Kind(
        link_faults.drop, (2, 2), "the next messages are lost, each with its connection", NEXT
    ),
    "duplicate": Kind(link_faults.duplicate, (2, 2), "the next requests arrive twice", NEXT),
    "strand": Kind(
        link_faults.strand,
        (2, 2),
        "the connection breaks under the next requests, and they arrive so much later",
        {"ms": Option(1_000), **NEXT},
    ),
    "reorder": Kind(
        link_faults.reorder,
        (2, 2),
        "the next messages are overtaken by later ones",
        {"ms": Option(50), **NEXT},
    ),
    "heal": Kind(link_faults.heal, (0, 2), "heals one link, all links of a node, or all"),
    "jump_clock": Kind(
        machine_faults.jump_clock,
        (1, 1),
        "the clock jumps ahead, or back",
        {"ms": Option(0, least=-MOST)},
    ),
    "skew_clock": Kind(
        machine_faults.skew_clock,
        (1, 1),
        "the clock gains so many µs a second, or loses them",
        {"ppm": Option(0, 1 - STANDSTILL_PPM, STANDSTILL_PPM)},
    ),
    "set_clock": Kind(machine_faults.set_clock, (1, 1), "the clock shows the true time again"),
    "flip_bit": Kind(
        machine_faults.flip_bit,
        (1, 1),
        "one bit of a batch on the disk is flipped; offset -1 is the last batch",
        {"topic": Option(""), "partition": Option(0), "offset": Option(-1, least=-1)},
    ),
    "fill_disk": Kind(machine_faults.fill_disk, (1, 1), "no room is left on the disk"),
    "free_disk": Kind(machine_faults.free_disk, (1, 1), "there is room on the disk again"),
    "replace_disk": Kind(
        machine_faults.replace_disk,
        (1, 1),
        "the disk dies with the process on it; an empty one takes its place",
    ),
    "add_voter": Kind(voters.add_voter, (1, 1), "an operator makes a controller a voter"),
    "remove_voter": Kind(voters.remove_voter, (1, 1), "an operator takes one from the voters"),
}
BETWEEN_NODES = (
    "delay",
    "drop",
    "duplicate",
    "strand",
    "reorder",
    "cut",
    "cut_one_way",
    "slow",
    "heal",
)
"""These faults also hit a client's messages."""
OF_PROCESSES = ("kill", "pause", "resume")
"""These also hit a client's process; all others are for brokers and the controller."""


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
            number = str(least) if least == most else f"{least} to {most}"
            raise ValueError(f"{self.kind} names {number} nodes, not {len(self.nodes)}: {self}")
        for node in self.nodes:
            if isinstance(node, str) and NUMBER.fullmatch(node):
                remedy = f"name a broker as a number: {node}"
                raise ValueError(f"{node!r} cannot be written as a node's name; {remedy}.")
            if isinstance(node, str) and re.search(r"[\s=#]|^$", node):
                raise ValueError(f"{node!r} cannot be written as a node's name; take one word.")
        for name, value in self.options:
            if name not in kind.options:
                known = ", ".join(kind.options) or "no options"
                raise ValueError(f"{self.kind} has no option {name!r}; it takes {known}.")
            wanted = kind.options[name].objection(value)
            if wanted:
                raise ValueError(f"{self.kind}: {name} is {wanted}, not {value!r}.")
        api = self.amounts.get("api", "")
        if api and api not in HISTORIC_APIS and not hasattr(messages, f"{api}Request"):
            raise ValueError(f"there is no API {api!r}; write it as Kafka does, such as Fetch.")

    def __str__(self) -> str:
        options = (f"{name}={value}" for name, value in self.options)
        return " ".join((self.kind, *map(str, self.nodes), *options))

    @property
    def amounts(self) -> Plain:
        """Every option with its value."""
        usual = {name: option.usual for name, option in KINDS[self.kind].options.items()}
        return {**usual, **dict(self.options)}

    def happen(self, cluster: Cluster) -> None:
        KINDS[self.kind].does(cluster, *self.nodes, **self.amounts)


def fault(kind: str, *nodes: NodeId, **options: Value) -> Fault:
    """`fault("slow", 101, 102, ms=200)`; options that have their default value are left out."""
    known = KINDS[kind].options if kind in KINDS else {}
    given = {name: int(v) if isinstance(v, bool) else v for name, v in options.items()}
    kept = ((n, v) for n, v in given.items() if n not in known or known[n].usual != v)
    return Fault(kind, nodes, tuple(kept))


def parse(text: str) -> Fault:
    """Reads what `str(fault)` wrote; ValueError if it cannot."""
    kind, *words = text.split() or [""]
    nodes = tuple(_number_or_text(word) for word in words if "=" not in word)
    options = (word.split("=", 1) for word in words if "=" in word)
    return Fault(kind, nodes, tuple((name, _value(kind, name, v)) for name, v in options))


def _value(kind: str, name: str, word: str) -> Value:
    option = KINDS[kind].options.get(name) if kind in KINDS else None
    is_text = option is not None and isinstance(option.usual, str)
    return word if is_text else _number_or_text(word)


def _number_or_text(word: str) -> Value:
    return int(word) if NUMBER.fullmatch(word) else word
