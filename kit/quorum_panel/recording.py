"""A simulated world, recorded for its controllers: a frame for every step worth looking at.

A frame is kept when a controller changes its role, its vote or its log, when the high watermark
moves, and when a process or a link breaks or is mended.  Idle fetches give no frame, but they are
kept as messages.  The trace beside the picture has every line that a controller writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.cluster.calls import Sent
from engine.cluster.items import Arriving
from engine.cluster.snapshot import controllers
from engine.control.controller import Controller
from engine.sim.world.faults import Fault
from engine.sim.world.world import World
from kit.film import replay
from kit.film.flights import Departures, Flight
from kit.film.recording import WorldRecording
from kit.film.source import Frame, Line, Snapshot
from kit.panel.recording import CLUSTER_KINDS
from kit.probes.messages import Message
from kit.probes.metadata_words import MetadataWords
from kit.quorum_panel import flights, logs
from kit.quorum_panel.flights import HEARD, STEPS
from kit.quorum_panel.view import of_quorum

WORTH_A_FRAME = CLUSTER_KINDS | {HEARD}
TAIL = 64
"""Of each log the last so many offsets are read."""


@dataclass
class QuorumRecording(WorldRecording):
    """A world of its own, its controllers frame by frame, and the messages between them."""

    world: World
    base: Snapshot | None = None
    frames: list[Frame] = field(default_factory=list)
    known: dict[int, tuple[Any, list[logs.Stored]]] = field(default_factory=dict)
    """By controller: how far its log reached when it was read, and what was in it."""

    def __post_init__(self) -> None:
        self.departures = Departures(self.world, self._read)
        self.begin()
        self.lines: list[Line] = []  # that belong to the next frame
        self.awaited: list[Flight] = []
        self.words = {each: MetadataWords() for each in self.world.cluster.spec.controllers}
        self.state = self._state()
        self.keep(())

    @property
    def flights(self) -> list[Flight]:
        return self.departures.flights

    def prepend(self, past: QuorumRecording, until: Frame) -> None:
        """Puts another recording's frames and messages, up to a frame, before its own."""
        super().prepend(past, until)
        self.departures.prepend(past.flights, until.time_us)

    def look(self) -> None:
        """Keeps what the last event has changed."""
        self.awaited += [each for each in self.departures.note() if each.message.kind in STEPS]
        fresh = [*self._heard(), *self._fresh_lines()]
        self.lines += fresh
        state = self._state()
        if state != self.state or any(line.kind in WORTH_A_FRAME for line in fresh):
            lines, self.lines, self.state = tuple(self.lines), [], state
            self.keep(lines)

    # -- what is kept

    def picture(self, before: Snapshot | None) -> Snapshot:
        cluster = self.world.cluster
        whole = {
            "time_us": cluster.now,
            "controllers": controllers(cluster),
            "links": cluster.network.describe(),
        }
        held = {name: self._batches(name, node) for name, node in self._nodes()}
        return of_quorum(whole, held, before)

    def _nodes(self) -> Iterator[tuple[int, Controller]]:
        nodes = self.world.cluster.nodes
        return (
            (each, nodes[each]) for each in self.world.cluster.spec.controllers if each in nodes
        )

    def _state(self) -> list[Any]:
        """What makes a frame when it changes."""
        found: list[Any] = []
        for name, node in self._nodes():
            voter = node.replica.state
            granted = len(voter.ballot.granted) if voter.ballot is not None else 0
            found.append((name, voter.role, voter.saved, granted, node.is_active,
                          node.log.end_offset, node.log.high_watermark))  # fmt: skip
        return found

    def _batches(self, name: int, node: Controller) -> list[logs.Stored]:
        """A log's newest batches; read again only when the log has changed."""
        log = node.log.log
        extent = (log.log_start_offset, log.log_end_offset, str(log.epochs.entries))
        known = self.known.get(name)
        if known is None or known[0] != extent:
            words = self.words[name]
            words.names |= {each: topic for topic, each in node.image.topic_ids.items()}
            start = max(log.log_start_offset, log.log_end_offset - TAIL)
            known = extent, logs.read(log, start, log.log_end_offset, words)
            self.known[name] = known
        return known[1]

    # -- the trace, and the messages

    def _fresh_lines(self) -> Iterator[Line]:
        for time_us, node, line, fields in self.fresh_trace():
            ours = node in self.words
            if isinstance(node, int) and (
                ours or (not line.partition and line.kind in CLUSTER_KINDS)
            ):
                yield Line(time_us, node, line.kind, line.partition, fields, line.why, line.rule)

    def _heard(self) -> Iterator[Line]:
        """Messages that have arrived by now, as lines like those of the trace."""
        for each in [each for each in self.awaited if each.arrives_us <= self.now_us]:
            self.awaited.remove(each)
            message, node = each.message, each.destination
            rule = "_vote" if message.kind == "prevote" else "_learn"
            fields = {"from": each.source, "what": message.kind, "says": message.brief}
            if isinstance(node, int) and node in self.world.cluster.nodes:
                yield Line(each.arrives_us, node, HEARD, "", fields, "",
                           f"quorum.replica.Replica.{rule}")  # fmt: skip

    def _read(self, sent: Sent) -> list[Message]:
        """What a message between two controllers says."""
        call, message = sent.call, sent.message
        if call.sender not in self.words or call.destination not in self.words:
            return []
        says = flights.asked if isinstance(message, Arriving) else flights.answered
        return list(says(message.body))


def record(world: World) -> QuorumRecording:
    """Records a world from its beginning to its present moment."""
    recording = QuorumRecording(replay.from_the_beginning(world))
    replay.run_to_event(recording, world.events)
    return recording


def branch(
    recording: QuorumRecording, frame: Frame, faults: Sequence[Fault] = (), keep: bool = True
) -> QuorumRecording:
    """Records another future from a frame on, with faults at that moment.

    With `keep`, later faults and actions are repeated at the same virtual times.  The new recording
    is at least as long as the one it branches from.
    """
    old = recording.world
    new = QuorumRecording(replay.without_future(old, frame.event), frame.snapshot)
    for fault in faults:
        replay.apply(new, fault)
    if keep:
        tape = [done for done in old.tape if done.event > frame.event]
        replay.follow(new, replay.possible(new, tape))
    replay.settle(new, recording.now_us)
    return new
