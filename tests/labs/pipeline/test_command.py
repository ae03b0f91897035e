"""`kafkalab pipeline`: the command reaches the pipeline, and says in a sentence what is wrong."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kit.course import PROJECT
from labs.pipeline import command


def test_the_console_command_reaches_the_pipeline() -> None:
    line = [sys.executable, "-m", "kit.cli", "pipeline", "--events", "0"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=PROJECT)
    assert done.returncode == 1
    assert done.stderr == "There is nothing to do: give --events 1 or more.\n"


@pytest.mark.parametrize(("events", "records"), [(1, 1), (3_000, 750), (1_000_000, 50_000)])
def test_there_are_micro_batches_enough_to_break_something_between(events, records) -> None:
    assert command.batch_records(events) == records


def test_the_rate_is_of_the_layers_alone() -> None:
    said = command.rates({"bronze": 1.0, "silver": 2.0, "gold": 1.0}, 8_000)
    assert said == "bronze 1.0 s, silver 2.0 s, gold 1.0 s: 2,000 records/s"


def test_a_driver_whose_cluster_is_gone_ends_with_a_sentence(tmp_path) -> None:
    cluster: Any = SimpleNamespace(bootstrap="127.0.0.1:9", has_ended=True)
    with pytest.raises(command.DriverFailed, match="The cluster ended under the pipeline"):
        command.drive(cluster, tmp_path)
