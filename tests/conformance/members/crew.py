"""Members of many groups, in few processes, and the stage on which one group's life is played.

host      one process for each client library; a member that freezes has a process of its own
member    a thread there; here it is its name, and what it has told so far
stage     one group: its members join, share and commit, and at the end their history is judged
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.java_client import JavaProgram, Program
from tests.conformance.members.history import Event, faults, owned, parsed

TOPIC, PARTITIONS = "owned", 6
PATIENCE_S = 60.0
LOOK_EVERY_S = 0.05
JAVA = Path(__file__).with_name("MemberHost.java")
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "confluent-classic": ("confluent", {}),
    "confluent-consumer": ("confluent", {"group.protocol": "consumer"}),
    "java-classic": ("java", {}),
    "java-consumer": ("java", {"group.protocol": "consumer"}),
    "aiokafka": ("aiokafka", {}),
    "kafka-python": ("kafka-python", {}),
}
"""By the name in tests: the library, and how its members join."""
SESSION_S, SHORT_SESSION_S = 20, 6
"""The short one is for a member whose session must end; a busy machine may outlast it."""


class Host:
    """One process, and a thread that asks it for news."""

    def __init__(self, library: str) -> None:
        module = "tests.conformance.members.host"
        self.program = (
            JavaProgram(JAVA).program
            if library == "java"
            else Program([sys.executable, "-m", module, library])
        )
        self.turn = threading.Lock()
        self.members: dict[str, Member] = {}
        self.ended = False
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def tell(self, *words: str) -> list[str]:
        with self.turn:
            return self.program.ask(*words)

    def _listen(self) -> None:
        with contextlib.suppress(RuntimeError):
            while not self.ended:
                for event in map(parsed, self.tell("news")[1:]):
                    self.members[event.name].events.append(event)
                time.sleep(LOOK_EVERY_S)

    def end(self) -> None:
        self.ended = True
        self.program.end()
        self.thread.join(PATIENCE_S)


class Crew:
    """The hosts, one for each library, started when first needed."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.hosts: dict[str, Host] = {}

    def host(self, library: str, alone: str = "") -> Host:
        """With a name, a process that only one member is in."""
        with self.turn:
            key = f"{library} {alone}"
            if key not in self.hosts:
                self.hosts[key] = Host(library)
            return self.hosts[key]

    def end(self) -> None:
        for each in self.hosts.values():
            each.end()


class Member:
    """One member, as its host tells of it."""

    def __init__(self, host: Host, name: str, settings: dict[str, str]) -> None:
        self.host, self.name = host, name
        self.events: list[Event] = []
        host.members[name] = self
        pairs = [f"{key}={value}" for key, value in settings.items()]
        host.tell("open", name, TOPIC, *pairs)

    @property
    def owns(self) -> list[int]:
        return sorted(owned(self.events))

    def said(self, *kinds: str) -> int:
        """How often it told one of these."""
        return sum(each.kind in kinds for each in self.events)

    def hold(self) -> None:
        """Its next rebalance callback waits for `release`: the group cannot go on without it."""
        self.host.tell("hold", self.name)

    def release(self) -> None:
        self.host.tell("release", self.name)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Its process stands still inside the block."""
        pid = self.host.program.process.pid
        os.kill(pid, signal.SIGSTOP)
        self.events.append(Event(time.time_ns() // 1000, self.name, "frozen"))
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


class Stalled(Exception):
    """What a scenario waits for has not come."""


class Stage:
    """One group on one cluster."""

    def __init__(self, crew: Crew, cluster: KafkaCluster, group: str) -> None:
        self.crew, self.cluster, self.group = crew, cluster, group
        self.session_s, self.configured = SESSION_S, False
        self.members: list[Member] = []
        self.commits: list[tuple[int, int]] = []
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})

    def join(self, kind: str, name: str, instance: str = "", alone: str = "") -> Member:
        library, protocol = KINDS[kind]
        session_ms = str(self.session_s * 1000)
        if protocol and not self.configured:
            self.configure({"consumer.session.timeout.ms": session_ms})
            self.configured = True
        classic = {"session.timeout.ms": session_ms, "heartbeat.interval.ms": "500"}
        settings = {
            "bootstrap.servers": self.cluster.bootstrap,
            "group.id": self.group,
            "client.id": name,
            **({"group.instance.id": instance} if instance else {}),
            **(protocol or classic),
        }
        host = self.crew.host(library, alone)
        self.members.append(Member(host, f"{self.group}.{name}", settings))
        return self.members[-1]

    def configure(self, values: dict[str, str]) -> None:
        """Settings of the group, which the consumer protocol has."""
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in values.items()
        ]
        resource = ConfigResource(
            ConfigResource.Type.GROUP, self.group, incremental_configs=entries
        )
        self.admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            failed = [
                each.detail for m in self.members for each in m.events if each.kind == "error"
            ]
            assert failed == [], f"{failed} before {what}"
            if time.monotonic() > deadline:
                raise Stalled(f"{what}; but {self.shown()}, and {self.told()}")
            time.sleep(LOOK_EVERY_S)

    def shared(self, *members: Member) -> None:
        """Waits until these own all partitions, as evenly as can be."""

        def holds() -> bool:
            parts = [each.owns for each in members]
            sizes = [len(each) for each in parts]
            everything = sorted(number for each in parts for number in each)
            return everything == [*range(PARTITIONS)] and max(sizes) - min(sizes) <= 1

        self.until(holds, f"{[each.name for each in members]} share all partitions")

    def commit(self, member: Member, offset: int) -> None:
        """By a member that owns all partitions: the same offset for each, which the group takes."""
        assert member.owns == [*range(PARTITIONS)], f"{member.name} owns {member.owns}"
        last = self._commit(member, offset)
        assert last.kind == "committed", last.detail
        self.commits.append((last.time_us, offset))

    def commit_in_vain(self, member: Member, offset: int) -> None:
        """For all that the member believes to own, which the group must refuse."""
        assert member.owns, f"{member.name} knows already that it owns nothing"
        last = self._commit(member, offset)
        assert last.kind == "refused", f"the commit of {member.name} is taken"

    def _commit(self, member: Member, offset: int) -> Event:
        def answers() -> list[Event]:
            return [each for each in member.events if each.kind in ("committed", "refused")]

        before = len(answers())
        pairs = ",".join(f"{number}:{offset}" for number in member.owns)
        member.host.tell("commit", member.name, pairs)
        self.until(lambda: len(answers()) > before, f"the commit of {member.name} is answered")
        return answers()[-1]

    def leave(self, *members: Member) -> None:
        for each in members:
            each.host.tell("close", each.name)
        for each in members:
            self.until(lambda each=each: each.said("left") > 0, f"{each.name} leaves")

    def judge_history(self) -> None:
        events = [each for member in self.members for each in member.events]
        wrong = faults(events, self.commits)
        assert wrong == [], f"{wrong} in {self.told()}"

    def told(self) -> list[str]:
        """All that the members said, in its order."""
        events = sorted(each for member in self.members for each in member.events)
        return [f"{e.time_us} {e.name} {e.kind} {e.partitions} {e.detail}" for e in events]

    def shown(self) -> dict[str, Any]:
        """What a snapshot of the cluster says about the group."""
        return dict(self.cluster.snapshot()["groups"].get(self.group, {}))

    def judge(self) -> None:
        """No partition had two owners; no committed offset is lost, in the group or on the way."""
        self.judge_history()
        asked = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(self.group)])
        found = asked[self.group].result(PATIENCE_S).topic_partitions
        told, offset = {each.partition: each.offset for each in found}, self.commits[-1][1]
        assert told == dict.fromkeys(range(PARTITIONS), offset), f"{told}, not {offset}"
        self.leave(*(each for each in self.members if not each.said("left")))
