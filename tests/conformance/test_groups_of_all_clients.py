"""One suite of group lives for every client library, on the engine and on a local Kafka 4.3.1.

confluent-kafka and the Java client by both protocols, aiokafka, kafka-python: members join, share,
restart under a name, freeze and come back, migrate, and their coordinator dies in mid-rebalance.

    no partition has two owners at one time
    no committed offset is lost

Ten groups of a side live at the same time, each in its own scenario (members/scenarios.py).  A test
is one group: it says what became of it.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from confluent_kafka import Producer

from engine.wire import messages as m
from kit.clusters.connections import Connections
from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.members import scenarios
from tests.conformance.members.crew import (
    KINDS,
    PARTITIONS,
    PATIENCE_S,
    TOPIC,
    Crew,
    Stage,
    Stalled,
)
from tests.real_clusters import restored

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

RECORDS = 10
AT_ONCE = 10
CLASSIC = [kind for kind in KINDS if not kind.endswith("consumer")]
CONSUMER = [kind for kind in KINDS if kind.endswith("consumer")]
LIVES: dict[str, Callable[[Stage], None]] = {
    **{
        f"{scenario.__name__}-{kind}": lambda stage, s=scenario, k=kind: s(stage, k)
        for scenario in (scenarios.members_come_and_go, scenarios.a_member_freezes)
        for kind in KINDS
    },
    **{
        f"a_group_migrates-{kind}-{other}": (
            lambda stage, k=kind, o=other: scenarios.a_group_migrates(stage, k, o)
        )
        for kind in CLASSIC
        for other in CONSUMER
    },
}
FAILOVER = "the_coordinator_dies_in_a_rebalance"
FAILOVERS = {f"{FAILOVER}-{kind}": kind for kind in KINDS}


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    crew = Crew()
    yield crew
    crew.end()


@pytest.fixture(scope="module", params=["engine_cluster", "local_cluster"], ids=["engine", "kafka"])
def lived(request: pytest.FixtureRequest, crew: Crew) -> Iterator[dict[str, Future[None]]]:
    """What became of each group."""
    cluster: KafkaCluster = request.getfixturevalue(request.param)
    cluster.create_topic(TOPIC, partitions=PARTITIONS, replicas=3)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(PARTITIONS * RECORDS):
        producer.produce(TOPIC, str(number), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ended = {name: pool.submit(live, crew, cluster, name, request.param) for name in LIVES}
        for each in ended.values():
            each.exception()
        ended |= with_a_kill(crew, cluster, pool, list(FAILOVERS))
        if request.param == "local_cluster" and (again := failed(ended, FAILOVERS)):
            warnings.warn(f"played again: {again}", stacklevel=1)
            ended |= with_a_kill(crew, cluster, pool, list(again))
        yield ended
    cluster.delete_topic(TOPIC)


def live(crew: Crew, cluster: KafkaCluster, name: str, side: str) -> None:
    """A group's life, and a second one where its first stall is a client's own."""
    first = Stage(crew, cluster, f"{name}.{uuid.uuid4().hex[:8]}")
    try:
        LIVES[name](first)
    except Stalled as stalled:
        if not is_the_clients_own(first, name, side):
            raise
        warnings.warn(f"played again: {stalled}", stacklevel=1)
        LIVES[name](Stage(crew, cluster, f"{name}.{uuid.uuid4().hex[:8]}"))


def is_the_clients_own(stage: Stage, name: str, side: str) -> bool:
    """Whether a stalled group, whose history was right so far, may have a second attempt.

    Beside Kafka each may, and each failover that fails there is played again, too.  A librdkafka
    member of the consumer protocol sometimes does not give back what it was told to
    (confluent-kafka 2.16.1, seen once in three runs on a busy machine); the broker waits for it as
    long as max.poll.interval.ms.  A member of kafka-python (3.0.12) that joins a second time
    sometimes never asks for its assignment.  That was seen on both sides, so the engine forgives
    it, too: if the group has no member any more, the coordinator keeps nobody waiting.
    """
    stage.judge_history()
    left_alone = "kafka-python" in name and stage.shown().get("members") == []
    return side == "local_cluster" or left_alone


def failed(ended: dict[str, Future[None]], names: Iterable[str]) -> dict[str, str]:
    """What each of these failed groups ended with."""
    return {name: str(error) for name in names if (error := ended[name].exception())}


def with_a_kill(
    crew: Crew, cluster: KafkaCluster, pool: ThreadPoolExecutor, names: list[str]
) -> dict[str, Future[None]]:
    """These failovers at once: their groups have one coordinator, which is killed."""
    first, _ = located(cluster, FAILOVER)
    acts = {}
    for name in names:
        group = next(g for g in (f"{name}.{uuid.uuid4().hex[:8]}" for _ in range(1000))
                     if located(cluster, g)[0] == first)  # fmt: skip
        acts[name] = scenarios.the_coordinator_dies_in_a_rebalance(
            Stage(crew, cluster, group), FAILOVERS[name]
        )
    before = {name: pool.submit(next, act) for name, act in acts.items()}
    for each in before.values():
        each.exception()

    def goes_on(name: str) -> None:
        before[name].result()
        next(acts[name], None)

    with restored(cluster):
        cluster.kill(first)
        after = {name: pool.submit(goes_on, name) for name in acts}
        for each in after.values():
            each.exception()
    return after


def located(cluster: KafkaCluster, group: str) -> tuple[int, str]:
    """The group's coordinator, and its host."""
    address = next(n.address for n in cluster.provider.nodes().values() if n.address)
    row = (
        Connections()
        .ask(address, m.FindCoordinatorRequest(coordinator_keys=[group]))
        .coordinators[0]
    )
    return row.node_id, row.host


@pytest.mark.parametrize("name", [*LIVES, *FAILOVERS])
def test_each_partition_has_one_owner_and_no_offset_is_lost(
    lived: dict[str, Future[None]], name: str
) -> None:
    lived[name].result()
