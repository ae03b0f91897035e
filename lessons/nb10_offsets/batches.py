"""Work on batches: a database that takes many rows in one transaction."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from kit.tables import Table

Handler = Callable[[sqlite3.Connection, Sequence[str]], None]


def loops_over(database: sqlite3.Connection, orders: Sequence[str]) -> None:
    """Handles the records of its list one by one."""
    for order in orders:
        in_one_transaction(database, [order])


def in_one_transaction(database: sqlite3.Connection, orders: Sequence[str]) -> None:
    """Its work is a batch as well."""
    database.execute("BEGIN")
    database.executemany("INSERT INTO orders VALUES (?)", [(order,) for order in orders])
    database.execute("COMMIT")


WAYS: dict[str, tuple[Handler, int]] = {
    "a row in each call": (loops_over, 1),
    "a list, looped over": (loops_over, 1_000),
    "a list in one transaction": (in_one_transaction, 1_000),
}
"""A handler, and the most records that a listener hands to it at once."""


def inserts(rows: int) -> Table:
    """Rows per second of each way, and how often its handler is called."""
    found = []
    with tempfile.TemporaryDirectory(prefix="kafkalab-rows-") as folder:
        for number, (name, way) in enumerate(WAYS.items(), 1):
            calls, rate = _run(*way, Path(folder, f"{number}.db"), rows)
            found.append((f"{name}; calls: {calls}", f"{rate:,.0f}"))
    return Table("Rows per second in SQLite", ("handler", "rows/s"), found)


def _run(handler: Handler, at_once: int, file: Path, rows: int) -> tuple[int, float]:
    """The handler's calls, and its rate."""
    orders = [f"order-{number}" for number in range(rows)]
    calls = 0
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("CREATE TABLE orders (id TEXT PRIMARY KEY)")
        began = time.perf_counter()
        for start in range(0, rows, at_once):
            handler(database, orders[start : start + at_once])
            calls += 1
        return calls, rows / (time.perf_counter() - began)
