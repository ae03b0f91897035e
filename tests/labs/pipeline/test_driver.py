"""The driver reports each micro-batch once, and asks Spark for all of them only where it must."""

from __future__ import annotations

from typing import Any

from labs.pipeline import driver
from tests.labs.pipeline.test_dashboard import progress


class ToyQuery:
    """A query that ends after its last report; `script` has the last report of each look."""

    name = "toy"

    def __init__(self, script: list[int], rows: int = 10) -> None:
        self.looks = list(script)
        self.reports = [progress(batchId=n, numInputRows=rows) for n in range(max(script) + 1)]
        self.asked_for_all = 0
        self._at = -1

    @property
    def isActive(self) -> bool:
        return bool(self.looks)

    @property
    def lastProgress(self) -> Any:
        self._at = self.looks.pop(0)
        return self.reports[self._at] if self._at >= 0 else None

    @property
    def recentProgress(self) -> list[Any]:
        self.asked_for_all += 1
        return self.reports[: self._at + 1]

    def exception(self) -> None:
        return None

    def stop(self) -> None:
        pass


def reported(query: ToyQuery) -> list[int]:
    found: list[int] = []
    driver.finish([query], lambda batch: found.append(batch.number))  # type: ignore[list-item]
    return found


def test_what_comes_one_by_one_is_asked_for_one_by_one() -> None:
    query = ToyQuery([-1, 0, 0, 1, 2, 2, 3])
    assert reported(query) == [0, 1, 2, 3]
    assert query.asked_for_all == 1  # at the end, for what came after the last look


def test_micro_batches_between_two_looks_are_reported_too() -> None:
    query = ToyQuery([0, 3, 4])
    assert reported(query) == [0, 1, 2, 3, 4]
    assert query.asked_for_all == 2


def test_a_trigger_without_rows_is_no_micro_batch() -> None:
    assert reported(ToyQuery([0, 1], rows=0)) == []
