"""What the layers ask of a table format.

A micro-batch can come twice: the driver may die after the table was written and before Spark noted
the batch as done, and then Spark runs it again.  `foreachBatch` promises at-least-once, no more.
So each write here must be one that does nothing the second time.  Delta Lake gives a table a log of
its own, and with it MERGE, deletes and compaction; plain Parquet files have none of these, so
`parquet.py` does what files in folders can do, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from labs.pipeline.tables import Gold

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True)
class Compaction:
    """The files of one table, before and after."""

    table: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int

    def __str__(self) -> str:
        return (
            f"compacted {self.table}: {self.files_before:,} files of "
            f"{self.bytes_before / 1e6:.2f} MB are {self.files_after:,} of "
            f"{self.bytes_after / 1e6:.2f} MB"
        )


class Storage(Protocol):
    """Tables of one format.  A path is a table's directory."""

    @property
    def format(self) -> str:
        """For `writeStream.format(...)`: both formats have a streaming sink that writes once."""
        ...

    @property
    def session(self) -> SparkSession: ...

    def read(self, path: str) -> DataFrame:
        """The whole table."""
        ...

    def stream(self, path: str, columns: str) -> DataFrame:
        """A table that only its own sink writes, from its first file on, one at a time."""
        ...

    def append(self, batch: DataFrame, path: str, number: int) -> None:
        """Appends the micro-batch `number` of the query whose batch this thread handles, once."""
        ...

    def ensure(self, path: str, columns: str) -> None:
        """An empty table with these columns, unless it is there."""
        ...

    def insert_missing(self, found: DataFrame, path: str, *key: str) -> None:
        """Appends the rows whose key the table does not have; new columns are added."""
        ...

    def delete(self, found: DataFrame, path: str) -> None:
        """Deletes the rows that have the same columns as one of `found`."""
        ...

    def follow(
        self, gold: Gold, source: str, path: str, checkpoint: str
    ) -> Iterable[StreamingQuery]:
        """Brings a gold table up to date with its silver table; the queries that do it."""
        ...

    def compact(self, path: str) -> Compaction | None:
        """Few large files instead of many small ones; None where nothing was to do, or can be."""
        ...


def query_id(session: SparkSession) -> str:
    """The streaming query whose batch this thread handles: the id of its checkpoint.

    A query that begins afresh has another one.
    """
    found = session.sparkContext.getLocalProperty("sql.streaming.queryId")
    assert found, "outside of foreachBatch there is no query"
    return str(found)
