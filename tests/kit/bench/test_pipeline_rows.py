"""The pipeline's rows: a ratio for each round, and the median of them, whatever the load does."""

from __future__ import annotations

from types import SimpleNamespace

from kit.bench import pipeline


def reports(*rates: tuple[float, float]) -> list:
    return [tuple(SimpleNamespace(per_second=rate) for rate in pair) for pair in rates]


def test_a_round_that_met_a_busy_machine_does_not_decide() -> None:
    pairs = reports((50_000, 50_000), (10_000, 10_000), (9_000, 45_000))
    row = pipeline._row("pipeline", pairs, lambda report: report.per_second)
    assert (row["ratio"], row["holds"]) == (1.0, True)
    assert (row["ours"], row["theirs"]) == (10_000, 45_000)


def test_a_slower_engine_does_not_hold() -> None:
    row = pipeline._row("pipeline", reports(*[(80, 100)] * 3), lambda report: report.per_second)
    assert (row["ratio"], row["holds"]) == (0.8, False)
