"""Copies a replica's own files at one moment, and reads them with Kafka's tool.

A broker keeps its knowledge of a partition in three places on its disk:

    orders-0/00000000000000000000.log   the batches, each with the epoch of its leader
    orders-0/leader-epoch-checkpoint    where each epoch began
    replication-offset-checkpoint       the high watermark of each partition, a little old

A lesson on truncation shows them before and after.  The files of a dead broker stay as they
are only until it is started again, so `take` copies them.  Kafka's own `DumpLogSegments`
reads several copies in one run, because each start of Java takes a second.  Without Java our
own reader reads them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.storage import checkpoints, leader_epochs
from kit import jars
from kit.clusters import files
from kit.clusters.interface import Cluster, NotOffered, SeenFromInside
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.local import LocalProvider

DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
_DUMP_S = 120
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_FILE = re.compile(r"^Dumping (.+)$")
_BATCH = re.compile(r"^baseOffset: .* partitionLeaderEpoch: (-?\d+) .* isvalid: (\w+)")
_RECORD = re.compile(r"^\| offset: (\d+) .*payload: (.*)$")


@dataclass(frozen=True)
class ReplicaFiles:
    """One replica as it was on disk; `directory` holds a copy in Kafka's own layout."""

    broker: int
    topic: str
    index: int
    directory: Path

    @property
    def log(self) -> Path:
        return self.directory / f"{self.topic}-{self.index}"

    @property
    def segments(self) -> list[Path]:
        return sorted(self.log.glob("*.log"))

    @property
    def epochs(self) -> list[str]:
        """The lines of leader-epoch-checkpoint: epoch, and its first offset."""
        return _lines(self.log / leader_epochs.FILE_NAME)

    @property
    def high_watermark(self) -> int | None:
        """What replication-offset-checkpoint says; None if it says nothing (yet)."""
        for line in _lines(self.directory / checkpoints.HIGH_WATERMARKS):
            topic, index, offset = line.split()
            if (topic, int(index)) == (self.topic, self.index):
                return int(offset)
        return None


def data_dir(cluster: Cluster, broker: int) -> Path:
    """Where a broker keeps its files; NotOffered if this machine cannot read them."""
    nodes = cluster.provider.nodes() if isinstance(cluster, KafkaCluster) else {}
    directory = nodes[broker].data_dir if broker in nodes else None
    if directory is None:
        raise NotOffered(
            f"The files of the {cluster.name} cluster's brokers cannot be read from here: the "
            "engine and a local Kafka (KAFKALAB_REAL=local) show theirs."
        )
    return Path(directory)


def on_disk(cluster: Cluster, broker: int, topic: str, index: int = 0) -> ReplicaFiles:
    """The files where they are: for a look at a checkpoint, while the broker may write."""
    return ReplicaFiles(broker, topic, index, data_dir(cluster, broker))


def take(cluster: Cluster, broker: int, topic: str, index: int = 0) -> ReplicaFiles:
    """Copies one replica's files into a temporary directory of this process."""
    source = on_disk(cluster, broker, topic, index)
    copy = ReplicaFiles(broker, topic, index, Path(tempfile.mkdtemp(prefix=f"{topic}-{broker}-")))
    copy.log.mkdir()
    wanted = [*source.segments, source.log / leader_epochs.FILE_NAME]
    for file in wanted:
        if file.exists():
            shutil.copyfile(file, copy.log / file.name)
    watermarks = source.directory / checkpoints.HIGH_WATERMARKS
    if watermarks.exists():
        shutil.copyfile(watermarks, copy.directory / watermarks.name)
    return copy


def records(replicas: Sequence[ReplicaFiles]) -> list[list[str]]:
    """Each replica's records as `2 X1 (epoch 0)`, read by Kafka's tool if Java is here."""
    try:
        return dump(replicas)
    except jars.JarsMissing:
        return [read(replica) for replica in replicas]


def reader() -> str:
    """The tool that reads the logs for `records`."""
    try:
        jars.java()
        jars.classpath()
    except jars.JarsMissing:
        return "the engine's reader"
    return "DumpLogSegments"


def dump(replicas: Sequence[ReplicaFiles]) -> list[list[str]]:
    """The same by DumpLogSegments; JarsMissing if it is not here, ValueError if it complains."""
    paths = [segment for replica in replicas for segment in replica.segments]
    command = [
        *(jars.java(), *_JVM, "-cp", jars.classpath(), DUMP_LOG),
        *("--print-data-log", "--files", ",".join(map(str, paths))),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_DUMP_S)
    if done.returncode != 0:
        raise ValueError(f"DumpLogSegments ended with {done.returncode}: {done.stderr[-300:]}")
    found = _parse(done.stdout)
    return [[line for s in replica.segments for line in found[str(s)]] for replica in replicas]


def _parse(output: str) -> dict[str, list[str]]:
    """The tool's text by file; a batch whose checksum is wrong raises ValueError."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    epoch = ""
    for line in output.splitlines():
        if named := _FILE.match(line):
            lines = found.setdefault(named[1], [])
        elif batch := _BATCH.match(line):
            epoch = batch[1]
            if batch[2] != "true":
                raise ValueError(f"DumpLogSegments finds a batch that is not valid: {line}")
        elif record := _RECORD.match(line):
            lines.append(_shown(int(record[1]), record[2], int(epoch)))
    return found


def read(replica: ReplicaFiles) -> list[str]:
    """One replica's records, read by the engine's reader."""
    data = b"".join(segment.read_bytes() for segment in replica.segments)
    return [
        _shown(batch["base_offset"] + place, value, batch["epoch"])
        for batch in files.batches(data, 0)
        for place, value in enumerate(batch["values"])
    ]


def cuts(cluster: Cluster, broker: int, topic: str, index: int = 0) -> list[tuple[int, int]]:
    """The diverging epochs that fetch answers gave a follower, and their ends, oldest first.

    The follower itself recorded them: the engine traces them, Kafka logs them.
    """
    return _traced(cluster, broker, f"{topic}-{index}") or _logged(cluster, broker, topic, index)


def _traced(cluster: Cluster, broker: int, partition: str) -> list[tuple[int, int]]:
    if not isinstance(cluster, KafkaCluster) or not isinstance(cluster.provider, SeenFromInside):
        return []
    found, since = [], 0
    while (told := cluster.trace(since))["lines"]:
        found += [
            (line["fields"]["epoch"], line["fields"]["end"])
            for line in told["lines"]
            if (line["kind"], line["node"], line["partition"]) == ("diverging", broker, partition)
        ]
        since = told["next"]
    return found


def _logged(cluster: Cluster, broker: int, topic: str, index: int) -> list[tuple[int, int]]:
    provider = cluster.provider if isinstance(cluster, KafkaCluster) else None
    if not isinstance(provider, LocalProvider):
        return []
    pattern = f"partition {re.escape(topic)}-{index} .*leaderEpoch=(\\d+), endOffset=(\\d+)"
    text = provider.log_file(broker).read_text(errors="replace")
    return [(int(epoch), int(end)) for epoch, end in re.findall(f"Truncating {pattern}", text)]


def _shown(offset: int, value: str, epoch: int) -> str:
    return f"{offset} {value} (epoch {epoch})"


def _lines(checkpoint: Path) -> list[str]:
    """A checkpoint's lines behind its version and count; none if there is no such file."""
    try:
        return checkpoint.read_text().splitlines()[2:]
    except OSError:
        return []
