"""Parquet parts: what comes twice is written once, what is half written does not count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labs.fleet.records import PAYMENTS
from labs.pipeline.parquet import ParquetStorage
from labs.pipeline.tables import GOLD, PAID, Place

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.full
def test_parts_are_written_once_and_gold_and_deletes_follow(spark: Any, tmp_path: Path) -> None:
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "a query")
    parquet, place = ParquetStorage(spark), Place(tmp_path)
    silver, gold = place.silver(PAYMENTS), place.gold(PAID)

    def payment(order: str, more: str = "") -> Any:
        return spark.sql(f"SELECT '{order}' event_id, '{order}' order_id, 500L cents{more}")

    def rows(path: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in parquet.read(path).collect())

    for _ in range(2):
        parquet.append(payment("a"), silver, 7)
    parquet.append(payment("b"), silver, 8)
    half = Path(silver) / "a query-000009"
    payment("c").write.parquet(str(half))
    (half / "_SUCCESS").unlink()  # the driver died before the job was committed
    assert rows(silver) == [("a", "a", 500), ("b", "b", 500)]

    for _ in range(2):
        assert list(parquet.follow(GOLD[PAID], silver, gold, "no checkpoint")) == []
        assert rows(gold) == [("a", "a", 500), ("b", "b", 500)]
    assert len(list(Path(gold).iterdir())) == 1

    found = payment("b").union(payment("d")).selectExpr("*", "90 AS heading")
    for _ in range(2):
        parquet.insert_missing(found, silver, "event_id")
    assert [row[:2] for row in rows(silver)] == [("a", "a"), ("b", "b"), ("d", "d")]
    assert parquet.read(silver).where("heading = 90").count() == 1

    parquet.delete(spark.sql("SELECT 'a' event_id"), silver)
    assert [row[0] for row in rows(silver)] == ["b", "d"]
