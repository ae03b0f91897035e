"""`kafkalab pipeline`: a summary, an exit code, and one sentence for what is missing."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from kit import lab, spark
from kit.course import PROJECT
from labs.L1_telemetry_pipeline import balance, pipeline
from labs.L1_telemetry_pipeline.generator import Truth

TRUTH = Truth(10, 1, 1, {"not JSON": 1}, {})
SECONDS = {"produced": 1.0, "bronze": 2.0, "silver and dead letters": 2.0, "gold": 1.0}


def report(bronze: int) -> pipeline.Report:
    counts = balance.Counts(bronze, 8, {"not JSON": 1}, {})
    equation = balance.Equation("bronze = produced", bronze, 10)
    return pipeline.Report("engine", TRUTH, counts, [equation], SECONDS)


@pytest.fixture
def no_cluster(monkeypatch) -> None:
    monkeypatch.setattr(spark, "session", lambda *_: None)
    monkeypatch.setattr(lab, "engine", lambda: SimpleNamespace(name="engine"))


def test_balanced_counts_end_with_zero_and_a_summary(monkeypatch, no_cluster, capsys) -> None:
    monkeypatch.setattr(pipeline, "run", lambda *_, **__: report(bronze=10))
    assert pipeline.main(["--source", "engine", "--events", "10"]) == 0
    told = capsys.readouterr()
    assert "5 records/s into bronze, 2 records/s from topic to gold" in told.out
    assert "✓ bronze = produced: 10 and 10" in told.out
    assert told.err == ""


def test_a_lost_record_ends_with_one_and_a_sentence(monkeypatch, no_cluster, capsys) -> None:
    monkeypatch.setattr(pipeline, "run", lambda *_, **__: report(bronze=9))
    assert pipeline.main([]) == 1
    assert "It does not balance: bronze = produced." in capsys.readouterr().err


def test_what_is_missing_is_said_in_one_sentence(monkeypatch, capsys) -> None:
    def missing(*_):
        raise spark.SparkMissing("PySpark is not installed, and this needs it: run: make setup")

    monkeypatch.setattr(spark, "session", missing)
    assert pipeline.main([]) == 1
    assert capsys.readouterr().err.strip().endswith("run: make setup")


def test_no_events_are_refused(capsys) -> None:
    assert pipeline.main(["--events", "0"]) == 1
    assert "--events 1 or more" in capsys.readouterr().err


def test_the_console_command_reaches_the_lab() -> None:
    command = [sys.executable, "-m", "kit.cli", "pipeline", "--events", "0"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT)
    assert done.returncode == 1
    assert "--events 1 or more" in done.stderr
