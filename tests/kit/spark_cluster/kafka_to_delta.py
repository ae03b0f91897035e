"""A driver on the shared Spark cluster: Kafka to Delta, with an executor killed, and then itself.

It prints one line of JSON before its end: what happened, and what is in the table.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable

import psutil
from confluent_kafka import Producer

from kit import spark_cluster
from kit.clusters import engine
from kit.spark import session, table_format, temporary

RECORDS = 2_000


def wait_for(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not there():
        if time.monotonic() > deadline:
            raise TimeoutError(there)
        time.sleep(0.02)


def main() -> None:
    cluster = spark_cluster.attach()
    assert cluster is not None
    with engine.start() as kafka:
        kafka.create_topic("orders", partitions=2)
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        for number in range(RECORDS):
            producer.produce("orders", str(number), key=str(number))
        producer.flush()

        spark = session()
        place = temporary()
        table = str(place / "table")
        source = spark.readStream.format("kafka").option("subscribe", "orders")
        source = source.option("kafka.bootstrap.servers", kafka.bootstrap)
        source = source.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 1_000)
        slow = source.load().where("reflect('java.lang.Thread', 'sleep', 3L) IS NOT NULL")
        writer = slow.selectExpr("string(value)", "partition", "offset").writeStream
        writer = writer.format(table_format(spark))
        writer = writer.option("checkpointLocation", str(place / "checkpoint"))
        query = writer.trigger(availableNow=True).start(table)

        tracker = spark.sparkContext.statusTracker()

        def tasks() -> int:
            """Of the largest stage.  Spark counts the active ones too late for a short stage."""
            stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
            return max((stage.numTasks for stage in stages if stage), default=0)

        wait_for(lambda: tasks() == 2 and len(cluster.executors()) == 2)
        victim = cluster.executors()[0]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: victim not in cluster.executors() and len(cluster.executors()) == 2)
        running = query.isActive
        query.awaitTermination()
        found = spark.read.format(table_format(spark)).load(table)
        print(
            json.dumps(
                {
                    "format": table_format(spark),
                    "running when the other executor was there": running,
                    "rows": found.count(),
                    "offsets": found.select("partition", "offset").distinct().count(),
                    "sum": found.selectExpr("sum(int(value))").first()[0],
                    "commands with the secret": secrets_shown(cluster),
                    "listening beyond loopback": beyond_loopback(),
                }
            ),
            flush=True,
        )
    os.kill(os.getpid(), signal.SIGKILL)


def secrets_shown(cluster: spark_cluster.SparkCluster) -> int:
    properties = spark_cluster.properties_of(cluster.master)
    assert properties is not None
    secret = properties.read_text().split("spark.authenticate.secret ")[1].split()[0]
    commands = (each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"]))
    return sum(secret in " ".join(command) for command in commands)


def beyond_loopback() -> list[str]:
    found = []
    for process in psutil.process_iter(["name", "net_connections"]):
        for each in process.info["net_connections"] or []:
            address = each.laddr.ip.removeprefix("::ffff:") if each.laddr else ""
            if each.status == psutil.CONN_LISTEN and address not in ("127.0.0.1", "::1"):
                found.append(f"{process.info['name']} {address}:{each.laddr.port}")
    return found


if __name__ == "__main__":
    main()
