"""A Spark session that is ready for Kafka: `session()`.

    from kit.spark import session
    spark = session()
    spark.readStream.format("kafka").option("kafka.bootstrap.servers", eng.bootstrap)…

PySpark starts a JVM of its own beside the kernel.  This module settles four things about it:

* **Jars.**  Spark's Kafka connector and Delta Lake are not part of PySpark.  They come from the
  jars that `make setup` put into the cache, so nothing is fetched when a session starts.
  Without Delta's jars the session knows Parquet tables only: `table_format` says which.
* **Life.**  The JVM reads a pipe from the kernel and ends when the pipe closes, however the
  kernel died.  It ignores SIGINT: an interrupted cell cancels its Spark jobs, and the
  session goes on.
* **Place.**  Warehouse, checkpoints and shuffle files are in one directory of the kit's.
  A reaper removes it when the kernel is gone, SIGKILL included.
* **Quiet.**  What the JVM prints goes to a log file; a notebook shows results only.

`SPARK_MASTER` chooses where the work is done: `local[*]` (the default), a standalone
cluster's `spark://host:7077`, or a managed one.  `kafkalab up spark` starts a standalone
cluster on this machine and prints the value; a session joins it only if the variable says so.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit import jars, places, spark_cluster
from kit.clusters.reaper import Reaper

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

MASTER_VARIABLE = "SPARK_MASTER"
LOOPBACK = "127.0.0.1"
_QUIET_LOG = Path(__file__).with_name("spark_connector") / "log4j2.properties"
_MEMORY = "1g"
"""The driver's heap.  Enough for the labs, and thirty laptops have it to spare."""
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"


class SparkMissing(RuntimeError):
    """No session can start here; the message says why, and the remedy."""


def session(name: str = "kafka-inside-out") -> SparkSession:
    """This kernel's Spark session, started on first use.

    Raises SparkMissing if Java, PySpark or the connector's jars are missing, or if the JVM
    does not start.  Its sentence names the command that helps.
    """
    connector = _required()
    # PySpark warns of a pandas newer than itself; the one lab that needs pandas runs with it.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    area, _ = _area()
    delta = jars.DELTA.require() if jars.DELTA.installed() else None
    where = master()
    chosen = settings(where, area, connector, delta)
    with _submitted(spark_cluster.properties_of(where)):
        return _started(name, chosen, area / "spark.log")


def table_format(started: SparkSession) -> str:
    """`delta` if this session has Delta Lake, `parquet` otherwise: for `format(...)`."""
    return "delta" if _DELTA_EXTENSION in _extensions(started) else "parquet"


def master() -> str:
    """`SPARK_MASTER`, or the local machine: all of its cores, and two threads at least."""
    return os.environ.get(MASTER_VARIABLE) or f"local[{_threads()}]"


def temporary(prefix: str = "tables") -> Path:
    """A fresh directory that is removed when the kernel ends: for tables and checkpoints."""
    area, _ = _area()
    return Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=area))


def settings(where: str, area: Path, connector: Path, delta: Path | None = None) -> dict[str, str]:
    """A session's settings, by Spark's own names; `delta` is the directory of Delta's jars."""
    places_of_jars = [connector] if delta is None else [connector, delta]
    chosen = {
        "spark.master": where,
        "spark.jars": ",".join(
            str(jar) for place in places_of_jars for jar in sorted(place.glob("*.jar"))
        ),
        "spark.driver.memory": _MEMORY,
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={_QUIET_LOG.as_uri()} -Djava.io.tmpdir={area} "
            f"-Dderby.system.home={area} {spark_cluster.jvm()}"
        ),
        "spark.local.dir": str(area / "local"),
        "spark.sql.warehouse.dir": str(area / "warehouse"),
        # As many reducers as threads: Spark's 200 are for data a thousand times larger.
        "spark.sql.shuffle.partitions": str(_threads()),
        "spark.sql.session.timeZone": "UTC",
        # Spark keeps a producer for ten minutes.  If its topic is made again meanwhile, the new log
        # knows nothing of the producer and takes any batch that comes first; one that the old
        # leader refused then comes too late, and is refused until delivery.timeout.ms is over.
        "spark.kafka.producer.cache.timeout": "1s",
        "spark.kafka.producer.cache.evictorThreadRunInterval": "1s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    on_this_machine = where.startswith(f"spark://{LOOPBACK}:")
    if where.startswith("local") or on_this_machine:
        chosen |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if on_this_machine:
        chosen |= spark_cluster.settings(area)
    if delta is not None:
        chosen |= {
            "spark.sql.extensions": _DELTA_EXTENSION,
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            # A table's log is read in one task: Delta's 50 are for logs a thousand times longer.
            "spark.databricks.delta.snapshotPartitions": "1",
            # Delta would keep the logs of 10,000 tables for an hour, and 4 MB for each: after 150
            # tables the heap would be full.  A log that is no longer in memory is read again.
            "spark.databricks.delta.delta.log.cacheSize": "32",
        }
    return chosen


def _extensions(started: SparkSession) -> str:
    return started.conf.get("spark.sql.extensions", "") or ""


def _required() -> Path:
    """The connector's jars, once Java and PySpark are known to be there."""
    try:
        jars.java()
        if find_spec("pyspark") is None:
            raise SparkMissing("PySpark is not installed, and this needs it: run: make setup")
        return jars.SPARK.require()
    except jars.JarsMissing as missing:
        raise SparkMissing(str(missing)) from None


def _threads() -> int:
    return max(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)


@cache
def _area() -> tuple[Path, Reaper]:
    """A directory of this kernel's own, and the reaper that removes it after the kernel."""
    area = Path(tempfile.mkdtemp(prefix="spark-", dir=places.temporary_area()))
    reaper = Reaper.start()
    reaper.own(str(area))
    return area, reaper


@contextmanager
def _submitted(properties: Path | None) -> Iterator[None]:
    """What PySpark takes from the environment when it starts: the interpreter of Python's workers,
    which has to be this one, and a file with a cluster's secret.

    The secret would be seen in the list of processes if it were a setting.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if properties is None:
        yield
        return
    before = os.environ.get(_ARGUMENTS)
    mine = f"--properties-file {shlex.quote(str(properties))}"
    os.environ[_ARGUMENTS] = f"{mine} {before or 'pyspark-shell'}"
    try:
        yield
    finally:
        del os.environ[_ARGUMENTS]
        if before is not None:
            os.environ[_ARGUMENTS] = before


def _started(name: str, chosen: dict[str, str], log: Path) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAppName(name).setAll(list(chosen.items()))
    with log.open("wb") as output:
        streams: dict[str, Any] = {"stdout": output, "stderr": output}
        try:
            gateway = launch_gateway(conf, streams)
        except PySparkException:
            raise SparkMissing(
                f"Spark's JVM did not start ({_last_line(log)}): {_REMEDY}"
            ) from None
    context = SparkContext(conf=conf, gateway=gateway)
    _cancel_when_interrupted(context)
    return SparkSession(context)


def _cancel_when_interrupted(context: SparkContext) -> None:
    """Cancels the job on an interrupt, which would otherwise end only the waiting: the job
    would keep every core until it is done."""
    from IPython import get_ipython

    def after_a_cell(result: Any) -> None:
        if _was_interrupted(result.error_in_exec):
            context.cancelAllJobs()

    if shell := get_ipython():
        shell.events.register("post_run_cell", after_a_cell)


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt is the error, or its cause: py4j closes the connection on one, and what
    needs that connection on the way out then fails in its own words."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


_REMEDY = (
    "Spark 4 needs Java 17 or newer, a gigabyte of memory, and the master that SPARK_MASTER names; "
    "see: kafkalab doctor"
)


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"
