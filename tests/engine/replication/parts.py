"""Single parts of a broker's replication on a disk in memory, without a cluster around them."""

from __future__ import annotations

from typing import Any

from engine.events import Outbox
from engine.metadata.image import BrokerImage, MetadataImage, PartitionImage
from engine.records import batch
from engine.replication.fetcher import Fetcher
from engine.replication.partition import Partition
from engine.replication.truncation import RULES
from engine.settings import Settings
from engine.storage.disk import Disk
from engine.storage.log import Log
from engine.storage.log_config import LogConfig
from engine.storage.memory_disk import MemoryDisk

NOW = 1_767_225_600_000_000
TOPIC_ID = bytes(range(16))
LEADER, OTHER, THIRD = 101, 102, 103


def records(*values: str) -> bytes:
    """One batch with these values."""
    return batch.encode([batch.Record(n, NOW // 1000, None, v.encode(), ())
                         for n, v in enumerate(values)])  # fmt: skip


def written(base_offset: int, epoch: int, *values: str) -> bytes:
    """A batch as a leader would have sent it."""
    return batch.assign(records(*values), base_offset, epoch)


def log_of(epochs: list[int], disk: Disk | None = None, name: str = "orders-0") -> Log:
    """A log with one record per entry, of that epoch."""
    log = Log(disk or MemoryDisk(), name, LogConfig.from_topic(Settings({}).topic({})), NOW)
    for offset, epoch in enumerate(epochs):
        log.append_as_leader(records(f"{offset}/{epoch}"), epoch, NOW)
    return log


class Proposals:
    """Notes what a leader asks the controller for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def propose(self, now: int, partition: Partition) -> None:
        assert partition.isr.proposed is not None
        self.asked.append(partition.isr.proposed)


class Readers:
    """Tells `fetcher`, if there is one, what moved."""

    def __init__(self) -> None:
        self.fetcher: Fetcher | None = None

    def look_again(self, partition: Partition) -> None:
        if self.fetcher is not None:
            self.fetcher.look_again(partition)


def image(isr: tuple[int, ...] = (LEADER, OTHER, THIRD), **changes: Any) -> PartitionImage:
    """The partition as the metadata log tells it; led by LEADER in epoch 0 unless changed."""
    fields: dict[str, Any] = {
        "replicas": (LEADER, OTHER, THIRD),
        "isr": isr,
        "elr": (),
        "last_known_elr": (),
        "leader": LEADER,
        "leader_epoch": 0,
        "partition_epoch": 0,
        **changes,
    }
    return PartitionImage(**fields)


def partition(
    node_id: int = LEADER, epochs: tuple[int, ...] = (), high_watermark: int = 0
) -> Partition:
    """A replica on `node_id` with a log of these epochs; it has no role yet."""
    metadata = MetadataImage()
    for broker in (LEADER, OTHER, THIRD):
        metadata.brokers[broker] = BrokerImage(broker, 7, bytes(16), fenced=False)
    return Partition(node_id, "orders", TOPIC_ID, 0, log_of(list(epochs)), high_watermark,
                     Outbox(), metadata, Proposals(), Readers())  # fmt: skip


def fetcher(outbox: Outbox, rule: str = "fetch-divergence") -> Fetcher:
    """The fetcher of broker OTHER that follows LEADER."""
    return Fetcher(OTHER, LEADER, 1, Settings({}), outbox, RULES[rule])
