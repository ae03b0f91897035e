"""A cluster in virtual time: seeded, steppable, with faults at will.

    world = World(seed=7)
    world.create_topic("orders")
    world.load("orders")
    world.run(for_s=5)
    world.kill(world.leader("orders", 0))
    world.run(until=lambda w: w.leader("orders", 0) > 0)

The same seed and the same calls give the same trace, byte by byte, in any process: the
only source of chance is the world's own generator.  What is done from outside is on the
`tape`, each deed an event of its own, so a world can also go back:

    world.back()                       one event; back(20) twenty
    world.goto(3.2)                    3.2 s of virtual time after the beginning
    world.goto(event=1210)             world.events is the number of the present event
    other = world.fork(rule="kip-320") an independent copy, perhaps with another rule
    world.diff(other)                  where the two part, and what differs now

After going back, stepping forward replays what happened, deeds included; doing something
else there cuts the old future off.  The world, its cluster and its clients stay the same
objects while they go back and forth; a client from before whose birth is undone is nowhere
until it is born again, under the same name (`world.client(name)`).  A `run(until=…)` is only
a way to step; it leaves nothing behind.  Change a world through its methods only: what is not
on the tape is not replayed.  A deed that nobody can do is refused (admissible.py), and one
that raises has not been; an event that raises, in a client's own code, is an event all the same.

Invariants are checked after every event unless `checked=False`.  With `encoded`, messages
travel as bytes (engine/sim/world/carriage.py).  A world that shall only run, and fast, keeps no
checkpoints with `rewindable=False`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from random import Random
from typing import Any

from engine import past
from engine.cluster.cluster import Cluster
from engine.cluster.spec import ClusterSpec
from engine.replication.truncation import DEFAULT_RULE, RULES
from engine.sim.clients.clients import Admin
from engine.sim.invariants.invariants import Invariants
from engine.sim.world import admissible as deeds
from engine.sim.world import rewind
from engine.sim.world.askable import Askable
from engine.sim.world.breakable import Breakable
from engine.sim.world.carriage import EncodedCarriage
from engine.sim.world.difference import Difference, difference
from engine.sim.world.faults import Fault
from engine.sim.world.latency import SimulatedLatency
from engine.sim.world.tape import Add, Ask, Deed, Done, Tell, UseRule
from engine.sim.world.timeline import Timeline
from engine.sim.world.visible import EPOCH_US, Visible
from engine.storage.memory_disk import MemoryDisk

FIRST_BROKER = 101
SETTINGS: Mapping[str, Any] = {
    "replica.lag.time.max.ms": 2_000,
    "broker.session.timeout.ms": 1_500,
    "broker.heartbeat.interval.ms": 500,
    "auto.leader.rebalance.enable": False,
    "auto.create.topics.enable": False,
    "offsets.topic.num.partitions": 1,
}


class World(Breakable, Visible, Askable):
    """Brokers 101… and controller 100 on disks in memory."""

    def __init__(
        self,
        seed: int = 0,
        brokers: int = 3,
        settings: Mapping[str, Any] | None = None,
        racks: Mapping[int, str] | None = None,
        rule: str = DEFAULT_RULE,
        checked: bool = True,
        encoded: bool = False,
        rewindable: bool = True,
        before: Sequence[str] = (),
    ) -> None:
        if brokers < 1:
            raise ValueError(f"A cluster has at least one broker, not {brokers}; 3 is usual.")
        self.seed = seed
        self.chance = Random(f"world/{seed}")
        ids = tuple(range(FIRST_BROKER, FIRST_BROKER + brokers))
        spec = ClusterSpec(
            brokers=ids,
            settings={**SETTINGS, **(settings or {})},
            racks=racks or {},
            seed=seed,
            rule=rule,
            before=past.check(before),
        )
        disks = {node: MemoryDisk() for node in (spec.controller, *ids)}
        self.cluster = Cluster(spec, disks, EPOCH_US, SimulatedLatency(self.chance),
                               carriage=EncodedCarriage() if encoded else None)  # fmt: skip
        self.invariants = Invariants(self.cluster) if checked else None
        self.events = 0
        self.tape: list[Done] = []
        self.on_tape = 0
        self.held: dict[str, Any] = {"": self.cluster}
        self.cluster.boot()
        self._adopt("admin", Admin())
        self.timeline = Timeline() if rewindable else None
        if self.timeline is not None:
            self._note(self.timeline)
        self.run(until=lambda w: all(not w.is_fenced(b) for b in ids), for_s=30)

    # -- time

    @property
    def now_us(self) -> int:
        """Virtual time since the world began."""
        return self.cluster.now - EPOCH_US

    @property
    def last_event(self) -> int:
        """The last event that is known: more than `events` after going back."""
        return self.events if self.timeline is None else self.timeline.last_event

    def step(self, until: int | None = None) -> bool:
        """One event; False if nothing will happen, ever or by `until` on the cluster's clock.

        Something that raises is an event all the same, so that a replay comes past it.
        """
        happens = True
        try:
            if self.on_tape < len(self.tape) and self.tape[self.on_tape].event == self.events + 1:
                done = self.tape[self.on_tape]
                self.on_tape += 1
                self.cluster.catch_up(done.after)
                self.cluster.now = max(self.cluster.now, EPOCH_US + done.at_us)
                self._carry_out(done.deed)
            else:
                happens = self.cluster.step(until) is not None
            if happens and self.invariants is not None:
                self.invariants.after_event()
        finally:
            if happens:
                self._count()
        return happens

    @property
    def next_at(self) -> int | None:
        """When the next event happens, by the cluster's clock; None if none will."""
        if self.on_tape < len(self.tape) and self.tape[self.on_tape].event == self.events + 1:
            return max(self.cluster.now, EPOCH_US + self.tape[self.on_tape].at_us)
        return self.cluster.next_at

    def run(
        self,
        until: Callable[[World], bool] | None = None,
        for_s: float | None = None,
        events: int | None = None,
    ) -> bool:
        """Runs until the condition holds, or for so long in virtual time, or so many events.

        True if the condition holds at the end (or none was given).
        """
        end_us = None if for_s is None else self.cluster.now + _microseconds(for_s)
        last = None if events is None else self.events + events
        if until is None and end_us is None and last is None:
            raise ValueError("run needs until=, for_s= or events=, or it would never end.")
        while until is None or not until(self):
            at = self.next_at
            if at is None or (end_us is not None and at > end_us):
                self.cluster.now = max(self.cluster.now, end_us or 0)
                break
            if last is not None and self.events >= last:
                break
            self.step(end_us)
        return until is None or until(self)

    # -- back, forth and aside

    def back(self, events: int = 1) -> None:
        """Undoes the last events; the beginning of the world is as far as it goes."""
        self.goto(event=max(0, self.events - events))

    def goto(self, t_s: float | None = None, *, event: int | None = None) -> None:
        """To so many seconds after the beginning, or to an event's number; past or future."""
        timeline = self.timeline
        if timeline is None:
            raise ValueError("This world keeps no checkpoints: make it with rewindable=True.")
        if (t_s is None) == (event is None):
            raise ValueError("goto needs either seconds or event=, such as goto(3.2).")
        if (t_s if event is None else event) < 0:  # type: ignore[operator]
            raise ValueError("A world begins at 0; there is nothing before that to go to.")
        if t_s is None:
            assert event is not None
            rewind.go(self, timeline, event)
            return
        at_us = _microseconds(t_s)
        rewind.go(self, timeline, timeline.event_at(at_us), at_us)
        self.run(for_s=max(0, at_us - self.now_us) / 1e6)

    def fork(self, rule: str | None = None) -> World:
        """An independent copy of everything, past included; from here on with another rule."""
        copy = rewind.fork(self)
        if rule is not None:
            copy.use_rule(rule)
        return copy

    def follow(self, tape: Sequence[Done]) -> None:
        """Does what is on another world's tape from now on, each deed at its virtual time."""
        for done in tape:
            if done.at_us < self.now_us:
                continue
            if done.at_us > self.now_us:
                self.run(for_s=(done.at_us - self.now_us) / 1e6)
            self._do(done.deed)  # the second of one instant follows the first at once

    def diff(self, other: World) -> Difference:
        """The event at which two worlds part, and what differs between them now."""
        return difference(self, other)

    def _count(self) -> None:
        """One more event; the first time, where the world is then is written down."""
        self.events += 1
        if self.timeline is not None and self.events > self.timeline.last_event:
            self._note(self.timeline)

    def _note(self, timeline: Timeline) -> None:
        timeline.note(self.now_us, self.cluster.trace_count)
        if not self.events or timeline.wants_checkpoint(self.events):
            timeline.keep(self.events, rewind.save(self))

    # -- what is done from outside

    def apply(self, fault: Fault) -> None:
        """Lets a fault happen now."""
        self._do(fault)

    def add(self, name: str, node: Any) -> Any:
        """Adds a node, such as a client; from now on it is part of this world."""
        deed = Add.of(name, node)
        deeds.check(self.cluster, deed)
        self.held[name] = node
        self._do(deed)
        return node

    def tell(self, name: str, method: str, *arguments: Any) -> None:
        """Calls `method(now, *arguments)` of a client and carries out the effects it gives."""
        self._do(Tell.of(name, method, *arguments))

    def use_rule(self, rule: str) -> None:
        """Followers truncate by another rule from now on; see engine/replication/truncation.py."""
        if rule not in RULES:
            raise ValueError(f"no rule {rule!r}; there are {', '.join(RULES)}.")
        self._do(UseRule(rule))

    def _do(self, deed: Deed) -> None:
        """Does a deed and writes it down; what was known to come after this moment is cut off.

        If it raises, it has not been, and the old future stays known.  Only a world that cannot
        go back keeps it, so that its tape tells what broke it.
        """
        cluster, timeline = self.cluster, self.timeline
        deeds.check(cluster, deed)
        done = Done(self.events + 1, self.now_us, deed, cluster.happened)
        traced = cluster.trace_count
        try:
            self._carry_out(deed)
        except Exception:
            if timeline is None:
                self._write_down(done)
                self._count()
            else:
                rewind.undo(self, timeline, done, traced)
            raise
        self._write_down(done)
        try:
            if self.invariants is not None:
                self.invariants.after_event()
        finally:
            self._count()

    def _write_down(self, done: Done) -> None:
        del self.tape[self.on_tape :]
        if self.timeline is not None:
            self.timeline.cut(self.events)
        self.tape.append(done)
        self.on_tape += 1

    def _carry_out(self, deed: Deed) -> None:
        cluster = self.cluster
        match deed:
            case Fault():
                deed.happen(cluster)
            case Ask():
                _, effects = cluster.nodes["admin"].ask(deed.broker, pickle.loads(deed.body))
                cluster.carry_out("admin", effects)
            case Add():
                self._adopt(deed.name, pickle.loads(deed.node))
            case Tell():
                node = cluster.nodes[deed.name]
                arguments = pickle.loads(deed.arguments)
                effects = getattr(node, deed.method)(cluster.now, *arguments)
                cluster.carry_out(deed.name, effects or [])
            case UseRule():
                cluster.use_rule(deed.rule)

    def _adopt(self, name: str, node: Any) -> None:
        """Adds a node; if one of its kind is held under this name, it becomes what `node` is."""
        held = self.held.get(name)
        if type(held) is type(node) and hasattr(node, "__dict__"):
            vars(held).clear()
            vars(held).update(vars(node))
            node = held
        if hasattr(node, "__dict__"):
            self.held[name] = node
        self.cluster.add(name, node)


def _microseconds(seconds: float) -> int:
    if not isfinite(seconds):
        raise ValueError(f"{seconds} is no time to run or to go to; give seconds, such as 3.2.")
    return round(seconds * 1_000_000)
