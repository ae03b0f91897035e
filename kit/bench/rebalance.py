"""A rebalance of 500 members and 10,000 partitions: its longest step, in processor time.

A broker does one thing at a time.  While a step lasts, its other clients wait, and heartbeats are
late.  So no step may take a second, on a core as fast as the reference core (core.py).

    by the broker     a KIP-848 group in a simulated cluster: the members join one after the other,
                      and each believes what it is answered.  Every event is timed.
    by the leader     a classic group's assignment, which one of its members works out: half of the
                      members leave and others come.  Each assignor is timed.
"""

from __future__ import annotations

from time import process_time
from typing import Any

from engine.client.consumer.assignors.choices import ASSIGNORS, COOPERATIVE, Assignor
from engine.client.consumer.assignors.memberships import Assignment, Subscription
from engine.coordinators.offsets_topic import coordinator_of
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.bench.core import paced

GROUP = "rebalance"
TOPICS, PARTITIONS, MEMBERS = 10, 1_000, 500
STEP_S_MAX = 1.0
HEARTBEAT_S = 5


def measure(rounds: int = 3) -> list[dict[str, Any]]:
    """A row for the broker and one for each assignor; a group is too long to form twice."""
    step, core = paced(lambda: longest_step(TOPICS, PARTITIONS, MEMBERS), 1)
    rows = [_row(f"rebalance of {MEMBERS} members, longest step of a broker", step, core)]
    for name, assignor in ASSIGNORS.items():
        seconds = min(assignment_s(assignor) for _ in range(rounds))
        rows.append(_row(f"rebalance of {MEMBERS} members, {name}", seconds, core))
    return rows


def _row(name: str, seconds: float, core: float) -> dict[str, Any]:
    longest = STEP_S_MAX / core
    return {
        "name": name,
        "unit": "s",
        "ours": round(seconds, 3),
        "theirs": round(longest, 3),
        "ratio": round(seconds / longest, 3),
        "budget": f"≤ {STEP_S_MAX:g} / core {core:.2f}",
        "holds": seconds <= longest,
    }


def longest_step(topics: int, partitions: int, members: int) -> float:
    """Of a simulated cluster while a group of so many members forms and comes to rest."""
    world = World(seed=4, brokers=3, checked=False, rewindable=False)  # no checkpoint is timed
    names = [f"orders-{number}" for number in range(topics)]
    for name in names:
        world.create_topic(name, partitions=partitions, replicas=1)
    world.ask(m.FindCoordinatorRequest(coordinator_keys=[GROUP]))
    world.run(for_s=2)
    steps = _Steps(world)
    group = [_Member(f"member-{number:03}", names) for number in range(members)]
    quiet = 0
    while quiet < members or sum(each.partitions for each in group) < topics * partitions:
        steps.run_until_us(world.now_us + HEARTBEAT_S * 1_000_000)
        quiet = sum(each.beat(steps) for each in group)
    return steps.longest_s


class _Steps:
    """A world that is run event by event, each of them timed."""

    def __init__(self, world: World) -> None:
        self.world, self.longest_s = world, 0.0

    def ask(self, body: Any) -> Any:
        world = self.world
        coordinator = coordinator_of(world.image(), GROUP)
        assert coordinator is not None
        number = world.post(body, coordinator)
        while world.answer(number) is None:
            self._step()
        return world.answer(number)

    def run_until_us(self, until_us: int) -> None:
        while self.world.now_us < until_us:
            self._step()

    def _step(self) -> None:
        began = process_time()
        self.world.step()
        self.longest_s = max(self.longest_s, process_time() - began)


class _Member:
    """It owns what the coordinator says, at once."""

    def __init__(self, name: str, topics: list[str]) -> None:
        self.name, self.topics = name, topics
        self.epoch = 0
        self.owned: list[Any] = []

    @property
    def partitions(self) -> int:
        return sum(len(each.partitions) for each in self.owned)

    def beat(self, steps: _Steps) -> bool:
        """Whether the heartbeat brought nothing new."""
        request = m.ConsumerGroupHeartbeatRequest
        given = [request.TopicPartitions(each.topic_id, each.partitions) for each in self.owned]
        body = request(GROUP, self.name, self.epoch, topic_partitions=given)
        if self.epoch == 0:
            body.rebalance_timeout_ms, body.subscribed_topic_names = 300_000, self.topics
        answer = steps.ask(body)
        assert answer.error_code == Errors.NONE, Errors(answer.error_code)
        is_news = answer.member_epoch != self.epoch or answer.assignment is not None
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = answer.assignment.topic_partitions
        return not is_news


def assignment_s(assignor: Assignor) -> float:
    """Of the second assignment: half of the members have gone, and as many have come."""
    topics = {f"orders-{number}": [()] * PARTITIONS for number in range(TOPICS)}
    wanted = tuple(topics)
    first = {f"member-{number:03}": Subscription(wanted) for number in range(MEMBERS)}
    given: Assignment = assignor.assign(topics, first)
    members = {
        name: _remembers(assignor, wanted, given[name])
        for number, name in enumerate(first)
        if number % 2
    }
    members |= {f"member-{MEMBERS + number:03}": Subscription(wanted)
                for number in range(MEMBERS // 2)}  # fmt: skip
    began = process_time()
    assignor.assign(topics, members)
    return process_time() - began


def _remembers(assignor: Assignor, topics: tuple[str, ...], share: Any) -> Subscription:
    owned = tuple(share)
    held = owned if COOPERATIVE in assignor.protocols else ()
    return Subscription(topics, held, 1, user_data=assignor.user_data(owned, 1))
