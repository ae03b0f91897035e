"""`kafkalab pipeline`: the fleet into a cluster, through the pipeline, and the balance.

    kafkalab pipeline --source engine --events 1000000 --kill

With `--kill` a broker dies while bronze reads, and the driver, by SIGKILL, after silver's first
micro-batch; it is started again.  The numbers must be the same.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from kit import places
from labs.fleet.records import Fleet, records
from labs.fleet.truth import Tally, Truth
from labs.fleet.writer import write
from labs.pipeline import balance, dashboard
from labs.pipeline.charts import Mark
from labs.pipeline.dashboard import Run
from labs.pipeline.driver import BATCH_RECORDS
from labs.pipeline.events import MENDED
from labs.pipeline.layers import PARTITIONS
from labs.pipeline.progress import noted

if TYPE_CHECKING:
    from kit.clusters.interface import Cluster

KILLED = -9
Tell = Callable[[str], None]
Driver = subprocess.Popen[str]
Moments = Mapping[str, Callable[[Driver], object]]


LOOK_S = 1.0
CLUSTER_ENDED = (
    "The cluster ended under the pipeline, which would have waited for it: start another, and give "
    "it the same folder only if its topics are the same."
)


class DriverFailed(RuntimeError):
    """The driver ended with an error; the message has its last line."""


def produce(cluster: Cluster, fleet: Fleet) -> Truth:
    """Creates the topics and writes the fleet's records; returns the truth about them."""
    for topic, partitions in PARTITIONS.items():
        cluster.create_topic(topic, partitions=partitions)
    tally = Tally()
    write(cluster, tally.counting(records(fleet)))
    return tally.truth()


def drive(
    cluster: Cluster, folder: Path, *options: str, tell: Tell = print,
    moments: Moments = MappingProxyType({}),
) -> int:  # fmt: skip
    """Runs the driver as a process of its own; returns its status, KILLED if it was killed.

    `moments["silver"]` is called with the process at its first line that begins with "silver".
    Raises DriverFailed if it ended with an error, or if the cluster ended.
    """
    command = [sys.executable, "-m", "labs.pipeline.driver"]
    command += ["--bootstrap", cluster.bootstrap, "--folder", str(folder), *options]
    due = dict(moments)
    text = ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as driver:
        assert driver.stdout is not None
        ended = _ends_with(cluster, driver)
        try:
            for text in driver.stdout:
                tell(text.rstrip())
                for start in [each for each in due if text.startswith(each)]:
                    due.pop(start)(driver)
            status = driver.wait()
        finally:
            driver.kill()
    if ended.is_set():
        raise DriverFailed(CLUSTER_ENDED)
    if status not in (0, KILLED):
        raise DriverFailed(f"The pipeline's driver ended with {status}: {text.strip()}")
    return status


def _ends_with(cluster: Cluster, driver: Driver) -> threading.Event:
    """Kills the driver when the cluster is gone for good; the event says that it did."""
    ended = threading.Event()

    def look() -> None:
        while driver.poll() is None:
            if cluster.has_ended:
                ended.set()
                driver.kill()
            time.sleep(LOOK_S)

    threading.Thread(target=look, daemon=True).start()
    return ended


def with_kills(cluster: Cluster, folder: Path, *options: str, tell: Tell = print) -> list[Mark]:
    """A broker dies while bronze reads, then the driver; the broker is started again."""
    victim = max(cluster.brokers)
    marks: list[Mark] = []

    def mark(text: str) -> None:
        marks.append(Mark(time.time(), text))
        tell(text)

    def a_broker(_: Driver) -> None:
        cluster.kill(victim)
        mark(f"killed broker {victim}")

    def the_driver(driver: Driver) -> None:
        driver.kill()
        mark("killed the driver")

    status = drive(
        cluster, folder, *options, tell=tell, moments={"bronze": a_broker, "silver": the_driver}
    )
    assert status == KILLED
    cluster.start(victim)
    mark(f"broker {victim} is back")
    return marks


def run(chosen: argparse.Namespace) -> int:
    """0 when every equation holds, else 1; `chosen` is what the command line was given."""
    if chosen.events < 1:
        print("There is nothing to do: give --events 1 or more.", file=sys.stderr)
        return 1
    if chosen.dashboard and not chosen.dashboard.absolute().parent.is_dir():
        print(f"There is no folder {chosen.dashboard.parent}: make it first.", file=sys.stderr)
        return 1
    from kit import lab

    folder = Path(tempfile.mkdtemp(prefix="fleet-", dir=places.temporary_area()))
    try:
        return _balanced(getattr(lab, chosen.source)(), chosen, folder)
    except RuntimeError as problem:
        print(problem, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _balanced(cluster: Cluster, chosen: argparse.Namespace, folder: Path) -> int:
    began = time.monotonic()
    truth = produce(cluster, Fleet(events=chosen.events, seed=chosen.seed))
    print(f"produced: {truth.produced:,} records in {time.monotonic() - began:.0f} s", flush=True)
    began = time.monotonic()
    options = ["--batch", str(batch_records(chosen.events)), "--parser", "mended", "--compact"]
    options += ["--format", chosen.format] if chosen.format else []
    marks = with_kills(cluster, folder, *options) if chosen.kill else []
    report = folder / "report.json"
    drive(cluster, folder, *options, "--report", str(report))
    seconds = time.monotonic() - began
    print(f"from topics to gold: {seconds:.0f} s with Spark's start")
    found = json.loads(report.read_text())
    if not chosen.kill:
        print(rates(found["seconds"], truth.produced))
    equations = list(balance.equations(found["tables"], truth, MENDED))
    print(*equations, sep="\n")
    if chosen.dashboard:
        batches, compacted = noted(folder)
        measured = Run(
            chosen.source, found["format"], truth, found["tables"], equations,
            batches, compacted, marks, seconds,
        )  # fmt: skip
        form = dashboard.text if chosen.dashboard.suffix == ".txt" else dashboard.page
        chosen.dashboard.write_text(form(measured))
        print(f"the run is drawn in {chosen.dashboard}")
    return int(not all(each.holds for each in equations))


def batch_records(events: int) -> int:
    """Records in a micro-batch: there are four at least, so that something can break between."""
    return max(1, min(BATCH_RECORDS, events // 4))


def rates(seconds: Mapping[str, float], records: int) -> str:
    """How fast the layers were, without Spark's start."""
    each = ", ".join(f"{layer} {took:.1f} s" for layer, took in seconds.items())
    return f"{each}: {records / sum(seconds.values()):,.0f} records/s"
