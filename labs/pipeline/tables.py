"""Where the pipeline's tables lie, and two ways to write a batch to one of them once.

A micro-batch can come twice: the driver may die after the table was written and before Spark noted
the batch as done, and then Spark runs it again.  `foreachBatch` promises at-least-once, no more.
So each write must be one that does nothing the second time:

* **append** names itself: Delta keeps (`txnAppId`, `txnVersion`) in the commit, and skips a
  commit whose version it has seen from that application.  The application is the query's id,
  which lies in the checkpoint: a query that begins afresh is another application.
* **merge** asks the table what is there already.  Where adding up is not repeatable, it names
  itself as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labs.fleet.records import ORDERS, PAYMENTS, POSITIONS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WRITER = "spark.databricks.delta.write"


@dataclass(frozen=True, slots=True)
class Place:
    """The directory of one pipeline: its tables and its checkpoints."""

    folder: Path

    @property
    def bronze(self) -> str:
        return str(self.folder / "bronze")

    @property
    def dead_letters(self) -> str:
        return str(self.folder / "dead-letters")

    def silver(self, topic: str) -> str:
        return str(self.folder / "silver" / topic.removeprefix("fleet."))

    def gold(self, table: str) -> str:
        return str(self.folder / "gold" / table)

    def checkpoint(self, query: str) -> str:
        return str(self.folder / "checkpoints" / query)


MINUTES, STATES, PAID = "minutes", "orders", "paid"
SOURCE_OF = {MINUTES: POSITIONS, STATES: ORDERS, PAID: PAYMENTS}
"""The gold tables, and the silver table that each is made of."""
COLUMNS = {
    MINUTES: "truck STRING, minute TIMESTAMP, positions BIGINT, total_kmh BIGINT, maximum_kmh INT",
    STATES: "order_id STRING, revision INT, status STRING",
    PAID: "order_id STRING, cents BIGINT",
}


def create(session: SparkSession, path: str, columns: str) -> None:
    """An empty table, unless it is there."""
    session.sql(f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({columns}) USING delta")


def append(batch: DataFrame, path: str, version: int) -> None:
    """Appends the micro-batch with the number `version`, once."""
    writer = batch.write.format("delta").mode("append").option("mergeSchema", "true")
    writer = writer.option("txnAppId", f"{query_id(batch.sparkSession)} {Path(path).name}")
    writer.option("txnVersion", version).save(path)


def query_id(session: SparkSession) -> str:
    """The streaming query whose batch this thread handles: the id of its checkpoint."""
    found = session.sparkContext.getLocalProperty("sql.streaming.queryId")
    assert found, "outside of foreachBatch there is no query"
    return str(found)


@contextmanager
def named(session: SparkSession, version: int) -> Iterator[None]:
    """A MERGE inside is done once for this query and micro-batch."""
    session.conf.set(f"{_WRITER}.txnAppId", query_id(session))
    session.conf.set(f"{_WRITER}.txnVersion", str(version))
    try:
        yield
    finally:
        session.conf.unset(f"{_WRITER}.txnAppId")
        session.conf.unset(f"{_WRITER}.txnVersion")
