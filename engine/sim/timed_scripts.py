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
of engine/sim/clients.py and consumer.py, always these two producers and one consumer; with
`whole_producer=1` the first producer is the one of engine/client.  `calm` mends everything,
waits until the cluster is whole, and judges what the clients saw.  `mutant` plays it on an
engine with that rule broken (engine/sim/mutants.py).  Unlike other scripts these are about
time, so they are played in virtual time only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.sim.faults import Fault, parse
from engine.sim.schedules import TOPIC, Schedule, Setup, run
from engine.sim.shrink import Tape, replay
from engine.sim.tape import Done
from engine.sim.world import World

if TYPE_CHECKING:
    from engine.sim.scripts import Script

VERBS = ("load", "reader", "at")
HELD = "every invariant held"


@dataclass(frozen=True)
class Timed:
    """What a timed script says."""

    setup: Setup
    tape: Tape
    mutant: str = ""


def is_timed(script: Script) -> bool:
    return any(command.verb in VERBS for command in script.commands)


def write(timed: Timed, about: str, violation: str) -> str:
    """The script's text with its outcome."""
    setup = timed.setup
    mutant = f" mutant={timed.mutant}" if timed.mutant else ""
    whole = " whole_producer=1" if setup.whole_producer else ""
    lines = [
        f"# {about}",
        f"cluster brokers={setup.brokers} seed={setup.seed}{mutant}",
        f"create {TOPIC} partitions={setup.partitions} replication={min(3, setup.brokers)} "
        f"min.insync.replicas={setup.min_in_sync}",
        f"load {TOPIC} period_us={setup.period_us} idempotent={int(setup.idempotent)}{whole}",
        f"load {TOPIC} period_us={setup.period_us} acks=1",
        f"reader {TOPIC}",
        *(f"at {done.at_us / 1e6:.6f} {done.deed}" for done in timed.tape),
        f"at {setup.calm_us / 1e6:.6f} calm",
        "----",
        _outcome(violation),
    ]
    return "\n".join(lines) + "\n"


def _outcome(violation: str) -> str:
    return f"violation: {violation}" if violation else HELD


def read(script: Script) -> Timed:
    """What `write` wrote; ValueError names the line that is wrong."""
    partitions = min_in_sync = 1
    period_us, idempotent, whole_producer, calm_us = 20_000, False, False, 0
    tape: list[Done] = []
    for command in script.commands:
        options = command.options
        try:
            match command.verb:
                case "create":
                    partitions = int(options.get("partitions", 1))
                    min_in_sync = int(options.get("min.insync.replicas", 1))
                case "load" if options.get("acks") == "1":
                    pass
                case "load":
                    period_us = int(options.get("period_us", period_us))
                    idempotent = options.get("idempotent", "0") == "1"
                    whole_producer = options.get("whole_producer", "0") == "1"
                case "at" if command.words[1:] == ("calm",):
                    calm_us = round(float(command.words[0]) * 1e6)
                case "at":
                    at_us = round(float(command.words[0]) * 1e6)
                    words = (*command.words[1:], *(f"{n}={v}" for n, v in options.items()))
                    tape.append(Done(0, at_us, parse(" ".join(words))))
                case "reader":
                    pass
                case verb:
                    raise ValueError(f"{verb} has no place in a script with times")
        except (IndexError, ValueError) as error:
            raise ValueError(f"line {command.line}, {command.verb}: {error}") from error
    load = (partitions, min_in_sync, period_us, idempotent, whole_producer, calm_us)
    return Timed(Setup(script.seed, script.brokers, *load), tuple(tape), script.mutant)


def play(script: Script) -> str:
    """The outcome of a timed script, in a sentence."""
    timed = read(script)
    return _outcome(replay(timed.setup, timed.tape, timed.mutant).violation)


def world_of(script: Script) -> World:
    """The world at the end of a timed script, or where an invariant broke; it can go back."""
    timed = read(script)
    assert all(isinstance(done.deed, Fault) for done in timed.tape)
    return run(Schedule(timed.setup, torn=False, plans=()), timed.tape, rewindable=True)[0]
