"""What a scenario is given: one vocabulary for a simulated world and for real processes.

    def controller_dies(side):
        former = side.active()
        side.kill(former)
        side.wait(lambda: side.active() not in (former, -1), "another controller")
        side.note("created", side.create_topic("after"))

A writer is at work from beginning to end: a record every tenth of a second to `orders`, acks=all.
Its leader is not the active controller, which in ZooKeeper's design is a broker, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kit.both.outcomes import Measured, Plain, measured, plain
from kit.clusters.interface import ClusterError, WaitTimeout
from kit.columns.stage import NONE, TOPIC, Election, Stage

LOST = "nothing acknowledged is lost"
NOT_READ = "it cannot be read now"
SETTLE_S = 1.0
"""The writer goes on so long after the scenario's end."""
STANDARD = (
    "active before", "active after", "epoch before", "epoch after", "time to elect",
    "records acknowledged", "longest pause of the writer", "errors", LOST,
)  # fmt: skip
"""Rows of every column; a scenario's own have other names."""


class Side:
    """One column while its scenario runs.  Errors are sentences, as ClusterError and WaitTimeout.

    `design` is `KRaft` or `ZooKeeper`.  `controllers` are nodes that can be active, with ZooKeeper
    the brokers; `metadata_nodes` keep the metadata: the controllers, or the ensemble's members.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.design, self.brokers = stage.design, stage.brokers
        self.controllers, self.metadata_nodes = stage.controllers, stage.metadata_nodes
        self._notes: dict[str, Plain | Measured] = {}
        self._before: Election | None = None
        self._first_fault: float | None = None

    # -- looking

    def active(self) -> int:
        """The active controller's id; -1 while there is none."""
        return self._stage.elections[-1].active

    def epoch(self) -> int:
        """That of the active controller, or of the last one that there was."""
        return next((e.epoch for e in reversed(self._stage.elections) if e.active >= 0), -1)

    def believes(self, node: int) -> bool:
        """Whether a node takes itself for the active controller; a paused one does nothing."""
        return self._stage.believes(self._known(node))

    def leader(self, topic: str) -> int:
        """The leader of partition 0; -1 if there is none."""
        return self._stage.partition(topic).leader

    def leader_epoch(self, topic: str) -> int:
        return self._stage.partition(topic).epoch

    def isr(self, topic: str) -> list[int]:
        return list(self._stage.partition(topic).isr)

    def acknowledged(self) -> int:
        """How many records of the writer so far."""
        return self._stage.acknowledged()

    def in_service(self, broker: int) -> bool:
        """Whether the cluster counts a broker in: not fenced, or with a session of ZooKeeper's."""
        return self._stage.in_service(self._known(broker))

    # -- faults

    def kill(self, node: int) -> None:
        self._break("kill", node)

    def stop(self, node: int) -> None:
        """Shuts a node down in order and waits until it has ended."""
        self._break("stop", node)

    def start(self, node: int) -> None:
        """Starts a node that is down; waits for a broker until it is in service."""
        self._break("start", node)

    def pause(self, node: int) -> None:
        """Freezes a process, as a long garbage collection does."""
        self._break("pause", node)

    def resume(self, node: int) -> None:
        self._break("resume", node)

    def isolate(self, node: int) -> None:
        """Cuts a node off from all others; clients still reach it."""
        self._break("isolate", node)

    def cut(self, a: int, b: int) -> None:
        self._break("cut", a, b)

    def heal(self) -> None:
        """Heals every link."""
        self._break("heal")

    def _break(self, fault: str, *nodes: int) -> None:
        for node in nodes:
            self._known(node)
        if self._first_fault is None:
            self._first_fault, self._before = self._stage.now(), self._stage.elections[-1]
        self._stage.do(fault, *nodes)

    def _known(self, node: int) -> int:
        there = sorted({*self.metadata_nodes, *self.brokers})
        if node not in there:
            raise ClusterError(f"There is no node {node}: there are {', '.join(map(str, there))}.")
        return node

    # -- time, requests and notes

    def run(self, seconds: float) -> None:
        """Lets time pass."""
        self._stage.advance(None, seconds)

    def wait(self, condition: Callable[[], object], what: str, for_s: float = 40.0) -> float:
        """Seconds until the condition held, virtual or real; WaitTimeout if it did not."""
        begin = self._stage.now()
        if not self._stage.advance(condition, for_s):
            raise WaitTimeout(f"Gave up after waiting {for_s:g} s for {what}.")
        return self._stage.now() - begin

    def create_topic(self, name: str, partitions: int = 1, replicas: int = 1,
                     assignment: Mapping[int, list[int]] | None = None) -> str:  # fmt: skip
        """What a client is answered: `NONE`, an error's name, or `no answer` within 3 s."""
        return self._stage.create(name, partitions, replicas, assignment)

    def note(self, row: str, value: Any) -> None:
        """A row of the scenario's own: plain data, or `lab.measured(seconds, "s")`."""
        if row in STANDARD:
            raise ValueError(f"Every outcome has a row {row!r}: give yours another name.")
        self._notes[row] = plain(value, row)

    # -- beginning and end, which are not the scenario's

    def begin(self) -> None:
        """Makes the writer's topic and starts the writer."""
        self.wait(lambda: self.active() >= 0, "a controller")
        last = self.active() if self.active() in self.brokers else self.brokers[-1]
        replicas = [*(each for each in self.brokers if each != last), last]
        if (error := self.create_topic(TOPIC, assignment={0: replicas})) != NONE:
            raise ClusterError(f"Topic {TOPIC} could not be made: {error}.")
        self.wait(lambda: self.isr(TOPIC) == self.brokers, f"{TOPIC} to be in sync")
        self._stage.start_writer()

    def rows(self) -> dict[str, Plain | Measured]:
        """Ends the writer, reads everything back, and gives all rows."""
        last, epoch = self._stage.elections[-1], self.epoch()
        before = self._before or last
        took = self._next_election(before)
        self.run(SETTLE_S)
        written = self._stage.written()
        return {
            "active before": before.active,
            "active after": last.active,
            "epoch before": before.epoch,
            "epoch after": epoch,
            "time to elect": measured(float("nan") if took is None else took, "s"),
            "records acknowledged": measured(len(written.acknowledged), "records"),
            "longest pause of the writer": measured(written.longest_pause_s, "s"),
            "errors": written.errors,
            LOST: self._all_there(set(written.acknowledged)),
            **self._notes,
        }

    def _next_election(self, before: Election) -> float | None:
        """Seconds from the first fault until a controller is elected; None if none was."""
        if self._first_fault is None:
            return None
        for each in self._stage.elections:
            is_new = (each.active, each.epoch) != (before.active, before.epoch)
            if each.at >= self._first_fault and each.active >= 0 and is_new:
                return each.at - self._first_fault
        return None

    def _all_there(self, acknowledged: set[str]) -> bool | str:
        try:
            return acknowledged <= set(self._stage.read())
        except ClusterError:
            return NOT_READ
