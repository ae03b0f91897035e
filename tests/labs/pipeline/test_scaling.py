"""The work of the scaling curve finds what the generator knows, in as many tasks as it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labs.fleet.records import Fleet, records
from labs.fleet.truth import Tally
from labs.pipeline import scaling

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.full
def test_the_work_counts_each_copy_of_the_fleets_records(spark: Any, tmp_path: Path) -> None:
    table, copies = str(tmp_path / "bronze"), 2
    rows = scaling.bronze(spark, table, events=copies * scaling.DISTINCT)
    assert rows == copies * scaling.DISTINCT
    tally = Tally()
    for record in records(Fleet(scaling.DISTINCT, seed=4, malformed=0.02)):
        tally.add(record)
    truth = tally.truth()
    found = scaling.minutes(spark, table)
    assert found["rows"] == rows
    malformed = sum(sum(each.malformed.values()) for each in truth.counts.values())
    assert found["dead letters"] == copies * malformed
    assert found["minutes of trucks"] == len(truth.minutes)
    assert found["files"] == scaling.PARTS
    assert spark.read.parquet(table).rdd.getNumPartitions() == scaling.PARTS
