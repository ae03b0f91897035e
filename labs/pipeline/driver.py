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
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import spark
from labs.pipeline import balance, layers
from labs.pipeline.events import PARSERS
from labs.pipeline.tables import SOURCE_OF, Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BATCH_RECORDS = 50_000
Tell = Callable[[str], None]


class PipelineFailed(RuntimeError):
    """A query ended with an error; the message names both."""


def main(argv: list[str]) -> int:
    """0 when every query has ended; 1 with a sentence otherwise."""
    parser = argparse.ArgumentParser(prog="python -m labs.pipeline.driver")
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--parser", choices=PARSERS, default="mended")
    parser.add_argument("--replay", action="store_true", help="read the dead letters again")
    parser.add_argument("--batch", type=int, default=BATCH_RECORDS, help="records in a micro-batch")
    parser.add_argument("--report", type=Path, help="write what the tables hold to this file")
    chosen = parser.parse_args(argv)
    try:
        session = spark.session("fleet pipeline")
        if spark.table_format(session) != "delta":
            raise spark.SparkMissing(
                "Delta Lake's jars are missing, and this needs them: make setup"
            )
        run(session, chosen, tell=lambda line: print(line, flush=True))
    except (spark.SparkMissing, PipelineFailed) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def run(session: SparkSession, chosen: argparse.Namespace, tell: Tell) -> None:
    """All layers, one after the other."""
    place, parser = Place(chosen.folder), PARSERS[chosen.parser]
    finish([layers.start_bronze(session, chosen.bootstrap, place, chosen.batch)], tell)
    finish(
        [
            layers.start_silver(session, place, parser),
            layers.start_dead_letters(session, place, parser),
        ],
        tell,
    )
    if chosen.replay:
        count = layers.replay(session, place, parser)
        tell(f"replay: {count:,} dead letters are events for the {parser.name} parser")
    for table in SOURCE_OF:
        finish([layers.start_gold(session, place, table)], tell)
    if chosen.report:
        chosen.report.write_text(json.dumps(balance.read(session, place)))


def finish(queries: list[StreamingQuery], tell: Tell) -> None:
    """Waits for the queries to end, and tells of their micro-batches."""
    told = dict.fromkeys(queries, -1)
    try:
        active = True
        while active:
            active = any(query.isActive for query in queries)
            for query in queries:
                for progress in query.recentProgress:
                    if progress["batchId"] > told[query] and progress["numInputRows"]:
                        told[query] = progress["batchId"]
                        tell(line(progress))
            time.sleep(0.1)
        for query in queries:
            if error := query.exception():
                reason = (str(error).strip().splitlines() or ["no reason given"])[0]
                raise PipelineFailed(f"{query.name} stopped: {reason[:300]}")
    finally:
        for query in queries:
            query.stop()


def line(progress: Any) -> str:
    """One micro-batch: its query, number, rows, and for a query with state its size and losses."""
    text = f"{progress['name']} {progress['batchId']}: {progress['numInputRows']:,} rows"
    for state in progress["stateOperators"]:
        text += f", {state['numRowsTotal']:,} ids kept"
        if late := state["numRowsDroppedByWatermark"]:
            text += f", {late:,} too late and dropped"
    return text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
