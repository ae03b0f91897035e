"""The table formats there are, and the one that a session has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kit import spark
from labs.pipeline.delta import DeltaStorage
from labs.pipeline.parquet import ParquetStorage
from labs.pipeline.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("delta", "parquet")


def storage_of(session: SparkSession, format: str = "") -> Storage:
    """The tables of this session: Delta where it has the jars, Parquet otherwise.

    Raises SparkMissing for delta in a session that does not have it.
    """
    has = spark.table_format(session)
    if (format or has) == "parquet":
        return ParquetStorage(session)
    if has != "delta":
        raise spark.SparkMissing(
            "Delta Lake's jars are missing: run: make setup, or choose --format parquet"
        )
    return DeltaStorage(session)
