"""Runs Kafka's own command-line tools on a cluster, and shows what they print, unchanged.

    lab.tool(eng, "kafka-topics", "--describe", "--topic", "orders")
    lab.tool(eng, "kafka-dump-log", "--print-data-log", broker=102, topic="orders")
    lab.tool(eng, "kafka-metadata-quorum", "describe", "--status", controllers=True)

The tools are the Java programs behind `bin/kafka-*.sh`.  They connect like any client, so
they do not notice whether a real Kafka or the engine answers.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

from kit import class_archives, jars
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster, ClusterError

_PACKAGE = "org.apache.kafka.tools"
CLASSES = {
    "kafka-topics": f"{_PACKAGE}.TopicCommand",
    "kafka-consumer-groups": f"{_PACKAGE}.consumer.group.ConsumerGroupCommand",
    "kafka-dump-log": f"{_PACKAGE}.DumpLogSegments",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-leader-election": f"{_PACKAGE}.LeaderElectionCommand",
    "kafka-reassign-partitions": f"{_PACKAGE}.reassign.ReassignPartitionsCommand",
    "kafka-transactions": f"{_PACKAGE}.TransactionsCommand",
    "kafka-get-offsets": f"{_PACKAGE}.GetOffsetShell",
    "kafka-metadata-quorum": f"{_PACKAGE}.MetadataQuorumCommand",
    "kafka-features": f"{_PACKAGE}.FeatureCommand",
    "kafka-cluster": f"{_PACKAGE}.ClusterTool",
    "kafka-broker-api-versions": f"{_PACKAGE}.BrokerApiVersionsCommand",
    "kafka-log-dirs": f"{_PACKAGE}.LogDirsCommand",
    "kafka-console-consumer": f"{_PACKAGE}.consumer.ConsoleConsumer",
    "kafka-console-share-consumer": f"{_PACKAGE}.consumer.ConsoleShareConsumer",
}
DUMP_LOG = "kafka-dump-log"
COMMAND_FIRST = ("kafka-cluster",)
"""Tools that take the address after their command."""
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
_PATIENCE_S = 60
_NOISE = ("SLF4J", "WARNING: ", "main ERROR", "ERROR StatusLogger", "WARN StatusLogger")


@dataclass(frozen=True, slots=True)
class Printed:
    """A command line and what it printed; `text` is the output alone."""

    command: str
    text: str

    def __repr__(self) -> str:
        return f"$ {self.command}\n{self.text}"

    def _repr_html_(self) -> str:
        return (
            "<pre style='overflow-x:auto;white-space:pre;line-height:1.35;padding:8px 12px;"
            "color:var(--jp-content-font-color1,inherit)'>"
            f"<strong>$ {escape(self.command)}</strong>\n{escape(self.text)}</pre>"
        )


def run(
    cluster: Cluster,
    name: str,
    *arguments: str,
    broker: int | None = None,
    topic: str = "",
    partition: int = 0,
    controllers: bool = False,
) -> Printed:
    """Runs one tool; `--bootstrap-server` is added, or `--bootstrap-controller`.

    For kafka-dump-log name a `broker`, a `topic` and a `partition`: it reads a copy of that
    replica's segments.  Without Java the text says so.  Raises ClusterError for a name that is
    none of the tools, and NotOffered where the broker's files are not on this machine.
    """
    if name not in CLASSES:
        raise ClusterError(f"{name!r} is not one of the tools: {', '.join(CLASSES)}.")
    try:
        java = [jars.java(), *_JVM, *class_archives.TOOL.flags(), _QUIET]
        java += ["-cp", jars.classpath(), CLASSES[name]]
    except jars.JarsMissing as missing:
        return Printed(f"{name}.sh …", f"Kafka's tools need Java. {missing}")
    if name != DUMP_LOG:
        there = _address(cluster, controllers)
        last = name in COMMAND_FIRST
        connected = (*arguments, *there) if last else (*there, *arguments)
        return Printed(_line(name, *connected), _output([*java, *connected]))
    with tempfile.TemporaryDirectory(prefix="kafkalab-dump-") as scratch:
        segments = _copied(cluster, broker, topic, partition, Path(scratch))
        files = ("--files", ",".join(map(str, segments)))
        printed = _output([*java, *files, *arguments]).replace(f"{scratch}/", "")
        shown = ",".join(f"{segment.parent.name}/{segment.name}" for segment in segments)
        return Printed(_line(name, "--files", shown, *arguments), printed)


def _address(cluster: Cluster, controllers: bool) -> tuple[str, str]:
    if controllers:
        return "--bootstrap-controller", cluster.bootstrap_controllers
    return "--bootstrap-server", cluster.bootstrap


def _line(name: str, *arguments: str) -> str:
    return " ".join([f"{name}.sh", *arguments])


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE_S, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        return f"The tool has not ended in {_PATIENCE_S} s. Do the brokers answer?"
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(line for line in lines if not line.startswith(_NOISE)).strip("\n")


def _copied(
    cluster: Cluster, broker: int | None, topic: str, partition: int, scratch: Path
) -> list[Path]:
    """Segments as they are now: a running broker goes on writing to its own."""
    own = data_dir(cluster, broker) / f"{topic}-{partition}"
    found = sorted(own.glob("*.log"))
    if not found:
        raise ClusterError(f"Broker {broker} holds no replica of {topic}-{partition}.")
    copy = scratch / own.name
    copy.mkdir()
    return [Path(shutil.copyfile(segment, copy / segment.name)) for segment in found]
