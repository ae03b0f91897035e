"""How one layer reads the layer before it, and what Spark makes of a query."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from kit.spark import table_format

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def follow(session: SparkSession, table: str) -> DataFrame:
    """The table as a stream, in the order of its commits, up to 1,000 files in a micro-batch.

    Without a starting version, Delta gives the table as it is now first, its files in no order of
    event time: a watermark would then drop what is not late.  Version 0 is there as long as the log
    is (delta.logRetentionDuration, 30 days).  Delta keeps the schema in its log; a stream of
    Parquet files needs it from you.
    """
    source = session.readStream.format(table_format(session))
    if table_format(session) == "delta":
        return source.option("startingVersion", 0).load(table)
    return source.schema(session.read.parquet(table).schema).load(table)


def plan(rows: DataFrame) -> str:
    """What `rows.explain()` prints: the plan that Spark runs."""
    with redirect_stdout(io.StringIO()) as printed:
        rows.explain()
    return printed.getvalue()
