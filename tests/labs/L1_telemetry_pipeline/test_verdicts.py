"""What Spark and the topics hold decides which prediction is right; another rule, another one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit import lab
from labs.L1_telemetry_pipeline import tables
from tests.lessons.verdicts import seen_by, settled

AS_DOUBLE = tables.EVENT.replace("speed_kmh INT", "speed_kmh DOUBLE")


@pytest.fixture
def engine_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Engines that end with the test."""
    monkeypatch.setattr(lab, "_kernel", lab._Kernel())
    yield
    lab._kernel.close()


@pytest.mark.spark
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("spark", "engine_alone")
@pytest.mark.parametrize(("schema", "refused"), [(tables.EVENT, "1 4"), (AS_DOUBLE, "1")])
def test_the_schema_decides_which_records_are_refused(schema, refused, monkeypatch) -> None:
    monkeypatch.setattr(tables, "EVENT", schema)
    assert settled("L1-6", seen_by("L1", "six-records")) == refused


@pytest.mark.parametrize(
    ("bronze", "changed", "hold", "letter"),
    [(1990, True, 1, "a"), (2030, True, 1, "b"), (1400, False, 1, "c"), (2000, True, 3, "d"),
     (2000, True, 2, "")],
)  # fmt: skip
def test_the_rows_of_bronze_decide(bronze, changed, hold, letter) -> None:
    seen = {"acknowledged": 2000, "bronze": bronze, "leader changed": changed}
    assert settled("L1-8", seen | {"equations that hold": hold}) == letter


@pytest.mark.parametrize(
    ("read", "groups", "took_ms", "letter"),
    [(2100, 0, 2800, "a"), (2100, 1, 2800, "b"), (3000, 0, 2800, "c"), (900, 0, 2800, "d"),
     (2100, 0, 700, "")],
)  # fmt: skip
def test_a_slow_micro_batch_decides(read, groups, took_ms, letter) -> None:
    seen = {"interval ms": 1000, "micro-batch ms": took_ms, "records": 2100, "records read": read}
    assert settled("L1-9", seen | {"groups of that name": groups}) == letter


def test_free_answers_are_what_the_run_saw() -> None:
    assert settled("L1-5", {"rows after": 2000}) == "2000"
    assert settled("L1-7", {"new rows": 0}) == "0"
    assert settled("L1-1", {"minute": 2}) == "2"
