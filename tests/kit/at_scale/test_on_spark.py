"""Grading and campaigns through Spark give what the local runs give, also when a worker is killed.

One Spark process does all of it: it marks a small class while this test kills one of its Python
workers, plays a short campaign, and tells what its tables hold.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from engine.sim.campaign import campaign
from kit.bench import synthetic_class
from kit.bench.grading import differences
from kit.course import PROJECT
from kit.grading import grade

SAMPLE = PROJECT / "tests" / "kit" / "sample_course"
SUBMISSIONS = 5
SEEDS = range(4)
pytestmark = [pytest.mark.spark, pytest.mark.heavy, pytest.mark.full, pytest.mark.timeout(600)]

ON_SPARK = """
import contextlib, io, json, sys
from kit import cli
from kit.at_scale import tasks

area = sys.argv[1]
statuses = [cli.main(["grade", f"{area}/class", "--spark", "--out", f"{area}/spark"])]
told = io.StringIO()
with contextlib.redirect_stdout(told):
    seeds = ["--light", "--seeds", sys.argv[2], "--out", f"{area}/campaign"]
    statuses.append(cli.main(["campaign", "--spark", *seeds]))
session = tasks.session()
table = session.read.format("delta").load
marks = table(f"{area}/spark/marks.delta").collect()
schedules = table(f"{area}/campaign/schedules.delta").collect()

def fails_once(number):
    from pyspark import TaskContext
    if number == 1 and TaskContext.get().attemptNumber() == 0:
        raise ValueError("this time only")
    return number * number

def always_fails(number):
    raise ValueError("no such number")

squares = sorted((d.value, d.attempt) for d in tasks.spread(session, [0, 1, 2], fails_once))
refusal = ""
try:
    list(tasks.spread(session, [0], always_fails))
except RuntimeError as lost:
    refusal = str(lost)
found = {
    "statuses": statuses, "campaign": told.getvalue(), "marks": [m.asDict() for m in marks],
    "schedules": [s.asDict() for s in schedules], "squares": squares, "refusal": refusal,
}
open(f"{area}/found.json", "w").write(json.dumps(found))
"""


@dataclass(frozen=True)
class Found:
    area: Path
    killed: int
    statuses: list[int]
    campaign: str
    marks: list[dict]
    schedules: list[dict]
    squares: list[list[int]]
    refusal: str


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Found:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    area = tmp_path_factory.mktemp("at-scale")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKALAB_COURSE", str(SAMPLE))
        patch.setenv("SPARK_MASTER", "local[2]")
        synthetic_class.hand_in(area / "class", "99", SUBMISSIONS)
        seeds = f"{SEEDS.start}:{SEEDS.stop}"
        with (area / "log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", ON_SPARK, str(area), seeds], stdout=log, stderr=log
            )
        try:
            killed = kill_a_worker(process)
            assert process.wait(timeout=400) == 0, (area / "log").read_text()
        finally:
            process.kill()
        assert grade([area / "class"], area / "local", jobs=2) == 0
    return Found(area, killed, **json.loads((area / "found.json").read_text()))


def kill_a_worker(process: subprocess.Popen) -> int:
    """Sends SIGKILL to the first Python worker of Spark that runs a stage; returns its pid."""
    while process.poll() is None:
        for each in psutil.Process(process.pid).children(recursive=True):
            try:
                if "kit.grading.stage" in each.cmdline() and each.name() != "bwrap":
                    worker = next(p for p in each.parents() if "pyspark.daemon" in p.cmdline())
                    os.kill(worker.pid, signal.SIGKILL)
                    return worker.pid
            except (psutil.Error, StopIteration):
                continue
        time.sleep(0.02)
    return 0


def test_the_reports_are_those_of_the_local_run(found) -> None:
    assert found.killed, (found.area / "log").read_text()
    assert found.statuses[0] == 0
    assert differences(found.area / "spark", found.area / "local") == []
    assert len(list((found.area / "spark").glob("learner-*.json"))) == SUBMISSIONS


def test_the_task_of_the_killed_worker_ran_again_and_counts_once(found) -> None:
    again = {row["name"] for row in found.marks if row["attempt"]}
    assert again
    rows = [(row["name"], row["exercise"]) for row in found.marks]
    assert len(rows) == len(set(rows)) == 3 * SUBMISSIONS
    assert str(found.killed) not in {row["worker"].rpartition(":")[2] for row in found.marks if
                                     row["name"] in again}  # fmt: skip
    page = (found.area / "spark" / "spark.html").read_text()
    assert f"Tried again: {', '.join(sorted(again))}." in page


def test_the_table_holds_the_marks_of_the_reports(found) -> None:
    for name in {row["name"] for row in found.marks}:
        told = json.loads((found.area / "local" / f"{name}.json").read_text())
        mine = [row for row in found.marks if row["name"] == name]
        assert {row["exercise"]: row["state"] for row in mine} == {
            mark["exercise"]: mark["state"] for mark in told["exercises"]
        }
        assert sum(row["mark"] for row in mine if not row["quiz"]) == told["score"]


def test_nothing_of_the_killed_worker_stays(found) -> None:
    lines = [" ".join(each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"])]
    assert not [line for line in lines if str(found.area) in line]
    with pytest.raises(ProcessLookupError):
        os.kill(found.killed, 0)


def test_a_campaign_has_the_outcomes_of_the_local_one(found) -> None:
    local = list(campaign.outcomes(SEEDS, light=True))
    text, good = campaign.report(local, light=True)
    assert found.statuses[1] == int(not good)

    def without_rate(report: str) -> list[str]:
        return [line for line in report.splitlines() if "per second" not in line]

    assert without_rate(found.campaign) == without_rate(text)
    rows = sorted(found.schedules, key=lambda row: row["seed"])
    assert [(r["seed"], r["violation"], r["elections"], r["truncations"]) for r in rows] == [
        (o.setup.seed, o.violation or None, o.elections, o.truncations) for o in local
    ]
    assert "No schedule violated" in (found.area / "campaign" / "campaign.html").read_text()


def test_a_task_that_fails_once_is_tried_again_and_one_that_always_fails_is_given_up(found) -> None:
    assert found.squares == [[0, 0], [1, 1], [4, 0]]
    assert found.refusal == (
        "A Spark task failed 4 times, so the run stopped (ValueError: no such number)."
    )
