"""Kafka's own command-line tools, as they come in its jars.

All of them run in one JVM (`KafkaTools.java`), for each start of one costs a second.
"""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Self

from kit import jars

PATIENCE_S = 60
TOOLS = "org.apache.kafka.tools"
CLASSES = {
    "topics": f"{TOOLS}.TopicCommand",
    "console-producer": f"{TOOLS}.ConsoleProducer",
    "console-consumer": f"{TOOLS}.consumer.ConsoleConsumer",
    "consumer-groups": f"{TOOLS}.consumer.group.ConsumerGroupCommand",
    "get-offsets": f"{TOOLS}.GetOffsetShell",
    "configs": "kafka.admin.ConfigCommand",
    "leader-election": f"{TOOLS}.LeaderElectionCommand",
    "features": f"{TOOLS}.FeatureCommand",
    "producer-perf-test": f"{TOOLS}.ProducerPerformance",
    "consumer-perf-test": f"{TOOLS}.ConsumerPerformance",
    "dump-log": f"{TOOLS}.DumpLogSegments",
    "transactions": f"{TOOLS}.TransactionsCommand",
    "metadata-quorum": f"{TOOLS}.MetadataQuorumCommand",
    "cluster": f"{TOOLS}.ClusterTool",
}
_WITHOUT_A_CLUSTER = ("dump-log",)
_COMMAND_FIRST = ("cluster",)


class KafkaTools:
    """The JVM; a context manager that ends it."""

    def __init__(self) -> None:
        program = str(Path(__file__).with_name("KafkaTools.java"))
        command = [jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        self.process = subprocess.Popen(
            [*command, "-cp", jars.classpath(), program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(
        self,
        bootstrap: str,
        name: str,
        *arguments: str,
        given: str = "",
        at: str = "--bootstrap-server",
    ) -> str:
        """What the tool with this short name printed; AssertionError with it if it failed."""
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        if name not in _WITHOUT_A_CLUSTER:
            last = name in _COMMAND_FIRST
            arguments = (*arguments, at, bootstrap) if last else (at, bootstrap, *arguments)
        spoken = base64.b64encode(given.encode()).decode()
        process.stdin.write("\t".join([CLASSES[name], spoken, *arguments]) + "\n")
        process.stdin.flush()
        code, _, printed = process.stdout.readline().strip().partition("\t")
        text = base64.b64decode(printed).decode()
        assert code == "0", text
        return text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
