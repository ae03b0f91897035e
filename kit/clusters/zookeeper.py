"""The Kafka that had ZooKeeper: 3.9, the last line of releases, as plain Java processes.

    client ─────────────────▶ CLIENT listener of a broker (101–103)
    other brokers ──▶ proxy ─▶ REPLICATION listener of a broker
    a broker ──▶ proxy, a port for each broker ─▶ member 1 (or 1, 2, 3) of the ensemble

It is here to be compared with.  One broker is the controller: the one whose session holds the
ephemeral znode `/controller`; `/controller_epoch` counts them.  Nothing attaches to such a cluster,
and `lab.real()` never is one: a lesson asks for it by `lab.zookeeper()`, or does not get it.

Faults reach brokers, their links to each other and to the ensemble, and members of the ensemble as
processes.  Links between members are left alone, and their data is read by `znode` and `znodes`.
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Mapping
from typing import Any

from kit import jars
from kit.clusters import registry, zookeeper_plan
from kit.clusters.connections import Address, Unreachable
from kit.clusters.interface import ClusterError, NotOffered
from kit.clusters.java_processes import JVM_FLAGS, LOG_SIZE, START_TIMEOUT_S, JavaProcesses
from kit.clusters.kafka_cluster import POLL_S, KafkaCluster
from kit.clusters.local_plan import HOST
from kit.clusters.reaper import Reaper
from kit.clusters.settings_table import BROKERS
from kit.clusters.snapshot import have_quorum
from kit.clusters.znodes import Tree, Znode, mode
from kit.clusters.zookeeper_plan import LONGEST_SESSION_MS, ZooKeeperPlan

_BROKER, _MEMBER = "kafka.Kafka", "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_LOGGING = f"""
log4j.rootLogger = INFO, file
log4j.appender.file = org.apache.log4j.RollingFileAppender
log4j.appender.file.File = ${{kafka.log}}
log4j.appender.file.MaxFileSize = {LOG_SIZE}
log4j.appender.file.MaxBackupIndex = 1
log4j.appender.file.layout = org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern = [%d] %p %m (%c)%n
log4j.logger.org.apache.kafka.common.config.AbstractConfig = WARN
log4j.logger.kafka.server.KafkaConfig = WARN
log4j.logger.org.apache.zookeeper.ZooKeeper = WARN
"""
_MEMBERS_ARE_NOT_CUT = (
    "Links between members of the ensemble are not cut here: kill or pause a member, or cut a "
    "broker from it."
)


class ZooKeeperProvider(JavaProcesses):
    """Three brokers and an ensemble."""

    name = "zookeeper"

    def __init__(
        self, registration: registry.Registration, reaper: Reaper, plan: ZooKeeperPlan
    ) -> None:
        super().__init__(registration, reaper, plan)
        self._plan: ZooKeeperPlan = plan
        self.tree = Tree(lambda: list(self.ensemble().values()))
        self.ways = {
            **self.ways,
            "start": self._start,
            "cut": self._cut,
            "isolate": self._isolate,
            "slow": self._slow,
        }

    def ensemble(self) -> dict[int, Address]:
        """The members that run, and where clients reach them."""
        nodes = self.nodes()
        return {
            member: (HOST, ports.client)
            for member, ports in self._plan.members.items()
            if nodes[member].state == "running"
        }

    def close(self) -> None:
        self.tree.close()
        super().close()

    def _start(self, node: int) -> None:
        """A broker whose last session lives would be refused, so that is waited for."""
        deadline = time.monotonic() + LONGEST_SESSION_MS / 1000
        while node in BROKERS and have_quorum(self.nodes()) and time.monotonic() < deadline:
            with contextlib.suppress(Unreachable):  # members that were just started, too
                if not self._has_session(node):
                    break
            time.sleep(POLL_S)
        self.launch(node)

    def _has_session(self, broker: int) -> bool:
        return self.tree.znode(f"/brokers/ids/{broker}") is not None

    def _cut(self, a: int, b: int) -> None:
        self._has_link(a, b)
        self._links.cut(a, b)

    def _isolate(self, node: int) -> None:
        for member in self._plan.members:
            if member != node:
                self._has_link(node, member)
        self._links.isolate(node)

    def _slow(self, a: int, b: int, ms: int) -> None:
        self._has_link(a, b)
        self._links.slow(a, b, ms)

    def _has_link(self, a: int, b: int) -> None:
        if {a, b} <= self._plan.members.keys():
            raise NotOffered(_MEMBERS_ARE_NOT_CUT)

    # -- starting

    def _write_files(self) -> None:
        (self._directory / "log4j.properties").write_text(_LOGGING)
        for node in (*self._plan.members, *BROKERS):
            data = self._directory / str(node)
            data.mkdir()
            properties = self._plan.properties(node, data)
            (self._directory / f"{node}.properties").write_text(properties)
            if node in self._plan.members:
                (data / "myid").write_text(f"{node}\n")

    def _first_start(self) -> None:
        for node in (*self._plan.members, *BROKERS):
            self.launch(node)

    def _command(self, name: str) -> list[str]:
        is_member = name in map(str, self._plan.members)
        return [
            jars.java(),
            *JVM_FLAGS,
            f"-Dlog4j.configuration=file:{self._directory / 'log4j.properties'}",
            f"-Dkafka.log={self.log_file(name)}",
            *("-cp", f"{jars.ZOOKEEPER.require()}/*", _MEMBER if is_member else _BROKER),
            str(self._directory / f"{name}.properties"),
        ]

    def twin(self, broker: int) -> str:
        """One more process with a broker's id, on ports and files of its own; its errors."""
        if not self._has_session(broker):
            raise ClusterError(
                f"Broker {broker} has no session, so its id is free: heal its links."
            )
        name = f"{broker}-twin"
        self.log_file(name).unlink(missing_ok=True)
        plan = self._plan.elsewhere(broker)
        properties = plan.properties(broker, self._directory / name)
        (self._directory / f"{name}.properties").write_text(properties)
        process = self._run(name)
        try:
            process.wait(START_TIMEOUT_S)
        except TimeoutError:
            process.signal(signal.SIGKILL)
            raise ClusterError(f"The second broker {broker} was not refused: try again.") from None
        return "\n".join(line for line in self._said(name) if "] ERROR " in line)


class ZooKeeperCluster(KafkaCluster):
    """A `Cluster` whose metadata is a tree that can be looked at."""

    def __init__(self, provider: ZooKeeperProvider) -> None:
        super().__init__(provider)
        self._ensemble = provider

    def znode(self, path: str) -> Znode | None:
        """A znode; None while there is none.  Unreachable while no member serves."""
        return self._ensemble.tree.znode(path)

    def znodes(self, path: str = "/") -> dict[str, Znode]:
        """A znode and all below it, by path."""
        return self._ensemble.tree.znodes(path)

    def controller(self) -> tuple[int, int]:
        """The broker that `/controller` names, -1 while there is none; and the newest epoch."""
        elected, epoch = self.znode("/controller"), self.znode("/controller_epoch")
        number = json.loads(elected.data or "{}").get("brokerid", -1) if elected else -1
        return number, int(epoch.data or -1) if epoch else -1

    def modes(self) -> dict[int, str]:
        """What each running member is: `leader`, `follower`, `standalone`, or `none` of these."""
        return {member: mode(address) for member, address in self._ensemble.ensemble().items()}

    def twin(self, broker: int) -> str:
        """Starts one more broker with a running one's id, and returns the errors of its log."""
        self.step = f"starts a second {broker}"
        self._known(broker, "running")
        return self._ensemble.twin(broker)

    def snapshot(self, *, values: bool = False, tail: int = 20) -> dict[str, Any]:
        """As of any cluster; the controller is the broker that `/controller` names, -1 if none."""
        shown = super().snapshot(values=values, tail=tail)
        number = epoch = -1
        with contextlib.suppress(Unreachable):
            number, epoch = self.controller()
        state = shown["brokers"][number]["state"] if number in shown["brokers"] else "running"
        of_controller = {"id": number, "state": state, "epoch": epoch, "metadata_offset": -1}
        return {**shown, "controller": of_controller}


def start(*, ensemble: int = 1, settings: Mapping[str, str] | None = None) -> ZooKeeperCluster:
    """Starts a Kafka 3.9 with an ensemble of that many members; Maven fetches its jars once.

    `settings` are the brokers', such as `zookeeper.session.timeout.ms`.  Raises ClusterError for
    one that cannot be, JarsMissing without Java, or without Maven and the jars.
    """
    plan = zookeeper_plan.new_plan(ensemble, settings)
    jars.ZOOKEEPER.ensure()
    return ZooKeeperCluster(ZooKeeperProvider.started(plan))
