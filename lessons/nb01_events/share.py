"""A share group (KIP-932) at work: Kafka's own Java client, in a process that this module starts.

confluent-kafka does not speak the protocol, and the engine does not offer it.  ShareWorkers.java
holds the workers, one thread and one KafkaShareConsumer each.
"""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from engine.wire import messages as m
from kit import jars
from kit.clusters.connections import Connection
from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients
from lessons.nb01_events import readers

PROGRAM = Path(__file__).with_name("ShareWorkers.java")
GROUP_RESOURCE = 32
"""The type of a group among config resources (KIP-848)."""
WARM_UP = "warm-up"
PATIENCE_S = 60.0


def offered(cluster: Cluster) -> bool:
    """Whether the cluster has the feature `share.version`, and Java is here to use it."""
    try:
        jars.java(), jars.classpath()
    except jars.JarsMissing:
        return False
    broker = next(b for b in cluster.snapshot()["brokers"].values() if b["state"] == "running")
    connection = Connection((broker["host"], broker["port"]), 5.0)
    try:
        return bool(dict(connection.finalized_features.items()).get("share.version"))
    finally:
        connection.close()


def from_the_start(cluster: Cluster, group: str) -> None:
    """Sets `share.auto.offset.reset=earliest`, which is a config of the group on the broker."""
    request = m.IncrementalAlterConfigsRequest
    name, value = "share.auto.offset.reset", "earliest"
    entry = request.AlterableConfig(name=name, config_operation=0, value=value)
    resource = request.AlterConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=group, configs=[entry]
    )
    body = request(resources=[resource], validate_only=False)
    clients.ask(cluster, cluster.brokers[0], body)


class ShareCrew:
    """Workers of one share group; each takes one record at a time and works `work_ms[i]` on it."""

    def __init__(self, cluster: Cluster, topic: str, group: str, work_ms: Sequence[int]) -> None:
        self.got: list[list[str]] = [[] for _ in work_ms]
        self.deliveries: list[int] = []
        self._seen: set[int] = set()
        command = [jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-Dorg.apache.logging.log4j.level=OFF", "-cp", jars.classpath(), str(PROGRAM)]
        self._process = subprocess.Popen(
            [*command, cluster.bootstrap, topic, group, *map(str, work_ms)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, start_new_session=True,
        )  # fmt: skip
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            worker, delivery, value = line.rstrip("\n").split(" ", 2)
            self._seen.add(int(worker))
            if value != WARM_UP:
                self.got[int(worker)].append(value)
                self.deliveries.append(int(delivery))

    def warm_up(self, cluster: Cluster, topic: str) -> None:
        """Writes records until each worker has had one: then all of them are in the group."""
        until = time.monotonic() + PATIENCE_S
        while len(self._seen) < len(self.got):
            if time.monotonic() > until or self._process.poll() is not None:
                raise ClusterError(f"Only the workers {sorted(self._seen)} joined the share group.")
            readers.write(cluster, topic, [WARM_UP])
            time.sleep(0.1)

    def wait_for(self, records: int) -> None:
        until = time.monotonic() + PATIENCE_S
        while sum(map(len, self.got)) < records:
            if time.monotonic() > until:
                raise ClusterError(f"The share group has processed {self.got} so far.")
            time.sleep(0.05)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()  # the program ends with its input
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(5)


def packed(
    cluster: Cluster, topic: str, group: str, work_ms: Sequence[int], orders: Sequence[str]
) -> list[list[str]] | None:
    """What each worker of a share group got of `orders`; None where there are no share groups."""
    if not offered(cluster):
        return None
    crew = ShareCrew(cluster, topic, group, work_ms)
    try:
        crew.warm_up(cluster, topic)
        readers.write(cluster, topic, orders)
        crew.wait_for(len(orders))
    finally:
        crew.close()
    return crew.got
