"""From one core to two: the pipeline's work that needs a processor, and no broker.

A bronze table is on the disk; the work parses its JSON, applies the rules of a valid event, and
aggregates.  It runs with one and with two cores, as threads of one JVM (`local[1]`, `local[2]`)
and on a standalone cluster with one and two workers.  The two drivers of a pair live side by
side and work in turns, so that both see the same machine; each round gives a ratio, and the
median counts.  The first run of each warms its JVM up and is not timed.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from statistics import median
from typing import Any

from kit import spark_cluster
from kit.spark_driver import Driver
from labs.pipeline import scaling

BRONZE, MINUTES = (f"{scaling.__name__}:{part}" for part in ("bronze", "minutes"))
EVENTS = 400_000
LEAST_RATIO = 1.4


def measure(rounds: int = 5, events: int = EVENTS) -> list[dict[str, Any]]:
    """A row for threads and one for a standalone cluster, in records per second.

    RuntimeError if the two drivers of a pair find different numbers.
    """
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/bronze"
        with Driver("local[2]", BRONZE) as writer:
            writer.run(folder=table, events=events)
        pair = (Driver("local[1]", MINUTES), Driver("local[2]", MINUTES))
        rows = [_row("Spark, local[1] to local[2]", pair, table, rounds)]
        with ExitStack() as clusters:
            masters = [
                clusters.enter_context(spark_cluster.start(workers=count)).master
                for count in (1, 2)
            ]
            pair = (Driver(masters[0], MINUTES), Driver(masters[1], MINUTES))
            rows.append(_row("Spark, standalone, 1 to 2 workers", pair, table, rounds))
    return rows


def _row(name: str, pair: tuple[Driver, Driver], table: str, rounds: int) -> dict[str, Any]:
    one, two = pair
    seconds: dict[Driver, list[float]] = {one: [], two: []}
    with one, two:
        found = [_without_time(driver.run(table=table)) for driver in pair]
        if found[0] != found[1]:
            raise RuntimeError(f"One core and two find different numbers: {found[0]}, {found[1]}")
        for number in range(rounds):
            for driver in pair if number % 2 == 0 else (two, one):
                seconds[driver].append(driver.run(table=table)["seconds"])
    ratio = median(a / b for a, b in zip(seconds[one], seconds[two], strict=True))
    return {
        "name": name,
        "unit": "records/s",
        "ours": round(found[0]["rows"] / median(seconds[two])),
        "theirs": round(found[0]["rows"] / median(seconds[one])),
        "ratio": round(ratio, 3),
        "budget": f"≥ {LEAST_RATIO}",
        "holds": ratio >= LEAST_RATIO,
    }


def _without_time(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "seconds"}
