"""A simulated world, recorded: a frame for every step worth looking at.

A world handles some hundred events per second of virtual time, and most of them are
heartbeats and idle fetches.  A frame is kept when the trace says that something happened to
the topic, to a process or to a link, and when a client gets the answer to its write.
Messages are kept too, each with the times at which it leaves and arrives, so that a picture
can show where they are at any moment of virtual time.

The recorder works on a copy: the learner's own world stays where it is.  `record` rewinds
that copy to the beginning and runs everything again.  `branch` takes it to one frame and
changes something there (the truncation rule, a fault).  Then it repeats the later faults
and writes at the same virtual times as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.cluster.calls import Sent
from engine.cluster.items import Arriving
from engine.cluster.snapshot import last_batches, snapshot
from engine.sim.world.faults import Fault
from engine.sim.world.world import World
from kit.film import replay
from kit.film.flights import Departures, Flight
from kit.film.recording import WorldRecording
from kit.film.source import Frame, Line, Snapshot, remember_logs
from kit.panel import flights
from kit.panel.step_story import is_decided
from kit.probes.messages import Message

TAIL = 12
REPLICA_KINDS = frozenset(
    ("append", "truncate", "high_watermark", "leader_epoch", "leader", "isr", "elected",
     "eligible", "diverging", "log_start", "recovered", "append-failed", "deleted",
     "cleaning", "mapped", "copied", "swapped", "cleaned", "cleaning-aborted", "cleaning-failed")
)  # fmt: skip
CLUSTER_KINDS = frozenset(
    ("started", "stopping", "stopped", "killed", "paused", "resumed", "power-lost", "defect",
     "cut", "healed", "slow", "delay", "drop", "duplicate", "strand", "reorder", "clock",
     "bit-flipped", "disk-full", "disk-freed", "disk-failed", "disk-replaced", "written-back",
     "fenced", "unfenced", "add-voter", "remove-voter",
     "topic-created", "topic-deleted")
)  # fmt: skip
QUORUM_KINDS = frozenset(("controller", "resigned", "follower"))
"""Worth a frame where there are several controllers."""
ACTIVE = "active"
"""A line for what no line of the trace tells: a controller's first record is committed."""
HEARD = frozenset(("produced", "refused", "diverging", "ended"))
"""Messages whose arrival is a step, though no line of the trace tells of it."""


@dataclass
class Recording(WorldRecording):
    """A world of its own, the frames of one topic in it, and the messages between them."""

    world: World
    topic: str
    base: Snapshot | None = None
    frames: list[Frame] = field(default_factory=list)
    questions: dict[int, list[Message]] = field(default_factory=dict)
    awaited: list[Flight] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.departures = Departures(self.world, self._read)
        self.begin()
        self.quiet_lines: list[Line] = []
        self.has_quorum = len(self.world.cluster.spec.controllers) > 1
        self.common_kinds = CLUSTER_KINDS | QUORUM_KINDS if self.has_quorum else CLUSTER_KINDS
        self.active = self.world.cluster.controller
        self.read: dict[tuple[int, int], tuple[Any, list[dict[str, Any]]]] = {}
        self.keep(())

    @property
    def flights(self) -> list[Flight]:
        return self.departures.flights

    @property
    def rule(self) -> str:
        return self.world.cluster.spec.rule

    def prepend(self, past: Recording, until: Frame) -> None:
        """Puts another recording's frames and messages, up to a frame, before its own."""
        super().prepend(past, until)
        self.departures.prepend(past.flights, until.time_us)

    def look(self) -> None:
        """Keeps what the last event has changed."""
        left = self.departures.note()
        self.awaited += [flight for flight in left if flight.message.kind in HEARD]
        lines = (*self._heard(), *self._fresh_lines(), *self._activated())
        if any(line.kind != "isr" or is_decided(line) for line in lines):
            lines, self.quiet_lines = (*self.quiet_lines, *lines), []
            self.keep(lines)
        else:
            self.quiet_lines += lines

    # -- what is kept

    def picture(self, before: Snapshot | None) -> Snapshot:
        whole = snapshot(self.world.cluster)
        topics = {name: each for name, each in whole["topics"].items() if name == self.topic}
        for topic in topics.values():
            for index, partition in topic["partitions"].items():
                for broker, log in partition["logs"].items():
                    if "log_end_offset" in log:
                        log["batches"] = self._batches(broker, index, log)
        now: Snapshot = {
            **{name: part for name, part in whole.items() if name != "groups"},
            "topics": topics,
        }
        return remember_logs(before, now) if before is not None else now

    def _batches(self, broker: int, index: int, log: dict[str, Any]) -> list[dict[str, Any]]:
        """A log's newest records; read again only when the log has changed."""
        state = (log["log_start_offset"], log["log_end_offset"], str(log["epochs"]))
        known = self.read.get((broker, index))
        if known is None or known[0] != state:
            replica = self.world.cluster.nodes[broker].replicas.partitions[self.topic, index]
            known = self.read[broker, index] = (state, last_batches(replica.log, TAIL))
        return known[1]

    def _fresh_lines(self) -> Iterator[Line]:
        for time_us, node, line, fields in self.fresh_trace():
            ours = line.partition.rpartition("-")[0] == self.topic and line.kind in REPLICA_KINDS
            common = not line.partition and line.kind in self.common_kinds
            common = common and fields.get("topic", self.topic) == self.topic
            if common:
                self.read.clear()  # a fault may change a log and not its length
            if isinstance(node, int) and (ours or common):
                yield Line(time_us, node, line.kind, line.partition, fields, line.why, line.rule)

    def _activated(self) -> Iterator[Line]:
        """Of several controllers, another one is active."""
        active = self.world.cluster.controller
        if self.has_quorum and active is not None and active is not self.active:
            fields = {"epoch": active.replica.state.epoch}
            rule = "control.controller.Controller.leads"
            yield Line(self.now_us, active.node_id, ACTIVE, "", fields, "", rule)
        self.active = active

    def _read(self, sent: Sent) -> list[Message]:
        """What a message says about the topic; among controllers, nothing."""
        cluster, call, message = self.world.cluster, sent.call, sent.message
        if call.sender in cluster.spec.controllers:
            return []
        if isinstance(message, Arriving):
            read = list(
                flights.asked(cluster, call.sender, call.destination, message.body, self.topic)
            )
            self.questions[message.number] = read
            return read
        question = self.questions.pop(message.number, [])
        return list(flights.answered(cluster, message.body, self.topic, question))

    def _heard(self) -> Iterator[Line]:
        """Answers that have arrived by now, as lines like those of the trace."""
        for flight in [each for each in self.awaited if each.arrives_us <= self.now_us]:
            self.awaited.remove(flight)
            message = flight.message
            if not isinstance(flight.source, int) or message.kind in ("diverging", "ended"):
                continue  # what a follower does about an epoch's end is in the trace
            answer = {"values": message.values, "offset": message.offset, "acks": message.acks,
                      "says": message.brief, "to": flight.destination}  # fmt: skip
            kind = "acknowledged" if message.kind == "produced" else "refused"
            name = f"{self.topic}-{message.partition}"
            why = f"acks={message.acks}" if message.acks else ""
            if kind == "acknowledged" or message.values:
                yield Line(flight.arrives_us, flight.source, kind, name, answer, why,
                           "api.produce.produce.handle")  # fmt: skip


def record(world: World, topic: str) -> Recording:
    """Records a topic from the world's beginning to its present moment."""
    recording = Recording(replay.from_the_beginning(world), topic)
    replay.run_to_event(recording, world.events)
    return recording


def branch(
    recording: Recording,
    frame: Frame,
    *,
    rule: str = "",
    faults: Sequence[Fault] = (),
    keep: bool = True,
) -> Recording:
    """Records another future from a frame on: with another rule, or with faults at that moment.

    With `keep`, later faults and writes are repeated at the same virtual times; without it
    there are none.  The new recording is at least as long as the one it branches from.
    """
    old = recording.world
    world = replay.without_future(old, frame.event)
    if rule and rule != world.cluster.spec.rule:
        world.use_rule(rule)
    new = Recording(world, recording.topic, frame.snapshot)
    for fault in faults:
        replay.apply(new, fault)
    if keep:
        replay.follow(new, [done for done in old.tape if done.event > frame.event])
    replay.settle(new, recording.now_us)
    return new
