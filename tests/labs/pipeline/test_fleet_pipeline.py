"""The fleet's pipeline: every number is the generator's, after kills and repeated batches, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kit.clusters import engine
from kit.clusters.interface import Cluster
from labs.fleet.records import Fleet, records
from labs.fleet.truth import Tally, Truth
from labs.pipeline import balance, command, driver, layers
from labs.pipeline.events import FIRST, MENDED
from labs.pipeline.tables import SOURCE_OF, Place

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

FLEET = Fleet(events=3_000, seed=11, malformed=0.03, duplicate=0.05)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with engine.start() as cluster:
        yield cluster


def test_a_killed_broker_a_killed_driver_and_a_replay_leave_the_true_numbers(
    cluster: Cluster, tmp_path: Path
) -> None:
    truth = command.produce(cluster, FLEET)
    told: list[str] = []
    options = ("--batch", "1500")
    command.with_kills(cluster, tmp_path, *options, "--parser", FIRST.name, tell=told.append)
    assert [line for line in told if line.startswith("killed")] == [
        "killed: broker 103", "killed: the driver",
    ]  # fmt: skip
    report = tmp_path / "report.json"
    more = ("--parser", MENDED.name, "--replay", "--report", str(report))
    assert command.drive(cluster, tmp_path, *options, *more, tell=told.append) == 0
    found = json.loads(report.read_text())
    assert wrong(found, truth) == [], "\n".join(told)
    assert not any("too late" in line for line in told)
    # Silver reads bronze in steps, so its watermark moves while it reads.
    assert any(line.startswith("silver 1:") for line in told), "\n".join(told)


def test_a_micro_batch_that_comes_twice_is_written_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    each_batch = layers._each_batch

    def each_batch_twice(rows: Any, place: Place, name: str, write: Any) -> Any:
        return each_batch(rows, place, name, lambda *batch: [write(*batch) for _ in range(2)])

    monkeypatch.setattr(layers, "_each_batch", each_batch_twice)
    place, tally = Place(tmp_path), Tally()
    write_bronze(spark, place, tally)
    queries = [
        start(spark, place, MENDED) for start in (layers.start_silver, layers.start_dead_letters)
    ]
    driver.finish(queries, print)
    for table in SOURCE_OF:
        driver.finish([layers.start_gold(spark, place, table)], print)
    found = balance.read(spark, place)
    wrong = [
        str(each) for each in balance.equations(found, tally.truth(), MENDED) if not each.holds
    ]
    assert wrong == []


def write_bronze(spark: Any, place: Place, tally: Tally) -> None:
    """The fleet's records as bronze keeps them, in two commits."""
    kept = [
        (each.topic, 0, offset, datetime.fromtimestamp(each.arrives_ms / 1000, UTC), each.key,
         each.value)
        for offset, each in enumerate(tally.counting(records(FLEET)))
    ]  # fmt: skip
    for half in (kept[: len(kept) // 2], kept[len(kept) // 2 :]):
        rows = spark.createDataFrame(half, layers.RECORD).coalesce(1)
        rows.write.format("delta").mode("append").save(place.bronze)


def wrong(found: dict[str, Any], truth: Truth) -> list[str]:
    return [str(each) for each in balance.equations(found, truth, MENDED) if not each.holds]
