"""What happens inside a world: everything follows from a seed and a tape.

    seed --> chance --> latencies, ids, ...  |
    tape --> what is done from outside       |--> event 1, event 2, event 3 ...

An event is one step of the cluster or one action from the tape, and it has a number.  The same
seed and the same tape give the same events in any process.  So a run can go back: every few
hundred events a checkpoint keeps its state (timeline.py, saving.py), and going to an event takes
the nearest checkpoint before it and replays what follows, actions included.

An impossible action is refused before it begins (admissible.py).  One that raises leaves
no event behind, unless the run cannot go back: then its tape tells what broke it.  An event that
raises, in a client's own code, is an event all the same, so that a replay gets past it.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite
from random import Random
from typing import Any

from engine.cluster.cluster import Cluster
from engine.sim.invariants.invariants import Invariants
from engine.sim.world import admissible, saving
from engine.sim.world.faults import Fault
from engine.sim.world.tape import Action, Add, Ask, Done, Tell, UseRule
from engine.sim.world.timeline import Timeline

EPOCH_US = 1_767_225_600_000_000  # 2026-01-01, where every simulation begins


class Run:
    """`cluster` and what was done to it.

    `held` are the objects that users hold on to, by name ("" is the cluster): going back changes
    what is in them and keeps the objects.  `on_tape` is how much of the tape is done.
    """

    def __init__(self, cluster: Cluster, chance: Random, checked: bool) -> None:
        self.cluster = cluster
        self.chance = chance
        self.invariants = Invariants(cluster) if checked else None
        self.events = 0
        self.tape: list[Done] = []
        self.on_tape = 0
        self.held: dict[str, Any] = {"": cluster}
        self.timeline: Timeline | None = None

    def keep_checkpoints(self) -> None:
        """From now on, this moment is event 0 and the run can go back."""
        self.timeline = Timeline()
        self._note(self.timeline)

    # -- time

    @property
    def now_us(self) -> int:
        """Virtual time since the world began."""
        return self.cluster.now - EPOCH_US

    @property
    def last_event(self) -> int:
        """The last event that is known: more than `events` after going back."""
        return self.events if self.timeline is None else self.timeline.last_event

    @property
    def next_at(self) -> int | None:
        """When the next event happens, by the cluster's clock; None if none will."""
        if (done := self._next_on_tape()) is not None:
            return max(self.cluster.now, EPOCH_US + done.at_us)
        return self.cluster.next_at

    def _next_on_tape(self) -> Done | None:
        """The action that is the next event, if that is known to be one."""
        if self.on_tape < len(self.tape) and self.tape[self.on_tape].event == self.events + 1:
            return self.tape[self.on_tape]
        return None

    def step(self, until: int | None = None) -> bool:
        """One event; False if nothing will happen, ever or by `until` on the cluster's clock."""
        happens = True
        try:
            if (done := self._next_on_tape()) is not None:
                self.on_tape += 1
                self.cluster.catch_up(done.after)
                self.cluster.now = max(self.cluster.now, EPOCH_US + done.at_us)
                self._carry_out(done.action)
            else:
                happens = self.cluster.step(until) is not None
            if happens and self.invariants is not None:
                self.invariants.after_event()
        finally:
            if happens:
                self._count()
        return happens

    def run(
        self,
        until: Callable[[], bool] | None = None,
        for_s: float | None = None,
        events: int | None = None,
    ) -> bool:
        """Steps until the condition holds, for `for_s` of virtual time, or for so many events."""
        end_us = None if for_s is None else self.cluster.now + microseconds(for_s)
        last = None if events is None else self.events + events
        if until is None and end_us is None and last is None:
            raise ValueError("run needs until=, for_s= or events=, or it would never end.")
        while until is None or not until():
            at = self.next_at
            if at is None or (end_us is not None and at > end_us):
                self.cluster.now = max(self.cluster.now, end_us or 0)
                break
            if last is not None and self.events >= last:
                break
            self.step(end_us)
        return until is None or until()

    def _count(self) -> None:
        """Counts an event; the first time, also records its moment."""
        self.events += 1
        if self.timeline is not None and self.events > self.timeline.last_event:
            self._note(self.timeline)

    def _note(self, timeline: Timeline) -> None:
        timeline.note(self.now_us, self.cluster.trace_count)
        if not self.events or timeline.wants_checkpoint(self.events):
            timeline.keep(self.events, self._save())

    # -- back, forth and aside

    def goto(self, t_s: float | None = None, event: int | None = None) -> None:
        """Goes to a moment (seconds after the beginning) or an event's number, past or future."""
        timeline = self.timeline
        if timeline is None:
            raise ValueError("This world keeps no checkpoints: make it with rewindable=True.")
        if (t_s is None) == (event is None):
            raise ValueError("goto needs either seconds or event=, such as goto(3.2).")
        if (t_s if event is None else event) < 0:  # type: ignore[operator]
            raise ValueError("A world begins at 0; there is nothing before that to go to.")
        if t_s is None:
            assert event is not None
            self._go(timeline, event)
            return
        at_us = microseconds(t_s)
        self._go(timeline, timeline.event_at(at_us), at_us)
        self.run(for_s=max(0, at_us - self.now_us) / 1e6)

    def _go(self, timeline: Timeline, event: int, by_us: int = -1) -> None:
        """Restores the nearest checkpoint unless this moment is nearer, and replays what follows.

        A run that is at the event may stay if its clock has not gone past `by_us`.
        """
        known, state = timeline.before(event)
        there = event == self.events and self.now_us <= by_us
        if not there and not known <= self.events < event:
            if len(self.cluster.trace) > len(timeline.lines):
                timeline.lines = list(self.cluster.trace)
            self._restore(state)
            self.cluster.trace = deque(timeline.lines[: self.cluster.trace_count])
        while self.events < min(event, timeline.last_event):
            with suppress(Exception):  # it was raised when this happened first
                self.step()
        while self.events < event and self.step():
            pass

    def fork(self) -> Run:
        """The same run at the same moment, and independent: nothing that changes is shared."""
        copy = object.__new__(Run)
        vars(copy).update(vars(self))
        copy.tape = self.tape[: self.on_tape]
        copy.held = {"": object.__new__(Cluster)}
        copy._restore(self._save())
        copy.cluster.calls.listeners = []
        copy.cluster.trace = deque(self.cluster.trace)
        if self.timeline is not None:
            copy.timeline = self.timeline.fork()
            copy.timeline.cut(copy.events)
        return copy

    def follow(self, tape: Sequence[Done]) -> None:
        """Does what is on another run's tape from now on, each action at its virtual time."""
        for done in tape:
            if done.at_us < self.now_us:
                continue
            if done.at_us > self.now_us:
                self.run(for_s=(done.at_us - self.now_us) / 1e6)
            self.do(done.action)  # the second of one instant follows the first at once

    def _save(self) -> bytes:
        """The state that a checkpoint holds: all but the tape, the trace and the timeline."""
        parts = (self.invariants, self.chance, self.events, self.on_tape)
        nodes = self.cluster.nodes
        return saving.save(parts, {n: each for n, each in self.held.items() if not n or n in nodes})

    def _restore(self, state: bytes) -> None:
        listeners = self.cluster.calls.listeners
        parts, found = saving.load(state, self.held)
        self.invariants, self.chance, self.events, self.on_tape = parts
        self.held.update(found)
        self.cluster = found[""]
        self.cluster.calls.listeners = listeners

    # -- what is done from outside

    def hold(self, name: str, node: Any) -> None:
        """Keeps this object as the client of this name when the run goes back and forth."""
        self.held[name] = node

    def do(self, action: Action) -> None:
        """Does an action and records it; cuts off the known future."""
        cluster, timeline = self.cluster, self.timeline
        admissible.check(cluster, action)
        done = Done(self.events + 1, self.now_us, action, cluster.happened)
        traced = cluster.trace_count
        try:
            self._carry_out(action)
        except Exception:
            if timeline is None:
                self._write_down(done)
                self._count()
            else:
                self._undo(timeline, done, traced)
            raise
        self._write_down(done)
        try:
            if self.invariants is not None:
                self.invariants.after_event()
        finally:
            self._count()

    def _undo(self, timeline: Timeline, done: Done, traced: int) -> None:
        """Goes to the moment before an action that raised; the trace had `traced` lines then."""
        cluster = self.cluster
        for _ in range(cluster.trace_count - traced):
            cluster.trace.pop()
        self._go(timeline, done.event - 1)
        cluster.catch_up(done.after)
        cluster.now += done.at_us - self.now_us

    def _write_down(self, done: Done) -> None:
        del self.tape[self.on_tape :]
        if self.timeline is not None:
            self.timeline.cut(self.events)
        self.tape.append(done)
        self.on_tape += 1

    def _carry_out(self, action: Action) -> None:
        cluster = self.cluster
        match action:
            case Fault():
                action.happen(cluster)
            case Ask():
                _, effects = cluster.nodes["admin"].ask(
                    action.broker, pickle.loads(action.body), action.version_max
                )
                cluster.carry_out("admin", effects)
            case Add():
                self.adopt(action.name, pickle.loads(action.node))
            case Tell():
                node = cluster.nodes[action.name]
                arguments = pickle.loads(action.arguments)
                effects = getattr(node, action.method)(cluster.now, *arguments)
                cluster.carry_out(action.name, effects or [])
            case UseRule():
                cluster.use_rule(action.rule)

    def adopt(self, name: str, node: Any) -> None:
        """Adds a node; an object of its kind held under this name takes over its contents."""
        held = self.held.get(name)
        if type(held) is type(node) and hasattr(node, "__dict__"):
            node = saving.become(held, vars(node))
        if hasattr(node, "__dict__"):
            self.held[name] = node
        self.cluster.add(name, node)


def microseconds(seconds: float) -> int:
    if not isfinite(seconds):
        raise ValueError(f"{seconds} is no time to run or to go to; give seconds, such as 3.2.")
    return round(seconds * 1_000_000)
