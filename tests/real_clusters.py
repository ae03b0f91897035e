"""Fixtures for tests of any folder: real clusters for a whole session, and skips with a reason.

Load it once, in the conftest of each folder that needs it:

    from tests.real_clusters import use

    def pytest_configure(config):
        use(config)

Then `local_cluster` is one real Kafka for the whole session, started when first used, the
same one for all folders.  Mark the test `real`.  `restored` repairs what a test breaks.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import NoReturn

import pytest

from kit import jars
from kit.clusters import local
from kit.clusters.interface import NotOffered
from kit.clusters.kafka_cluster import KafkaCluster
from kit.course import PROJECT


def use(config: pytest.Config) -> None:
    """Registers this module's fixtures once; later calls do nothing."""
    if not config.pluginmanager.has_plugin(__name__):
        config.pluginmanager.register(sys.modules[__name__], __name__)


def missing(part: str, command: str) -> NoReturn:
    """Skips the test, naming what is missing and the command that adds it; fails under CI=true."""
    sentence = f"{part} is missing: {command}"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)


def require_local_kafka() -> None:
    """Skips (or under CI fails) where no real Kafka can be started as plain processes."""
    try:
        jars.java()
        jars.classpath()
    except jars.JarsMissing as error:
        missing("A local Kafka", str(error))


def run_apart(script: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell script where it sees no process but its own, with a temporary folder of its own.

    So `kafkalab down` ends nothing of another test.  `$PYTHON` is this interpreter.
    """
    if shutil.which("bwrap") is None:
        missing("bubblewrap", "run: sudo apt-get install bubblewrap")
    apart = ["bwrap", "--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/"]
    # Sockets live in the folder, and their paths must stay under 108 bytes.
    with tempfile.TemporaryDirectory(prefix="kl", dir="/tmp") as folder:
        own = {"TMPDIR": folder, "XDG_STATE_HOME": f"{folder}/state", "PYTHON": sys.executable}
        return subprocess.run(
            [*apart, "--proc", "/proc", "bash", "-c", script],
            env=os.environ | own, cwd=PROJECT, capture_output=True, text=True,
        )  # fmt: skip


@pytest.fixture(scope="session")
def local_cluster() -> Iterator[KafkaCluster]:
    """One controller and three brokers, as plain Java processes."""
    require_local_kafka()
    with local.start() as cluster:
        yield cluster


@contextlib.contextmanager
def restored(cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    """Lets a test break a shared cluster, and repairs it afterwards."""
    try:
        yield cluster
    finally:
        with contextlib.suppress(NotOffered):
            cluster.heal()
        for node in cluster.provider.nodes().values():
            if node.state == "paused":
                cluster.resume(node.id)
        for node in sorted(cluster.provider.nodes().values(), key=lambda n: not n.is_controller):
            cluster.start(node.id)
