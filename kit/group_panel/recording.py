"""A simulated world, recorded for one group: a frame for every step worth looking at.

A frame is kept when the coordinator decides something about the group, when something happens to
a member or to a process, and now and then while members read, so that lag is seen to move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.cluster.snapshot import snapshot
from engine.sim.world.world import World
from kit.film import replay
from kit.film.recording import WorldRecording
from kit.film.source import Frame, Line, Snapshot
from kit.group_panel import members, view
from kit.group_panel.trace_lines import NODES
from kit.group_panel.view import Belief

EVERY_US = 700_000
"""A frame at least so often while members read."""
PROCESSES = {"killed": "killed", "paused": "frozen", "resumed": "thawed"}
TELLING = frozenset(
    ("joining", "joined", "assigned", "revoked", "lost", "fenced", "rejoin", "join failed",
     "commit failed")
)  # fmt: skip
MOVING = frozenset(("polled", "processed", "committed"))


@dataclass
class GroupRecording(WorldRecording):
    """A world of its own, and the frames of one group in it."""

    world: World
    topic: str
    group: str
    base: Snapshot | None = None
    frames: list[Frame] = field(default_factory=list)
    beliefs: dict[str, Belief] = field(default_factory=dict)
    """By name; also of members that are gone."""
    fresh: dict[tuple[str, str], None] = field(default_factory=dict)
    """(client, partition) that were assigned and have not been read yet."""

    def __post_init__(self) -> None:
        self.begin()
        self.nodes = len(self.world.cluster.nodes)
        if self.base is not None:
            self.beliefs = {name: Belief(**each) for name, each in self.base["clients"].items()}
        self.beliefs |= self._beliefs()
        self.keep(())

    def look(self) -> None:
        """Keeps what the last event has changed."""
        cluster = self.world.cluster
        known = self.traced, self.nodes
        if known == (cluster.trace_count, len(cluster.nodes)) and not self.fresh:
            return
        self.nodes = len(cluster.nodes)
        lines, moving = self._fresh_lines()
        lines += self._changed()
        late = self.now_us - self.frames[-1].time_us > EVERY_US
        if lines or (moving and late):
            self.keep(tuple(lines))

    def act(self, action: str, name: str) -> None:
        """A member's button, now."""
        members.act(self.world, action, name)
        self.look()

    def join(self, name: str, protocol: str) -> None:
        members.join(self.world, name, self.topic, self.group, protocol)
        self.look()

    # -- what is kept

    def picture(self, before: Snapshot | None) -> Snapshot:
        clients = {name: each.to_plain() for name, each in self.beliefs.items()}
        now = view.of_group(snapshot(self.world.cluster), self.group, clients, [self.topic])
        return view.remember_ends(before, now)

    def _beliefs(self) -> dict[str, Belief]:
        found = members.members(self.world, self.group)
        return {name: members.believes(self.world, each) for name, each in found.items()}

    def _changed(self) -> list[Line]:
        """Members that have come, gone, or begun to read, since the last look."""
        now = self._beliefs()
        lines = [self._line("started", name) for name in now if name not in self.beliefs]
        lines += [
            self._line("left", name)
            for name, each in now.items()
            if each.state == "left" and self.beliefs.get(name, each).state != "left"
        ]
        for name, each in self.beliefs.items():
            if name not in now and each.state not in view.GONE:
                now[name] = Belief(each.member_id, "killed", each.protocol, ours=True)
        self.beliefs |= now
        return lines + [self._line("reads", name, (place,)) for name, place in self._caught_up()]

    def _caught_up(self) -> Iterator[tuple[str, str]]:
        """Members that have nothing to read: they have reached the end of the log."""
        found = members.members(self.world, self.group)
        for name, partition in list(self.fresh):
            topic, _, index = partition.rpartition("-")
            member = found.get(name)
            state = member.subscription.assigned.get((topic, int(index))) if member else None
            if state is not None and 0 <= state.high_watermark <= state.position.offset:
                del self.fresh[name, partition]
                yield name, partition

    def _fresh_lines(self) -> tuple[list[Line], bool]:
        """Lines of the trace since the last look, and whether members have read or committed."""
        lines, moving = [], False
        for time_us, node, traced, fields in self.fresh_trace():
            if isinstance(node, int):
                ours = fields.get("group") == self.group
                if ours or (traced.kind in NODES and not traced.partition):
                    lines.append(Line(time_us, node, traced.kind, traced.partition, fields,
                                      traced.why, traced.rule))  # fmt: skip
            elif node in self.beliefs:
                moving = moving or traced.kind in MOVING
                lines += self._told(time_us, str(node), traced, fields)
        return lines, moving

    def _told(self, time_us: int, name: str, traced: Any, fields: dict[str, Any]) -> list[Line]:
        """What a member's own line means here."""
        kind, partitions = traced.kind, _split(fields.get("new") or fields.get("partitions"))
        match kind:
            case "processed" if (name, traced.partition) in self.fresh:
                del self.fresh[name, traced.partition]
                kind, partitions = "reads", (traced.partition,)
            case "assigned":
                self.fresh |= {(name, each): None for each in partitions}
            case "revoked" | "lost":
                self.fresh = {each: None for each in self.fresh
                              if each[0] != name or each[1] not in partitions}  # fmt: skip
            case _ if kind in PROCESSES:
                kind = PROCESSES[kind]
            case _ if kind not in TELLING:
                return []
        more = {"client": name, "partitions": partitions}
        return [Line(time_us, -1, kind, "", {**fields, **more}, traced.why, traced.rule)]

    def _line(self, kind: str, name: str, partitions: tuple[str, ...] = ()) -> Line:
        return Line(self.now_us, -1, kind, "", {"client": name, "partitions": partitions})


def _split(named: str | None) -> tuple[str, ...]:
    """`orders-0 orders-1`, as the consumer's trace names partitions; `none` is none."""
    return tuple(each for each in (named or "").split() if each != "none")


def record(world: World, topic: str, group: str) -> GroupRecording:
    """Records a group from just before its first member joins to the world's present moment."""
    past = replay.from_the_beginning(world)
    if world.timeline is not None:
        past.goto(event=max(0, members.first_joins(world, group) - 1))
    recording = GroupRecording(past, topic, group)
    replay.run_to_event(recording, world.events)
    return recording


def branch(
    recording: GroupRecording,
    frame: Frame,
    *,
    protocol: str = "",
    actions: Sequence[tuple[str, str]] = (),
    keep: bool = True,
) -> GroupRecording:
    """Records another future from a frame on.

    `protocol` is what members that come later join with; `actions` happen at that moment, such as
    ("kill", "A") or ("add", "range").  With `keep`, what was done later is done again.
    """
    old = recording.world
    world = replay.without_future(old, frame.event)
    new = GroupRecording(world, recording.topic, recording.group, frame.snapshot)
    for action, what in actions:
        perform(new, action, what)
    tape = [done for done in old.tape if done.event > frame.event] if keep else []
    if protocol:
        tape = members.with_protocol(tape, recording.group, protocol)
    replay.follow(new, replay.possible(new, tape))
    replay.run(new, recording.now_us)
    return new


def perform(recording: GroupRecording, action: str, what: str) -> None:
    """A button: `add` with a protocol, or a member's own with its name."""
    if action == "add":
        recording.join(free_name(recording), what)
    else:
        recording.act(action, what)


def free_name(recording: GroupRecording) -> str:
    """The first letter that no node has had."""
    taken = {*map(str, recording.world.cluster.states), *recording.beliefs}
    return next(name for name in map(members.letters, range(1000)) if name not in taken)
