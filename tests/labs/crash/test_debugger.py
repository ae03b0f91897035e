"""A JVM's thread stands at the method that was named, and goes on when it is told to."""

from __future__ import annotations

import os
import subprocess
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from kit import jars
from labs.crash.debugger import Debugger, Method, Stop

pytestmark = pytest.mark.spark

LAUNCHER = "org.apache.spark.launcher.Main"
BUILDS = Method("org.apache.spark.launcher.SparkSubmitCommandBuilder", "buildCommand")


def java(debugger: Debugger) -> subprocess.Popen[str]:
    """A short program with a method to stand at: Spark's launcher, which prints a command."""
    found = find_spec("pyspark")
    assert found
    assert found.origin
    home = Path(found.origin).parent
    command = [str(jars.java()), debugger.agent, "-cp", str(home / "jars" / "*"), LAUNCHER]
    command += ["org.apache.spark.deploy.SparkSubmit", "--version"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"},
    )  # fmt: skip


def test_a_thread_stands_until_the_process_is_killed() -> None:
    stops: list[Stop] = []
    stands = threading.Event()

    def stay(stop: Stop) -> bool:
        stops.append(stop)
        stands.set()
        return True

    with java(Debugger([BUILDS], stay)) as process:
        assert stands.wait(60)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.kill()
        assert process.wait(10) == -9
        assert process.stdout
        assert process.stdout.read() == ""
    (stop,) = stops
    assert stop.method == BUILDS
    assert stop.thread == "main"
    assert stop.line > 0


def test_a_thread_goes_on_where_it_is_not_held() -> None:
    stops: list[Stop] = []
    with java(Debugger([BUILDS], lambda stop: bool(stops.append(stop)))) as process:
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
    assert "java" in said
    assert {stop.method for stop in stops} == {BUILDS}


def test_an_error_in_the_question_lets_the_jvm_go_on() -> None:
    def stay(_: Stop) -> bool:
        raise LookupError("no such query")

    debugger = Debugger([BUILDS], stay)
    with java(debugger) as process:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert isinstance(debugger.failure, LookupError)
