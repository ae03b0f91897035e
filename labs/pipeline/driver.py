"""The pipeline's driver: a process that takes what is in the topics through all layers, and ends.

    python -m labs.pipeline.driver --bootstrap HOST:PORT --folder DIRECTORY --parser mended

It prints a line for each micro-batch.  If it is killed, start it again with the same folder: the
checkpoints there say how far each query was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from kit import spark
from labs.fleet.records import TOPICS
from labs.pipeline import balance, layers
from labs.pipeline.events import MENDED, PARSERS, Parser
from labs.pipeline.formats import FORMATS, storage_of
from labs.pipeline.progress import MicroBatch, micro_batch, note
from labs.pipeline.storage import Compaction, Storage
from labs.pipeline.tables import GOLD, Place

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

BATCH_RECORDS = 50_000
Tell = Callable[[str], None]
Told = Callable[[MicroBatch], None]


class PipelineFailed(RuntimeError):
    """A query ended with an error; the message names both."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a driver is to do."""

    bootstrap: str
    folder: Path
    parser: Parser = MENDED
    batch_records: int = BATCH_RECORDS
    replay: bool = False
    """Read the dead letters again."""
    compact: bool = False
    """Compact each layer before the next one reads it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a driver found and did, as JSON can carry it."""

    tables: dict[str, Any]
    """See `balance.read`."""
    format: str
    seconds: dict[str, float]
    """By layer; the session's start is not in it."""
    processor_seconds: dict[str, float]
    """What Spark's JVM used of all cores meanwhile; with SPARK_MASTER elsewhere, the driver's."""


def main(argv: list[str]) -> int:
    """0 when every query has ended; 1 with a sentence otherwise."""
    parser = argparse.ArgumentParser(prog="python -m labs.pipeline.driver")
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--parser", choices=PARSERS, default="mended")
    parser.add_argument("--replay", action="store_true", help="read the dead letters again")
    parser.add_argument("--compact", action="store_true", help="few large files, not many small")
    parser.add_argument("--batch", type=int, default=BATCH_RECORDS, help="records in a micro-batch")
    parser.add_argument("--format", choices=FORMATS, default="", help="by default, what is there")
    parser.add_argument("--report", type=Path, help="write what the tables hold to this file")
    chosen = parser.parse_args(argv)
    try:
        tables = storage_of(spark.session("fleet pipeline"), chosen.format)
        parsed_by = PARSERS[chosen.parser]
        job = Job(
            chosen.bootstrap, chosen.folder, parsed_by, chosen.batch, chosen.replay, chosen.compact
        )
        report = run(tables, job, tell=lambda line: print(line, flush=True))
    except (spark.SparkMissing, PipelineFailed) as problem:
        print(problem, file=sys.stderr)
        return 1
    if chosen.report:
        chosen.report.write_text(json.dumps(asdict(report)))
    return 0


def run(storage: Storage, job: Job, tell: Tell) -> Report:
    """One layer after the other; the tables of a layer at once.  Raises PipelineFailed."""
    place, parser, seconds = Place(job.folder), job.parser, dict[str, float]()
    processor = dict[str, float]()
    job.folder.mkdir(parents=True, exist_ok=True)

    def told(done: MicroBatch | Compaction) -> None:
        note(job.folder, done)
        tell(str(done))

    @contextmanager
    def layer(name: str, *paths: str) -> Iterator[None]:
        began, used = time.monotonic(), _processor_seconds(storage)
        yield
        seconds[name] = time.monotonic() - began
        processor[name] = _processor_seconds(storage) - used
        for path in paths if job.compact else ():
            if done := storage.compact(path):
                told(done)

    with layer("bronze", place.bronze):
        finish([layers.start_bronze(storage, job.bootstrap, place, job.batch_records)], told)
    with layer("silver", *(place.silver(topic) for topic in TOPICS)):
        finish([layers.start_dead_letters(storage, place, parser)], told)
        _silver(storage, place, parser, told, tell)
    if job.replay:
        count = layers.replay(storage, place, parser)
        tell(f"replay: {count:,} dead letters are events for the {parser.name} parser")
    with layer("gold"):
        followers = [layers.start_gold(storage, place, gold) for gold in GOLD.values()]
        finish([query for queries in followers for query in queries], told)
    return Report(balance.read(storage, place), storage.format, seconds, processor)


def _silver(storage: Storage, place: Place, parser: Parser, told: Told, tell: Tell) -> None:
    """Silver's queries, and then the events that their watermarks dropped.

    A driver that is killed meanwhile leaves the mark: then the next one looks for such events.
    """
    looks = place.unchecked.exists()
    place.unchecked.touch()

    def watched(done: MicroBatch) -> None:
        nonlocal looks
        looks = looks or done.too_late > 0
        told(done)

    finish(layers.start_silver(storage, place, parser), watched)
    storage.ensure(place.late, layers.LATE)
    if looks and (count := layers.keep_late(storage, place, parser)):
        tell(f"late: {count:,} behind the watermark of the topic, kept apart")
    place.unchecked.unlink()


def finish(queries: list[StreamingQuery], told: Told) -> None:
    """Waits for the queries to end, and tells of their micro-batches.  Raises PipelineFailed."""
    newest = dict.fromkeys(queries, -1)
    try:
        active = True
        while active:
            active = any(query.isActive for query in queries)
            for query in queries:
                for progress in _since(newest[query], query, active):
                    newest[query] = progress["batchId"]
                    told(micro_batch(progress))
            time.sleep(0.1)
        for query in queries:
            if error := query.exception():
                reason = (str(error).strip().splitlines() or ["no reason given"])[0]
                raise PipelineFailed(f"{query.name} stopped: {reason[:300]}")
    finally:
        for query in queries:
            query.stop()


def _since(number: int, query: StreamingQuery, active: bool) -> Iterable[StreamingQueryProgress]:
    """Progress of micro-batches with rows after this number; all of it if no query is active.

    The last progress mostly is the next one.  To ask for all that Spark keeps costs more with each
    micro-batch, up to a hundred of them.
    """
    if active:
        last = query.lastProgress
        if last is None or not last["numInputRows"] or last["batchId"] <= number:
            return ()
        if last["batchId"] == number + 1:
            return (last,)
    rest = query.recentProgress
    return (each for each in rest if each["batchId"] > number and each["numInputRows"])


def _processor_seconds(storage: Storage) -> float:
    """The processor time that Spark's JVM has used so far.

    The JVM says its own process id: under `spark-submit` it has started this process.
    """
    jvm: Any = storage.session.sparkContext._jvm
    used = psutil.Process(jvm.java.lang.ProcessHandle.current().pid()).cpu_times()
    return float(used.user + used.system)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
