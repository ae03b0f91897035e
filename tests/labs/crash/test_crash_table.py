"""Some cells of the crash table run again: a driver dies by SIGKILL, its queries go on.

`make test` runs one of the three points, `make test-all` each of them.  The whole table is made by
`python -m labs.crash.table`, again after each change of what makes it (test_points.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.clusters.interface import Cluster
from labs.crash import results
from labs.crash.payments import Feed
from labs.crash.points import AFTER_SINK, EXECUTOR, IN_SINK, Point
from labs.crash.sinks import READERS
from labs.crash.trial import Trial

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

FEED = Feed(topic="crash.cells", seed=11)
"""Another seed than the table's: the counts are the same, because the micro-batches are."""


@pytest.fixture(scope="module")
def cluster(engine_cluster: Cluster) -> Cluster:
    FEED.create(engine_cluster)
    FEED.produce(engine_cluster)
    return engine_cluster


@pytest.mark.parametrize(
    ("point", "sinks"),
    [
        pytest.param(
            IN_SINK,
            ("delta", "merge", "noted-first", "parquet", "kafka", "transactional"),
            marks=pytest.mark.full,
        ),
        pytest.param(
            AFTER_SINK,
            ("append", "append-once", "merge", "kafka", "transactional"),
            marks=pytest.mark.full,
        ),
        pytest.param(EXECUTOR, ("parquet", "kafka"), marks=pytest.mark.full),
    ],
)
def test_a_crash_loses_and_repeats_what_the_written_table_says(
    spark: Any, cluster: Cluster, tmp_path: Path, point: Point, sinks: tuple[str, ...]
) -> None:
    trial = Trial(cluster, FEED, tmp_path / f"cells-{point.name}", point, sinks)
    crash = trial.crash()
    assert set(crash.stood) == set(sinks)
    trial.go_on(spark)
    written = results.read(results.WRITTEN).cells
    expected = {
        reader.title: written[reader.title][point.name]
        for reader in READERS
        if reader.sink in sinks
    }
    assert trial.counts(spark) == expected
