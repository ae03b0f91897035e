"""A seed and a tape as a trace script, to be kept, read, and pasted elsewhere.

    cluster brokers=3 seed=17 mutant=no-fencing
    create orders partitions=1 replication=3 min.insync.replicas=2
    load orders period_us=40000 idempotent=1
    load orders period_us=40000 acks=1
    reader orders
    at 3.104512 isolate 101
    at 3.312000 kill 102
    at 21.5 calm
    ----
    violation: epochs: …

`at` is in seconds of virtual time since the world began.  `load` and `reader` start the clients
of engine/sim/clients/clients.py and consumer.py, always these two producers and one consumer; with
`whole_producer=1` the first producer is the one of engine/client.  After `reader`, a line `trim
orders` starts a client that deletes records, and `group billing protocol=eager members=3` the
members billing-1 to billing-3 of a consumer group; `at 3.1 start billing-4` starts a further one.
`tills payments count=2 protocol=1 compacted=1` starts the transactional producers till-1 and
till-2.  With `snapshots=1` in the first line, snapshots of the metadata are written often.
`calm` undoes every fault, waits until the cluster has recovered, and judges what the clients saw.
An option that is left out has its default.  What these runs do not have (a rule, a setting, another
topic) is refused with its line: a run without it would be another run.  Unlike other scripts these
are about time, so they are played in virtual time only.

`mutant` plays it on an engine with that rule broken (mutants.py, in this folder).  To go back
and forth in such a world, the rule has to stay broken for as long:

    with MUTANTS["no-fencing"].in_force():
        world = world_of(scripts.parse(text))
        world.back(3)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from engine.sim.campaign.members import EAGER, GroupSetup
from engine.sim.campaign.mutants import IN_FORCE, MUTANTS
from engine.sim.campaign.play import run
from engine.sim.campaign.schedules import TOPIC, Schedule, Setup
from engine.sim.campaign.shrink import Tape, replay
from engine.sim.campaign.tills import PAYMENTS, TillSetup
from engine.sim.scripts.forms import Command
from engine.sim.scripts.player import ScriptError
from engine.sim.scripts.scripts import Script
from engine.sim.world.faults import Fault, parse
from engine.sim.world.tape import Done
from engine.sim.world.world import World

HELD = "every invariant held"


@dataclass(frozen=True)
class Timed:
    """The content of a timed script."""

    setup: Setup
    tape: Tape
    mutant: str = ""


def write(timed: Timed, about: str, violation: str) -> str:
    """The script's text with its outcome."""
    setup = timed.setup
    calm_us = max([setup.calm_us, *(done.at_us for done in timed.tape)])
    mutant = f" mutant={timed.mutant}" if timed.mutant else ""
    several = f" controllers={setup.controllers}" if setup.controllers > 1 else ""
    several += " snapshots=1" if setup.snapshots else ""
    several += f" ensemble={setup.ensemble}" if setup.ensemble else ""
    several += f" voters={setup.voters}" if setup.voters else ""
    whole = " whole_producer=1" if setup.whole_producer else ""
    lines = [
        f"# {about}",
        f"cluster brokers={setup.brokers}{several} seed={setup.seed}{mutant}",
        f"create {TOPIC} partitions={setup.partitions} replication={_replicas(setup)} "
        f"min.insync.replicas={setup.min_in_sync}",
        f"load {TOPIC} period_us={setup.period_us} idempotent={int(setup.idempotent)}{whole}",
        f"load {TOPIC} period_us={setup.period_us} acks=1",
        f"reader {TOPIC}",
        *([f"trim {TOPIC}"] if setup.trimmed else []),
        *(
            f"group {each.name} protocol={each.protocol} members={each.members}"
            f"{' static=1' if each.static else ''}"
            for each in setup.groups
        ),
        *([_tills(setup.tills)] if setup.tills is not None else []),
        *(f"at {done.at_us / 1e6:.6f} {done.action}" for done in timed.tape),
        f"at {calm_us / 1e6:.6f} calm",
        "----",
        _outcome(violation),
    ]
    return "\n".join(lines) + "\n"


def _tills(setup: TillSetup) -> str:
    compacted = " compacted=1" if setup.compacted else ""
    return f"tills {PAYMENTS} count={setup.tills} protocol={setup.protocol}{compacted}"


def _outcome(violation: str) -> str:
    return f"violation: {violation}" if violation else HELD


def _replicas(setup: Setup) -> int:
    return min(3, setup.brokers)


@dataclass
class _Reading:
    """The script as read so far; `said` has the commands that may come only once."""

    setup: Setup
    tape: list[Done] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def take(self, command: Command) -> None:
        options = command.options
        match command.verb:
            case "cluster":
                self._expect(command, "cluster", (), "brokers", "controllers", "ensemble", "voters",
                             "snapshots", "seed", "mutant")  # fmt: skip
                self.setup = replace(
                    self.setup,
                    controllers=_number(options, "controllers", 1),
                    ensemble=_number(options, "ensemble", 1) if "ensemble" in options else 0,
                    voters=_number(options, "voters", 1) if "voters" in options else 0,
                    snapshots=_flag(options, "snapshots"),
                )
                if self.setup.brokers < 1:
                    raise ValueError("a cluster has at least one broker")
                if "mutant" in options and options["mutant"] not in MUTANTS:
                    known = ", ".join(MUTANTS)
                    raise ValueError(f"there is no mutant {options['mutant']}; there are {known}")
            case "create":
                self._expect(command, "create", (TOPIC,), "partitions", "replication",
                             "min.insync.replicas")  # fmt: skip
                if _number(options, "replication", _replicas(self.setup)) != _replicas(self.setup):
                    raise ValueError(f"here replication is {_replicas(self.setup)}")
                partitions = _number(options, "partitions", 1)
                least = _number(options, "min.insync.replicas", 1)
                self.setup = replace(self.setup, partitions=partitions, min_in_sync=least)
            case "load" if "acks" in options:
                self._expect(command, "load with acks", (TOPIC,), "period_us", "acks")
                if options["acks"] != "1":
                    raise ValueError("acks is 1, or left out for all")
                period_us = self.setup.period_us
                if "load" not in self.said or _number(options, "period_us", period_us) != period_us:
                    raise ValueError("it comes second, and its period_us is that of the first")
            case "load":
                self._expect(command, "load", (TOPIC,), "period_us", "idempotent", "whole_producer")
                self.setup = replace(
                    self.setup,
                    period_us=_number(options, "period_us", self.setup.period_us),
                    idempotent=_flag(options, "idempotent"),
                    whole_producer=_flag(options, "whole_producer"),
                )
            case "reader":
                self._expect(command, "reader", (TOPIC,))
            case "trim":
                self._expect(command, "trim", (TOPIC,))
                self.setup = replace(self.setup, trimmed=True)
            case "group":
                self._group(command)
            case "tills":
                self._expect(command, "tills", (PAYMENTS,), "count", "protocol", "compacted")
                count, protocol = _number(options, "count", 2), _number(options, "protocol", 2)
                tills = TillSetup(count, protocol, _flag(options, "compacted"))
                self.setup = replace(self.setup, tills=tills)
            case "at":
                self._at(command)
            case _:
                raise ValueError("it has no place in a script with times")

    def _group(self, command: Command) -> None:
        options, name = command.options, command.words[0] if command.words else ""
        self._expect(command, f"group {name}", (name,), "protocol", "members", "static")
        protocol, members = options.get("protocol", EAGER), _number(options, "members", 2)
        group = GroupSetup(name, protocol, members, _flag(options, "static"))
        self.setup = replace(self.setup, groups=(*self.setup.groups, group))

    def _expect(self, command: Command, what: str, words: tuple[str, ...], *names: str) -> None:
        """Refuses other words and options, and a repetition."""
        if what in self.said:
            raise ValueError(f"{what} is there already")
        self.said.append(what)
        if command.words != words:
            raise ValueError(f"it is about {' '.join(words) or 'nothing'} here, and nothing else")
        for name in command.options:
            if name not in names:
                known = ", ".join(names) or "no options"
                raise ValueError(f"{name} has no place in a script with times; it takes {known}")

    def _at(self, command: Command) -> None:
        if len(command.words) < 2:
            raise ValueError("say when and what, such as at 3.1 kill 101")
        seconds, *words = command.words
        at_us = round(float(seconds) * 1e6)
        if at_us < max([0, *(done.at_us for done in self.tape)]):
            raise ValueError("times go on from 0, and never back")
        if "calm" in self.said:
            raise ValueError("calm is the end")
        if words == ["calm"]:
            self._expect(command, "calm", command.words)
            self.setup = replace(self.setup, calm_us=at_us)
            return
        verb, *rest = words
        shifted = Command(command.line, verb, tuple(rest), command.options)
        self.tape.append(Done(0, at_us, parse(shifted.text)))


def _number(options: Mapping[str, str], name: str, usual: int) -> int:
    number = int(options.get(name, usual))
    if number < 1:
        raise ValueError(f"{name} is at least 1")
    return number


def _flag(options: Mapping[str, str], name: str) -> bool:
    flag = options.get(name, "0")
    if flag not in ("0", "1"):
        raise ValueError(f"{name} is 0 or 1, not {flag}")
    return flag == "1"


def read(script: Script) -> Timed:
    """Reads what `write` wrote; ScriptError names a line that is wrong or has no place here."""
    reading = _Reading(Setup(script.seed, script.brokers, min_in_sync=1))
    for command in (script.cluster, *script.commands):
        try:
            reading.take(command)
        except (OverflowError, ValueError) as error:
            raise ScriptError(f"line {command.line}, {command.verb}: {error}") from error
    return Timed(reading.setup, tuple(reading.tape), script.mutant)


def play(script: Script) -> str:
    """The outcome of a timed script, in a sentence."""
    timed = read(script)
    return _outcome(replay(timed.setup, timed.tape, timed.mutant).violation)


def world_of(script: Script) -> World:
    """The world at the end of a timed script, or where an invariant broke; it can go back.

    ValueError if its mutant is not in force, for then it would be another world.
    """
    timed = read(script)
    if timed.mutant and timed.mutant not in IN_FORCE:
        raise ValueError(
            "This world has a rule broken, also when it goes back and forth; make it and keep it "
            f'below a line  with MUTANTS["{timed.mutant}"].in_force():  '
            "(engine/sim/campaign/mutants.py)."
        )
    assert all(isinstance(done.action, Fault) for done in timed.tape)
    return run(Schedule(timed.setup, torn=False, plans=()), timed.tape, rewindable=True)[0]
