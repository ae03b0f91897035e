"""The requests of one connection are handled one after the other; other connections go on."""

from __future__ import annotations

from typing import Any

import pytest

from engine.events import Effect, Event, Outbox, Response
from engine.records import batch
from engine.sim.world.world import World
from engine.wire import messages as m
from tests.engine.sim.loaded import end, reported

BETWEEN_BROKERS_MS = 5
LONG_US = 60_000_000


class Pipeline:
    """Sends Produce requests without waiting; `answers` is what came, by value, in order."""

    def __init__(self, topic_id: bytes) -> None:
        self.topic_id = topic_id
        self.outbox = Outbox()
        self.answers: dict[str, Any] = {}

    def start(self, now: int) -> list[Effect]:
        return []

    def produce(
        self, now: int, values: str, acks: int = -1, connection: str | None = "",
        patience_us: int = LONG_US,
    ) -> list[Effect]:  # fmt: skip
        request = m.ProduceRequest
        for value in values:
            record = batch.Record(0, now // 1000, None, value.encode(), ())
            part = request.PartitionProduceData(index=0, records=batch.encode([record]))
            topic = request.TopicProduceData(topic_id=self.topic_id, partition_data=[part])
            body = request(acks=acks, timeout_ms=LONG_US // 1000, topic_data=[topic])
            self.outbox.send(101, (value,), body, patience_us, connection=connection)
        return self.outbox.drain()

    def step(self, now: int, event: Event) -> list[Effect]:
        assert isinstance(event, Response)
        lost = event.body is None
        self.answers[event.token[0]] = "lost" if lost else event.body
        return []


def piped() -> World:
    """`orders-0` is led by 101; its followers are 5 ms away, its clients `one` and `two` near."""
    world = World(5)
    world.create_topic("orders", assignment={0: [101, 102, 103]})
    for follower in (102, 103):
        world.slow(101, follower, ms=BETWEEN_BROKERS_MS)
    for name in ("one", "two"):
        world.add(name, Pipeline(world.image().topic_ids["orders"]))
    world.run(for_s=1)
    return world


def log(world: World) -> str:
    """The values in the leader's log."""
    held = world.replica(101, "orders", 0).log
    data = held.read(0, 1 << 20)
    found = [batch.decode(data, position) for _, position in batch.iterate(data)]
    return " ".join((record.value or b"").decode() for records in found for record in records)


def high_watermark(world: World) -> int:
    return int(world.replica(101, "orders", 0).high_watermark)


def answers(world: World, name: str = "one") -> str:
    return " ".join(world.client(name).answers)


def parted() -> World:
    """No follower reaches the leader, so no acks=all is answered until `heal`."""
    world = piped()
    for follower in (102, 103):
        world.cut(101, follower)
    return world


def test_three_in_flight_are_appended_one_after_the_others_answer() -> None:
    world = piped()
    world.tell("one", "produce", "ABC")
    while len(world.client("one").answers) < 3:
        assert world.step()
        assert end(world, 101) - high_watermark(world) <= 1
    assert (log(world), answers(world)) == ("A B C", "A B C")


def test_the_next_is_appended_at_the_moment_of_the_answer_not_a_round_trip_later() -> None:
    world = piped()
    world.tell("one", "produce", "AB")
    world.run(until=lambda w: high_watermark(w) == 1, for_s=1)
    answered_us = world.now_us
    world.run(until=lambda w: end(w, 101) == 2, for_s=1)
    assert world.now_us == answered_us


def test_another_client_is_not_held_up() -> None:
    world = parted()
    world.tell("one", "produce", "AB")
    world.run(for_s=0.1)
    world.tell("two", "produce", "X", 1)
    world.run(for_s=0.1)
    assert (log(world), answers(world, "two")) == ("A X", "X")
    world.heal()
    world.run(for_s=1)
    assert (log(world), answers(world)) == ("A X B", "A B")


@pytest.mark.parametrize("connection", ["another", None])
def test_another_connection_of_the_same_client_is_not_held_up(connection: str | None) -> None:
    world = parted()
    world.tell("one", "produce", "AB")
    world.tell("one", "produce", "X", 1, connection)
    world.run(for_s=0.1)
    assert (log(world), answers(world)) == ("A X", "X")


def test_what_wants_no_answer_lets_the_next_pass() -> None:
    world = parted()
    world.tell("one", "produce", "AB", 0)
    world.tell("one", "produce", "CD")
    world.run(for_s=0.1)
    assert (log(world), answers(world)) == ("A B C", "A B")


def test_a_lost_connection_holds_up_nothing_and_what_came_on_it_is_handled() -> None:
    """B is in the broker's buffer: it is handled after A, though nobody waits for its answer."""
    world = parted()
    world.tell("one", "produce", "AB", -1, "", 500_000)
    world.run(for_s=1)
    assert world.client("one").answers == {"A": "lost", "B": "lost"}
    world.tell("one", "produce", "CD", 1)
    world.run(for_s=0.1)
    assert log(world) == "A C D"
    world.heal()
    world.run(for_s=1)
    assert log(world) == "A C D B"
    assert world.client("one").answers["B"] == "lost"


def test_what_waits_is_gone_with_the_process() -> None:
    world = parted()
    world.tell("one", "produce", "AB")
    world.run(for_s=0.1)
    world.kill(101)
    world.run(for_s=0.1)
    assert world.client("one").answers == {"A": "lost", "B": "lost"}
    world.start(101)
    world.heal()
    world.run(for_s=5)
    assert "B" not in log(world)


def test_a_process_that_stood_still_keeps_the_order() -> None:
    world = parted()
    world.tell("one", "produce", "AB")
    world.run(for_s=0.1)
    world.pause(101)
    world.tell("one", "produce", "CD")
    world.run(for_s=0.1)
    world.heal()
    world.run(for_s=0.1)
    assert log(world) == "A"
    world.resume(101)
    world.run(for_s=1)
    assert (log(world), answers(world)) == ("A B C D", "A B C D")


def test_a_pause_between_the_answer_and_the_next_request_loses_nothing() -> None:
    world = piped()
    world.tell("one", "produce", "ABC")
    world.run(until=lambda w: high_watermark(w) == 1, for_s=1)
    assert log(world) == "A"
    world.pause(101)
    world.run(for_s=0.1)
    world.resume(101)
    world.run(for_s=1)
    assert (log(world), answers(world)) == ("A B C", "A B C")


def test_an_acks_0_that_cannot_be_appended_takes_its_connection_along_and_no_other() -> None:
    world = parted()
    world.tell("one", "produce", "X", -1, "another")
    world.tell("one", "produce", "A")
    world.run(for_s=0.1)
    wrong = world.client("one").topic_id
    world.client("one").topic_id = bytes(16)
    world.tell("one", "produce", "B", 0, "third")
    world.tell("one", "produce", "C", 1, "third")
    world.client("one").topic_id = wrong
    world.run(for_s=0.1)
    assert world.client("one").answers == {"B": "lost", "C": "lost"}


def test_going_back_to_where_requests_wait_gives_the_same_future() -> None:
    world = parted()
    world.tell("one", "produce", "ABC")
    world.run(for_s=0.1)
    world.step()
    there = world.events
    world.heal()
    world.run(for_s=1)
    after = reported(world)
    world.back(world.events - there)
    assert (log(world), answers(world)) == ("A", "")
    other = world.fork()
    world.heal()
    world.run(for_s=1)
    assert reported(world) == after
    other.heal()
    other.run(for_s=1)
    assert (log(other), answers(other)) == ("A B C", "A B C")
