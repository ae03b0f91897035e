"""What the whole test suite shares: which parts are there, and which tests run together.

Mark a test with what it needs (`real`, `docker`, `browser`, `spark`); it is skipped with a
sentence where that part is missing.  On a build machine (CI=true) nothing may be missing:
there every skip fails, except one whose reason starts with "not a missing part:".

Tests that need a part run one after another: clusters of JVMs, browsers and Spark would time
each other out on two cores.  `make test` runs all others beside them, in three lanes (lanes.py).
"""

from __future__ import annotations

import os
import shutil
import signal
from functools import cache
from importlib.util import find_spec

import pytest
from hypothesis import settings

from kit.install import OLDEST_JAVA, java_version

IN_CI = os.environ.get("CI") == "true"
ALLOWED_SKIP = "not a missing part:"
PARTS = ("real", "docker", "browser", "spark")

# How long an example takes says nothing on a busy machine.
settings.register_profile("unhurried", parent=settings(), deadline=None)
settings.load_profile("unhurried")

# A shell that starts a job in the background lets it ignore interrupts, and so would every child;
# some tests interrupt theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@cache
def _missing(part: str) -> str:
    """What is missing for a mark, as a sentence; empty if nothing is."""
    if part in ("real", "spark") and java_version() < OLDEST_JAVA:
        return "Java 17 is not on the path; install a JDK and run: make setup"
    if part == "real" and shutil.which("mvn") is None:
        return "Maven is not on the path; install it and run: make setup"
    if part == "spark" and find_spec("pyspark") is None:
        return "PySpark is not installed; run: make setup"
    if part == "docker" and shutil.which("dockerd") is None and shutil.which("docker") is None:
        return "Docker is not installed; install it and run: make test"
    if part == "browser" and shutil.which("chromium") is None:
        return "Chromium is not installed; install it and run: make test"
    return ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    for part in PARTS:
        if item.get_closest_marker(part) and (sentence := _missing(part)):
            pytest.skip(sentence)


def _fail_a_skip_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not IN_CI or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    location = report.longrepr
    reason = location[2] if isinstance(location, tuple) else str(location)
    if not reason.removeprefix("Skipped: ").startswith(ALLOWED_SKIP):
        report.outcome = "failed"
        report.longrepr = f"In CI nothing may be skipped. {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    report = yield
    _fail_a_skip_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    report = yield
    _fail_a_skip_in_ci(report)
    return report
