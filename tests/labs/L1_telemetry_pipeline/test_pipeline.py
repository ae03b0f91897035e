"""The pipeline's counts balance, whatever breaks in the middle."""

from __future__ import annotations

import pytest

from kit.testing import restored
from labs.L1_telemetry_pipeline import balance, generator, pipeline, tables

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


class Breaks:
    """Kills a leader in the middle of writing, and another one in the middle of reading."""

    def __init__(self, cluster) -> None:
        self.cluster = cluster
        self.killed: list[tuple[str, int]] = []

    def __call__(self, moment: str) -> None:
        for _, node in self.killed:
            self.cluster.start(node)  # one broker down at a time is what the topic can bear
        leader = self.cluster.leader(pipeline.TOPIC, 0)
        self.cluster.kill(leader)
        self.killed.append((moment, leader))


def test_twenty_thousand_events_balance_on_the_engine(spark, engine_cluster) -> None:
    told: list[str] = []
    report = pipeline.run(engine_cluster, events=20_000, seed=7, tell=told.append)
    assert report.balances, report.table()
    assert report.counts.bronze == 20_000
    assert report.truth.late > 900
    assert [line.split(":")[0] for line in told] == list(report.seconds)
    assert "records/s from topic to gold" in repr(report.table())


def test_a_broker_killed_in_the_middle_changes_nothing(spark, engine_cluster) -> None:
    with restored(engine_cluster):
        breaks = Breaks(engine_cluster)
        report = pipeline.run(engine_cluster, events=4_000, seed=8, moment=breaks)
    assert [moment for moment, _ in breaks.killed] == ["writing", "reading"]
    assert report.balances, report.table()


@pytest.mark.real
def test_the_same_on_a_local_kafka(spark, local_cluster) -> None:
    with restored(local_cluster):
        breaks = Breaks(local_cluster)
        report = pipeline.run(local_cluster, events=4_000, seed=8, moment=breaks)
    assert [moment for moment, _ in breaks.killed] == ["writing", "reading"]
    assert report.balances, report.table()


def test_a_pipeline_that_was_ended_in_the_middle_goes_on(spark, engine_cluster, tmp_path) -> None:
    class Ended(Exception):
        pass

    def end(moment: str) -> None:
        if moment == "reading":
            raise Ended

    place = tables.Tables(tmp_path)
    with pytest.raises(Ended):
        pipeline.run(engine_cluster, events=2_000, seed=9, moment=end, folder=tmp_path)
    assert 0 < spark.read.parquet(place.bronze).count() < 2_000
    stream = tables.topic_stream(spark, engine_cluster.bootstrap, pipeline.TOPIC)
    pipeline.finish("bronze", [tables.start_bronze(stream, place)])
    pipeline.finish(
        "silver", [tables.start_silver(spark, place), tables.start_dead_letters(spark, place)]
    )
    tables.write_gold(spark, place)
    truth = generator.truth(generator.positions(generator.Fleet(events=2_000, seed=9)))
    equations = balance.equations(balance.counts(spark, place), truth)
    assert all(equation.holds for equation in equations), equations


def test_an_equation_that_does_not_hold_names_what_differs_first() -> None:
    truth = generator.truth(generator.positions(generator.Fleet(events=500, seed=1)))
    gold = {place: tuple(minute) for place, minute in truth.minutes.items()}
    dead = {name: n for name, n in truth.malformed.items() if n}
    right = balance.Counts(truth.produced, truth.events, dead, gold)
    assert all(equation.holds for equation in balance.equations(right, truth))
    first = min(gold)
    count, average, maximum = gold[first]
    spoiled = balance.Counts(
        truth.produced - 1, truth.events, dead, gold | {first: (count, average + 1, maximum)}
    )
    bronze, silver, minutes = balance.equations(spoiled, truth)
    assert not bronze.holds
    assert not silver.holds
    assert minutes.left == minutes.right
    assert minutes.why.startswith(str(first))
