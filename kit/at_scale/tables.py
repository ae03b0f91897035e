"""Results as a table: Delta where its jars are, Parquet where not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.spark import table_format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def append(
    started: SparkSession, rows: Sequence[tuple[Any, ...]], schema: str, out: Path, name: str
) -> Path:
    """Adds rows to the table `OUT/NAME.delta` (or `.parquet`), and returns its folder.

    A run whose workers are elsewhere needs `out` at the same path there: tasks write the files.
    """
    kind = table_format(started)
    folder = (out / f"{name}.{kind}").resolve()
    frame = started.createDataFrame(list(rows), schema)
    frame.coalesce(1).write.format(kind).mode("append").save(str(folder))
    return folder
