"""Transactional producers in a simulated world, with buttons: begin, send, commit and others.

    start(world, "app", "transfer")                    a producer; it calls init_transactions
    act(world, "begin", "app")
    send(world, "app", "accounts", "Alice -10", partition=0)
    send_offsets(world, "app", {("transfers", 0): 1}, "transfer-app")
    act(world, "commit", "app")
    start(world, "app-2", "transfer")                  a second producer with the same id: the
                                                       first one is a zombie from now on

An `Application` makes its calls one after the other: the next one when the last has returned.  A
call that its producer refuses is noted, as an exception is that a program catches.  So a
tape with these calls can be played in another future too, in which a producer is fenced by then.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from engine.client.producer import Producer
from engine.client.transaction_requests import GroupMetadata, Offset
from engine.events import Effect, Event
from engine.sim.world.faults import fault
from engine.sim.world.tape import Add
from engine.sim.world.world import World
from engine.wire.errors import KafkaError
from kit.transaction_panel.view import Word

CALLS = {
    "begin": "begin_transaction",
    "commit": "commit_transaction",
    "abort": "abort_transaction",
}
FAULTS = {"kill": "kill", "freeze": "pause", "thaw": "resume"}
PROCESS = {"running": "running", "paused": "frozen", "killed": "killed", "stopped": "left"}
SETTINGS: Mapping[str, Any] = {
    "linger.ms": 0,
    "request.timeout.ms": 3_000,
    "delivery.timeout.ms": 30_000,
    "transaction.timeout.ms": 20_000,
}


class Application:
    """A producer and the calls that a program makes, in their order; a node of a world."""

    def __init__(self, name: str, producer: Producer) -> None:
        self.name = name
        self.producer = producer
        self.waiting: list[tuple[str, tuple[Any, ...]]] = []
        self.refused = ""

    def call(self, now: int, method: str, *arguments: Any) -> list[Effect]:
        """Makes a call of the producer as soon as the one before has returned."""
        self.waiting.append((method, arguments))
        return self._go_on(now)

    def start(self, now: int) -> list[Effect]:
        return [*self.producer.start(now), *self._go_on(now)]

    def step(self, now: int, event: Event) -> list[Effect]:
        return [*self.producer.step(now, event), *self._go_on(now)]

    def _go_on(self, now: int) -> list[Effect]:
        effects: list[Effect] = []
        while self.waiting and not self.producer.busy:
            method, arguments = self.waiting.pop(0)
            try:
                effects += getattr(self.producer, method)(now, *arguments)
                self.refused = ""
            except (RuntimeError, KafkaError) as error:
                self.refused = str(error)
                self.producer.outbox.trace("", "call refused", why=self.refused, operation=method)
                effects += self.producer.outbox.drain()
        return effects


def start(
    world: World, name: str, transactional_id: str, settings: Mapping[str, Any] | None = None
) -> Application:
    """Adds a producer that calls init_transactions at once."""
    chosen = {**SETTINGS, **(settings or {}), "transactional.id": transactional_id}
    node = Application(name, Producer(name, world.cluster.spec.brokers, chosen))
    added = world.add(name, node)
    world.tell(name, "call", "init_transactions")
    return added


def act(world: World, action: str, name: str) -> None:
    """What a producer's button does: begin, commit, abort, kill, freeze or thaw."""
    if action in FAULTS:
        world.apply(fault(FAULTS[action], name))
    else:
        world.tell(name, "call", CALLS[action])


def send(world: World, name: str, topic: str, value: str, partition: int | None = None) -> None:
    world.tell(name, "call", "send", topic, value.encode(), None, partition)


def send_offsets(
    world: World, name: str, offsets: Mapping[tuple[str, int], int], group: str
) -> None:
    """Commits a group's offsets inside the transaction."""
    wanted = {place: Offset(at) for place, at in offsets.items()}
    world.tell(name, "call", "send_offsets_to_transaction", wanted, GroupMetadata(group))


def wait(world: World, name: str, for_s: float = 30) -> bool:
    """Runs until a producer's calls have returned; False if they have not by then."""
    return world.run(until=lambda w: is_free(w, name), for_s=for_s)


def is_free(world: World, name: str) -> bool:
    node = world.cluster.nodes.get(name)
    found = producer_of(node)
    waiting = node.waiting if isinstance(node, Application) else ()
    return found is None or not (found.busy or waiting)


def producer_of(node: object) -> Producer | None:
    """The transactional producer that a node is or has."""
    found = node.producer if isinstance(node, Application) else node
    if not isinstance(found, Producer) or found.transactions is None:
        return None
    return found


def words(world: World) -> dict[str, Word]:
    """What each transactional producer of a world says of itself."""
    found = {}
    for name, node in world.cluster.nodes.items():
        producer = producer_of(node)
        if producer is None or producer.transactions is None or producer.identity is None:
            continue
        lifecycle = producer.transactions.lifecycle
        failure = lifecycle.failure
        producer_id, epoch = producer.identity.identity
        found[str(name)] = Word(
            producer.transactions.name,
            PROCESS[world.cluster.states[name]],
            lifecycle.state.value,
            producer.calls.operation,
            "" if failure is None else failure.error.name,
            producer_id,
            epoch,
            ours=isinstance(node, Application),
        )
    return found


def first_added(world: World) -> int:
    """The event at which the first transactional producer was added; the present one if none."""
    for done in world.tape[: world.on_tape]:
        if isinstance(done.action, Add) and producer_of(pickle.loads(done.action.node)):
            return done.event
    return world.events
