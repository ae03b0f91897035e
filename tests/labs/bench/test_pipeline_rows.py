"""The pipeline's rows: a ratio for each round, and the median of them, whatever the load does."""

from __future__ import annotations

from typing import Any

from labs.bench import pipeline

RECORDS = 90_000


def row(*seconds: tuple[float, float]) -> dict[str, Any]:
    pairs = [({"bronze": ours}, {"bronze": theirs}) for ours, theirs in seconds]
    return pipeline._row("pipeline", RECORDS, pairs, lambda took: took["bronze"])


def test_a_round_that_met_a_busy_machine_does_not_decide() -> None:
    found = row((2, 2), (9, 9), (10, 2))
    assert (found["ratio"], found["holds"]) == (1.0, True)
    assert (found["ours"], found["theirs"]) == (10_000, 45_000)


def test_a_slower_engine_does_not_hold() -> None:
    found = row(*[(10, 8)] * 3)
    assert (found["ratio"], found["holds"]) == (0.8, False)
