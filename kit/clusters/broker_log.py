"""A node's own log lines, as an operator reads them.

A local Kafka writes them to a file for each process, Docker keeps them for each container.
The engine writes no log file; its trace holds the same events and its lines are shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Any

from kit.clusters.docker import DockerProvider
from kit.clusters.engine import EngineProvider
from kit.clusters.interface import Cluster, ClusterError, NotOffered
from kit.clusters.java_processes import JavaProcesses
from kit.clusters.kafka_cluster import KafkaCluster


@dataclass(frozen=True, slots=True)
class LogLines:
    """The last lines that hold a word; `source` says where they come from."""

    source: str
    lines: tuple[str, ...]

    def __repr__(self) -> str:
        return "\n".join([f"# {self.source}", *(self.lines or ["no such line"])])

    def _repr_html_(self) -> str:
        return (
            "<pre style='overflow-x:auto;white-space:pre-wrap;line-height:1.35;padding:8px 12px;"
            "color:var(--jp-content-font-color1,inherit)'>"
            f"<em># {escape(self.source)}</em>\n"
            f"{escape(chr(10).join(self.lines) or 'no such line')}</pre>"
        )


def find(cluster: Cluster, broker: int, word: str, last: int = 5) -> LogLines:
    """The broker's last lines that contain `word`, oldest first; upper and lower case are the same.

    Several words, as in "ISR orders-0", must all be in the line.  A word matches where one begins,
    so "orders-0" does not find "preorders-0".

    Raises ClusterError for a broker that the cluster does not have, and NotOffered for a remote
    cluster.
    """
    if not isinstance(cluster, KafkaCluster) or broker not in cluster.provider.nodes():
        raise ClusterError(f"There is no broker {broker}: {', '.join(map(str, cluster.brokers))}.")
    source, lines = _all(cluster, broker)
    wanted = [re.compile(rf"(?<![\w-]){re.escape(each)}", re.IGNORECASE) for each in word.split()]
    found = [line for line in lines if all(each.search(line) for each in wanted)]
    return LogLines(source, tuple(found[-last:]))


def _all(cluster: KafkaCluster, broker: int) -> tuple[str, list[str]]:
    provider = cluster.provider
    node = f"{'broker' if broker in cluster.brokers else 'controller'} {broker}"
    if isinstance(provider, JavaProcesses):
        own = provider.log_file(broker)
        parts = [part for part in (own.with_name(f"{own.name}.1"), own) if part.exists()]
        text = "".join(part.read_text(errors="replace") for part in parts)
        return f"the log of Kafka's {node}", text.splitlines()
    if isinstance(provider, DockerProvider):
        text = provider.log_of(broker)
        return f"the log of Kafka's {node}", text.splitlines()
    if isinstance(provider, EngineProvider):
        return f"the trace of the engine's {node}", _traced(cluster, broker)
    raise NotOffered(
        f"The brokers of the {cluster.name} cluster keep their logs on their own machines: the "
        "engine, a local Kafka and Docker show theirs here."
    )


def _traced(cluster: KafkaCluster, broker: int) -> list[str]:
    found: list[str] = []
    since = 0
    while (seen := cluster.trace(since))["lines"]:
        found += [_line(line) for line in seen["lines"] if line["node"] == broker]
        since = seen["next"]
    return found


def _line(line: dict[str, Any]) -> str:
    fields = " ".join(f"{name}={value}" for name, value in line["fields"].items())
    event = " ".join(filter(None, [line["kind"], line["partition"], fields]))
    return f"[{line['time_us'] / 1e6:.3f} s] {event}" + (f": {line['why']}" if line["why"] else "")
