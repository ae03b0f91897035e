"""Trace scripts: a fault scenario as text, and below it what every replica did.

    # What the scenario shows, in a sentence or two.
    cluster brokers=3 rule=kip-101
    create orders replicas=101,102,103 min.insync.replicas=2
    produce orders A B
    quiet
    kill 101
    until leader orders 102
    ----
    produce orders A: offset 0
    …
    orders-0 on 101
      leader 101 in epoch 0
      …

Commands, one per line; an option is name=value, and unknown names are configs:

    cluster [brokers=N] [rule=NAME] [CONFIG=VALUE …]      first, if at all
    create TOPIC replicas=101,102[/102,103 …] [CONFIG=VALUE …]
    config TOPIC CONFIG=VALUE …
    produce TOPIC VALUE … [acks=all|1] [to=BROKER] [timeout_ms=N] [producer=ID] [sequence=N]
    read TOPIC | latest TOPIC [on=BROKER]                 what a consumer gets
    delete-records TOPIC OFFSET | delete-topic TOPIC | elect preferred|unclean TOPIC
    kill | start | stop | pause | resume | isolate BROKER;  cut A B;  heal [A [B]]
    lose_power BROKER [torn=1] | write_back BROKER
    until leader TOPIC BROKER | until isr TOPIC BROKER,… | until fenced BROKER
    until still BROKER                                    paused, and none of its fetches in flight
    quiet                                                 until the cluster is at rest

A script names no times, so the same one runs in virtual time and, free-running, over real sockets.
Where one thing must be over before the next begins, it says `quiet` or `until`.  All commands mean
partition 0 of their topic.  Scripts that do say when (`at 3.1 kill 101`) are another kind:
engine/sim/campaign/timed_scripts.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.cluster.cluster import Cluster
from engine.replication.truncation import DEFAULT_RULE
from engine.sim.scripts.forms import Command
from engine.sim.scripts.player import PATIENCE_S, Player, ScriptError, Stage
from engine.sim.scripts.story import as_text, stories
from engine.sim.world.faults import Fault
from engine.sim.world.world import World
from engine.wire.framing import Answer
from engine.wire.structures import RequestMessage

DIVIDER = "----"
SETTINGS = {
    "replica.lag.time.max.ms": 2_000,
    "broker.session.timeout.ms": 2_000,
    "broker.heartbeat.interval.ms": 200,
    "auto.leader.rebalance.enable": False,
    "auto.create.topics.enable": False,
    # A checkpoint in mid-script would make a restart depend on the clock.
    "replica.high.watermark.checkpoint.interval.ms": 3_600_000,
    "log.flush.offset.checkpoint.interval.ms": 3_600_000,
    "log.flush.start.offset.checkpoint.interval.ms": 3_600_000,
}
"""Small enough for real time; all other settings are the world's own."""


PLAIN = Command(1, "cluster")


@dataclass(frozen=True)
class Script:
    """`head` is the text above the divider as it was, `expected` what is below it."""

    head: str
    brokers: int
    rule: str
    settings: dict[str, Any]
    commands: tuple[Command, ...]
    expected: str
    seed: int = 0
    mutant: str = ""
    cluster: Command = PLAIN
    """The `cluster` line, with the settings of the whole script."""

    def with_outcome(self, outcome: str) -> str:
        """The script's text with this outcome below the divider."""
        return f"{self.head.rstrip()}\n{DIVIDER}\n{outcome.rstrip()}\n"


def parse(text: str) -> Script:
    """Reads a script; ScriptError names the line that is wrong."""
    head, _, expected = text.partition(f"\n{DIVIDER}\n")
    commands: list[Command] = []
    for number, line in enumerate(head.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if words:
            plain = tuple(word for word in words[1:] if "=" not in word)
            options = dict(word.split("=", 1) for word in words[1:] if "=" in word)
            commands.append(Command(number, words[0], plain, options))
    cluster = PLAIN
    if commands and commands[0].verb == "cluster":
        cluster = commands.pop(0)
    options = dict(cluster.options)
    rule, mutant = options.pop("rule", DEFAULT_RULE), options.pop("mutant", "")
    try:
        brokers, seed = int(options.pop("brokers", 3)), int(options.pop("seed", 0))
    except ValueError as error:
        raise ScriptError(f"line {cluster.line}, cluster: {error}") from error
    settings = {**SETTINGS, **options}
    return Script(head, brokers, rule, settings, tuple(commands), expected.strip(), seed, mutant,
                  cluster)  # fmt: skip


class SimulatedStage:
    """A script in virtual time; with invariants on, unless it shows a rule that breaks them."""

    def __init__(self, script: Script, seed: int = 0) -> None:
        checked = script.rule == DEFAULT_RULE
        self.world = World(seed, script.brokers, script.settings, rule=script.rule, checked=checked)

    @property
    def cluster(self) -> Cluster:
        return self.world.cluster

    async def ask(self, broker: int, body: RequestMessage[Answer]) -> Answer | None:
        return self.world.ask(body, broker)

    async def wait(self, condition: Callable[[], bool]) -> bool:
        return self.world.run(until=lambda _: condition(), for_s=PATIENCE_S)

    async def fault(self, fault: Fault) -> None:
        self.world.apply(fault)


def play_simulated(script: Script, seed: int = 0) -> str:
    """The outcome of a script in virtual time."""
    return asyncio.run(play(script, SimulatedStage(script, seed)))


async def play(script: Script, stage: Stage) -> str:
    """Carries out every command; gives the answers and the story of every replica."""
    player = Player(stage)
    await player.settle()
    for command in script.commands:
        try:
            await player.carry_out(command)
        except (IndexError, KeyError, ValueError) as error:
            raise ScriptError(f"line {command.line}, {command.verb}: {error}") from error
    return "\n".join([*player.answers, as_text(stories(stage.cluster.trace))])
