"""Work on batches: a database that takes many rows in one transaction."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path

from kit.drawings.chart import Chart


def inserts(rows: int) -> Chart:
    """Rows per second: a transaction for each row, and one for all."""
    with tempfile.TemporaryDirectory(prefix="kafkalab-rows-") as folder:
        each = _rate(Path(folder, "each.db"), rows, 1)
        together = _rate(Path(folder, "together.db"), rows, rows)
    return Chart(
        "Rows per second in SQLite",
        {"a transaction for each row": [(1, each)], "one for the batch": [(2, together)]},
        x="way",
        y="rows/s",
        kind="bars",
    )


def _rate(file: Path, rows: int, size: int) -> float:
    with sqlite3.connect(file, isolation_level=None) as database:
        database.execute("CREATE TABLE orders (id TEXT PRIMARY KEY)")
        began = time.perf_counter()
        for start in range(0, rows, size):
            database.execute("BEGIN")
            for number in range(start, min(rows, start + size)):
                database.execute("INSERT INTO orders VALUES (?)", (f"order-{number}",))
            database.execute("COMMIT")
        return rows / (time.perf_counter() - began)
