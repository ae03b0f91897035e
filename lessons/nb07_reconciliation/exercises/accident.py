"""Plays a learner's script of 07-7 between a beginning and an ending, under one rule.

After each line it keeps the state that decides which broker may lead: a script usually goes
wrong some lines before the one at which it stops.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.cluster.processes import RUNNING
from engine.events import Trace
from engine.replication.truncation import DEFAULT_RULE
from engine.sim.scripts import scripts
from engine.sim.scripts.player import Player
from engine.sim.scripts.quiet import is_away
from lessons.nb07_reconciliation.exercises import notation
from lessons.nb07_reconciliation.exercises.notation import Line

OLDEST, KAFKAS = "to-high-watermark", DEFAULT_RULE
BEGINNING = "create orders replicas=101,103,102\nproduce orders A B C\nquiet"
ENDING = "heal\nquiet\nread orders"
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Standing:
    """The controller's state and the running brokers; `leader` is -1 if there is none."""

    leader: int
    isr: tuple[int, ...]
    up: tuple[int, ...]
    away: tuple[int, ...]
    """Brokers that the controller cannot reach, be they up or not."""
    cuts: frozenset[tuple[NodeId, NodeId]]
    controlled: bool
    """Whether the controller is there; if not, leader and ISR are unknown."""

    def __str__(self) -> str:
        if not self.controlled:
            return f"the controller is down, up {_list(self.up)}"
        leader = self.leader if self.leader >= 0 else "none"
        return f"leader {leader}, ISR {_list(self.isr)}, up {_list(self.up)}"


@dataclass(frozen=True)
class Step:
    """A line that was played, and its outcome."""

    line: Line
    standing: Standing
    took_s: float
    answers: tuple[str, ...]
    """A record each, in the order of the line."""
    happened: tuple[tuple[NodeId, Trace], ...]

    def told(self, kind: str) -> list[tuple[NodeId, dict[str, Any]]]:
        """The events of this kind: the node and the fields of each."""
        return [(node, dict(line.fields)) for node, line in self.happened if line.kind == kind]


@dataclass(frozen=True)
class Stop:
    """Where a script stopped.  `asked` is the broker that did not answer; 0 if all answered."""

    step: Step
    asked: int = 0
    said: str = ""


@dataclass(frozen=True)
class Outcome:
    """A script's outcome: the acknowledged records, and the records at the end."""

    rule: str
    promised: tuple[str, ...]
    """Acknowledged with acks=all."""
    left: tuple[str, ...]
    steps: tuple[Step, ...]
    stop: Stop | None = None

    @property
    def lost(self) -> list[str]:
        """Two records of one value are two."""
        return list((Counter(self.promised) - Counter(self.left)).elements())


class NoAnswer(Exception):
    """A broker did not answer a request."""

    def __init__(self, broker: int) -> None:
        super().__init__(f"{broker} gave no answer")
        self.broker = broker


class _Stage(scripts.SimulatedStage):
    async def ask(self, broker: int, body: Any) -> Any:
        answer = await super().ask(broker, body)
        if answer is None:
            raise NoAnswer(broker)
        return answer


def play(lines: Sequence[Line], rule: str) -> Outcome:
    """Plays beginning, script and ending, as far as it goes."""
    stage = _Stage(scripts.parse(f"cluster brokers=3 rule={rule}"))
    stage.world.invariants = None  # the loss that it shows breaks them
    return asyncio.run(_play(lines, rule, Player(stage)))


async def _play(lines: Sequence[Line], rule: str, player: Player) -> Outcome:
    await player.settle()
    promised: list[str] = []
    steps: list[Step] = []
    stop = None
    for line in (*notation.own(BEGINNING), *lines, *notation.own(ENDING)):
        began, traced, answered = (
            player.cluster.now,
            player.cluster.trace_count,
            len(player.answers),
        )
        asked, said = 0, ""
        try:
            await player.carry_out(line.command)
        except NoAnswer as nobody:
            asked = nobody.broker
        except (ValueError, LookupError) as error:
            said = str(error)
        answers = tuple(each.split(": ", 1)[1] for each in player.answers[answered:])
        new = player.cluster.trace_count - traced
        trace = list(player.cluster.trace)
        happened = tuple((node, what) for _, node, what in trace[len(trace) - new :])
        steps.append(
            Step(
                line,
                _standing(player.cluster),
                (player.cluster.now - began) / SECOND_US,
                answers,
                happened,
            )
        )
        if asked or said:
            stop = Stop(steps[-1], asked, said)
            break
        if line.command.verb == "produce" and line.command.options.get("acks", "all") == "all":
            values = zip(line.command.words[1:], answers, strict=True)
            promised += [value for value, answer in values if answer.startswith("offset")]
    left = () if stop else tuple(steps[-1].answers[0].split())
    return Outcome(rule, tuple(promised), left, tuple(steps), stop)


def _standing(cluster: Cluster) -> Standing:
    spec = cluster.spec
    controller = cluster.nodes.get(spec.controller)
    topic = controller.image.topic("orders") if controller else None
    return Standing(
        topic.partitions[0].leader if topic else -1,
        tuple(topic.partitions[0].isr) if topic else (),
        tuple(each for each in spec.brokers if cluster.states.get(each) == RUNNING),
        tuple(each for each in spec.brokers if is_away(cluster, each)),
        frozenset(cluster.network.cut),
        topic is not None,
    )


def _list(brokers: Sequence[int]) -> str:
    return " ".join(str(broker) for broker in brokers) or "none"
