"""The rows of the simulator's benchmark."""

from __future__ import annotations

import pytest

from kit.bench import simulator


def test_four_rows_with_a_sensible_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "SEEDS", range(1))
    monkeypatch.setattr(simulator, "MANY", 6)
    monkeypatch.setattr(simulator, "EVENTS", 500)
    monkeypatch.setattr(simulator, "TRAVEL_EVENTS", 600)
    pace, flat, idle, travel = simulator.measure(rounds=1)
    for row in (pace, flat, idle, travel):
        assert set(row) == {"name", "unit", "ours", "theirs", "ratio", "budget", "holds"}
        assert row["ours"] > 0
    assert pace["holds"] == (pace["ratio"] >= 1)
    assert travel["holds"] == (travel["ratio"] <= 1)
    assert idle["holds"], "a schedule that mostly idles measures nothing"
