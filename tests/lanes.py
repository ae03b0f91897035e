"""The whole suite in two lanes at once; `make test` loads it with `-p tests.lanes`.

About half of the suite's time is spent on one core in pure Python; the other half mostly waits
for real things: JVMs, containers, a browser, Spark.  One after the other they leave a core idle.
So the process that you start runs the tests that are marked with a part (`real`, `docker`,
`browser`, `spark`), and a second process runs all others meanwhile.  Each lane runs one test
after another, as before: no two clusters of JVMs stand side by side.

The second process writes each report to a file as a line of JSON.  The first one reads the file
between its own tests and hands every report to pytest's hooks, as if the test had run here: the
closing line, the failures, `-x`, `--durations` and `--junitxml` count both lanes.  What the first
process left to the second must have come back at the end, by name: a lane that crashes, or
collects something else, fails the run.

With a selection (a path, `-k`, `-m`, `--lf` …) there is only one lane.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

PARTS = ("real", "docker", "browser", "spark")
SELECTIONS = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise")
OTHER_MODES = ("collectonly", "usepdb", "setupplan", "showfixtures", "show_fixtures_per_test")
READ_EVERY_S = 0.2
CLOSING_TIME_S = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reports-to", metavar="FILE", help="be the second lane; report into FILE")


def pytest_configure(config: pytest.Config) -> None:
    if reports := config.getoption("--reports-to"):
        config.pluginmanager.register(SecondLane(config, Path(reports)))
    elif whole_suite(config):
        config.pluginmanager.register(FirstLane(config))


def whole_suite(config: pytest.Config) -> bool:
    chosen = any(config.getoption(name, None) for name in SELECTIONS + OTHER_MODES)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen


def needs_a_part(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(part) for part in PARTS)


class SecondLane:
    """Runs what needs no part, and reports."""

    def __init__(self, config: pytest.Config, reports: Path) -> None:
        self.config = config
        self.reports = reports.open("a", encoding="utf-8", buffering=1)
        self.parent = os.getppid()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if not needs_a_part(item)]

    def pytest_runtest_setup(self) -> None:
        if os.getppid() != self.parent:
            pytest.exit("the first lane is gone")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.reports.write(json.dumps(data) + "\n")


class FirstLane:
    """Runs what needs a part, starts the second lane and answers for it."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.awaited: dict[str, None] = {}
        self.folder = tempfile.TemporaryDirectory(prefix="kafkalab-lanes-")
        self.log = Path(self.folder.name, "log")
        self.reports: IO[str]
        self.process: subprocess.Popen[bytes]

    def pytest_sessionstart(self) -> None:
        reports = Path(self.folder.name, "reports")
        reports.touch()
        self.reports = reports.open(encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", __name__, f"--reports-to={reports}"]
        command += [f"--rootdir={self.config.rootpath}", "-p", "no:cacheprovider"]
        command += [f"-c={self.config.inipath}"] if self.config.inipath else []
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.config.invocation_params.dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # an interrupt reaches it once: from `_end`
            )

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.awaited = dict.fromkeys(item.nodeid for item in items if not needs_a_part(item))
        items[:] = [item for item in items if needs_a_part(item)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        session.testscollected += len(self.awaited)
        result = yield
        while self.process.poll() is None:
            time.sleep(READ_EVERY_S)
            self._replay()
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
        self._replay()
        if self.awaited:
            self._report_the_missing()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        result = yield
        self._replay()
        return result

    def pytest_sessionfinish(self) -> None:
        self._end()
        self.reports.close()
        self.folder.cleanup()

    def _replay(self) -> None:
        """Hands on what the second lane has reported since the last time."""
        while True:
            position = self.reports.tell()
            line = self.reports.readline()
            if not line.endswith("\n"):
                self.reports.seek(position)
                return
            self._hand_on(json.loads(line))

    def _hand_on(self, data: dict[str, Any]) -> None:
        hook = self.config.hook
        report = hook.pytest_report_from_serializable(config=self.config, data=data)
        if isinstance(report.longrepr, list):  # a skip's place and reason; JSON has no tuples
            report.longrepr = tuple(report.longrepr)
        if report.when == "setup":
            hook.pytest_runtest_logstart(nodeid=report.nodeid, location=report.location)
        hook.pytest_runtest_logreport(report=report)
        if report.when == "teardown":
            hook.pytest_runtest_logfinish(nodeid=report.nodeid, location=report.location)
            self.awaited.pop(report.nodeid, None)

    def _report_the_missing(self) -> None:
        count = f"{len(self.awaited)} test{'s' if len(self.awaited) > 1 else ''}"
        some = "\n".join([*self.awaited][:10])
        said = self.log.read_text(errors="replace")[-4000:]
        fault = pytest.CollectReport(
            nodeid="the second lane",
            outcome="failed",
            longrepr=f"{said}\n\nIt ended with {self.process.returncode}, and {count} "
            f"did not come back:\n{some}",
            result=[],
        )
        self.config.hook.pytest_collectreport(report=fault)

    def _end(self) -> None:
        """An interrupt lets the second lane stop its own clusters."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(CLOSING_TIME_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
