"""Work on batches: a database that takes many rows in one transaction."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kit.drawings.chart import Chart

Handler = Callable[[sqlite3.Connection, Sequence[str]], int]


def a_call_for_each(database: sqlite3.Connection, orders: Sequence[str]) -> int:
    """A record listener: it is called with one record at a time."""
    return sum(loops_over(database, [order]) for order in orders)


def loops_over(database: sqlite3.Connection, orders: Sequence[str]) -> int:
    """A batch listener that handles the records of its list one by one."""
    for order in orders:
        in_one_transaction(database, [order])
    return 1


def in_one_transaction(database: sqlite3.Connection, orders: Sequence[str]) -> int:
    """A batch listener whose work is a batch as well."""
    database.execute("BEGIN")
    database.executemany("INSERT INTO orders VALUES (?)", [(order,) for order in orders])
    database.execute("COMMIT")
    return 1


HANDLERS: dict[str, Handler] = {
    "a row in each call": a_call_for_each,
    "a list, looped over": loops_over,
    "a list in one transaction": in_one_transaction,
}


def inserts(rows: int) -> Chart:
    """Rows per second of each handler, and how often it is called."""
    series = {}
    with tempfile.TemporaryDirectory(prefix="kafkalab-rows-") as folder:
        for number, (name, handler) in enumerate(HANDLERS.items(), 1):
            calls, rate = _run(handler, Path(folder, f"{number}.db"), rows)
            series[f"{name}; calls: {calls}"] = [(number, rate)]
    return Chart("Rows per second in SQLite", series, x="way", y="rows/s", kind="bars")


def _run(handler: Handler, file: Path, rows: int) -> tuple[int, float]:
    """The handler's calls, and its rate."""
    with sqlite3.connect(file, isolation_level=None) as database:
        database.execute("CREATE TABLE orders (id TEXT PRIMARY KEY)")
        began = time.perf_counter()
        calls = handler(database, [f"order-{number}" for number in range(rows)])
        return calls, rows / (time.perf_counter() - began)
