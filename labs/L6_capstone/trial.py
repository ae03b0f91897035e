"""Calls a pipeline on waves that it has not seen, and breaks something after each call.

The pipeline runs in the notebook's own Spark session.  A crash is what it leaves on disk: the note
that the last micro-batch is done is removed from each checkpoint, as if the driver had died
after its sinks and before that note.  Brokers die for real.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kit.spark import temporary
from labs.fleet.records import POSITIONS
from labs.L6_capstone import contract

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.clusters.interface import Cluster

CRASH = "driver dies after its sinks"
BROKER, AGAIN = "broker dies", "called again"
PARTITIONS = 2

Pipeline = Callable[["SparkSession", str, str], object]
Pairs = Sequence[tuple[bytes, bytes | None]]


def under_faults(
    pipeline: Pipeline, session: SparkSession, cluster: Cluster
) -> Callable[[Sequence[str], Sequence[Pairs]], dict[str, Any]]:
    """A function from waves, and the fault that follows each, to what the tables hold then.

    The faults come first: a learner reads them.  A wave is a list of (key, value).  The pipeline
    is called after each wave, and once more where the fault says so.
    """

    def tables(faults: Sequence[str], waves: Sequence[Pairs]) -> dict[str, Any]:
        cluster.create_topic(POSITIONS, partitions=PARTITIONS)
        folder = temporary("capstone")
        victim = cluster.leader(POSITIONS, 0)
        try:
            for wave, fault in zip(waves, faults, strict=True):
                _produce(cluster, wave)
                if fault == BROKER:
                    cluster.kill(victim)
                    cluster.wait_until(lambda c: c.leader(POSITIONS, 0) not in (victim, -1))
                pipeline(session, cluster.bootstrap, str(folder))
                if fault == CRASH:
                    forget_last_batch(folder)
                if fault == AGAIN:
                    pipeline(session, cluster.bootstrap, str(folder))
            return contract.tables(session, folder)
        finally:
            for query in session.streams.active:
                query.stop()
            if BROKER in faults:
                cluster.start(victim)
            shutil.rmtree(folder, ignore_errors=True)

    return tables


def forget_last_batch(folder: Path) -> None:
    """Removes the newest note from each checkpoint's `commits`."""
    for commits in sorted(folder.rglob("commits")):
        notes = [note for note in commits.iterdir() if note.name.isdigit()]
        if notes:
            newest = max(notes, key=lambda note: int(note.name))
            newest.unlink()
            newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)


def _produce(cluster: Cluster, wave: Pairs) -> None:
    from confluent_kafka import Producer

    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": 0}
    )
    for key, value in wave:
        producer.produce(POSITIONS, value, key)
    if left := producer.flush(30):
        raise RuntimeError(f"The cluster did not take {left} records of the wave in 30 s.")
