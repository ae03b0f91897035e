"""Takes frames of one partition of a simulated cluster, with the messages in between.

    walk = Walkthrough(world, "orders")
    walk.send("A", "B", "C")
    walk.shot("Follower 102 has the records", until=log_end(102, 3))
    walk

`shot` runs the world until a condition holds, and takes a frame.  Between two frames it hears
the partition's messages as they arrive.  It leaves out a message without news (an idle fetch
and its answer).  It also leaves out an answer that comes too late: its follower has another
leader by now and discards it.  It names links that were cut or healed.  Every word of a frame
comes from the brokers' own messages, logs and beliefs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.cluster.calls import Arrived, Sent
from engine.cluster.items import Answer, Call
from engine.cluster.network import Way
from engine.cluster.processes import KILLED
from engine.records import batch
from engine.sim.world.faults import Fault
from engine.sim.world.tape import Done
from engine.sim.world.world import World
from kit.drawings.frames import Frame, Replica, Strip
from kit.probes import messages, requests
from kit.probes.virtual import post, topic_id

Condition = Callable[[World], bool]
PATIENCE_S = 30.0
CLIENTS = {"admin": "client"}
TOPIC = "orders"


class Walkthrough:
    """Frames of partition 0 of `topic`; shows as a strip."""

    def __init__(self, world: World, topic: str = "orders", first: int = 1) -> None:
        self.world = world
        self.topic = topic
        self.first = first
        self.frames: list[Frame] = []
        self._said: list[str] = []
        self._noted: dict[tuple[str, ...], str] = {}
        self._last: dict[int, Replica] = {}
        self._cut: tuple[Way, ...] = ()

    def onwards(self) -> Walkthrough:
        """The next strip, with the same world; numbers and messages continue."""
        strip = Walkthrough(self.world, self.topic, self.first + len(self.frames))
        strip._noted, strip._last, strip._cut = dict(self._noted), dict(self._last), self._cut
        return strip

    # -- acting

    def send(self, *values: str, acks: str = "all") -> None:
        """Sends one batch to the leader and goes on; the answer is heard when it comes."""
        post(self.world, self.topic, *values, acks=acks)

    def kill(self, broker: int) -> None:
        """The broker dies; frames go on to show the log that it leaves on its disk."""
        self._replicas()
        self.world.kill(broker)

    def ask(self, body: Any, broker: int) -> Any:
        """Sends a client's request and waits for the answer; both are heard."""
        number = self.world.post(body, broker)
        answers = self.world.client("admin").answers
        self._run(lambda _: number in answers, 5)
        return answers.pop(number)

    def list_latest(self, broker: int) -> str:
        """A consumer asks where the log ends: the offset, or the error's name."""
        part = requests.first_partition(self.ask(requests.listing(self.topic), broker))
        return requests.refusal(part) or str(part.offset)

    def read(self, broker: int, offset: int) -> str:
        """A consumer's Fetch that does not wait: the error's name, or the values."""
        body = requests.fetching(topic_id(self.world, self.topic), offset)
        part = requests.first_partition(self.ask(body, broker))
        return (
            requests.refusal(part) or " ".join(requests.values(part.records, offset)) or "nothing"
        )

    def follow(self, tape: Sequence[Done]) -> None:
        """Repeats the actions of another world's tape, each at its virtual time."""
        for done in tape:
            self._run(None, (done.at_us - self.world.now_us) / 1e6)
            self.world.follow([done])

    # -- showing

    def shot(self, title: str, until: Condition | None = None, note: str = "") -> Walkthrough:
        """Runs until the condition holds, and takes a frame."""
        if until is not None and not self._run(until, PATIENCE_S):
            raise AssertionError(f"{title}: this did not happen within {PATIENCE_S:g} s.")
        self._look_at_links()
        self.frames.append(Frame(title, tuple(self._replicas()), tuple(self._said), note))
        self._said = []
        return self

    def quietly(self, until: Condition | None = None, for_s: float = PATIENCE_S) -> None:
        """Runs and forgets the messages of that time."""
        self._run(until, for_s)
        self._look_at_links()
        self._said = []

    @property
    def said(self) -> list[str]:
        """Everything that was said in the frames, in order."""
        return [line for frame in self.frames for line in frame.said]

    @property
    def strip(self) -> Strip:
        return Strip(tuple(self.frames), self.first)

    @property
    def text(self) -> str:
        return self.strip.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.strip._repr_html_()

    def _replicas(self) -> list[Replica]:
        controller = self.world.partition(self.topic, 0)
        shown = []
        for broker in sorted(controller.replicas):
            in_isr = broker in controller.isr
            if broker not in self.world.cluster.nodes:
                if broker not in self._last:
                    self._last[broker] = self._as_it_was(broker)
                last, state = self._last[broker], self.world.cluster.states[broker]
                does = "dead" if state == KILLED else state
                shown.append(
                    Replica(broker, last.log, last.high_watermark, does, False, in_isr, False)
                )
                continue
            shown.append(self._replica(broker, in_isr))
            self._last[broker] = shown[-1]
        return shown

    def _replica(self, broker: int, in_isr: bool) -> Replica:
        replica = self.world.replica(broker, self.topic, 0)
        does = f"follows {replica.leader_id}, epoch {replica.leader_epoch}"
        if replica.is_leader:
            does = f"leads epoch {replica.leader_epoch}"
        return Replica(broker, tuple(log_of(replica)), replica.high_watermark, does,
                       replica.is_leader, in_isr)  # fmt: skip

    def _as_it_was(self, broker: int) -> Replica:
        """A broker that died before the first frame: its last moment, in a copy of the world."""
        past = self.world.fork()
        ended = [done.event for done in past.tape
                 if isinstance(done.action, Fault) and done.action.nodes == (broker,)]  # fmt: skip
        past.goto(event=ended[-1] - 1)
        looking = Walkthrough(past, self.topic)
        last = looking._replica(broker, True)
        while past.step() and broker in past.cluster.nodes:
            last = looking._replica(broker, True)
        return last

    # -- listening

    def _run(self, until: Condition | None, for_s: float) -> bool:
        self._look_at_links()
        end_us = self.world.cluster.now + round(for_s * 1e6)
        while until is None or not until(self.world):
            at = self.world.next_at
            if at is None or at > end_us:
                self.world.run(for_s=max(0, end_us - self.world.cluster.now) / 1e6)
                return until is None or until(self.world)
            heard: list[Sent | Arrived] = []
            self.world.listen(heard.append)
            self.world.step()
            self.world.unlisten(heard.append)
            for what in heard:
                if isinstance(what, Arrived):
                    self._listen(what)
        return True

    def _look_at_links(self) -> None:
        """Says which links were cut or healed since the last look."""
        now = tuple(self.world.cluster.network.cut)
        for word, ways in (
            ("cut", [way for way in now if way not in self._cut]),
            ("healed", [way for way in self._cut if way not in now]),
        ):
            links = [f"{a} – {b}" if (b, a) in ways else f"{a} → {b}"
                     for a, b in ways if (b, a) not in ways or str(a) < str(b)]  # fmt: skip
            if links:
                self._said.append(f"{word}: {', '.join(links)}")
        self._cut = now

    def _listen(self, what: Arrived) -> None:
        call, body = what.call, what.message.body
        kind = "answer" if isinstance(what.message, Answer) else "request"
        ends = [CLIENTS.get(str(end), str(end)) for end in (call.sender, call.destination)]
        if ends[1] != "client" and call.destination not in self.world.cluster.nodes:
            return
        if kind == "answer" and self._discards(call):
            return
        message = messages.first(body, self.topic, topic_id(self.world, self.topic))
        words = message.line if message else ""
        ends = ends if kind == "request" else ends[::-1]
        repeated = self._noted.get((kind, *ends)) == words and "client" not in ends
        if words and not repeated:
            self._noted[(kind, *ends)] = words
            self._said.append(f"{ends[0]} → {ends[1]}  {words}")

    def _discards(self, call: Call) -> bool:
        """Whether the follower discards this answer, because it has another leader by now."""
        node = self.world.cluster.nodes.get(call.sender)
        replicas = getattr(node, "replicas", None)
        replica = replicas.partitions.get((self.topic, 0)) if replicas else None
        return replica is not None and replica.leader_id != call.destination


def log_of(replica: Any) -> list[tuple[str, int]]:
    """A replica's records as (value, epoch)."""
    log = replica.log
    found: list[tuple[str, int]] = []
    while len(found) < log.log_end_offset:
        data = log.read(len(found), 1 << 20, log.log_end_offset, True)
        for header, place in batch.iterate(data):
            found += [
                ((record.value or b"").decode(), header.partition_leader_epoch)
                for record in batch.decode(data, place)
            ]
    return found


# -- conditions


def log_ends(offset: int, *brokers: int) -> Condition:
    """The log of each of these brokers ends at this offset."""
    return lambda world: _all(world, brokers, lambda r: r.log.log_end_offset == offset)


def high_watermarks(offset: int, *brokers: int) -> Condition:
    """Each of these brokers has this high watermark."""
    return lambda world: _all(world, brokers, lambda r: r.high_watermark == offset)


def led_by(leader: int, *brokers: int) -> Condition:
    """Each of these brokers has heard that `leader` leads; without brokers, `leader` itself has."""
    return lambda world: _all(world, brokers or (leader,), lambda r: r.leader_id == leader)


def in_sync(*brokers: int) -> Condition:
    """The controller's ISR has exactly these brokers."""
    return lambda world: sorted(world.partition(TOPIC, 0).isr) == sorted(brokers)


def _all(world: World, brokers: tuple[int, ...], holds: Callable[[Any], bool]) -> bool:
    """Whether `holds` is true of partition 0 on each of these brokers; false for a broker that
    has just started and does not know the partition yet."""
    nodes = [world.cluster.nodes.get(broker) for broker in brokers]
    found = [node.replicas.partitions.get((TOPIC, 0)) if node else None for node in nodes]
    return all(replica is not None and holds(replica) for replica in found)
