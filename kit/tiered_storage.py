"""A topic in tiered storage (KIP-405), on the engine and on a real Kafka.

    with on_engine() as cluster:            # or on_kafka()
        fill(cluster, "orders")             # 60 batches, and the wait until the tier has them
        where(cluster, "orders")            # Offsets(log_start=0, local_start=…, …)
        read(cluster, "orders")             # all values from offset 0 on, also those in the tier
        files(cluster, "orders")            # what is in the store, by file name

`cluster.bootstrap` is for any client: confluent-kafka reads from offset 0 too.  Both sides have one
broker, so what they do is the same and can be shown side by side; the real one keeps its store by
the LocalTieredStorage of Kafka's own tests.  A world of three brokers shows more, such as a
follower with an empty disk (`World(settings=SETTINGS)`, tests/engine/replication).
"""

from __future__ import annotations

import contextlib
import random
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.storage.remote.local_tiered_storage import ROOT
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors
from kit import jars
from kit.clusters import engine, registry
from kit.clusters.connections import Connections, Unreachable
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import ClusterError
from kit.clusters.local_plan import HOST, free_ports
from kit.clusters.reaper import Reaper
from kit.probes.raw_client import RawClient
from kit.probes.requests import fetching, first_partition, listing, one_batch, producing, values

SETTINGS = {
    "remote.log.storage.system.enable": "true",
    "remote.log.manager.task.interval.ms": "300",
    "log.retention.check.interval.ms": "300",
}
"""The broker's settings: tiered storage is on, and each look comes soon."""
CONFIG = {
    "remote.storage.enable": "true",
    "internal.segment.bytes": "4000",
    "local.retention.bytes": "8000",
    "index.interval.bytes": "500",
    "retention.ms": "-1",
}
"""A topic of small segments, two of which stay on the broker's own disk."""
FIRST_MS = 1_700_000_000_000
PATIENCE_S = 60.0
EARLIEST, LATEST, EARLIEST_LOCAL, LATEST_TIERED = -2, -1, -4, -5
VERSION_WITH_TIERS = 9
"""Of ListOffsets."""
_ID = re.compile(r"-[\w-]{22}(?=\.)")


@dataclass(frozen=True, slots=True)
class TieredCluster:
    """One broker and its store; `kind` is `engine` or `kafka`."""

    kind: str
    address: tuple[str, int]
    tier: Path

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def ask(self, body: Any) -> Any:
        with RawClient.at(self.address, "tiered") as client:
            return client.ask(body, type(body).LATEST)


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where the log starts, where its part on the broker's disk does, and where the tier ends."""

    log_start: int
    local_start: int
    latest_tiered: int
    log_end: int


# -- clusters


@contextlib.contextmanager
def on_engine() -> Iterator[TieredCluster]:
    one = {"offsets.topic.replication.factor": "1", "transaction.state.log.replication.factor": "1"}
    with engine.start(brokers=1, settings={**SETTINGS, **one}) as cluster:
        host, _, port = cluster.bootstrap.rpartition(":")
        tier = data_dir(cluster, 101).parent / "tier"
        yield TieredCluster("engine", (host, int(port)), tier)


@contextlib.contextmanager
def on_kafka() -> Iterator[TieredCluster]:
    """A Kafka of one process, broker and controller; JarsMissing when its jars are not there."""
    classpath = f"{jars.classpath()}:{jars.TIERED.require()}/*"
    label = f"tiered-{secrets.token_hex(4)}"
    directory = registry.labelled_directory(label)
    port, controller = free_ports(2)
    cluster_id = uuids.to_text(uuids.new(random.SystemRandom()))
    file = directory / "server.properties"
    file.write_text("".join(f"{k}={v}\n" for k, v in _properties(directory, port, controller)))
    reaper = Reaper.start()
    try:
        reaper.own(str(directory))

        def launch(name: str, *command: str) -> Any:
            java = [jars.java(), "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
            return reaper.spawn(
                [*java, "-cp", classpath, *command],
                name=name, label=label, log_path=str(directory / f"{name}.log"),
                cwd=str(directory), grace_s=0,
            )  # fmt: skip

        tool = ("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(file))
        if launch("format", *tool).wait(PATIENCE_S) != 0:
            raise ClusterError("Kafka's StorageTool could not format the folder of a tiered Kafka.")
        launch("kafka", "kafka.Kafka", str(file))
        found = TieredCluster("kafka", (HOST, port), directory / "tier")
        until(lambda: _answers(found), "a Kafka with tiered storage answers")
        yield found
    finally:
        reaper.end()


def _properties(directory: Path, port: int, controller: int) -> Iterator[tuple[str, str]]:
    yield from SETTINGS.items()
    yield from {
        "process.roles": "broker,controller",
        "node.id": "101",
        "controller.quorum.voters": f"101@{HOST}:{controller}",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(directory / "data"),
        "log.initial.task.delay.ms": "500",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "remote.log.storage.manager.class.name": (
            "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
        ),
        "rsm.config.dir": str(directory / "tier"),
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": "300",
    }.items()


def _answers(cluster: TieredCluster) -> bool:
    request = m.DescribeClusterRequest()
    with contextlib.suppress(Unreachable):
        return bool(Connections().ask_first([cluster.address], request).brokers)
    return False


# -- the scene


def create(cluster: TieredCluster, topic: str, **more: str) -> None:
    """Creates the topic, with more configs or others."""
    request = m.CreateTopicsRequest
    configs = [request.CreatableTopicConfig(k, v) for k, v in {**CONFIG, **more}.items()]
    made = request.CreatableTopic(topic, 1, 1, configs=configs)
    answer = cluster.ask(request([made], timeout_ms=20_000)).topics[0]
    if answer.error_code != Errors.NONE:
        raise ClusterError(f"{topic} was not created: {answer.error_message}")
    until(lambda: not first_partition(cluster.ask(listing(topic))).error_code, "it has a leader")


def fill(cluster: TieredCluster, topic: str, batches: int = 60) -> list[str]:
    """Ten records a batch, a second of the records' own time apart; waits until the tier has them.

    The same bytes each time, so two clusters have the same segments.  Returns the values.
    """
    create(cluster, topic)
    sent = [f"{number:04} {'x' * 40}" for number in range(10 * batches)]
    with RawClient.at(cluster.address, "tiered") as client:
        for number in range(batches):
            some = [each.encode() for each in sent[10 * number : 10 * number + 10]]
            records = one_batch(*some, at_ms=FIRST_MS + 1000 * number)
            answer = first_partition(client.ask(producing(topic, acks=-1, records=records)))
            if answer.error_code:
                raise ClusterError(f"{topic} takes no records: {Errors(answer.error_code).name}")
    wait_until_local_part_is_short(cluster, topic)
    return sent


def wait_until_local_part_is_short(cluster: TieredCluster, topic: str) -> None:
    """Waits until all but the active segment is in the tier, and local retention has been done."""
    log = cluster.tier.parent / "data" / f"{topic}-0"
    if cluster.kind == "engine":
        log = cluster.tier.parent / "101" / f"{topic}-0"

    def is_short() -> bool:
        try:
            sizes = {int(each.stem): each.stat().st_size for each in log.glob("*.log")}
        except FileNotFoundError:  # the broker deletes a segment at this moment
            return False
        oldest = sizes[min(sizes)]
        done = where(cluster, topic).latest_tiered + 1 == max(sizes)
        return done and sum(sizes.values()) - oldest < int(CONFIG["local.retention.bytes"])

    until(is_short, f"the old segments of {topic} are in the tier alone")


def where(cluster: TieredCluster, topic: str) -> Offsets:
    return Offsets(
        log_start=at(cluster, topic, EARLIEST),
        local_start=at(cluster, topic, EARLIEST_LOCAL),
        latest_tiered=at(cluster, topic, LATEST_TIERED),
        log_end=at(cluster, topic, LATEST),
    )


def at(cluster: TieredCluster, topic: str, timestamp: int) -> int:
    """The first offset with this time or a later one, or one of the named places."""
    request = listing(topic, timestamp)
    with RawClient.at(cluster.address, "tiered") as client:
        part = first_partition(client.ask(request, VERSION_WITH_TIERS))
    return int(part.offset)


def read(cluster: TieredCluster, topic: str, offset: int = 0) -> list[str]:
    """All values from an offset on."""
    end, found = at(cluster, topic, LATEST), []
    with RawClient.at(cluster.address, "tiered") as client:
        while offset < end:
            part = first_partition(client.ask(fetching(topic, offset, max_wait_ms=2000)))
            if part.error_code:
                raise ClusterError(f"offset {offset}: {Errors(part.error_code).name}")
            some = values(part.records, offset)
            found += some
            offset += len(some)
    return found


def delete_records(cluster: TieredCluster, topic: str, offset: int) -> int:
    """Deletes all below an offset; where the log starts then."""
    request = m.DeleteRecordsRequest
    part = request.DeleteRecordsPartition(0, offset)
    asked = request([request.DeleteRecordsTopic(topic, [part])], 20_000)
    return int(first_partition(cluster.ask(asked)).low_watermark)


def delete(cluster: TieredCluster, topic: str) -> None:
    state = m.DeleteTopicsRequest.DeleteTopicState(name=topic, topic_id=bytes(16))
    cluster.ask(m.DeleteTopicsRequest(topics=[state], timeout_ms=20_000))


def files(cluster: TieredCluster, topic: str, ids: bool = False) -> dict[str, bytes]:
    """A topic's files in the store and their contents, by name, with the segments' ids or not."""
    found = {}
    for each in sorted((cluster.tier / ROOT).glob(f"{topic}-0-*/*")):
        with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
            found[each.name if ids else _ID.sub("", each.name)] = each.read_bytes()
    return found


def until(holds: Callable[[], bool], what: str) -> None:
    """Waits; ClusterError when it takes longer than a minute."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise ClusterError(f"{PATIENCE_S:.0f} s are over, and this does not hold: {what}.")
        time.sleep(0.05)
