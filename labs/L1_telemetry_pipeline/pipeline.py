"""Runs the lab's pipeline on a cluster and compares its tables with the ground truth.

    kafkalab pipeline --source engine --events 200000 --seed 7

It runs the generator, the tables and the balance in turn, and times each step.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import jars, spark
from kit.clusters.interface import Cluster, ClusterError
from kit.tables import Table
from labs.L1_telemetry_pipeline import balance, generator, tables

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

TOPIC = "truck-positions"
PARTITIONS = 6
_BATCHES = 4
"""Bronze is read in that many micro-batches, so that there is a middle.  A batch is shared out
among the partitions and rounded down, so each of them gets one record more."""

Tell = Callable[[str], None]
Moment = Callable[[str], None]


class PipelineFailed(RuntimeError):
    """A step of the pipeline ended early; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one run found: truth, counts, equations, and seconds by step."""

    source: str
    truth: Any
    counts: Any
    equations: list[Any]
    seconds: Mapping[str, float]

    @property
    def balances(self) -> bool:
        return all(equation.holds for equation in self.equations)

    @property
    def read_per_second(self) -> float:
        """Records per second from the topic into bronze."""
        return float(self.truth.produced / self.seconds["bronze"])

    @property
    def per_second(self) -> float:
        """Records per second from the topic to gold."""
        steps = ("bronze", "silver and dead letters", "gold")
        return float(self.truth.produced / sum(self.seconds[step] for step in steps))

    def table(self) -> Table:
        """The run as a table, throughput and the first broken equation below it."""
        took = dict.fromkeys(("produced", "bronze", "silver", "dead letters", "gold"), "")
        took |= {step: f"{seconds:.1f} s" for step, seconds in self.seconds.items()}
        took["silver"] = took.pop("silver and dead letters", "")
        dead = self.counts.dead_letters
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(dead.items()))
        late = f"{self.truth.late:,} late, {self.truth.duplicates:,} duplicates"
        rows = [
            ["produced", f"{self.truth.produced:,}", took["produced"], late],
            ["bronze", f"{self.counts.bronze:,}", took["bronze"], "as it came"],
            ["silver", f"{self.counts.silver:,}", took["silver"], "each event once"],
            ["dead letters", f"{sum(dead.values()):,}", took["dead letters"], reasons],
            ["gold", f"{len(self.counts.gold):,}", took["gold"], "one per truck and minute"],
        ]
        closing = [
            f"{self.read_per_second:,.0f} records/s into bronze, "
            f"{self.per_second:,.0f} records/s from topic to gold"
        ]
        closing += [f"{'✓' if e.holds else '✗'} {e.name}: {e.left:,} and {e.right:,}"
                    for e in self.equations]  # fmt: skip
        return Table(
            f"Telemetry pipeline on {self.source}",
            ["table", "rows", "took", ""],
            rows,
            "\n".join(closing),
        )


@dataclass(slots=True)
class Steps:
    """Times the steps and tells about each."""

    tell: Tell
    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(self, name: str, step: Callable[[], str]) -> None:
        began = time.perf_counter()
        result = step()
        self.seconds[name] = time.perf_counter() - began
        self.tell(f"{name}: {result} ({self.seconds[name]:.1f} s)")


def run(
    cluster: Cluster,
    *,
    events: int = 20_000,
    seed: int = 7,
    tell: Tell = lambda line: None,
    moment: Moment = lambda name: None,
    folder: Path | None = None,
) -> Report:
    """Generates, produces, and takes the topic through bronze, silver and gold.

    `moment` is called in the middle of two steps, with "writing" and "reading": a test may
    break something there.  The tables lie in `folder`, or in a temporary one.
    """
    session = spark.session()
    records = list(generator.positions(generator.Fleet(events=events, seed=seed)))
    truth = generator.truth(records)
    place = tables.Tables(folder or spark.temporary("pipeline"))
    steps = Steps(tell)

    def produced() -> str:
        cluster.create_topic(TOPIC, partitions=PARTITIONS)
        half = max(1000, events // 2000 * 1000)
        count = generator.write(cluster, TOPIC, records, {half: lambda: moment("writing")})
        return f"{count:,} records, {truth.late:,} of them late"

    def bronze() -> str:
        stream = tables.topic_stream(
            session, cluster.bootstrap, TOPIC, batch_records=events // _BATCHES + PARTITIONS
        )
        finish("bronze", [tables.start_bronze(stream, place)], lambda: moment("reading"))
        return "the topic, as it came"

    def silver() -> str:
        queries = [tables.start_silver(session, place), tables.start_dead_letters(session, place)]
        finish("silver", queries)
        return "every record parsed, events kept once"

    def gold() -> str:
        tables.write_gold(session, place)
        return "per truck and minute, from all of silver"

    steps("produced", produced)
    steps("bronze", bronze)
    steps("silver and dead letters", silver)
    steps("gold", gold)
    found = balance.counts(session, place)
    return Report(cluster.name, truth, found, balance.equations(found, truth), steps.seconds)


def finish(
    name: str, queries: list[StreamingQuery], in_the_middle: Callable[[], None] | None = None
) -> None:
    """Waits for streaming queries to end; PipelineFailed if one fails.

    `in_the_middle` is called once, after the first micro-batch.  An error or an interrupt
    stops the queries, too: their checkpoints remember how far they were.
    """
    from pyspark.errors import StreamingQueryException

    try:
        # Seconds may be fractions; the annotation says otherwise.
        while not all(query.awaitTermination(0.2) for query in queries):  # type: ignore[arg-type]
            if in_the_middle and any(query.recentProgress for query in queries):
                in_the_middle()
                in_the_middle = None
    except StreamingQueryException as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0]
        raise PipelineFailed(f"The query of {name} stopped: {reason[:300]}") from None
    finally:
        for query in queries:
            query.stop()


def main(argv: list[str]) -> int:
    """`kafkalab pipeline`: 0 when the counts balance, else 1 with a sentence."""
    parser = argparse.ArgumentParser(prog="kafkalab pipeline")
    parser.add_argument("--source", choices=["engine", "local", "docker"], default="engine")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args(argv)
    if chosen.events < 1:
        print("There is nothing to do: give --events 1 or more.", file=sys.stderr)
        return 1
    from kit import lab

    def tell(line: str) -> None:
        print(line, flush=True)

    try:
        tell("Starting Spark")
        spark.session()
        tell(f"Starting {chosen.source}")
        cluster = getattr(lab, chosen.source)()
        report = run(cluster, events=chosen.events, seed=chosen.seed, tell=tell)
    except (spark.SparkMissing, jars.JarsMissing, ClusterError, RuntimeError) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(report.table())
    for equation in report.equations:
        if not equation.holds:
            print(f"It does not balance: {equation.name}. {equation.why}", file=sys.stderr)
    return int(not report.balances)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
