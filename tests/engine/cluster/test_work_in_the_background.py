"""Work in the background: after what else is due, and after the answers there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.spec import ClusterSpec
from engine.events import Background, Event, Expired, Outbox, Request
from engine.storage.memory_disk import MemoryDisk


@dataclass(frozen=True, slots=True)
class Chore(Background):
    """The next part of some long work."""


class Worker:
    """Does a chore 100 µs after the last one, and answers requests in between."""

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.did: list[str] = []

    def start(self, now: int) -> list[Any]:
        self.outbox.set_timer(Chore(), now)
        return self.outbox.drain()

    def step(self, now: int, event: Event) -> list[Any]:
        if isinstance(event, Expired):
            self.did.append("chore")
            self.outbox.set_timer(Chore(), now + 100)
        elif isinstance(event, Request):
            self.did.append("request")
            self.outbox.reply(event, None)
        return self.outbox.drain()


def cluster() -> tuple[Cluster, Worker]:
    made = Cluster(ClusterSpec(brokers=()), {100: MemoryDisk()}, now=0)
    worker = Worker()
    made.add("worker", worker)
    return made, worker


def test_a_driver_that_is_late_does_one_chore_and_not_all_that_are_overdue() -> None:
    made, worker = cluster()
    made.run(1_000_000, 2_000)
    assert worker.did == ["chore"]
    assert made.next_at == 1_000_100


def test_a_request_that_came_later_is_answered_before_the_chore_that_was_due() -> None:
    made, worker = cluster()
    made.run(0, 2_000)
    made.agenda.put_off_next(50)
    made.submit("worker", Request("client", 1, 0, None), 900)  # type: ignore[arg-type]
    made.run(1_000, 2_000)
    assert worker.did == ["chore", "request"]
    assert len(made.outgoing) == 1
    made.outgoing.clear()
    made.run(1_000, 2_000)
    assert worker.did == ["chore", "request", "chore"]
