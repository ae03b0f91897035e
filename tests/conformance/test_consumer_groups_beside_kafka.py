"""Lives of consumer groups (KIP-848): every answer and record, on the engine and a live Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kit.clusters.kafka_cluster import KafkaCluster
from tests.conformance.probe import actors, written_groups
from tests.conformance.probe.actors import Stage
from tests.conformance.probe.consumer_scenarios import SCENARIOS
from tests.conformance.probe.side import Side

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

AT_ONCE = 6


@pytest.fixture(scope="module")
def acted(
    local_cluster: KafkaCluster, engine_cluster: KafkaCluster
) -> Iterator[list[tuple[dict[str, Stage], dict[str, list[Any]]]]]:
    """Each side's scenarios, and what its coordinator has written about them."""
    sides = [side_of("Kafka", local_cluster), side_of("the engine", engine_cluster)]
    for side in sides:
        side.prepare()
    try:
        yield [act(side) for side in sides]
    finally:
        for side in sides:
            side.clean()
            side.close()


def side_of(name: str, cluster: KafkaCluster) -> Side:
    nodes = cluster.provider.nodes().values()
    return Side(name, {node.id: node.address for node in nodes if node.address})


def act(side: Side) -> tuple[dict[str, Stage], dict[str, list[Any]]]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {
            name: pool.submit(actors.run, side, f"848-{name}", scenario)
            for name, scenario in SCENARIOS.items()
        }
        stages = {name: each.result() for name, each in running.items()}
    return stages, written_groups.records(side)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_members_of_a_group_hear_the_same(acted: Any, name: str) -> None:
    kafka, engine = (stages[name].heard() for stages, _ in acted)
    for number, (theirs, ours) in enumerate(zip(kafka, engine, strict=False)):
        assert ours == theirs, f"answer {number}"
    assert len(engine) == len(kafka)


RESOLVED_IN_THE_BACKGROUND = {"expressions"}


@pytest.mark.parametrize("name", sorted(set(SCENARIOS) - RESOLVED_IN_THE_BACKGROUND))
def test_the_same_is_written_about_a_group(acted: Any, name: str) -> None:
    kafka, engine = (written(stages[name], records) for stages, records in acted)
    for number, (theirs, ours) in enumerate(zip(kafka, engine, strict=False)):
        assert ours == theirs, f"record {number}"
    assert len(engine) == len(kafka)


def written(stage: Stage, records: dict[str, list[Any]]) -> list[Any]:
    """Kafka takes members from a hash map: records of one kind in a row are sorted."""
    plain = [stage.plain(each) for each in records.get(stage.group, [])]
    rows: list[list[Any]] = []
    for each in plain:
        if not rows or rows[-1][0][0] != each[0]:
            rows.append([])
        rows[-1].append(each)
    return [each for row in rows for each in sorted(row, key=repr)]
