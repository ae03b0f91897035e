"""A real Kafka as plain Java processes: controller 100 (or more), three brokers (101–103).

    client ────────────▶ CLIENT listener of a broker
    other brokers ─▶ link proxy ─▶ REPLICATION listener of a broker
    brokers ───────▶ link proxy ─▶ CONTROLLER listener of the controller

What such processes have in common with those of `zookeeper.py` is in `java_processes.py`.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from engine.metadata.records import METADATA_DIRECTORY
from engine.wire import uuids
from kit import class_archives, jars
from kit.clusters import registry
from kit.clusters.connections import Address
from kit.clusters.interface import ClusterError
from kit.clusters.java_processes import JVM_FLAGS, LOG_SIZE, START_TIMEOUT_S, JavaProcesses
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.local_plan import HOST, Plan, new_plan
from kit.clusters.reaper import Child, Reaper
from kit.clusters.settings_table import BROKERS

_LEVELS = "bootstrap.checkpoint"
_LOGGING = f"""
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ${{sys:kafka.log}}
appender.file.filePattern = ${{sys:kafka.log}}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = {LOG_SIZE}
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 1
appender.file.filter.unchanged.type = RegexFilter
appender.file.filter.unchanged.regex = .*Skipped the become-.*
appender.file.filter.unchanged.onMatch = DENY
appender.file.filter.unchanged.onMismatch = NEUTRAL
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = file
logger.config.name = org.apache.kafka.common.config.AbstractConfig
logger.config.level = WARN
logger.config2.name = kafka.server.KafkaConfig
logger.config2.level = WARN
"""
"""Left out: all settings at each start, and the line for each partition that did not change."""


class LocalProvider(JavaProcesses):
    """Kafka 4.3 with controllers of its own."""

    name = "local"

    @property
    def bootstrap_controllers(self) -> str:
        return self._plan.bootstrap_controllers

    def _command(self, name: str) -> list[str]:
        return [
            jars.java(),
            *JVM_FLAGS,
            *class_archives.BROKER.flags(),
            f"-Dlog4j2.configurationFile={self._directory / 'log4j2.properties'}",
            f"-Dkafka.log={self.log_file(name)}",
            *("-cp", jars.classpath(), "kafka.Kafka"),
            str(self._directory / f"{name}.properties"),
        ]

    def _write_files(self) -> None:
        """The first controller's directory is left to Kafka's own tool, which formats it."""
        self._plan.save(self._directory / "plan.json")
        (self._directory / "log4j2.properties").write_text(_LOGGING)
        for node in (*self._plan.controllers, *BROKERS):
            data = self._directory / str(node)
            properties = self._plan.properties(node, data)
            (self._directory / f"{node}.properties").write_text(properties)
            if node != self._plan.controllers[0]:
                data.mkdir()
                (data / "meta.properties").write_text(self._identity(node))

    def _first_start(self) -> None:
        """Formats the first controller meanwhile; the others copy its feature levels.

        Voters that may change copy the snapshot that names them, too.  A broker needs no more than
        its meta.properties.
        """
        first, *others = self._plan.controllers
        formatting = self._format()
        for node in BROKERS:
            self.launch(node)
        if formatting.wait(START_TIMEOUT_S) != 0:
            raise ClusterError(self._why("format"))
        formatted = self._directory / str(first)
        for node in others:
            shutil.copy(formatted / _LEVELS, self._directory / str(node))
            if node in self._plan.voters:
                here = self._directory / str(node) / METADATA_DIRECTORY
                shutil.copytree(formatted / METADATA_DIRECTORY, here)
        for node in (first, *others):
            self.launch(node)

    def _format(self) -> Child:
        command = [
            *(jars.java(), *JVM_FLAGS, *class_archives.TOOL.flags(), "-cp", jars.classpath()),
            *("kafka.tools.StorageTool", "format", "-t", self._plan.cluster_id),
            *("-c", str(self._directory / f"{self._plan.controllers[0]}.properties")),
        ]
        if self._plan.voters:
            command += ["--initial-controllers", self._plan.initial_controllers]
        return self._spawn("format", command, self._directory / "format.log")

    def _identity(self, node: int, cluster_id: str = "") -> str:
        drawn = uuids.to_text(uuids.new(random.SystemRandom()))
        directory_id = self._plan.voters.get(node, drawn)
        return (
            f"version=1\ncluster.id={cluster_id or self._plan.cluster_id}\n"
            f"node.id={node}\ndirectory.id={directory_id}\n"
        )

    # -- one more process (newcomers.py)

    def format_newcomer(self, name: str, node: int, cluster_id: str = "") -> Path:
        """A new data directory of a node, for this cluster if no other is named."""
        directory = self._directory / f"{name}-data"
        directory.mkdir()
        (directory / "meta.properties").write_text(self._identity(node, cluster_id))
        return directory

    def launch_newcomer(
        self, name: str, broker: int, data: Path, changes: Mapping[str, str | None]
    ) -> tuple[Child, Address]:
        """A process with the properties of `broker`, but free ports; the second is for clients.

        Of the `changes` None leaves a property out.
        """
        changed = {name: value for name, value in changes.items() if value is not None}
        plan = self._plan.elsewhere(broker)
        plan = replace(plan, settings={**plan.settings, **changed})
        left_out = tuple(f"{name}=" for name, value in changes.items() if value is None)
        lines = plan.properties(broker, data).splitlines(keepends=True)
        kept = "".join(line for line in lines if not line.startswith(left_out))
        (self._directory / f"{name}.properties").write_text(kept)
        return self._run(name), (HOST, plan.client_ports[broker])

    @property
    def directory(self) -> Path:
        """All files of the cluster."""
        return self._directory

    def said(self, name: str) -> list[str]:
        """What a process wrote into its log, line by line."""
        return self._said(name)

    def forget(self, name: str) -> None:
        """Removes all that a process which has ended left behind."""
        for left in self._directory.glob(f"{name}[-.]*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def start(
    *,
    shared: bool = False,
    links: bool = True,
    controllers: int = 1,
    voters: int = 0,
    settings: Mapping[str, str] | None = None,
) -> KafkaCluster:
    """Starts a local Kafka; several controllers (100, 200, …) are a quorum.

    With `voters`, so many of them begin as voters, and that may change (kraft.version 1).
    A shared one stays until `kafkalab down`.  Without `links` brokers talk to each other
    directly: no link can be cut, and no proxy slows a measurement.  `settings` are those of every
    node, beside the ones that each cluster of the kit has.
    """
    jars.java()
    jars.classpath()
    plan = new_plan(links, controllers, voters, settings)
    return KafkaCluster(LocalProvider.started(plan, shared))


def attach() -> KafkaCluster | None:
    """The shared local cluster, if one is up."""
    registration = registry.shared("local")
    if registration is None:
        return None
    plan = Plan.load(Path(registration.directory) / "plan.json")
    reaper = Reaper.connect(registration.reaper_socket)
    return KafkaCluster(LocalProvider(registration, reaper, plan))
