"""What Spark does decides which prediction is right; another delay or rule, another answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit import lab
from tests.lessons.verdicts import seen_by, settled


@pytest.fixture
def engine_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Engines that end with the test."""
    monkeypatch.setattr(lab, "_kernel", lab._Kernel())
    yield
    lab._kernel.close()


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("spark", "engine_alone")
@pytest.mark.full
def test_the_policy_decides_whether_a_silent_input_holds_windows_back() -> None:
    seen = seen_by("L3", "a-silent-input", change=('policy = "min"', 'policy = "max"'))
    assert settled("L3-6", seen) == "3"


@pytest.mark.parametrize(
    ("without", "ranged", "letter"),
    [(72, 12, "b"), (12, 12, "a"), (72, 70, "d"), (10, 72, "")],
)
def test_the_states_of_both_joins_decide(without, ranged, letter) -> None:
    seen = {"state without a range": without, "state with a range": ranged, "records": 72}
    assert settled("L3-7", seen) == letter


def test_free_answers_are_what_the_run_saw() -> None:
    assert settled("L3-1", {"counted": 9}) == "9"
    assert settled("L3-2", {"micro-batch": 4}) == "4"
    assert settled("L3-3", {"rows": 2}) == "2"
    assert settled("L3-4", {"trips": 1}) == "1"
    assert settled("L3-5", {"counted, every clock": 7}) == "7"
    assert settled("L3-8", {"micro-batch of the null row": 4}) == "4"
