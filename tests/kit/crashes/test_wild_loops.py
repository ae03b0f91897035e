"""A loop that cannot be judged gets one sentence with a remedy, soon, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from kit.clusters import engine
from kit.crashes import trial
from kit.crashes.crash_test import crash_test
from tests.kit.crashes import loops, wild_loops

ROOT = Path(__file__).resolve().parents[3]


def applications() -> list[int]:
    """Processes of this test's loop that run now: they have its name in their environment."""
    name = os.environ["PYTEST_CURRENT_TEST"].split(" (")[0]
    found = []
    for each in psutil.process_iter(["pid"]):
        try:
            here = "kit.crashes.stage" in each.cmdline()
            if here and each.environ().get("PYTEST_CURRENT_TEST", "").startswith(name):
                found.append(each.pid)
        except psutil.Error:
            continue
    return found


@pytest.mark.parametrize(("loop", "says"), wild_loops.WILD,
                         ids=[loop.__name__ for loop, _ in wild_loops.WILD])  # fmt: skip
def test_a_loop_that_cannot_be_judged_gets_a_sentence(one_engine, loop, says) -> None:
    result = crash_test(loop, one_engine)
    assert re.search(says, result.problem), result.text
    assert result.verdict == "no verdict"
    assert not result
    assert result.problem in result.text
    assert result.mistakes == []
    assert applications() == []


@pytest.mark.full
def test_a_cluster_that_takes_its_time_is_no_fault_of_the_loop() -> None:
    late = {"group.initial.rebalance.delay.ms": str(round(trial.STUCK_S * 1000) + 1500)}
    with engine.start(settings=late) as slow:
        result = crash_test(wild_loops.returns_early, slow, situations=())
    assert "returned after 3 of 12 records" in result.problem


def test_prints_are_bounded_and_do_no_harm(one_engine, capfd) -> None:
    result = crash_test(wild_loops.prints_a_lot, one_engine, situations=())
    assert result, result.text
    assert capfd.readouterr().out == ""


def test_a_topic_is_left_as_it_was(one_engine) -> None:
    before = sorted(one_engine.snapshot()["topics"])
    crash_test(wild_loops.stub, one_engine)
    after = sorted(name for name in one_engine.snapshot()["topics"] if name[0] != "_")
    assert after == [name for name in before if name[0] != "_"]


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        (loops.at_least_once.__code__, "pass the function itself"),
        (lambda consumer, topic, process: None, "neither a lambda nor async"),
        (print, "pass the function itself"),
    ],
    ids=["code", "lambda", "builtin"],
)
def test_what_is_no_function_is_refused(one_engine, thing, says) -> None:
    assert re.search(says, crash_test(thing, one_engine).problem)


def test_what_cannot_leave_the_notebook_is_named(one_engine) -> None:
    lock = one_engine

    def uses_the_cluster(consumer, topic, process):
        lock.kill(101)

    result = crash_test(uses_the_cluster, one_engine)
    assert "The loop uses lock" in result.problem
    assert "make it inside the loop" in result.problem


def test_an_unknown_promise_or_situation_is_refused(one_engine) -> None:
    with pytest.raises(ValueError, match="at least once, at most once, exactly once"):
        crash_test(loops.at_least_once, one_engine, promise="exactly twice")
    with pytest.raises(ValueError, match="No situation is called 'fire'"):
        crash_test(loops.at_least_once, one_engine, situations=("fire",))


def test_settings_of_the_trials_and_settings_that_do_not_exist_are_refused(one_engine) -> None:
    with pytest.raises(ValueError, match=r"group\.id: each trial has its own"):
        crash_test(loops.at_least_once, one_engine, settings={"group.id": "mine"})
    result = crash_test(loops.at_least_once, one_engine, settings={"enable.autocommit": True})
    assert "The client refused its settings: No such configuration" in result.problem


def test_nothing_outlives_a_kernel_that_is_killed(one_engine) -> None:
    code = (
        "from kit.clusters import engine\n"
        "from kit.crashes.crash_test import crash_test\n"
        "from tests.kit.crashes.loops import at_least_once\n"
        "with engine.start() as cluster:\n"
        "    print('go', flush=True)\n"
        "    crash_test(at_least_once, cluster)\n"
    )
    kernel = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT)
    assert kernel.stdout is not None
    assert kernel.stdout.readline() == b"go\n"
    stages: list[psutil.Process] = []
    deadline = time.monotonic() + 60
    while not any(each.children() for each in stages) and time.monotonic() < deadline:
        children = psutil.Process(kernel.pid).children(recursive=True)
        stages = [each for each in children if "kit.crashes.stage" in each.cmdline()]
        time.sleep(0.02)
    family = [each for stage in stages for each in (stage, *stage.children(recursive=True))]
    assert len(family) > 1
    os.kill(kernel.pid, signal.SIGKILL)
    kernel.wait()
    kernel.stdout.close()
    assert psutil.wait_procs(family, timeout=10)[1] == []
