"""A simulated world, recorded for its transactions: a frame for every step worth looking at.

A frame is kept when the coordinator decides something, when a leader appends to a partition in view
or moves its high watermark, when a transactional producer asks for something, and when a process
dies or starts.  Each frame has the leaders' logs as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.cluster.snapshot import snapshot
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.replication.partition import Partition
from engine.sim.world.world import World
from kit.film import replay
from kit.film.recording import WorldRecording
from kit.film.source import Frame, Line, Snapshot
from kit.transaction_panel import logs, producers, trace_lines
from kit.transaction_panel.view import GONE, LeadersLog, Word, of_transactions

LONGER_US = 4_000_000
"""How long a branch goes on after what was done at its beginning."""
PROCESSES = {"killed": "killed", "paused": "frozen", "resumed": "thawed"}


@dataclass
class TransactionRecording(WorldRecording):
    """A world of its own, and its transactions frame by frame; `topics` are the users' in view."""

    world: World
    topics: tuple[str, ...]
    base: Snapshot | None = None
    frames: list[Frame] = field(default_factory=list)
    words: dict[str, Word] = field(default_factory=dict)
    """By name; also of producers that are gone."""
    known: dict[tuple[str, int, int], tuple[Any, Any]] = field(default_factory=dict)
    """By partition and leader: the log's ends when it was read, and what was in it."""

    def __post_init__(self) -> None:
        self.begin()
        self.nodes = len(self.world.cluster.nodes)
        if self.base is not None:
            self.words = {name: Word(**each) for name, each in self.base["clients"].items()}
        self.words |= producers.words(self.world)
        self.keep(())

    def look(self) -> None:
        """Keeps what the last event has changed."""
        cluster = self.world.cluster
        if (self.traced, self.nodes) == (cluster.trace_count, len(cluster.nodes)):
            return
        self.nodes = len(cluster.nodes)
        now = producers.words(self.world)
        lines = [self._line("started", name) for name in now if name not in self.words]
        for name, word in self.words.items():
            if name not in now and word.process not in GONE:
                now[name] = replace(word, process="killed", call="", error="")
        self.words |= now
        lines += self._fresh_lines()
        if lines:
            self.keep(tuple(lines))

    # -- what is kept

    def picture(self, before: Snapshot | None) -> Snapshot:
        return of_transactions(
            snapshot(self.world.cluster), list(self._logs()), self._records(), self.words, before
        )

    def _shown(self) -> Iterator[Partition]:
        """The leaders' replicas of the partitions in view."""
        for broker in self.world.cluster.spec.brokers:
            node = self.world.cluster.nodes.get(broker)
            for (topic, _), found in sorted(node.replicas.partitions.items()) if node else ():
                if found.is_leader and topic in (*self.topics, OFFSETS_TOPIC, TRANSACTIONS_TOPIC):
                    yield found

    def _logs(self) -> Iterator[LeadersLog]:
        for replica in self._shown():
            if replica.topic == TRANSACTIONS_TOPIC:
                continue
            batches = self._read(replica, logs.read, replica.topic)
            internal = replica.topic == OFFSETS_TOPIC
            if internal and not any(each["is_transactional"] for each in batches):
                continue
            log = replica.log
            yield LeadersLog(
                replica.topic, replica.index, replica.node_id, log.log_start_offset,
                log.log_end_offset, replica.high_watermark, batches, replica.last_stable_offset,
            )  # fmt: skip

    def _records(self) -> list[Mapping[str, Any]]:
        found = []
        for replica in self._shown():
            if replica.topic == TRANSACTIONS_TOPIC:
                for each in self._read(replica, logs.state_records, replica.index):
                    is_replicated = each["offset"] < replica.high_watermark
                    found.append({**each, "is_replicated": is_replicated})
        return sorted(found, key=lambda each: (each["time_ms"], each["partition"], each["offset"]))

    def _read(self, replica: Partition, read: Any, what: Any) -> Any:
        """What `read` finds in a log; again only if the log is not as it was."""
        log = replica.log
        key = (replica.topic, replica.index, replica.node_id)
        ends = (log.log_start_offset, log.log_end_offset, log.latest_epoch)
        known = self.known.get(key)
        if known is None or known[0] != ends:
            known = ends, read(log, what, ends[0], ends[1])
            self.known[key] = known
        return known[1]

    # -- the trace

    def _fresh_lines(self) -> list[Line]:
        shown = {
            each.name
            for each in self._shown()
            if each.topic != OFFSETS_TOPIC or self._is_transactional(each)
        }
        lines = []
        for time_us, node, traced, fields in self.fresh_trace():
            number = node if isinstance(node, int) else -1
            if number < 0:
                fields["client"] = str(node)
            kind = PROCESSES.get(traced.kind, traced.kind) if number < 0 else traced.kind
            line = Line(time_us, number, kind, traced.partition, fields, traced.why, traced.rule)
            is_ours = number < 0 and str(node) in self.words
            if (number >= 0 or is_ours) and trace_lines.concerns(line, shown, is_ours):
                lines.append(line)
        return lines

    def _is_transactional(self, replica: Partition) -> bool:
        batches = self._read(replica, logs.read, replica.topic)
        return any(each["is_transactional"] for each in batches)

    def _line(self, kind: str, name: str) -> Line:
        return Line(self.now_us, -1, kind, "", {"client": name})


def record(world: World, topics: Sequence[str]) -> TransactionRecording:
    """Records a world from just before its first transactional producer to the present moment."""
    past = replay.from_the_beginning(world)
    if world.timeline is not None:
        past.goto(event=max(0, producers.first_added(world) - 1))
    recording = TransactionRecording(past, tuple(topics))
    replay.run_to_event(recording, world.events)
    return recording


def branch(
    recording: TransactionRecording,
    frame: Frame,
    actions: Sequence[Sequence[Any]] = (),
    keep: bool = True,
) -> TransactionRecording:
    """Records another future from a frame on, in which `actions` happen now (`perform`).

    With `keep`, what was done later is done again where it still makes sense.
    """
    old = recording.world
    world = replay.without_future(old, frame.event)
    new = TransactionRecording(world, recording.topics, frame.snapshot)
    for action in actions:
        perform(new, *action)
    tape = [done for done in old.tape if done.event > frame.event] if keep else []
    replay.follow(new, replay.possible(new, tape))
    longer = frame.time_us + LONGER_US if actions else 0
    replay.run(new, max(recording.now_us, longer))
    return new


def perform(recording: TransactionRecording, action: str, *what: Any) -> None:
    """A button: `start` a producer with an id, or what one does (begin, send, commit, kill …)."""
    world = recording.world
    match action:
        case "start":
            producers.start(world, *what)
        case "send":
            producers.send(world, *what)
        case "offsets":
            producers.send_offsets(world, *what)
        case "kill" | "start broker" if isinstance(what[0], int):
            world.kill(what[0]) if action == "kill" else world.start(what[0])
        case _:
            producers.act(world, action, *what)
    recording.look()
