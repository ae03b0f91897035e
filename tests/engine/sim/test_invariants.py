"""Invariants accuse nobody who keeps the rules; who breaks them is in test_mutants.py."""

from __future__ import annotations

from engine.sim.world import World
from engine.wire import messages as m


def test_a_late_acknowledgement_of_a_deleted_topic_promises_nothing_of_its_successor() -> None:
    world = World(seed=5)
    world.create_topic("orders")
    producer = world.load("orders", period_us=10_000)
    world.run(for_s=1)
    leader = world.leader("orders", 0)
    world.delay(leader, producer.name, ms=2000, api="Produce")
    world.run(for_s=0.05)
    delete = m.DeleteTopicsRequest
    world.ask(delete(topics=[delete.DeleteTopicState(name="orders")], timeout_ms=5000))
    world.create_topic("orders", assignment={0: [leader]})
    world.run(for_s=3)
