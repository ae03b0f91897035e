"""Lives of classic groups: every answer that every member gets, on the engine and a live Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from engine.wire import messages as m
from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.probe import actors, written_groups
from tests.conformance.probe.actors import Stage
from tests.conformance.probe.failover_scenarios import FAILOVERS
from tests.conformance.probe.group_scenarios import SCENARIOS
from tests.conformance.probe.side import GROUP, Side, Until
from tests.real_clusters import restored

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

Told = dict[str, list[tuple[str, Any]]]
AT_ONCE = 8


@dataclass(frozen=True)
class Acted:
    """The scenarios on one side, and what its coordinator has written."""

    stages: dict[str, Stage]
    records: dict[str, list[written_groups.Written]]

    def written(self, name: str) -> list[Any]:
        stage = self.stages[name]
        return [stage.plain(each) for each in self.records.get(stage.group, [])]


@pytest.fixture(scope="module")
def acted(local_cluster: KafkaCluster, engine_cluster: KafkaCluster) -> Iterator[list[Acted]]:
    """All scenarios, on Kafka and on the engine."""
    sides = [side_of("Kafka", local_cluster), side_of("the engine", engine_cluster)]
    for side in sides:
        side.prepare()
    try:
        yield [act(side) for side in sides]
    finally:
        for side in sides:
            side.close()  # a coordinator may have been killed since
            side.clean()
            side.close()


def side_of(name: str, cluster: KafkaCluster) -> Side:
    nodes = cluster.provider.nodes().values()
    return Side(name, {node.id: node.address for node in nodes if node.address})


def act(side: Side) -> Acted:
    """They wait a lot, so several are acted at a time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {
            name: pool.submit(actors.run, side, name, scenario)
            for name, scenario in SCENARIOS.items()
        }
        stages = {name: each.result() for name, each in running.items()}
    return Acted(stages, written_groups.records(side))


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_members_of_a_group_hear_the_same(acted: list[Acted], name: str) -> None:
    kafka, engine = (side.stages[name].heard() for side in acted)
    for number, (theirs, ours) in enumerate(zip(kafka, engine, strict=False)):
        assert ours == theirs, f"answer {number}"
    assert len(engine) == len(kafka)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same_is_written_about_a_group(acted: list[Acted], name: str) -> None:
    kafka, engine = (side.written(name) for side in acted)
    for number, (theirs, ours) in enumerate(zip(kafka, engine, strict=False)):
        assert ours == theirs, f"record {number}"
    assert len(engine) == len(kafka)


# -- the coordinator dies


@pytest.fixture(scope="module")
def told_afterwards(local_cluster: KafkaCluster, engine_cluster: KafkaCluster) -> list[Told]:
    sides = [
        (side_of("Kafka", local_cluster), local_cluster),
        (side_of("the engine", engine_cluster), engine_cluster),
    ]
    return [acted_with_a_kill(*each) for each in sides]


def acted_with_a_kill(side: Side, cluster: KafkaCluster) -> Told:
    """All failovers at once: one broker is killed."""
    side.prepare()
    stages = {name: Stage(side, f"failover-{name}") for name in FAILOVERS}
    acting = {name: FAILOVERS[name](stage) for name, stage in stages.items()}
    try:
        with restored(cluster):
            for each in acting.values():
                next(each)
            dead, told = side.coordinator, {name: len(s.told) for name, s in stages.items()}
            cluster.kill(dead)
            side.forget(dead)
            find_another(side, dead)
            for stage in stages.values():
                stage.move(side.coordinator)
            with ThreadPoolExecutor(len(acting)) as pool:
                list(pool.map(lambda each: next(each, None), acting.values()))
        return {name: stage.heard()[told[name] :] for name, stage in stages.items()}
    finally:
        for stage in stages.values():
            stage.close()
        side.clean()
        side.close()


def find_another(side: Side, dead: int) -> None:
    """Waits until a living broker coordinates the probe's groups and tells their offsets.

    The engine says COORDINATOR_LOAD_IN_PROGRESS until no offset that it has read can be lost.
    """
    living = next(broker for broker in side.brokers if broker != dead)
    find = m.FindCoordinatorRequest(coordinator_keys=[GROUP])
    wanted = m.OffsetFetchRequest.OffsetFetchRequestGroup(GROUP, topics=None)
    reading = m.OffsetFetchRequest(groups=[wanted])

    def moved(answer: Any) -> bool:
        row = answer.coordinators[0]
        if row.error_code or row.node_id == dead:
            return False
        side.coordinator = row.node_id
        return bool(side.ask(reading).groups[0].error_code == 0)

    side.until(Until(find, moved), living)


@pytest.mark.parametrize("name", FAILOVERS)
def test_the_next_coordinator_says_the_same(told_afterwards: list[Told], name: str) -> None:
    kafka, engine = (side[name] for side in told_afterwards)
    for number, (theirs, ours) in enumerate(zip(kafka, engine, strict=False)):
        assert ours == theirs, f"answer {number}"
    assert len(engine) == len(kafka) > 0
