"""Members of a group for the cells that use sockets: confluent-kafka consumers, a thread each.

    with Team(cluster, ("orders",), "billing", "cooperative-sticky") as team:
        team.add("A")
        team.add("B", work_s=2.0)          how long its loop takes for a record
        team.covered(partitions=6)         every partition has an owner, and that lasts
        team.owned                         {"A": [0, 1, 2], "B": [3, 4, 5]}

A worker notes what its callbacks say (assigned, revoked, lost), when its polls returned a record,
and each record that it has processed.  From that, `pauses` works out when a partition had no
reader, and `longest_gap` for how long the whole group read nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    OffsetSpec,
    ResourceType,
)

from kit.clusters.interface import Cluster, WaitTimeout
from kit.drawings.spans import Bar
from kit.film.source import Frame, Line
from kit.group_panel.crew import protocol_settings
from kit.group_panel.ownership import Ownership, Pause
from kit.probes import clients, group_log

POLL_S = 0.05
CALM_S = 1.0
"""An assignment that has lasted so long is taken for the final one."""
SETTINGS: Mapping[str, Any] = {
    "auto.offset.reset": "earliest",
    "auto.commit.interval.ms": 500,
    "topic.metadata.refresh.interval.ms": 1000,
    "fetch.wait.max.ms": 200,
    "log_level": 0,
}
SESSION_MS = 45_000
"""Kafka's default, for every protocol: a machine that stands still for some seconds ends none."""
HEARTBEAT_MS = 3_000
"""librdkafka waits so long for an answer to a heartbeat of the consumer protocol, and what a late
answer takes away from it is lost (docs/findings.md): longer than a busy machine stands still."""
SILENT = logging.Logger("workers", logging.CRITICAL + 1)
"""What a worker's client logs is in its `errors` as well."""


Partition = tuple[str, int]
OnAssign = Callable[["Worker", Sequence[Partition]], None]
"""What a worker does before it reads the partitions that it got."""
OnRevoke = Callable[["Worker", Sequence[Partition]], None]
"""What a worker does before its partitions go to others."""


class Worker:
    """One consumer and its loop, in a thread."""

    def __init__(
        self,
        name: str,
        topics: tuple[str, ...],
        settings: Mapping[str, Any],
        work_s: float,
        on_assign: OnAssign | None = None,
        on_revoke: OnRevoke | None = None,
    ) -> None:
        self.name, self.work_s, self._topics = name, work_s, topics
        self._on_assign, self._on_revoke = on_assign, on_revoke
        self.lines: list[Line] = []
        self.polled_us: list[int] = []
        """When a poll returned a record."""
        self.processed: list[tuple[int, int]] = []
        """Partition and offset of each record that its loop has finished."""
        self.owned: dict[Partition, None] = {}
        self.errors: list[str] = []
        self.strays = 0
        """Callbacks that came outside `poll` and `close`."""
        self.called_in: set[str] = set()
        """The names of the threads in which callbacks came."""
        self._calls: int | None = None
        """The thread that is in `poll` or `close` now."""
        self._slow: list[float] = []
        self._is_slow = threading.Event()
        self._fresh: dict[Partition, None] = {}
        self._end = threading.Event()
        self._consumer = Consumer(dict(settings), logger=SILENT)
        self._thread = threading.Thread(target=self._run, name=f"worker-{name}", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Ends the loop and closes the consumer."""
        self._end.set()
        self._thread.join()

    @property
    def read(self) -> list[Partition]:
        """Its partitions of which it has taken a record since they were assigned."""
        return [each for each in dict(self.owned) if each not in dict(self._fresh)]

    def stall(self, seconds: float, timeout_s: float = 20.0) -> None:
        """Its next record takes so much longer: one slow call to another service.

        Returns when it has begun.  WaitTimeout if no record comes.
        """
        self._is_slow.clear()
        self._slow.append(seconds)
        if not self._is_slow.wait(timeout_s):
            raise WaitTimeout(f"{self.name}: waited {timeout_s:g} s for a record to be slow with")

    def commit(self, partitions: Sequence[Partition]) -> None:
        """Commits what its loop has finished of a topic's partitions, and waits for the answer."""
        ends = {index: offset + 1 for index, offset in self.processed}
        given = [TopicPartition(*each, ends[each[1]]) for each in partitions if each[1] in ends]
        try:
            if given:
                self._consumer.commit(offsets=given, asynchronous=False)
        except KafkaException as error:
            self.errors.append(str(error.args[0].name()))

    def rest(self, seconds: float) -> None:
        """Waits so long, but not past its end."""
        self._end.wait(seconds)

    def _run(self) -> None:
        self._consumer.subscribe(
            list(self._topics),
            on_assign=self._assigned,
            on_revoke=lambda _, given: self._dropped("revoked", given),
            on_lost=lambda _, given: self._dropped("lost", given),
        )
        while not self._end.is_set():
            self._calls = threading.get_ident()
            message = self._consumer.poll(POLL_S)
            self._calls = None
            self._take(message)
        self._calls = threading.get_ident()
        try:
            self._consumer.close()
        except KafkaException as error:
            self.errors.append(str(error.args[0].name()))
        self.lines.append(self._line("left", []))

    def _take(self, message: Any) -> None:
        if message is None:
            return
        if message.error() is not None:
            self.errors.append(str(message.error().str()).rsplit("Broker: ", 1)[-1])
            return
        self.polled_us.append(_now_us())
        slow_s = 0.0
        if self._slow:
            slow_s = self._slow.pop()
            self._is_slow.set()
        self._end.wait(self.work_s + slow_s)
        place = (message.topic(), message.partition())
        self.processed.append((place[1], message.offset()))
        if place in self._fresh:
            del self._fresh[place]
            self.lines.append(self._line("reads", [place]))

    def _assigned(self, consumer: Consumer, given: list[TopicPartition]) -> None:
        places = self._called_back(given)
        if self._on_assign:
            self._on_assign(self, places)
        self.owned |= dict.fromkeys(places)
        self._fresh |= dict.fromkeys(places)
        self.lines.append(self._line("assigned", places))

    def _dropped(self, kind: str, given: list[TopicPartition]) -> None:
        places, began_us = self._called_back(given), _now_us()
        for place in places:
            self._fresh.pop(place, None)
        if self._on_revoke and kind == "revoked":
            self._on_revoke(self, places)
        for place in places:
            self.owned.pop(place, None)
        self.lines.append(self._line(kind, places, began_us=began_us))

    def _called_back(self, given: list[TopicPartition]) -> list[Partition]:
        self.strays += self._calls != threading.get_ident()
        self.called_in.add(threading.current_thread().name)
        return [(each.topic, each.partition) for each in given]

    def _line(self, kind: str, places: list[Partition], **more: int) -> Line:
        named = tuple(f"{topic}-{index}" for topic, index in sorted(places))
        return Line(_now_us(), -1, kind, "", {"client": self.name, "partitions": named, **more})


class Caches:
    """What workers keep in memory for their partitions, loaded whenever a partition is assigned.

    Team(…, on_assign=caches.load)

    A cache goes when its partition is given back, even if the same worker gets it again.
    """

    def __init__(self, load_s: float) -> None:
        """`load_s`: the seconds that one partition's cache takes to load."""
        self.load_s = load_s
        self._loads: list[tuple[int, float]] = []

    def load(self, worker: Worker, places: Sequence[Partition]) -> None:
        """Keeps the worker from polling until it has a cache for each of these partitions."""
        for _, index in places:
            began = time.monotonic()
            worker.rest(self.load_s)
            self._loads.append((index, time.monotonic() - began))

    def clear(self) -> None:
        """Begins to count again."""
        self._loads.clear()

    def loads(self, partitions: int) -> list[int]:
        """How often each partition's cache has been loaded."""
        loaded = [index for index, _ in self._loads]
        return [loaded.count(index) for index in range(partitions)]

    @property
    def seconds(self) -> float:
        """Loading, of all workers together."""
        return sum(seconds for _, seconds in self._loads)


@dataclass(frozen=True)
class Place:
    """A member's place in its group."""

    member_id: str
    partitions: tuple[int, ...]

    def beside(self, before: Place) -> str:
        """What it has kept of an earlier one, in words."""
        member_id = "the same" if self.member_id == before.member_id else "a new"
        partitions = "the same" if self.partitions == before.partitions else "other"
        return f"{member_id} member id, {partitions} partitions"


class Team:
    """The workers of one group; ends them when it is left."""

    def __init__(
        self, cluster: Cluster, topics: tuple[str, ...], group: str, protocol: str = "range",
        settings: Mapping[str, Any] | None = None, *, on_assign: OnAssign | None = None,
        on_revoke: OnRevoke | None = None,
    ) -> None:  # fmt: skip
        self.topics, self.group, self._cluster = topics, group, cluster
        self._protocol, self._on_assign, self._on_revoke = protocol, on_assign, on_revoke
        self._settings = {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            **SETTINGS,
            **protocol_settings(protocol, SESSION_MS),
            **(settings or {}),
        }
        self.workers: dict[str, Worker] = {}
        self._earlier: list[Worker] = []

    def __enter__(self) -> Team:
        if self._protocol == "consumer":  # there the clocks are the group's, and not a client's
            clocks = {
                "consumer.session.timeout.ms": SESSION_MS,
                "consumer.heartbeat.interval.ms": HEARTBEAT_MS,
            }
            configs = [
                ConfigEntry(name, str(ms), incremental_operation=AlterConfigOpType.SET)
                for name, ms in clocks.items()
            ]
            group = ConfigResource(ResourceType.GROUP, self.group, incremental_configs=configs)
            admin = clients.admin(self._cluster)
            admin.incremental_alter_configs([group])[group].result(20)
        return self

    def __exit__(self, *_: object) -> None:
        threads = [threading.Thread(target=each.leave) for each in self.workers.values()]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def add(self, name: str, work_s: float = 0.0, instance: str = "") -> Worker:
        """One more member, or one that comes back; `instance` is its group.instance.id."""
        chosen = {**self._settings, "client.id": name}
        if instance:
            chosen["group.instance.id"] = instance
        if name in self.workers:
            self._earlier.append(self.workers[name])
        self.workers[name] = Worker(
            name, self.topics, chosen, work_s, self._on_assign, self._on_revoke
        )
        return self.workers[name]

    def remove(self, name: str) -> None:
        """Closes a member's consumer and waits for that."""
        worker = self.workers.pop(name)
        worker.leave()
        self._earlier.append(worker)

    def add_partitions(self, topic: str, total: int) -> None:
        """A topic gets more partitions; returns when the controller has them."""
        admin = clients.admin(self._cluster)
        admin.create_partitions([NewPartitions(topic, total)])[topic].result(20)

    @property
    def processed(self) -> int:
        """Records that all members together have processed."""
        return sum(len(each.processed) for each in self.workers.values())

    @property
    def offsets(self) -> set[tuple[int, int]]:
        """Partition and offset of what they have processed: a record twice is here once."""
        return {place for each in self.workers.values() for place in list(each.processed)}

    @property
    def readers(self) -> dict[tuple[int, int], str]:
        """The member that has processed each record, by partition and offset."""
        everybody = (*self._earlier, *self.workers.values())
        return {place: each.name for each in everybody for place in list(each.processed)}

    @property
    def generation(self) -> int:
        """The group's generation, or its epoch in the consumer protocol."""
        return group_log.generation(self._cluster, self.group)

    @property
    def owners(self) -> dict[Partition, str]:
        """The member that has each partition, as the coordinator says."""
        return {
            (topic, index): each["client_id"]
            for each in self._cluster.snapshot()["groups"][self.group]["members"]
            for topic, indexes in each["owns"].items()
            for index in indexes
        }

    @property
    def assignment(self) -> str:
        """Each member's partitions of the first topic, as the coordinator says: `A 0 1, B none`."""
        members = self._cluster.snapshot()["groups"][self.group]["members"]
        owned = {each["client_id"]: each["owns"].get(self.topics[0], ()) for each in members}
        return ", ".join(
            f"{name} {' '.join(map(str, sorted(owned[name]))) or 'none'}" for name in sorted(owned)
        )

    @property
    def lag(self) -> int:
        """Records behind the group's committed offsets, of all partitions together."""
        admin = clients.admin(self._cluster)
        asked = [ConsumerGroupTopicPartitions(self.group)]
        found = admin.list_consumer_group_offsets(asked)[self.group].result(20).topic_partitions
        offsets = {(each.topic, each.partition): each.offset for each in found}
        wanted = {TopicPartition(*place): OffsetSpec.latest() for place in offsets}
        ends = {(each.topic, each.partition): end.result(20).offset
                for each, end in admin.list_offsets(wanted).items()}  # fmt: skip
        return sum(ends[place] - offset for place, offset in offsets.items())

    def write(self, topic: str, count: int, partitions: int) -> None:
        """So many records, one partition after the other."""
        servers = self._settings["bootstrap.servers"]
        producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        for number in range(count):
            producer.produce(topic, str(number).encode(), partition=number % partitions)
        producer.flush(20)

    @property
    def now_us(self) -> int:
        return _now_us()

    def count(self, name: str, kind: str, since_us: int = 0) -> int:
        """How often a member's callback said so: assigned, revoked, lost."""
        lines = self.workers[name].lines
        return sum(line.kind == kind and line.time_us >= since_us for line in lines)

    def heard(self, name: str, since_us: int = 0) -> list[str]:
        """A member's callbacks and their partitions, in order: `revoked 1`, `assigned 0 1`."""
        return [
            f"{line.kind} {' '.join(each.rpartition('-')[2] for each in line['partitions'])}"
            for line in list(self.workers[name].lines)
            if line.kind in ("assigned", "revoked", "lost") and line.time_us >= since_us
        ]

    def polls(self, since_us: int) -> list[float]:
        """When a poll of any member returned a record, in seconds from a moment on."""
        everybody = (*self._earlier, *self.workers.values())
        found = (at for each in everybody for at in list(each.polled_us) if at >= since_us)
        return [(at - since_us) / 1e6 for at in sorted(found)]

    def longest_gap(self, since_us: int) -> float:
        """The longest time in which no poll of any member returned a record, in seconds."""
        return max((later - at for at, later in pairwise([0.0, *self.polls(since_us)])), default=0)

    @property
    def owned(self) -> dict[str, list[int]]:
        """What each member believes it owns."""
        return {name: sorted(index for _, index in dict(each.owned))
                for name, each in self.workers.items()}  # fmt: skip

    @property
    def shares(self) -> str:
        """How many partitions each member has, the largest share first: `2 2 1`."""
        return " ".join(map(str, sorted(map(len, self.owned.values()), reverse=True)))

    @property
    def reads(self) -> dict[str, str]:
        """Where each member has taken a record since its assignment: `orders 0 1, payments 2`."""
        found = {}
        for name, worker in self.workers.items():
            by_topic: dict[str, list[str]] = {}
            for topic, index in sorted(worker.read):
                by_topic.setdefault(topic, []).append(str(index))
            found[name] = ", ".join(f"{topic} {' '.join(by_topic[topic])}" for topic in by_topic)
        return found

    @property
    def reads_all(self) -> bool:
        """Whether each member has taken a record of each of its partitions."""
        return all(len(each.read) == len(each.owned) for each in self.workers.values())

    def wait(self, holds: Callable[[Team], bool], timeout_s: float, what: str) -> None:
        deadline = time.monotonic() + timeout_s
        while not holds(self):
            if time.monotonic() > deadline:
                raise WaitTimeout(f"{self.group}: waited {timeout_s:g} s for {what}; {self.owned}")
            time.sleep(0.05)

    @property
    def least(self) -> str:
        """A member with the smallest share: not the one that will give a partition away."""
        return min(self.owned, key=lambda name: (len(self.owned[name]), name))

    def place(self, name: str) -> Place:
        """What the coordinator calls a member, and what the member believes it owns."""
        members = self._cluster.snapshot()["groups"][self.group]["members"]
        ids = {each["client_id"]: each["id"] for each in members}
        return Place(ids[name], tuple(self.owned[name]))

    def kept_for(self, indexes: Sequence[int]) -> list[str]:
        """Members for which the coordinator keeps these partitions of the first topic.

        A static member by its instance id, another one by its name.
        """
        members = self._cluster.snapshot()["groups"][self.group]["members"]
        return sorted(
            each["instance_id"] or each["client_id"]
            for each in members
            if {*indexes} & {*each["owns"].get(self.topics[0], ())}
        )

    @property
    def agreed(self) -> bool:
        """Each member believes what the coordinator says, and nothing is still to move."""
        group = self._cluster.snapshot()["groups"].get(self.group)
        if group is None or group["state"] != "Stable":
            return False
        said = {each["client_id"]: each["owns"] for each in group["members"]}
        aims = {each["client_id"]: each.get("target", each["owns"]) for each in group["members"]}
        believed = {(name, *place) for name, each in self.workers.items()
                    for place in dict(each.owned)}  # fmt: skip
        return said.keys() == self.workers.keys() and _places(said) == _places(aims) == believed

    def covered(self, partitions: int, timeout_s: float = 60.0, *, calm_s: float = CALM_S) -> None:
        """Waits until every partition has one owner, and the coordinator wants no change.

        That must have lasted for `calm_s`.
        """
        last: tuple[float, dict[str, list[int]]] = (time.monotonic(), {})

        def holds(team: Team) -> bool:
            nonlocal last
            now = team.owned
            if now != last[1]:
                last = (time.monotonic(), now)
            whole = sum(map(len, now.values())) == partitions
            return whole and time.monotonic() - last[0] > calm_s and team.agreed

        self.wait(holds, timeout_s, f"{partitions} partitions to have an owner each")

    def dealt_out(self, members: int, partitions: int, timeout_s: float = 60.0) -> None:
        """Waits until the coordinator has given all partitions to so many members.

        Members that are not workers of this team count as well.
        """

        def holds(_: Team) -> bool:
            group = self._cluster.snapshot()["groups"].get(self.group)
            if group is None or group["state"] != "Stable":
                return False
            owned = [each for m in group["members"] for each in m["owns"].values()]
            return len(group["members"]) == members and sum(map(len, owned)) == partitions

        self.wait(holds, timeout_s, f"{members} members with {partitions} partitions")

    def read_by_all(self, partitions: int, timeout_s: float = 60.0) -> None:
        """Waits until the newest member reads, and each partition has been read and is read.

        One that has never been read could not stop later.
        """
        self.covered(partitions, timeout_s)
        newest = next(reversed(self.workers.values()))
        self.wait(lambda _: bool(newest.processed), timeout_s, f"{newest.name} to read")
        self.wait(
            lambda team: (
                len(team.read) == partitions
                and all(each.end_us is not None for each in team.pauses())
            ),
            timeout_s,
            "every partition to be read",
        )

    @property
    def read(self) -> set[str]:
        """Partitions of which some member has read a record, such as `orders-0`."""
        begun = (line for line in self.lines() if line.kind == "reads")
        return {name for line in begun for name in (line.fields or {})["partitions"]}

    def lines(self, since_us: int = 0) -> list[Line]:
        """What the members' callbacks have said from a moment on, in the order of time."""
        everybody = (*self._earlier, *self.workers.values())
        said = (line for each in everybody for line in list(each.lines))
        return sorted((line for line in said if line.time_us >= since_us),
                      key=lambda line: line.time_us)  # fmt: skip

    def too_early(self, since_us: int = 0) -> int:
        """How often a partition was assigned while another member's callback still had it."""
        had: dict[str, str] = {}
        found = 0
        for line in self.lines():
            fields = line.fields or {}
            client = fields["client"]
            for name in fields.get("partitions", ()):
                if line.kind == "assigned":
                    owner = had.get(name, client)
                    found += owner != client and line.time_us >= since_us
                    had[name] = client
                elif line.kind in ("revoked", "lost"):
                    had.pop(name, None)
        return found

    def steps(self, since_us: int = 0) -> dict[str, list[Bar]]:
        """When each member gave partitions back, and then waited for others, in seconds."""
        rows: dict[str, list[Bar]] = {}
        for name in self.workers:
            gives_back, waits = rows[f"{name} gives back"], rows[f"{name} waits"] = [], []
            since: float | None = None
            for line in self.lines(since_us):
                at = (line.time_us - since_us) / 1e6
                if line["client"] != name:
                    continue
                if line.kind == "revoked":
                    gives_back.append(((line["began_us"] - since_us) / 1e6, at))
                    since = at
                elif line.kind == "assigned" and since is not None:
                    waits.append((since, at))
                    since = None
        return {name: bars for name, bars in rows.items() if bars}

    def pauses(self, since_us: int = 0) -> list[Pause]:
        """When a partition had no reader, from a moment on."""
        followed = Ownership()
        followed.follow([Frame(0, {"group": None}, tuple(self.lines()))])
        found = (each for topic in self.topics for each in followed.pauses(topic))
        return [each for each in found if each.start_us >= since_us]


def _now_us() -> int:
    return time.time_ns() // 1000


def _places(by_member: Mapping[str, Mapping[str, Sequence[int]]]) -> set[tuple[str, str, int]]:
    """Each partition with the member that has it."""
    return {
        (name, topic, index)
        for name, by_topic in by_member.items()
        for topic, indexes in by_topic.items()
        for index in indexes
    }


def at_once(
    names: Sequence[str], run: Callable[[str], Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """What `run` returns for each name; all of them run at the same time."""
    with ThreadPoolExecutor(len(names)) as threads:
        return dict(zip(names, threads.map(run, names), strict=True))
