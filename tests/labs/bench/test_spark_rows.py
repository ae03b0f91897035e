"""Spark's rows: one core beside two, by turns, and never for numbers that differ."""

from __future__ import annotations

from typing import Any

import pytest

from labs.bench import spark


class ToyDriver:
    """A driver whose runs take the given seconds, the first of them to warm up."""

    def __init__(self, *seconds: float, rows: int = 1_000) -> None:
        self._seconds = list(seconds)
        self._rows = rows
        self.closed = False

    def run(self, table: str) -> dict[str, Any]:
        return {"seconds": self._seconds.pop(0), "rows": self._rows}

    def __enter__(self) -> ToyDriver:
        return self

    def __exit__(self, *exception: object) -> None:
        self.closed = True


def test_the_median_round_decides_and_the_first_run_does_not_count() -> None:
    one, two = ToyDriver(90.0, 3.0, 3.0, 9.0), ToyDriver(1.0, 2.0, 1.5, 9.0)
    row = spark._row("Spark", (one, two), "table", rounds=3)  # type: ignore[arg-type]
    assert (row["ratio"], row["holds"]) == (1.5, True)
    assert (row["theirs"], row["ours"]) == (333, 500)
    assert (one.closed, two.closed) == (True, True)


def test_two_cores_that_gain_little_do_not_hold() -> None:
    pair = ToyDriver(1.0, 1.3), ToyDriver(1.0, 1.0)
    assert not spark._row("Spark", pair, "table", rounds=1)["holds"]  # type: ignore[arg-type]


def test_drivers_that_find_different_numbers_are_not_timed() -> None:
    pair = ToyDriver(1.0), ToyDriver(1.0, rows=999)
    with pytest.raises(RuntimeError, match="find different numbers"):
        spark._row("Spark", pair, "table", rounds=1)  # type: ignore[arg-type]
