"""Three lanes count as one run: nothing is lost, and whatever goes wrong in one fails all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import shares
from tests.lanes import MARKS

ROOT = Path(__file__).resolve().parent.parent
LANES = [sys.executable, "-m", "pytest", "-p", "tests.lanes"]
INI = """
[pytest]
testpaths = cases
addopts = --import-mode=importlib -ra
markers =
    real: needs a real Kafka
    docker: needs a Docker daemon
    browser: needs Chromium
    spark: needs PySpark
    heavy: keeps a core busy
    lane: the lane by name
    full: for make test-all
    long: for a selection
"""
TESTS = """
import os
import sys
import time

import pytest

IN_THE_LAST_LANE = "--lane=plain" in sys.argv

@pytest.fixture(autouse=True)
def note(request):
    with open("ran", "a") as file:
        print(request.node.name, os.getpid(), file=file)

@pytest.mark.real
def test_waits_for_a_real_thing():
    pass

@pytest.mark.heavy
def test_draws():
    pass

@pytest.mark.heavy
@pytest.mark.lane("plain")
@pytest.mark.parametrize("n", range(3))
def test_counts(n):
    pass
"""
FAULTS = """
@pytest.mark.real
def test_fails_in_the_first_lane():
    assert "abc" == "abd"

@pytest.mark.browser
def test_fails_in_the_second_lane():
    assert "mno" == "mnp"

def test_fails_in_the_last_lane():
    assert "xyz" == "xyw"

@pytest.fixture
def broken():
    raise OSError("no disk")

def test_has_no_setup(broken):
    pass

def test_skips():
    pytest.skip("kcat is not installed")
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of its own, in which a real test needs no real Kafka."""
    (tmp_path / "pytest.ini").write_text(INI)
    (tmp_path / "cases").mkdir()
    conftest = tmp_path / "cases" / "conftest.py"
    shutil.copy(ROOT / "tests" / "conftest.py", conftest)
    conftest.write_text(conftest.read_text() + "\nPARTS = ()\n")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_rerunfailures")
    monkeypatch.setenv("CI", "")
    return tmp_path


def run(suite: Path, tests: str = "", *arguments: str) -> tuple[int, str, str]:
    """Exit status, closing line, and all of the output."""
    (suite / "cases" / "test_both.py").write_text(TESTS + tests)
    done = subprocess.run([*LANES, *arguments], cwd=suite, capture_output=True, text=True)
    output = done.stdout + done.stderr
    return done.returncode, output.splitlines()[-1], output


def ran(suite: Path) -> list[list[str]]:
    return [line.split() for line in (suite / "ran").read_text().splitlines()]


def test_each_test_runs_once_in_its_lane_and_all_are_counted(suite) -> None:
    status, closing, output = run(suite)
    assert (status, "= 5 passed in " in closing) == (0, True), output
    lane_of = dict(ran(suite))
    assert len(ran(suite)) == len(lane_of) == 5
    clusters = lane_of.pop("test_waits_for_a_real_thing")
    screens = lane_of.pop("test_draws")
    (plain,) = set(lane_of.values())
    assert len({clusters, screens, plain}) == 3


LONG = """
@pytest.mark.long
def test_takes_an_hour():
    pass

@pytest.mark.full
def test_takes_minutes_in_the_last_lane():
    pass

@pytest.mark.full
@pytest.mark.real
def test_takes_minutes_in_the_first_lane():
    pass
"""


def test_what_is_marked_full_runs_if_all_is_asked_for_or_by_selection(suite) -> None:
    status, closing, output = run(suite, LONG)
    assert (status, "= 5 passed, 3 deselected in " in closing) == (0, True), output
    status, closing, output = run(suite, LONG, "--all")
    assert (status, "= 7 passed, 1 deselected in " in closing) == (0, True), output
    status, closing, output = run(suite, LONG, "-k", "minutes")
    assert (status, "= 2 passed, 6 deselected in " in closing) == (0, True), output
    status, closing, output = run(suite, LONG, "-m", "long")
    assert (status, "= 1 passed, 7 deselected in " in closing) == (0, True), output


def test_of_what_is_marked_full_a_reached_test_runs_in_its_lane(suite) -> None:
    slow = {"cases/test_both.py::test_takes_minutes_in_the_last_lane": 9_999}
    note = {"commit": "of another history", "seconds": slow}
    (suite / "full-run.json").write_text(json.dumps(note))
    status, closing, output = run(suite, LONG, "--reached=full-run.json")
    assert (status, "= 6 passed, 2 deselected in " in closing) == (0, True), output
    assert "They reach 2 of the 2 tests marked full; 1 run here:" in output
    assert "test_takes_minutes_in_the_first_lane" in dict(ran(suite))


def test_the_report_says_how_long_each_part_took_in_its_lane(suite) -> None:
    run(suite, "", "--junitxml=report.xml")
    took = shares.seconds(suite / "report.xml")
    assert set(took) == {(shares.PARTS["tests"], lane) for lane in MARKS}
    assert f"| part | {' | '.join(MARKS)} |" in shares.table(suite / "report.xml")


def test_a_failure_in_any_lane_is_shown_and_counted(suite) -> None:
    status, closing, output = run(suite, FAULTS)
    assert status == 1
    assert "3 failed, 5 passed, 1 skipped, 1 error" in closing, output
    for line in (
        'assert "abc" == "abd"',
        'assert "mno" == "mnp"',
        'assert "xyz" == "xyw"',
        "OSError: no disk",
    ):
        assert line in output


def test_on_a_build_machine_a_skip_in_another_lane_is_a_failure(suite, monkeypatch) -> None:
    monkeypatch.setenv("CI", "true")
    status, closing, output = run(suite, FAULTS)
    assert status == 1
    assert "4 failed, 5 passed, 1 error" in closing, output
    assert "In CI nothing may be skipped. Skipped: kcat is not installed" in output


def test_a_lane_that_crashes_fails_the_run(suite) -> None:
    status, closing, output = run(suite, "def test_dies():\n    os._exit(9)")
    assert status == 1
    assert "5 passed, 1 error" in closing, output
    assert "It ended with 9, and 1 test did not come back" in output
    assert "cases/test_both.py::test_dies" in output


def test_a_lane_that_runs_nothing_fails_the_run(suite) -> None:
    status, closing, output = run(suite, "if IN_THE_LAST_LANE:\n    raise OSError('no disk')")
    assert status == 1
    assert "2 passed, 1 error" in closing, output
    assert "OSError: no disk" in output
    assert "3 tests did not come back" in output


def test_a_selection_runs_in_one_lane(suite) -> None:
    status, closing, output = run(suite, "", "-k", "real or counts")
    assert (status, "4 passed" in closing) == (0, True), output
    assert len({process for _, process in ran(suite)}) == 1


def test_an_interrupt_lets_all_lanes_mend_behind_themselves(suite) -> None:
    test = """
def test_takes_long():
    try:
        with open("second", "w") as file:
            print(os.getpid(), file=file)
        time.sleep(60)
    finally:
        os.rename("second", "mended")
"""
    (suite / "cases" / "test_both.py").write_text(TESTS + test)
    with subprocess.Popen(LANES, cwd=suite, stdout=subprocess.PIPE, text=True) as lanes:
        deadline = time.monotonic() + 60
        while not (note := suite / "second").exists() or not note.read_text().endswith("\n"):
            assert lanes.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        second = int(note.read_text())
        lanes.send_signal(signal.SIGINT)
        output, _ = lanes.communicate(timeout=60)
    assert lanes.returncode == pytest.ExitCode.INTERRUPTED, output
    assert (suite / "mended").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(second, 0)


FLAKY = """
@pytest.fixture
def attempts(request):
    name = request.node.name
    with open(f"attempts-{name}", "a") as file:
        file.write("x")
    return os.path.getsize(f"attempts-{name}")

@pytest.mark.real
def test_comes_and_goes(attempts):
    assert attempts > 1, "the first time"

@pytest.mark.browser
def test_comes_and_goes_elsewhere(attempts):
    assert attempts > 1, "the first time"
"""


def test_a_failure_that_goes_away_is_counted_and_shown(suite) -> None:
    status, closing, output = run(suite, FLAKY, "--junitxml=report.xml")
    assert (status, "7 passed, 2 rerun in " in closing) == (0, True), output
    assert "the first failure of cases/test_both.py::test_comes_and_goes_elsewhere" in output
    assert output.count("AssertionError: the first time") == 2
    assert set(shares.seconds(suite / "report.xml")) == {
        (shares.PARTS["tests"], lane) for lane in MARKS
    }


def test_what_needs_no_real_thing_has_one_attempt(suite) -> None:
    status, closing, output = run(suite, FLAKY.replace("@pytest.mark.browser\n", ""))
    assert (status, "1 failed, 6 passed, 1 rerun in " in closing) == (1, True), output


def test_a_failure_at_both_attempts_fails(suite) -> None:
    status, closing, output = run(suite, FLAKY.replace("> 1", "> 2"))
    assert (status, "2 failed, 5 passed, 2 rerun in " in closing) == (1, True), output


@pytest.mark.parametrize("given", [["-x"], ["-k", "goes and not elsewhere"]], ids=["x", "k"])
def test_with_x_or_a_selection_there_is_no_second_attempt(suite, given) -> None:
    status, closing, output = run(suite, FLAKY, *given)
    assert status != 0
    assert " rerun" not in closing, output
