"""The Java client of notebook 03: what the lesson says of it and no cell shows, and its charts."""

from __future__ import annotations

from math import nan

import pytest

from engine.client.partitioners import murmur2
from kit import lab
from kit.probes.java_client import JavaProgram
from lessons.nb03_partitioning import java_runs

KEYS = [f"order-{number}" for number in range(200)]


@pytest.mark.real
@pytest.mark.usefixtures("engine_alone")
def test_java_hashes_as_the_engine_and_calls_back_once_for_each_record_in_order() -> None:
    cluster = lab.engine()
    cluster.create_topic("orders", partitions=java_runs.PARTITIONS)
    with JavaProgram(java_runs.SOURCE, cluster.bootstrap) as java:
        hashes = [int(each) & 0xFFFFFFFF for each in java.ask("hash", *KEYS)]
        _, count, in_order, send_returned_before = java.ask("callbacks", "orders")
        without_a_key = java.ask("partitions", "orders", "linger.ms=50", *["-"] * 20)
    assert hashes == [murmur2(key.encode()) for key in KEYS]
    assert (count, in_order, send_returned_before) == ("200", "true", "true")
    assert len(set(without_a_key)) == 1


def loads(request_rate: float) -> java_runs.Loads:
    names = {*java_runs.LOADS, *java_runs.TIMED}
    metrics = dict.fromkeys(java_runs.METRICS, 1.0) | {"request-rate": request_rate}
    return {name: dict(metrics) for name in names}


def test_the_charts_show_the_real_side_where_it_ran() -> None:
    rates, times, sizes = java_runs.charts({"engine": loads(300.0), "local": loads(200.0)})
    assert "(Kafka)" in rates.title
    assert rates.series["request-rate"] == [(0, 200.0), (5, 200.0), (20, 200.0)]
    assert list(times.series) == [*java_runs.TIMES]
    assert len(sizes.series["batch-size-avg"]) == len(java_runs.LOADS)
    alone = java_runs.charts({"engine": loads(300.0), "local": {}})[0]
    assert "(engine)" in alone.title
    assert java_runs.charts({"engine": {}}) == []


def test_a_metric_without_a_value_leaves_a_gap() -> None:
    rates = java_runs.charts({"engine": loads(nan)})[0]
    assert "request-rate: no points" in rates.text
    assert rates.svg().startswith("<svg")


def test_a_cluster_without_slow_links_has_no_bar_for_a_slow_follower() -> None:
    measured = loads(200.0)
    del measured["slow follower"]
    times = java_runs.charts({"engine": measured})[1]
    assert [at for at, _ in times.series["request-latency-avg"]] == [0, 1, 2]
