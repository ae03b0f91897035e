"""A standalone Spark cluster as plain processes: one master and two workers, on loopback.

    from kit import spark_cluster
    with spark_cluster.start() as cluster:
        os.environ["SPARK_MASTER"] = cluster.master     # before the first session()

    kafkalab up spark                                   # one that stays until `kafkalab down`

Unlike `local[2]`, where the tasks are threads of the driver, here each part can die alone:

    driver ──┬── master      knows the workers, and gives a driver its executors
             ├── worker ─── executor     one core, a JVM of its own
             └── worker ─── executor

All of them listen on 127.0.0.1 only, and ask for a secret: a submitted job runs as the owner of the
cluster, and a machine may have more users.  The secret is stored in a file of the cluster's
directory, which `kit.spark.session()` finds by the master's address.  The jars are those of the
PySpark wheel.  A reaper ends everything with the kernel, or at `kafkalab down`.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from kit import class_archives, jars, places
from kit.clusters import registry
from kit.clusters.interface import ClusterError
from kit.clusters.local_plan import HOST, free_ports
from kit.clusters.reaper import Child, Reaper, ReaperGone
from kit.course import PROJECT

PROVIDER = "spark"
WORKERS = 2
MEMORY_MB = 768
"""A worker's memory, and the heap of its executor: the labs need less, and laptops have it."""
_JVM = ("-XX:-UsePerfData", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_DAEMON_MEMORY = "192m"
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR = "CoarseGrainedExecutorBackend"
_START_S = 90
_QUIET_LOG = Path(__file__).with_name("spark_connector") / "log4j2.properties"


class SparkCluster:
    """A running standalone cluster; as a context manager it ends with its block."""

    def __init__(self, registration: registry.Registration, reaper: Reaper) -> None:
        self.registration = registration
        self._reaper = reaper

    @property
    def master(self) -> str:
        """What SPARK_MASTER has to be: `spark://127.0.0.1:PORT`."""
        return self.registration.bootstrap

    def workers(self) -> dict[str, int]:
        """The living workers' process ids, by name."""
        return {
            name: each["pid"]
            for name, each in self._children().items()
            if name != "master" and each["returncode"] is None
        }

    def executors(self) -> list[int]:
        """The process ids of the executors that run now, for all drivers."""
        found = []
        for pid in self.workers().values():
            found += [child.pid for child in _children(pid) if is_executor(child)]
        return sorted(found)

    def kill_worker(self, name: str) -> None:
        """SIGKILL to a worker; its executor notices and ends."""
        Child(self._reaper, name, self.workers()[name]).signal(9)

    def end(self) -> None:
        """Ends all processes and removes their files."""
        self._reaper.end()

    def __enter__(self) -> SparkCluster:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def _children(self) -> dict[str, dict[str, Any]]:
        try:
            return self._reaper.children()
        except ReaperGone:
            raise ClusterError(
                "This Spark cluster has ended: start another with kafkalab up spark."
            ) from None


def start(*, shared: bool = False, workers: int = WORKERS) -> SparkCluster:
    """Starts a master and its workers, each with one core; returns when all are registered.

    A shared one stays until `kafkalab down`, any other ends with this process.  Raises
    JarsMissing without Java, ClusterError if PySpark is missing or a process does not start.
    """
    java = jars.java()
    home = _spark_home()
    label = f"{PROVIDER}-{secrets.token_hex(4)}"
    directory = registry.labelled_directory(label)
    port, page = free_ports(2)
    registration = registry.Registration(
        label, PROVIDER, str(directory), shared, f"spark://{HOST}:{port}", os.getpid()
    )
    _write_properties(directory)
    reaper = Reaper.start_shared(registration.reaper_socket) if shared else Reaper.start()
    try:
        for path in (directory, registration.file):
            reaper.own(str(path))
        cluster = SparkCluster(registration, reaper)
        spawn = _Spawning(reaper, label, directory, home, java)
        spawn("master", _MASTER, "--port", str(port), "--webui-port", str(page))
        _await(lambda: _alive(page) is not None, cluster, directory)
        for number in range(1, workers + 1):
            folder = str(directory / f"worker-{number}")
            sizes = ("--cores", "1", "--memory", f"{MEMORY_MB}m", "--webui-port", "0")
            spawn(f"worker-{number}", _WORKER, *sizes, "--work-dir", folder, cluster.master)
        _await(lambda: _alive(page) == workers, cluster, directory)
        registration.save()
    except BaseException:
        reaper.end()
        raise
    return cluster


def attach() -> SparkCluster | None:
    """The cluster that `kafkalab up spark` started, if it is up."""
    registration = registry.shared(PROVIDER)
    if registration is None:
        return None
    return SparkCluster(registration, Reaper.connect(registration.reaper_socket))


def properties_of(master: str) -> Path | None:
    """The file with the secret of a cluster of the kit's, by its master; None for any other."""
    for registration in registry.registrations(PROVIDER):
        if registration.bootstrap == master:
            file = _properties(Path(registration.directory))
            return file if file.exists() else None
    return None


def jvm() -> str:
    """Options of drivers, executors and daemons.

    The JVM's second compiler costs more than it gives back before a job is minutes long.
    """
    return " ".join((*_JVM, *class_archives.SPARK.flags()))


def settings(area: Path) -> dict[str, str]:
    """What a driver tells the executors on a cluster of this machine, by Spark's names.

    `area` is the driver's own directory; the executors put their temporary files there.
    """
    modules = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH", "")]))
    return {
        "spark.executor.memory": f"{MEMORY_MB}m",
        "spark.executor.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={_QUIET_LOG.as_uri()} -Djava.io.tmpdir={area} {jvm()}"
        ),
        "spark.executorEnv.PYTHONPATH": modules,
    }


class _Spawning:
    """Starts the daemons of one cluster by Spark's own script."""

    def __init__(self, reaper: Reaper, label: str, directory: Path, home: Path, java: str) -> None:
        self._reaper, self._label, self._directory = reaper, label, directory
        self._command = ["bash", str(home / "bin" / "spark-class")]
        self._environment = {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": HOST,  # the web pages listen there, too
            "SPARK_LOCAL_DIRS": str(directory / "local"),
            "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
            "SPARK_DAEMON_JAVA_OPTS": f"-Djava.io.tmpdir={directory} {jvm()}",
            "PYSPARK_PYTHON": sys.executable,
            # spark-class finds Java by this; the kit may have found it on the path.
            "JAVA_HOME": str(Path(java).resolve().parent.parent),
        }

    def __call__(self, name: str, daemon: str, *arguments: str) -> None:
        host = ("--host", HOST, "--properties-file", str(_properties(self._directory)))
        self._reaper.spawn(
            [*self._command, daemon, *host, *arguments],
            name=name,
            label=self._label,
            log_path=str(self._directory / f"{name}.log"),
            env=self._environment,
            cwd=str(self._directory),
            grace_s=0,
        )


def _properties(directory: Path) -> Path:
    return directory / "spark.properties"


def _write_properties(directory: Path) -> None:
    """The settings that master, workers and drivers share; only their owner can read them."""
    lines = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(16),
        "spark.master.rest.enabled": "false",
        "spark.ui.killEnabled": "false",
    }
    text = "".join(f"{name} {value}\n" for name, value in lines.items())
    file = os.open(_properties(directory), os.O_WRONLY | os.O_CREAT, 0o600)
    with open(file, "w") as properties:
        properties.write(text)


def _spark_home() -> Path:
    found = find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise ClusterError("PySpark is not installed, and this needs it: run: make setup")
    return Path(found.submodule_search_locations[0])


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:  # it has just ended
        return []


def is_executor(process: psutil.Process, application: str = "") -> bool:
    """Whether the process is an executor: of this application, if one is named by its id."""
    try:
        command = process.cmdline()
        return any(_EXECUTOR in word for word in command) and application in ("", *command)
    except psutil.Error:  # a zombie has no command line
        return False


def _alive(page: int) -> int | None:
    """How many workers the master knows; None while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{page}/json/", timeout=5) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (OSError, ValueError):
        return None


def _await(there: Any, cluster: SparkCluster, directory: Path) -> None:
    deadline = time.monotonic() + _START_S
    while not there():
        ended = [n for n, each in cluster._children().items() if each["returncode"] is not None]
        if ended or time.monotonic() > deadline:
            raise ClusterError(_failure(ended, directory))
        time.sleep(0.05)


def _failure(ended: list[str], directory: Path) -> str:
    """What a process that did not start has said; its log is kept, for the directory goes."""
    written = "".join(file.read_text(errors="replace") for file in sorted(directory.glob("*.log")))
    kept = places.state_dir() / "last-failure.log"
    kept.write_text(written)
    lines = [line for line in written.splitlines() if "ERROR" in line or "xception" in line]
    reason = (lines or ["it said nothing"])[-1].strip()[:200]
    who = f"Spark's {ended[0]} ended" if ended else "Spark's workers did not register"
    return f"{who} while the cluster started ({reason}): see {kept}"
