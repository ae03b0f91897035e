"""The queue of things to come: nothing in it is forgotten, and what is over does not pile up."""

from __future__ import annotations

from engine.cluster.agenda import PRUNE_AT
from engine.cluster.cluster import Cluster
from engine.cluster.items import FromOutside
from engine.cluster.spec import ClusterSpec
from engine.events import Effect, Event, Expired, Flushed, Response, Send, SetTimer
from engine.wire import messages as m

MANY = 3 * PRUNE_AT + 7


class Node:
    """Carries out these effects at the start; `events` is what it is given later."""

    def __init__(self, *effects: Effect) -> None:
        self.effects = list(effects)
        self.events: list[Event] = []

    def start(self, now: int) -> list[Effect]:
        return self.effects

    def step(self, now: int, event: Event) -> list[Effect]:
        self.events.append(event)
        return []


def cluster() -> Cluster:
    return Cluster(ClusterSpec(brokers=()), {}, now=0)


def test_many_timers_all_run_out_once_and_in_order() -> None:
    node = Node(*(SetTimer(("tick", n), at=n) for n in range(MANY)))
    nodes = cluster()
    nodes.add("node", node)
    nodes.run(now=MANY, events=2 * MANY)
    assert node.events == [Expired(("tick", n)) for n in range(MANY)]


def test_a_timer_set_again_runs_out_at_its_last_time_only() -> None:
    node = Node(*(SetTimer(("tick",), at=n) for n in range(MANY)))
    nodes = cluster()
    nodes.add("node", node)
    assert nodes.step() == "node"
    assert nodes.now == MANY - 1
    assert nodes.step() is None
    assert node.events == [Expired(("tick",))]


def test_every_call_has_exactly_one_answer() -> None:
    """Nobody is there: each call fails once, and its time-out tells nothing new."""
    body = m.ApiVersionsRequest()
    node = Node(*(Send(101, ("ask", n), body, timeout_us=50) for n in range(MANY)))
    nodes = cluster()
    nodes.add("node", node)
    nodes.run(now=1_000, events=4 * MANY)
    assert node.events == [Response(101, ("ask", n), None) for n in range(MANY)]


def test_answered_calls_do_not_pile_up_until_their_time_outs() -> None:
    nodes = cluster()
    node = Node()
    nodes.add("node", node)
    for n in range(10 * PRUNE_AT):
        nodes.carry_out("node", [Send(101, ("ask", n), m.ApiVersionsRequest(), 10**9)])
        nodes.run(now=n, events=10)
    assert len(node.events) == 10 * PRUNE_AT
    assert len(nodes.agenda.heap) <= 2 * PRUNE_AT


def test_a_time_out_of_an_answered_call_does_not_count_whether_pruned_or_not() -> None:
    """A replay finds its place by the count, and may prune at other moments than the run did."""
    nodes = cluster()
    node = Node(Send(101, ("ask",), m.ApiVersionsRequest(), timeout_us=50))
    nodes.add("node", node)
    assert nodes.step() == "node"
    answered = nodes.happened
    assert nodes.agenda.heap
    assert nodes.step() is None
    assert nodes.happened == answered


class Watch:
    """A timer of 1 s, put off to 5 s by whatever is heard; `rang` is when it ran out."""

    def __init__(self) -> None:
        self.rang: list[int] = []

    def start(self, now: int) -> list[Effect]:
        return [SetTimer(("watch",), at=1_000)]

    def step(self, now: int, event: Event) -> list[Effect]:
        if isinstance(event, Expired):
            self.rang.append(now)
            return []
        return [SetTimer(("watch",), at=now + 5_000)]


def paused(at: int, *heard: Event) -> tuple[Cluster, Watch]:
    nodes, watch = cluster(), Watch()
    nodes.add("watch", watch)
    nodes.pause("watch")  # type: ignore[arg-type]
    for event in heard:
        nodes.agenda.push(500, FromOutside("watch", event))  # type: ignore[arg-type]
    nodes.run(now=at, events=MANY)
    assert watch.rang == []
    return nodes, watch


def test_a_timer_that_ran_out_during_a_pause_rings_after_it() -> None:
    nodes, watch = paused(2_000)
    nodes.resume("watch")  # type: ignore[arg-type]
    nodes.run(now=9_000, events=MANY)
    assert watch.rang == [2_000]


def test_a_timer_set_again_after_a_pause_keeps_to_its_new_time() -> None:
    nodes, watch = paused(2_000, Flushed(("heard",)))
    nodes.resume("watch")  # type: ignore[arg-type]
    nodes.run(now=9_000, events=MANY)
    assert watch.rang == [7_000]


def test_a_late_timer_stays_due_through_the_next_pause() -> None:
    nodes, watch = paused(2_000)
    nodes.resume("watch")  # type: ignore[arg-type]
    nodes.pause("watch")  # type: ignore[arg-type]
    nodes.run(now=3_000, events=MANY)
    nodes.resume("watch")  # type: ignore[arg-type]
    nodes.run(now=9_000, events=MANY)
    assert watch.rang == [3_000]
