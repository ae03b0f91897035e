"""The rows of the codec's and the record batches' benchmark."""

from __future__ import annotations

import pytest

from kit.bench import codec, records


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("module", [codec, records], ids=["codec", "records"])
def test_both_sides_do_the_same_work_and_make_rows(module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "_TURN_S", 0.001)
    rows = module.measure(rounds=1)
    assert len(rows) == 2
    for row in rows:
        assert set(row) == {"name", "unit", "ours", "theirs", "ratio", "budget", "holds"}
        assert row["ours"] > 0
        assert row["holds"] == (row["ratio"] <= 1.0)
