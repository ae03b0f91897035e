"""A machine loses power before one of its writes, in a script of 200 records in transactions.

    python -m tests.engine.sim.power_losses                   each write, power lost and torn
    python -m tests.engine.sim.power_losses --every 40 --jobs 2
    python -m tests.engine.sim.power_losses --only torn

The script runs once in peace, to count the writes of each broker's disk.  Then it runs again for
each of them: the machine dies in the middle of the step that would have written, stays dark for a
while, and comes back.  The application goes on as applications do: it aborts what it may abort, and
replaces a producer that cannot go on.  Afterwards

* every invariant of the simulator held after every event
* each transaction is seen whole, or not at all, by a reader with read_committed: not lost after its
  commit was answered, not seen after its abort
* the group's offset is the one of the last transaction that is seen
* what the machine had flushed was still in its logs after their recovery
"""

from __future__ import annotations

import argparse
import errno
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from multiprocessing import Pool
from random import Random
from time import perf_counter
from unittest import mock

from engine.client.producer import Producer
from engine.client.transaction_requests import GroupMetadata, Offset
from engine.client.transaction_states import State
from engine.coordinators.offsets_topic import coordinator_of
from engine.records.batch import decode, iterate
from engine.records.control import ControlType, control_type
from engine.sim.world import world as worlds
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

BROKERS = (101, 102, 103)
TRANSACTIONS, RECORDS = 20, 10
TOPIC, PARTITIONS, GROUP = "orders", 2, "billing"
SETTINGS = {"transaction.state.log.num.partitions": 1}
CLIENT = {
    "transactional.id": "till",
    "linger.ms": 0,
    "request.timeout.ms": 3_000,
    "delivery.timeout.ms": 30_000,
}
PATIENCE_S = 180.0
NEVER = -1
LIVES_MAX, ATTEMPTS_MAX = 5, 5


class MortalDisk(MemoryDisk):
    """Counts its changes, and loses its power before the change number `dies_at`."""

    def __init__(self) -> None:
        super().__init__()
        self.changes, self.dies_at = 0, NEVER

    def _change(self) -> None:
        if self.changes == self.dies_at:
            self.failure = "its machine has no power"
            raise OSError(errno.EIO, self.failure)
        self.changes += 1

    def append(self, path: str, data: bytes) -> None:
        self._change()
        super().append(path, data)

    def write(self, path: str, position: int, data: bytes) -> None:
        self._change()
        super().write(path, position, data)

    def truncate(self, path: str, size: int) -> None:
        self._change()
        super().truncate(path, size)

    def replace(self, path: str, data: bytes) -> None:
        self._change()
        super().replace(path, data)

    def rename(self, old: str, new: str) -> None:
        self._change()
        super().rename(old, new)

    def delete(self, path: str) -> None:
        self._change()
        super().delete(path)

    def flush(self, path: str) -> None:
        self._change()
        super().flush(path)

    def flushed_logs(self) -> dict[str, bytes]:
        """Of each segment, the whole batches that a power loss leaves alone."""
        found = {}
        for path, file in self._files.items():
            if path.endswith(".log"):
                kept = bytes(file.data[: max(file.flushed, 0)])
                end = 0
                for header, position in iterate(kept):
                    end = position + header.size_in_bytes
                if end:
                    found[path] = kept[:end]
        return found


@dataclass(frozen=True)
class Point:
    """A write: of which broker, the how-manieth of the script; and how its bytes are lost."""

    seed: int
    broker: int
    change: int
    torn: bool


@dataclass
class Shop:
    """The application.  `ends` says of each attempt at a transaction how it ended for the client:
    committed, aborted or unknown."""

    point: Point
    ends: dict[int, str] = field(default_factory=dict)
    lives: int = 0
    losses: int = 0

    def __post_init__(self) -> None:
        self.chance = Random(f"power/{self.point.seed}")
        with mock.patch.object(worlds, "MemoryDisk", MortalDisk):
            self.world = worlds.World(self.point.seed, settings=SETTINGS, rewindable=False)
        self.world.create_topic(
            TOPIC, partitions=PARTITIONS, config={"internal.segment.bytes": 2_000}
        )
        self.world.create_topic("input")
        self.begun = {broker: self.disk(broker).changes for broker in BROKERS}
        if self.point.change != NEVER:
            victim = self.point.broker
            self.disk(victim).dies_at = self.begun[victim] + self.point.change
        self.producer = self.next_producer()

    def disk(self, broker: int) -> MortalDisk:
        disk = self.world.cluster.disks[broker]
        assert isinstance(disk, MortalDisk)
        return disk

    # -- time passes

    def run(self, until: Callable[[], bool]) -> None:
        """Runs on; if a machine dies meanwhile, it comes back."""
        world = self.world
        while not world.run(until=lambda _: until() or self.is_dark(), for_s=PATIENCE_S):
            raise AssertionError(f"nothing more happens: {self.point}")
        if self.is_dark():
            self.lose_power()
            self.run(until)

    def is_dark(self) -> bool:
        return bool(self.disk(self.point.broker).failure)

    def lose_power(self) -> None:
        world, victim = self.world, self.point.broker
        disk = self.disk(victim)
        kept = disk.flushed_logs()
        self.losses += 1
        disk.dies_at = NEVER
        world.lose_power(victim, self.point.torn)
        self.recover(pickle.loads(pickle.dumps(disk)), kept)
        world.run(for_s=self.chance.choice((0.1, 2.5)))  # sooner and later than its session ends
        world.start(victim)

    def recover(self, disk: MortalDisk, kept: dict[str, bytes]) -> None:
        """Opens each log on a copy of the disk, as the broker is going to: what was flushed stays.
        The broker itself may then cut off what no other replica has."""
        for directory in dict.fromkeys(path.split("/")[0] for path in kept):
            Log(disk, directory, LogConfig(), self.world.cluster.now)
        for path, data in kept.items():
            now = disk.read(path, 0, len(data)) if disk.exists(path) else b""
            assert now == data, f"flushed, and lost: {path}, {self.point}"

    # -- the application

    def next_producer(self) -> Producer:
        for _ in range(LIVES_MAX):
            self.lives += 1
            name = f"till-{self.lives}"
            producer = Producer(name, BROKERS, CLIENT, seed=self.lives)
            self.world.add(name, producer)
            if not self.call(producer, "init_transactions"):
                return producer
        raise AssertionError(f"no producer can begin: {self.point}")

    def call(self, producer: Producer, name: str, *arguments: object) -> str:
        """Why the call failed; empty if it did not."""
        try:
            self.world.tell(producer.name, name, *arguments)
        except (KafkaError, RuntimeError) as refused:
            return str(refused)
        self.run(lambda: not producer.busy)
        return producer.error

    def transaction(self, commits: bool) -> str:
        """One attempt: how it ended for the client."""
        number, producer = len(self.ends), self.producer
        offsets = {("input", 0): Offset(number)}
        failed = self.call(producer, "begin_transaction")
        for each in range(RECORDS):
            value = f"{number}-{each}".encode()
            failed = failed or self.call(producer, "send", TOPIC, value, None, each % PARTITIONS)
            if each == RECORDS // 2:
                self.write_back()
        failed = failed or self.call(
            producer, "send_offsets_to_transaction", offsets, GroupMetadata(GROUP)
        )
        if commits and not failed:
            if not self.call(producer, "commit_transaction"):
                return "committed"
            failed = "commit"
        if self.state == State.FATAL_ERROR or self.call(producer, "abort_transaction"):
            self.producer = self.next_producer()
            return "unknown" if failed == "commit" else "aborted"
        return "aborted"

    @property
    def state(self) -> State:
        assert self.producer.transactions is not None
        return self.producer.transactions.lifecycle.state

    def write_back(self) -> None:
        """Now and then an operating system writes its pages to the disk."""
        broker = self.chance.choice(BROKERS)
        if self.chance.random() < 0.2 and broker in self.world.cluster.nodes:
            with suppress(OSError):  # it may be the write that is tried
                self.world.write_back(broker)

    def play(self) -> None:
        for number in range(TRANSACTIONS):
            commits = number % 4 != 2
            for _ in range(ATTEMPTS_MAX):
                end = self.transaction(commits)
                self.ends[len(self.ends)] = end
                if end != "aborted" or not commits:
                    break
            else:
                raise AssertionError(f"no transaction succeeds: {self.point}")
        if self.is_dark():
            self.lose_power()
        self.run(lambda: all(self.is_whole(index) for index in range(PARTITIONS)))

    def is_whole(self, index: int) -> bool:
        found = self.world.partition(TOPIC, index)
        if set(found.isr) != set(BROKERS) or any(map(self.world.is_fenced, BROKERS)):
            return False
        node = self.world.cluster.nodes.get(found.leader)
        leader = node and node.replicas.partition(TOPIC, index)
        if leader is None or not leader.is_leader:
            return False
        ends = (leader.last_stable_offset, leader.high_watermark, leader.log.log_end_offset)
        return len(set(ends)) == 1

    # -- what is judged

    def judge(self) -> None:
        seen = [value for index in range(PARTITIONS) for value in self.read(index)]
        assert len(seen) == len(set(seen)), f"seen twice: {self.point}"
        whole = []
        for number, end in self.ends.items():
            part = {value for value in seen if value.startswith(f"{number}-")}
            assert len(part) in (0, RECORDS), f"{number} is torn: {self.point}"
            assert end != "committed" or part, f"{number} is lost: {self.point}"
            assert end != "aborted" or not part, f"{number} is seen, but aborted: {self.point}"
            whole += [number] if part else []
        for index in range(PARTITIONS):
            order = [int(value.split("-")[0]) for value in self.read(index)]
            assert order == sorted(order), f"out of order: {self.point}"
        assert self.committed_offset() == whole[-1], self.point

    def read(self, index: int) -> list[str]:
        """One partition, read with read_committed."""
        world = self.world
        topic_id, leader = world.image().topic(TOPIC).id, world.leader(TOPIC, index)
        offset, values, end = 0, [], world.replica(leader, TOPIC, index).log.log_end_offset
        request = m.FetchRequest
        while offset < end:
            part = request.FetchPartition(
                partition=index, fetch_offset=offset, partition_max_bytes=1 << 20
            )
            topic = request.FetchTopic(topic=TOPIC, topic_id=topic_id, partitions=[part])
            answer = world.ask(request(isolation_level=1, min_bytes=1, topics=[topic]), leader)
            assert answer is not None
            (found,) = answer.responses[0].partitions
            assert found.error_code == Errors.NONE
            aborted = [(each.first_offset, each.producer_id) for each in
                       found.aborted_transactions or ()]  # fmt: skip
            values += committed_values(found.records, offset, aborted)
            offset = max(header.next_offset for header, _ in iterate(found.records))
        return values

    def committed_offset(self) -> int:
        image = self.world.image()
        request = m.OffsetFetchRequest
        group = request.OffsetFetchRequestGroup(group_id=GROUP, topics=None)
        body = request(groups=[group], require_stable=True)
        answer = self.world.ask(body, coordinator_of(image, GROUP))
        assert answer is not None
        (topic,) = answer.groups[0].topics
        (place,) = topic.partitions
        return int(place.committed_offset)


def committed_values(data: bytes, start: int, aborted: list[tuple[int, int]]) -> Iterator[str]:
    """What a client shows of a Fetch answer: an aborted range ends at its marker."""
    aborted, dropped = sorted(aborted), set[int]()
    for header, position in iterate(data):
        while aborted and aborted[0][0] <= header.last_offset:
            dropped.add(aborted.pop(0)[1])
        records = decode(data, position)
        if header.is_control:
            if control_type(records[0]) is ControlType.ABORT:
                dropped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in dropped):
            yield from (each.value.decode() for each in records if each.offset >= start)


def changes(seed: int) -> dict[int, int]:
    """How many writes each broker's disk sees while nothing fails."""
    shop = Shop(Point(seed, BROKERS[0], NEVER, False))
    shop.play()
    counted = {broker: shop.disk(broker).changes - shop.begun[broker] for broker in BROKERS}
    shop.judge()  # its reads take time, in which more is written
    assert shop.losses == 0
    return counted


def points(seed: int, torn: bool) -> Iterator[Point]:
    for broker, count in changes(seed).items():
        yield from (Point(seed, broker, change, torn) for change in range(count))


def try_one(point: Point) -> tuple[int, int, int]:
    """Plays the script with one loss: losses, attempts that were aborted or are unknown, lives."""
    shop = Shop(point)
    shop.play()
    shop.judge()
    more = len(shop.ends) - TRANSACTIONS + sum(end == "unknown" for end in shop.ends.values())
    return shop.losses, more, shop.lives


def main() -> None:
    parser = argparse.ArgumentParser(description="Power lost before every write of the script.")
    parser.add_argument("--every", type=int, default=1, help="try each so-manieth write")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=("lost", "torn"), help="the one kind, or the other")
    chosen = parser.parse_args()
    begun = perf_counter()
    for kind in (chosen.only,) if chosen.only else ("lost", "torn"):
        tried = list(islice(points(chosen.seed, kind == "torn"), 0, None, chosen.every))
        with Pool(chosen.jobs) as pool:
            found = list(pool.imap(partial(try_one), tried, chunksize=4))
        print(
            f"{kind}: {len(tried)} writes tried, "
            f"{sum(each[0] for each in found)} losses of power, "
            f"{sum(each[1] for each in found)} transactions tried again, "
            f"{sum(each[2] - 1 for each in found)} producers replaced; nothing lost, "
            f"{perf_counter() - begun:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
