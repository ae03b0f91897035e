"""The row of the explorer's benchmark."""

from __future__ import annotations

import pytest

from kit.bench import explorer


def test_one_row_that_says_whether_the_budget_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "REPLICAS", 2)
    (row,) = explorer.measure(rounds=1)
    assert set(row) == {"name", "unit", "ours", "theirs", "ratio", "budget", "holds"}
    assert row["ours"] > 0
    assert row["holds"] == (row["ratio"] >= 1)
