"""The whole suite in three lanes at once; `make test` loads it with `-p tests.lanes`.

About half of the suite's time mostly waits for real things: JVMs, containers, a browser.  One test
after another would leave the cores idle.  So three processes share the tests by their marks:

    clusters    a real Kafka, from jars or in Docker       the process that you start
    screens     a browser, Spark, or what is heavy         a process beside it
    plain       all others                                 another one

Each lane runs one test after another: no two clusters of JVMs run side by side, but for the labs'
notebooks, which take half an hour in the last lane.

The other lanes write each report to a file as a line of JSON.  The first one reads the files
between its own tests and hands every report to pytest's hooks, as if the test had run here: the
closing line, the failures, `-x`, `--durations` and `--junitxml` count all lanes.  What the first
lane left to another must have come back at the end, by name: a lane that crashes, or collects
something else, fails the run.

A test with a real Kafka, Docker, a browser or Spark that fails runs once more (rerunfailures): on
two cores a client or a page is late about once in ten thousand tests.  The closing line counts
such a test as `rerun`, and its first failure is printed.  All others have one attempt: a race in
the engine is a failure.

Tests marked `full` are left out, unless `--all` is given (`make test-all`).  With `--reached FILE`,
as in `.ci/run`, those run that the changes since the last whole run reach (reach.py).  Tests marked
`long` run in no whole suite: `pytest -m long` runs them.

With a selection (a path, `-k`, `-m`, `--lf` …) there is only one lane, and nothing is left out.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reach import FullRun, selection

FIRST, LAST = "clusters", "plain"
FULL, LONG = "full", "long"
MARKS = {FIRST: ("real", "docker"), "screens": ("browser", "spark", "heavy"), LAST: ()}
"""Each lane's marks; a test runs in the first lane that has one of its marks, else in the last.
`pytest.mark.lane("plain")` chooses a lane by its name, where another one would be the longest."""
AGAIN = ("real", "docker", "browser", "spark")
SELECTIONS = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise")
OTHER_MODES = ("collectonly", "usepdb", "setupplan", "showfixtures", "show_fixtures_per_test")
LANE = "lane"
"""The property of each report, and of its case in `--junitxml`, that names the test's lane."""
READ_EVERY_S = 0.2
CLOSING_TIME_S = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lane", metavar="NAME", help="be this lane of several")
    parser.addoption("--reports-to", metavar="FILE", help="where the lane reports")
    parser.addoption("--all", action="store_true", help="run the tests marked `full`, too")
    parser.addoption("--reached", metavar="FILE", help="and those that the last changes reach")


def pytest_configure(config: pytest.Config) -> None:
    if lane := config.getoption("--lane"):
        reports = Path(config.getoption("--reports-to"))
        config.pluginmanager.register(OtherLane(config, lane, reports))
    elif whole_suite(config):
        config.pluginmanager.register(FirstLane(config))


def whole_suite(config: pytest.Config) -> bool:
    chosen = any(config.getoption(name, None) for name in SELECTIONS + OTHER_MODES)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What a whole run has beside its lanes: tests that are left out, and second attempts."""
    if config.getoption("--lane") or whole_suite(config):
        leave_out(config, items, {each.nodeid for each in items if each.get_closest_marker(LONG)})
        if not config.getoption("all"):
            leave_out_full(config, items)
        if not config.getoption("maxfail"):
            for item in items:
                if any(item.get_closest_marker(mark) for mark in AGAIN):
                    item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.write_sep("_", f"the first failure of {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


def leave_out_full(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves the tests marked `full` out, but for those that are reached."""
    full = {item.nodeid: lane_of(item) for item in items if item.get_closest_marker(FULL)}
    if file := config.getoption("reached"):
        said, kept = selection(full, FullRun.read(config.rootpath / file))
        full = {name: lane for name, lane in full.items() if name not in kept}
        if not config.getoption("--lane"):
            config.get_terminal_writer().write(said)
    leave_out(config, items, full)


def leave_out(config: pytest.Config, items: list[pytest.Item], names: Collection[str]) -> None:
    left_out = [item for item in items if item.nodeid in names]
    items[:] = [item for item in items if item.nodeid not in names]
    config.hook.pytest_deselected(items=left_out)


def pytest_runtest_setup(item: pytest.Item) -> None:
    item.user_properties.append((LANE, lane_of(item)))


def lane_of(item: pytest.Item) -> str:
    if chosen := item.get_closest_marker("lane"):
        return str(chosen.args[0])
    for lane, marks in MARKS.items():
        if any(item.get_closest_marker(mark) for mark in marks):
            return lane
    return LAST


class OtherLane:
    """Runs the tests of one lane, and reports."""

    def __init__(self, config: pytest.Config, lane: str, reports: Path) -> None:
        self.config = config
        self.lane = lane
        self.reports = reports.open("a", encoding="utf-8", buffering=1)
        self.parent = os.getppid()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if lane_of(item) == self.lane]

    def pytest_runtest_setup(self) -> None:
        if os.getppid() != self.parent:
            pytest.exit("the first lane is gone")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.reports.write(json.dumps(data) + "\n")


class Started:
    """Another lane, as the first one sees it: its process, its reports, what has to come back."""

    def __init__(self, config: pytest.Config, lane: str, folder: Path) -> None:
        self.lane = lane
        self.awaited: dict[str, None] = {}
        self.log = folder / f"{lane}.log"
        reports = folder / f"{lane}.reports"
        reports.touch()
        self.reports = reports.open(encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", __name__]
        command += [f"--lane={lane}", f"--reports-to={reports}", f"--rootdir={config.rootpath}"]
        command += ["-p", "no:cacheprovider"]
        command += ["--all"] if config.getoption("all") else []
        command += (
            [f"--reached={config.getoption('reached')}"] if config.getoption("reached") else []
        )
        command += [f"-c={config.inipath}"] if config.inipath else []
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=config.invocation_params.dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # an interrupt reaches it once: from `end`
            )

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def news(self) -> Iterator[dict[str, Any]]:
        """What the lane has reported since the last time."""
        while True:
            position = self.reports.tell()
            line = self.reports.readline()
            if not line.endswith("\n"):
                self.reports.seek(position)
                return
            yield json.loads(line)

    def fault(self) -> pytest.CollectReport:
        """Says which tests did not come back, and what the lane printed last."""
        count = f"{len(self.awaited)} test{'s' if len(self.awaited) > 1 else ''}"
        some = "\n".join([*self.awaited][:10])
        said = self.log.read_text(errors="replace")[-4000:]
        return pytest.CollectReport(
            nodeid=f"the lane {self.lane}",
            outcome="failed",
            longrepr=f"{said}\n\nIt ended with {self.process.returncode}, and {count} "
            f"did not come back:\n{some}",
            result=[],
        )

    def end(self) -> None:
        """An interrupt lets the lane stop its own clusters."""
        if self.is_running:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(CLOSING_TIME_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.reports.close()


class FirstLane:
    """Runs its own tests, starts the other lanes and answers for them."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.folder = tempfile.TemporaryDirectory(prefix="kafkalab-lanes-")
        self.others: dict[str, Started] = {}

    def pytest_sessionstart(self) -> None:
        for lane in MARKS:
            if lane != FIRST:
                self.others[lane] = Started(self.config, lane, Path(self.folder.name))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if (lane := lane_of(item)) != FIRST:
                self.others[lane].awaited[item.nodeid] = None
        items[:] = [item for item in items if lane_of(item) == FIRST]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        session.testscollected += sum(len(other.awaited) for other in self.others.values())
        result = yield
        while any(other.is_running for other in self.others.values()):
            time.sleep(READ_EVERY_S)
            self._replay()
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
        self._replay()
        for other in self.others.values():
            if other.awaited:
                self.config.hook.pytest_collectreport(report=other.fault())
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        result = yield
        self._replay()
        return result

    def pytest_sessionfinish(self) -> None:
        for other in self.others.values():
            other.end()
        self.folder.cleanup()

    def _replay(self) -> None:
        for other in self.others.values():
            for data in other.news():
                self._hand_on(other, data)

    def _hand_on(self, other: Started, data: dict[str, Any]) -> None:
        hook = self.config.hook
        report = hook.pytest_report_from_serializable(config=self.config, data=data)
        if isinstance(report.longrepr, list):  # a skip's place and reason; JSON has no tuples
            report.longrepr = tuple(report.longrepr)
        if report.when == "setup":
            hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
        hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
            other.awaited.pop(report.nodeid, None)
