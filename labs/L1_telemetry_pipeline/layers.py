"""How one layer reads the layer before it, and what Spark makes of a query."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.spark import table_format
from labs.pipeline.delta import has_every_commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def follow(session: SparkSession, table: str) -> DataFrame:
    """The table as a stream, in the order of its commits, up to 1,000 files in a micro-batch.

    Delta reads the commits from version 0 on while each of them is there.  Otherwise it begins with
    the table as it is now (labs/pipeline/delta.py).  Delta keeps the schema in its log; a stream of
    Parquet files needs it from you.
    """
    source = session.readStream.format(table_format(session))
    if table_format(session) == "parquet":
        return source.schema(session.read.parquet(table).schema).load(table)
    if has_every_commit(session, table):
        source = source.option("startingVersion", 0)
    return source.load(table)


def clean_log(session: SparkSession, table: str) -> list[str]:
    """Deletes a Delta table's commits, as Delta itself does after 30 days; returns what is left.

    A checkpoint of the log is written first: it has the table as it is.
    """
    jvm: Any = session.sparkContext._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, table).checkpoint()
    log = Path(table) / "_delta_log"
    *old, _newest = sorted(log.glob("[0-9]*.json"))
    for commit in old:
        commit.unlink()
        commit.with_suffix(".crc").unlink(missing_ok=True)
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    return sorted(file.name for file in log.glob("[0-9]*") if file.suffix != ".crc")


def plan(rows: DataFrame) -> str:
    """What `rows.explain()` prints: the plan that Spark runs."""
    with redirect_stdout(io.StringIO()) as printed:
        rows.explain()
    return printed.getvalue()
