"""What tasks read is what the data says: an even source, one hot key, and no shuffle twice."""

from __future__ import annotations

from typing import Any

import pytest

from kit.spark_tasks import measured, records_by_task

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.mark.full
def test_the_records_of_each_task_are_counted(spark: Any) -> None:
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", 4)
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    try:
        key = F.when(F.col("id") < 700, F.lit("hot")).otherwise(F.col("id").cast("string"))
        rows = spark.range(1_000, numPartitions=4).select(key.alias("key"), "id")
        with measured(spark) as counting:
            rows.groupBy("key").count().collect()
        with measured(spark) as numbering:
            window = Window.partitionBy("key").orderBy("id")
            rows.withColumn("n", F.row_number().over(window)).collect()
        spark.range(5).count()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
    # The hot key is in three of the four ranges: a row for each, and one for each other key.
    assert sum(counting.last.records) == 303
    assert sum(numbering.last.records) == 1_000
    assert numbering.last.records[0] >= 700
    assert numbering.last.largest_share >= 0.7
    assert len(numbering.last.tasks) == len(counting.last.tasks) == 4
    assert len(numbering.reading.tasks) == 4
    chart = records_by_task("Rows", {"count": counting.last, "number": numbering.last})
    assert f"highest {numbering.last.records[0]}" in chart.text.replace(",", "")
