"""Tables in plain Parquet files, where Delta Lake's jars are missing.

A folder has no log, so a table is a folder of **parts**, and a part's name says what wrote it:

    silver/positions/<query id>-000003/   what micro-batch 3 of that query wrote
    silver/positions/replay-000004/       what a replay inserted
    late/empty/                           a table that has no rows yet
    gold/minutes/version-000002/          the whole table; the newest version counts
    dead-letters.deleted/…                rows to leave out of the table beside it

A part counts when Spark has put `_SUCCESS` into it, which it does last.  A micro-batch that comes
again has the same name, so it overwrites its first attempt.  Bronze and dead letters are written
by Spark's own file sink, whose `_spark_metadata` lists the files of finished batches: a reader
that finds this list reads no others.

What this does not give, and Delta does: MERGE (so gold is made again from all of silver, which
costs more with every run), a delete in place, a snapshot for a reader while a writer works, files
compacted under a reader, and a schema that is enforced.  `docs/decisions.md` says more.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from labs.pipeline.storage import Compaction, query_id
from labs.pipeline.tables import Gold

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_SINKS_LIST = "_spark_metadata"
_DONE = "_SUCCESS"
_VERSION = "version-"


@dataclass(frozen=True, slots=True)
class ParquetStorage:
    """See `labs.pipeline.storage.Storage`."""

    session: SparkSession
    format: str = "parquet"

    def read(self, path: str) -> DataFrame:
        rows = self._parts_or_files(Path(path))
        deleted = _deleted(path)
        if not _parts(deleted):
            return rows
        gone = self._parts_or_files(deleted)
        return rows.join(gone, gone.columns, "left_anti")

    def stream(self, path: str, columns: str) -> DataFrame:
        source = self.session.readStream.format("parquet").schema(columns)
        return source.option("maxFilesPerTrigger", 1).load(path)

    def append(self, batch: DataFrame, path: str, number: int) -> None:
        _write(batch, Path(path), f"{query_id(batch.sparkSession)}-{number:06d}")

    def ensure(self, path: str, columns: str) -> None:
        if not _parts(Path(path)):
            _write(self.session.createDataFrame([], columns), Path(path), "empty")

    def insert_missing(self, found: DataFrame, path: str, *key: str) -> None:
        new = found.join(self.read(path).select(*key), list(key), "left_anti")
        _write(new, Path(path), _next(Path(path), "replay-"))

    def delete(self, found: DataFrame, path: str) -> None:
        deleted = _deleted(path)
        _write(found, deleted, _next(deleted, "replay-"))

    def follow(
        self, gold: Gold, source: str, path: str, checkpoint: str
    ) -> Iterator[StreamingQuery]:
        name = _next(Path(path), _VERSION)
        _write(gold.of(self.read(source)), Path(path), name)
        for each in Path(path).iterdir():
            if each.name != name:
                shutil.rmtree(each)
        yield from ()

    def compact(self, path: str) -> Compaction | None:
        return None

    def _parts_or_files(self, folder: Path) -> DataFrame:
        if (folder / _SINKS_LIST).is_dir():
            return self.session.read.parquet(str(folder))
        parts = _parts(folder)
        versions = [part for part in parts if part.name.startswith(_VERSION)]
        chosen = [str(part) for part in versions[-1:] or parts]
        return self.session.read.option("mergeSchema", "true").parquet(*chosen)


def _write(rows: DataFrame, folder: Path, name: str) -> None:
    rows.write.mode("overwrite").parquet(str(folder / name))


def _parts(folder: Path) -> list[Path]:
    return sorted(done.parent for done in folder.glob(f"*/{_DONE}"))


def _next(folder: Path, prefix: str) -> str:
    """The name of the next part: a number that no finished one has."""
    numbers = [int(part.name.removeprefix(prefix)) for part in _parts(folder)
               if part.name.startswith(prefix)]  # fmt: skip
    return f"{prefix}{max(numbers, default=0) + 1:06d}"


def _deleted(path: str) -> Path:
    return Path(f"{path}.deleted")
