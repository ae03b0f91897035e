"""A test that fails in a whole run has a second attempt, at the end of its lane.

The suite starts hundreds of clusters, browsers and kernels on two cores, where three lanes are at
work at a time.  Somewhere a real client is then late, or meets a fault of its own, about once in
ten thousand tests.  What is always wrong fails twice.  What comes and goes is printed with its
first failure, and counted as `rerun` in the closing line.  When tests of more than MOST files fail
in a lane, none has a second attempt.

Kafka's own build does the same (`maxTestRetries`, `maxTestRetryFailures` in its build.gradle).  A
selection of tests, and a run with `-x`, have no second attempt.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol

MOST = 3
"""Files of a lane.  Tests are not counted: what those of a file share fails for all of them."""
FIRST_FAILURE = "first failure"
"""A report's property: how the first attempt failed, if the second one passed."""


class SecondAttempt:
    """Keeps the reports of failed tests, and runs these tests again after all others."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.failed: dict[pytest.Item, list[pytest.TestReport]] = {}
        self.second: dict[pytest.Item, list[pytest.TestReport]] = {}
        self.shown: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if item in self.second:
            log(item, judged(self.second.pop(item), reports))
        elif failure(reports):
            self.failed[item] = reports
        else:
            log(item, reports)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        try:
            result = yield
            if len({item.path for item in self.failed}) <= MOST:
                self._attempt_again()
        finally:
            for item, reports in (self.failed | self.second).items():
                log(item, reports)
        return result

    def _attempt_again(self) -> None:
        self.second, self.failed = self.failed, {}
        items = list(self.second)
        for item, following in zip(items, [*items[1:], None], strict=False):
            item.user_properties.clear()
            item._initrequest()  # type: ignore[attr-defined]
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)

    # -- what the run says of it, for all lanes

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        text = dict(report.user_properties).get(FIRST_FAILURE)
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if isinstance(text, str) and report.when == "call":
            self.shown[report.nodeid] = text
            if terminal:
                terminal.stats.setdefault("rerun", []).append(report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.shown:
            terminalreporter.section("failed once, and passed at the second attempt")
            for name, text in self.shown.items():
                terminalreporter.write_sep("_", name)
                terminalreporter.write_line(text)


def log(item: pytest.Item, reports: list[pytest.TestReport]) -> None:
    for each in reports:
        item.ihook.pytest_runtest_logreport(report=each)


def failure(reports: list[pytest.TestReport]) -> str:
    """How a test failed, or nothing."""
    return "\n".join(each.longreprtext for each in reports if each.failed)


def judged(
    first: list[pytest.TestReport], second: list[pytest.TestReport]
) -> list[pytest.TestReport]:
    """The second attempt's reports, with the first failure."""
    for each in second:
        if failure(second):
            each.sections.append(("the first failure", failure(first)))
        else:
            each.user_properties.append((FIRST_FAILURE, failure(first)))
    return second
