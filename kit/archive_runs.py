"""Fills the class archives: `python -m kit.archive_runs`, what `make setup` runs.

Each run starts a JVM that does its usual work.  When the JVM ends in good order, it writes an
archive of the classes that it has loaded.
"""

from __future__ import annotations

import sys
from typing import Any

from kit import jars
from kit.class_archives import BROKER, SPARK, TOOL


def _run_a_broker() -> None:
    """A cluster whose broker 103 stops in good order; all other JVMs are killed and write none."""
    from confluent_kafka import Producer

    from kit.clusters import local

    with local.start(links=False) as cluster:
        cluster.create_topic("archive", partitions=3)
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        producer.produce("archive", b"a record")
        producer.flush(30)
        cluster.stop(103)


def _run_a_tool() -> None:
    from kit.clusters import engine, tools

    with engine.start() as cluster:
        tools.run(cluster, "kafka-topics", "--list")


def _run_spark() -> None:
    """A driver that writes, merges and streams; the JVM ends when its pipe is closed."""
    from pyspark import SparkContext

    from kit import spark

    session = spark.session("class archive")
    format, table = spark.table_format(session), str(spark.temporary("archive"))
    session.range(10).write.format(format).mode("overwrite").save(table)
    if format == "delta":
        session.sql(
            f"MERGE INTO delta.`{table}` AS kept USING (SELECT 5L AS id) AS found "
            "ON kept.id = found.id WHEN NOT MATCHED THEN INSERT *"
        )
    stream = session.readStream.format(format)
    stream = stream if format == "delta" else stream.schema("id LONG")
    counts = stream.load(table).groupBy("id").count()
    query = counts.writeStream.format("memory").queryName("archive").outputMode("complete")
    query.trigger(availableNow=True).start().awaitTermination()
    gateway: Any = SparkContext._gateway
    session.stop()
    gateway.proc.stdin.close()
    gateway.proc.wait(120)


RUNS = ((BROKER, _run_a_broker), (TOOL, _run_a_tool), (SPARK, _run_spark))


def main() -> int:
    """Entry point of `python -m kit.archive_runs`; 0 also if one could not be made."""
    for archive, run in RUNS:
        try:
            archive.make(run)
        except jars.JarsMissing:
            continue  # set-up has said what is missing
        except Exception as problem:
            print(f"The class archive {archive.name} was not made, so its JVMs start more slowly:")
            print(f"  {type(problem).__name__}: {problem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
