"""Tables in Delta Lake: each write is a commit in the table's log, so it can be named.

* **append** names itself: Delta keeps (`txnAppId`, `txnVersion`) in the commit, and skips a
  commit whose version is not higher than that application's last.  The application is the query's
  id, which is in the checkpoint: a query that begins afresh is another application.
* **merge** asks the table what is there already.  Where adding up is not repeatable, it names
  itself as well.
* **stream** reads the commits from the first one on, while they are there, and begins with the
  table as it is where they are not.
* **compact** (OPTIMIZE) writes what small files hold into large ones.  Its commit says that no
  data changed, so a stream that reads the table passes over it.  The small files stay on disk
  until VACUUM, and a stream that has not come to them yet still reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labs.pipeline.storage import Compaction, query_id
from labs.pipeline.tables import Gold

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_WRITER = "spark.databricks.delta.write"


@dataclass(frozen=True, slots=True)
class DeltaStorage:
    """See `labs.pipeline.storage.Storage`."""

    session: SparkSession
    format: str = "delta"

    def read(self, path: str) -> DataFrame:
        return self.session.read.format("delta").load(path)

    def stream(self, path: str, columns: str) -> DataFrame:
        source = self.session.readStream.format("delta").option("maxFilesPerTrigger", 1)
        if has_every_commit(self.session, path):
            source = source.option("startingVersion", 0)
        return source.load(path)

    def append(self, batch: DataFrame, path: str, number: int) -> None:
        writer = batch.write.format("delta").mode("append").option("mergeSchema", "true")
        writer = writer.option("txnAppId", f"{query_id(batch.sparkSession)} {Path(path).name}")
        writer.option("txnVersion", number).save(path)

    def ensure(self, path: str, columns: str) -> None:
        self.session.sql(f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({columns}) USING delta")

    def insert_missing(self, found: DataFrame, path: str, *key: str) -> None:
        found.createOrReplaceTempView("found")
        self.session.sql(
            f"MERGE WITH SCHEMA EVOLUTION INTO delta.`{path}` AS kept "
            f"USING found ON {_same(key)} WHEN NOT MATCHED THEN INSERT *"
        )

    def delete(self, found: DataFrame, path: str) -> None:
        found.createOrReplaceTempView("found")
        same = _same(found.columns)
        self.session.sql(
            f"MERGE INTO delta.`{path}` AS kept USING found ON {same} WHEN MATCHED THEN DELETE"
        )

    def follow(
        self, gold: Gold, source: str, path: str, checkpoint: str
    ) -> Iterator[StreamingQuery]:
        self.create(gold, path)
        silver = self.session.readStream.format("delta").load(source)
        writer = silver.writeStream.queryName(f"gold {gold.name}")
        writer = writer.foreachBatch(lambda batch, number: self.merge(gold, batch, path, number))
        writer = writer.option("checkpointLocation", checkpoint)
        yield writer.trigger(availableNow=True).start()

    def create(self, gold: Gold, path: str) -> None:
        """An empty gold table, unless it is there."""
        self.ensure(path, gold.columns)

    def merge(self, gold: Gold, batch: DataFrame, path: str, number: int) -> None:
        """Merges silver's rows of micro-batch `number` into the table, once."""
        session = batch.sparkSession
        gold.of(batch).createOrReplaceTempView("found")
        with _named(session, number) if gold.adds_up else nullcontext():
            session.sql(
                f"MERGE INTO delta.`{path}` AS kept USING found ON {_same(gold.key)} "
                f"{gold.when_matched} WHEN NOT MATCHED THEN INSERT *"
            )

    def compact(self, path: str) -> Compaction | None:
        before = self._files(path)
        if before[0] <= 1:
            return None
        self.session.sql(f"OPTIMIZE delta.`{path}`")
        after = self._files(path)
        return Compaction(Path(path).name, before[0], after[0], before[1], after[1])

    def _files(self, path: str) -> tuple[int, int]:
        detail = self.session.sql(f"DESCRIBE DETAIL delta.`{path}`")
        found = detail.select("numFiles", "sizeInBytes").first()
        assert found is not None
        return found[0], found[1]


def has_every_commit(session: SparkSession, path: str) -> bool:
    """Whether a stream can read the table's commits from the first one on.

    Delta deletes the commits of its log that are older than `delta.logRetentionDuration` (30 days),
    and VACUUM the files that no version of the last week has.  Then a stream without a starting
    version reads the table as it is, its files in the order of their times, and after that each
    new commit.
    """
    history = session.sql(f"DESCRIBE HISTORY delta.`{path}`").select("version", "operation")
    commits = {row.version: row.operation for row in history.collect()}
    return 0 in commits and not any(name.startswith("VACUUM") for name in commits.values())


def _same(columns: Iterable[str]) -> str:
    return " AND ".join(f"kept.{name} = found.{name}" for name in columns)


@contextmanager
def _named(session: SparkSession, version: int) -> Iterator[None]:
    """A MERGE inside is done once for this query and micro-batch."""
    session.conf.set(f"{_WRITER}.txnAppId", query_id(session))
    session.conf.set(f"{_WRITER}.txnVersion", str(version))
    try:
        yield
    finally:
        session.conf.unset(f"{_WRITER}.txnAppId")
        session.conf.unset(f"{_WRITER}.txnVersion")
