"""Plays one fault tape for five producers, and lets the history checker judge each.

    blind     acks=0, idempotence off
    fast      acks=1, idempotence off, five requests in flight
    old       acks=all, idempotence off, one request in flight
    default   the settings of Kafka's own client
    safe      the same client

The topic of *default* has min.insync.replicas=1, the other topics have 2.

The tape, with leader 101 and followers 102 and 103:

    1  A B C        all is well
    2  D            the answer is lost
    3  E F          two requests are in flight when the connection ends
    4  G H          the links to both followers are cut, and after a while they leave the ISR
    5               101 dies; if no replica may lead, an operator runs an unclean election
    6  I J          all is well again

The same steps run in virtual time and, over sockets, on the engine and on a real Kafka,
with the same producer; each stage decides how to inject a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

from engine.client.producer import Producer
from engine.sim.history import Findings, History, Poll, Reached, Read, Seek, Send, check
from kit.tables import Table

QUICK = {
    "linger.ms": 0,
    "retry.backoff.ms": 50,
    "retry.backoff.max.ms": 200,
    "reconnect.backoff.max.ms": 200,
    "delivery.timeout.ms": 60_000,
}
PLAIN: Mapping[str, Any] = {"enable.idempotence": False}
LEADER, FOLLOWERS = 101, (102, 103)
ALL_IN_SYNC = -1


@dataclass(frozen=True)
class Recipe:
    """A producer's settings, and the topic's minimum."""

    settings: Mapping[str, Any]
    minimum: int


RECIPES: Mapping[str, Recipe] = {
    "blind": Recipe({**PLAIN, "acks": "0"}, 2),
    "fast": Recipe({**PLAIN, "acks": "1"}, 2),
    "old": Recipe({**PLAIN, "max.in.flight.requests.per.connection": 1}, 2),
    "default": Recipe({}, 1),
    "safe": Recipe({}, 2),
}
"""By name; the topic has the same name as its producer."""


class Disturbed(RuntimeError):
    """A leader changed before the tape changed it: the machine is too busy for heartbeats."""


class Stage(Protocol):
    """Where the tape is played: a world, or a cluster behind sockets."""

    producers: dict[str, Producer]

    def create(self, name: str, recipe: Recipe) -> None: ...

    def send(self, name: str, *values: str) -> None: ...

    def until(self, holds: Callable[[], bool], what: str) -> None: ...

    def lose_answer(self, name: str) -> None: ...

    def lose_connection(self, name: str, requests: int) -> None: ...

    def cut(self, a: int, b: int) -> None: ...

    def heal(self) -> None: ...

    def kill(self, broker: int) -> None: ...

    def isr(self, topic: str) -> list[int]: ...

    def ends(self, topic: str) -> list[int]: ...

    def leader(self, topic: str) -> int: ...

    def elect_unclean(self, topic: str) -> None: ...

    def log(self, topic: str) -> list[str]: ...


@dataclass(frozen=True)
class Judged:
    """One producer's result: its records, the log, and the checker's verdict.

    `alone` are the records that were a success for it while 101 had no follower.
    """

    verdicts: Mapping[str, int]
    alone: tuple[str, ...]
    unclean: bool
    log: tuple[str, ...]
    findings: Findings
    history: History

    def named(self, kind: str) -> str:
        """The values of an anomaly."""
        return " ".join(each.value for each in self.findings.of(kind)) or "–"

    @property
    def harm(self) -> str:
        """Every anomaly with its values, in one line."""
        found = [f"{kind} {self.named(kind)}" for kind in KINDS if self.findings.of(kind)]
        return ", ".join(found) or "none"


def play(stage: Stage, recipes: Mapping[str, Recipe] = RECIPES) -> dict[str, Judged]:
    """Plays the tape for every recipe at once: one cluster, one fault, one producer each."""

    def all_answered() -> bool:
        return all(producer.idle for producer in stage.producers.values())

    for name, recipe in recipes.items():
        stage.create(name, recipe)
    for name in recipes:
        stage.send(name, "A", "B", "C")
    stage.until(all_answered, "A, B and C to be answered")
    for name in recipes:
        stage.lose_answer(name)
        stage.send(name, "D")
    stage.until(all_answered, "D to be answered")
    for name in recipes:
        in_flight = stage.producers[name].settings.max_in_flight_requests_per_connection
        stage.lose_connection(name, min(2, in_flight))
        stage.send(name, "E", "F")
    stage.until(all_answered, "E and F to be answered")
    # With acks=1 the leader alone has answered; its followers copy the records later.
    stage.until(lambda: all(len(set(stage.ends(name))) == 1 for name in recipes), "the copies")
    for follower in FOLLOWERS:
        stage.cut(LEADER, follower)
    for name in recipes:
        stage.send(name, "G", "H")
    stage.until(lambda: all(stage.isr(name) == [LEADER] for name in recipes), "the ISR to shrink")
    answering = [
        producer
        for name, producer in stage.producers.items()
        if producer.settings.acks_code != ALL_IN_SYNC or recipes[name].minimum == 1
    ]
    stage.until(lambda: all(each.idle for each in answering), "the leader to answer alone")
    if any(stage.leader(name) != LEADER for name in recipes):
        raise Disturbed(
            "101 lost its leadership too early; try again when the machine is less busy."
        )
    alone = {name: _acknowledged(stage.producers[name], "G", "H") for name in recipes}
    stage.kill(LEADER)
    stage.until(lambda: all(stage.leader(name) != LEADER for name in recipes), "101 to be gone")
    unclean = {name for name in recipes if stage.leader(name) == -1}
    for name in sorted(unclean):
        stage.elect_unclean(name)
    stage.until(lambda: all(stage.leader(name) in FOLLOWERS for name in recipes), "a new leader")
    stage.heal()
    for value in "IJ":
        for name in recipes:
            stage.send(name, value)
        stage.until(all_answered, "everything to be answered")
    return {name: _judged(stage, name, alone[name], name in unclean) for name in recipes}


def _acknowledged(producer: Producer, *values: str) -> tuple[str, ...]:
    sends = (each for each in producer.sends if each.verdict == "acknowledged")
    return tuple(each.text for each in sends if each.text in values)


def _judged(stage: Stage, name: str, alone: tuple[str, ...], unclean: bool) -> Judged:
    producer, log = stage.producers[name], stage.log(name)
    history = history_of(producer, name, log)
    return Judged(producer.verdicts.count(), alone, unclean, tuple(log), check(history), history)


def history_of(producer: Producer, topic: str, log: list[str]) -> History:
    """What the producer sent and heard, and one reader that read all of partition 0."""
    began_us = min((each.made_us for each in producer.sends), default=0)
    sends = [
        Send(each.made_us - began_us, producer.name, topic, each.partition, each.text,
             each.verdict if each.verdict != "pending" else "unknown", each.offset,
             each.done_us - began_us)
        for each in producer.sends
    ]  # fmt: skip
    end_us = max((max(each.at_us, each.ended_us) for each in sends), default=0) + 1
    reads = tuple(Read(topic, 0, offset, value) for offset, value in enumerate(log))
    reader = "reader"
    return History((
        *sends, Seek(end_us, reader, topic, 0, 0), Poll(end_us + 1, reader, reads),
        Reached(end_us + 2, reader, topic, 0, len(log)),
    ))  # fmt: skip


KINDS = ("lost", "duplicate", "reordered")
COSTS = ("records/s", "p99, ms")
Cost = tuple[float, float]
"""Records a second, and the 99th percentile of a record's time to its callback in ms."""


def table(judged: Mapping[str, Judged], costs: Mapping[str, Cost]) -> Table:
    """One row per producer; `costs` come from a run without a fault."""
    rows = [
        [name, _counted(each), " ".join(each.log), *(each.named(kind) for kind in KINDS),
         *_spoken(*costs[name])]
        for name, each in judged.items()
    ]  # fmt: skip
    return Table(
        "One fault tape, judged by the history checker",
        ("settings", "what the producer heard", "what the log holds", *KINDS, *COSTS),
        rows,
    )


def _spoken(rate: float, p99_ms: float) -> tuple[str, str]:
    return f"{rate:.0f}" if isfinite(rate) else "no wait", f"{p99_ms:.1f}"


def observed(judged: Mapping[str, Judged]) -> dict[str, Any]:
    """The same for `lab.both`, without the costs."""
    seen: dict[str, Any] = {
        name: {
            "heard": f"{_counted(each)}, {' '.join(each.alone) or 'none'} with 101 alone",
            "log": " ".join(each.log),
            "harm": each.harm,
        }
        for name, each in judged.items()
    }
    return seen | {"unclean elections": [name for name, each in judged.items() if each.unclean]}


def _counted(judged: Judged) -> str:
    return ", ".join(f"{number} {verdict}" for verdict, number in judged.verdicts.items())
