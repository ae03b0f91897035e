"""All replicas of one broker: their roles, the requests that wait on them, their timers.

The metadata log decides what a broker hosts.  Each record that concerns a partition is
applied here at once, one by one, so that no role change is skipped.

    metadata log --> apply --> Partition.update --> leader: purgatory, ISR checks
                                               \\-> follower: one of the Fetchers

New replicas are opened when all records of an answer are applied.  Files take time: many
replicas are opened one by one, and clients get their turn in between.  Until a replica is open,
this broker is not its leader for anyone who asks, as in Kafka.

Files are the LogDirectory's, compaction is the LogCleaner's, the tier the RemoteLogManager's.
Timers: ISR checks every replica.lag.time.max.ms / 2, the checkpoints, retention, idle producers.
Simplified: one log directory; a moved replica is deleted at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from random import Random

from engine.events import Background, Outbox, Stored
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import MetadataImage, PartitionImage
from engine.replication import log_directory
from engine.replication.alter_partition import AlterPartitionQueue
from engine.replication.delayed_append import Coordinator, DelayedAppend, PendingAppend
from engine.replication.fetch_sessions import FetchSessions
from engine.replication.fetchers import Fetchers
from engine.replication.hosted import HostedPartitions
from engine.replication.log_cleaner import LogCleaner, retain
from engine.replication.log_directory import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from engine.replication.partition import NO_LEADER, Partition
from engine.replication.purgatory import Purgatory
from engine.replication.remote_log_manager import RemoteLogManager
from engine.replication.truncation import DEFAULT_RULE, RULES
from engine.settings import Settings
from engine.settings.topic_config import TopicConfig
from engine.storage.disk import Disk
from engine.storage.log_config import LogConfig
from engine.wire.errors import Errors, KafkaError

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
OPENED_AT_ONCE, PAUSE_US = 16, 100
"""So many new replicas are opened in one step; of more, one in each step, and then a pause."""

Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class PeriodicTimer:
    """Rings when a periodic task is due; the prologue names them."""

    what: str


@dataclass(frozen=True, slots=True)
class OpeningTimer(Background):
    """Rings when the next new replicas are opened."""


class ReplicaManager:
    """The replicas of broker `node_id`; `rule` is the name of a truncation rule."""

    def __init__(
        self,
        node_id: int,
        controller: ActiveController,
        settings: Settings,
        disk: Disk,
        outbox: Outbox,
        metadata: MetadataImage,
        ids: Random,
        rule: str = DEFAULT_RULE,
        tier: Disk | None = None,
    ) -> None:
        self.node_id = node_id
        self.settings = settings
        self.outbox = outbox
        self.metadata = metadata
        self.ids = ids
        self.rule = RULES[rule]
        self.directory = log_directory.LogDirectory(disk, outbox)
        self.hosted = HostedPartitions(metadata)
        self.partitions = self.hosted.partitions
        self.unopened: dict[Key, bytes] = {}  # new replicas, and their topic's id
        self.is_opening = False
        self.cleaner = LogCleaner(settings, outbox, self.partitions, self.directory)
        self.remote = RemoteLogManager(node_id, settings, outbox, self.partitions, tier, ids)
        self.broker_epoch = -1
        self.sessions = FetchSessions(settings["max.incremental.fetch.session.cache.slots"], ids)
        self.purgatory = Purgatory(outbox, self.sessions)
        self.fetchers = Fetchers(node_id, settings, outbox, self.purgatory)
        self.isr_changes = AlterPartitionQueue(node_id, controller, outbox, self.purgatory)
        self.coordinators: dict[str, Coordinator] = {}
        self.configs: dict[str, TopicConfig] = {}

    def start(self, now: int, clean: bool) -> None:
        """Reads the checkpoints and sets the timers; logs open when metadata names them."""
        self.directory.start(clean)
        for what in ("isr", "retention", "idle producers", *log_directory.FILES):
            self._set_timer(what, now)
        self.remote.start(now)

    def registered(self, broker_epoch: int) -> None:
        """The controller has given this incarnation its broker epoch."""
        self.broker_epoch = self.isr_changes.broker_epoch = broker_epoch
        self.fetchers.registered(broker_epoch)

    def partition(self, topic: str, index: int) -> Partition | None:
        return self.partitions.get((topic, index))

    # -- what the metadata log says

    def topic_config(self, topic: str) -> TopicConfig:
        """The effective configuration of a topic; computed once per change."""
        config = self.configs.get(topic)
        if config is None:
            overrides = self.metadata.configs.get((TOPIC_RESOURCE, topic), {})
            config = self.settings.topic(overrides)
            self.configs[topic] = config
        return config

    def config_changed(self, resource_type: int, name: str) -> None:
        """Applies a ConfigRecord to the open logs that it concerns."""
        if resource_type == TOPIC_RESOURCE:
            self.configs.pop(name, None)
        else:
            self.configs.clear()
        for partition in self.partitions.values():
            if resource_type != TOPIC_RESOURCE or partition.topic == name:
                self._configure(partition)

    def _log_config(self, topic: str) -> LogConfig:
        config = LogConfig.from_topic(self.topic_config(topic))
        if config.remote_storage_enable and not self.remote.is_enabled_for(topic):
            return replace(config, remote_storage_enable=False)
        return config

    def _configure(self, partition: Partition) -> None:
        config = self.topic_config(partition.topic)
        partition.log.config = self._log_config(partition.topic)
        self.remote.configure(partition)
        partition.min_in_sync_setting = config["min.insync.replicas"]
        partition.max_lag_us = self.settings["replica.lag.time.max.ms"] * 1000

    def partition_changed(
        self, now: int, topic: str, topic_id: bytes, index: int, image: PartitionImage
    ) -> None:
        """Takes over a partition's new state: hosts, leads, follows or releases it."""
        key = (topic, index)
        partition = self.partitions.get(key)
        if self.node_id not in image.replicas:
            if partition is not None or key in self.unopened:
                self.topic_deleted(now, topic, [index])
        elif partition is None:
            self.unopened[key] = topic_id
        else:
            self._update(now, partition, image)

    def open_new(self, now: int) -> None:
        """Opens the new replicas; if they are many, first those who wait get their answers."""
        if len(self.unopened) <= OPENED_AT_ONCE:
            self.open_some(now, OPENED_AT_ONCE)
        elif not self.is_opening:
            self._open_later(now)

    def open_some(self, now: int, at_once: int = 1) -> None:
        """Opens the next new replicas in the state that the image has by now."""
        self.is_opening = False
        for key in list(islice(self.unopened, at_once)):
            topic_id = self.unopened.pop(key)
            image = self.metadata.topics[topic_id].partitions[key[1]]
            partition = self.partitions[key] = self._open(now, *key, topic_id)
            self._update(now, partition, image)
        if self.unopened:
            self._open_later(now)

    def _open_later(self, now: int) -> None:
        self.is_opening = True
        self.outbox.set_timer(OpeningTimer(), now + PAUSE_US)

    def _update(self, now: int, partition: Partition, image: PartitionImage) -> None:
        was_leader = partition.is_leader
        if partition.update(now, image):
            self.fetchers.assign(now, partition, self.rule)
            self._tell_coordinators(now, partition, was_leader)
        self.purgatory.check(now, partition.key)

    def _open(self, now: int, topic: str, index: int, topic_id: bytes) -> Partition:
        config = self._log_config(topic)
        log = self.directory.open(now, (topic, index), topic_id, config)
        partition = Partition(
            self.node_id,
            topic,
            topic_id,
            index,
            log,
            self.directory.offsets[HIGH_WATERMARKS].get((topic, index), 0),
            self.outbox,
            self.metadata,
            self.isr_changes,
            self,
        )
        self._configure(partition)
        return partition

    def look_again(self, partition: Partition) -> None:
        """All that fetch the partition look at it again: sessions here, or our own fetcher."""
        self.sessions.look_again(partition.key)
        self.fetchers.look_again(partition)

    def broker_changed(self, now: int, broker_id: int) -> None:
        """A broker was fenced or unfenced: high watermarks stop or start waiting for it."""
        for partition in self.partitions.values():
            if broker_id in partition.followers and partition.advance_high_watermark(now):
                self.purgatory.check(now, partition.key)

    def topic_deleted(self, now: int, topic: str, indexes: Iterable[int]) -> None:
        """Removes the topic's replicas and their files."""
        self.configs.pop(topic, None)
        for index in indexes:
            self.unopened.pop((topic, index), None)
            partition = self.partitions.pop((topic, index), None)
            if partition is None:
                continue
            was_leader = partition.is_leader
            partition.leader_id = NO_LEADER
            self.look_again(partition)
            self.fetchers.release(partition)
            self._tell_coordinators(now, partition, was_leader)
            self.cleaner.release(partition.key)
            if was_leader and partition.topic_id not in self.metadata.topics:
                self.remote.delete_all(now, partition)
            self.remote.release(partition.key)
            partition.log.delete()
            self.directory.forget(partition.key)
            self._trace_removed(partition)
            self.purgatory.check(now, partition.key)

    def _trace_removed(self, partition: Partition) -> None:
        is_deleted = partition.topic_id not in self.metadata.topics
        why = "its topic is deleted" if is_deleted else "other brokers have it now"
        rule = "replication.replica_manager.ReplicaManager.topic_deleted"
        self.outbox.trace(rule, "removed", partition.name, why, deleted=is_deleted)

    def begin(self) -> None:
        """Once metadata is current, removes the files of topics deleted while we were down."""
        self.directory.begin(self.metadata.topics)

    def _tell_coordinators(self, now: int, partition: Partition, was_leader: bool) -> None:
        coordinator = self.coordinators.get(partition.topic)
        if coordinator is not None:
            if was_leader:
                coordinator.on_resign(now, partition.index)
            if partition.is_leader:
                coordinator.on_leader(now, partition.index)

    # -- appends of this broker's coordinators

    def append(
        self,
        now: int,
        topic: str,
        index: int,
        batch: bytes,
        then: Stored,
        timeout_ms: int,
        guard: int | None = None,
        marker_bumps: bool = False,
    ) -> Errors:
        """Appends a coordinator's batch with acks=all; `then` gets the result.

        Returns NONE when the append has begun, else the error that prevents it.
        """
        try:
            partition = self.hosted.leading(topic, index)
            info = partition.append_as_leader(now, batch, -1, "coordinator", guard, marker_bumps)
        except KafkaError as error:
            return error.code
        pending = PendingAppend(partition.key, info.last_offset + 1)
        self.purgatory.check(now, partition.key)
        waiting = DelayedAppend(self.hosted, then, pending)
        self.purgatory.try_or_wait(now, waiting, (partition.key,), timeout_ms)
        return Errors.NONE

    # -- what is done by the clock

    def _set_timer(self, what: str, now: int) -> None:
        period_ms = {
            "isr": self.settings["replica.lag.time.max.ms"] // 2,
            "retention": self.settings["log.retention.check.interval.ms"],
            "idle producers": self.settings["producer.id.expiration.check.interval.ms"],
            HIGH_WATERMARKS: self.settings["replica.high.watermark.checkpoint.interval.ms"],
            RECOVERY_POINTS: self.settings["log.flush.offset.checkpoint.interval.ms"],
            LOG_STARTS: self.settings["log.flush.start.offset.checkpoint.interval.ms"],
        }[what]
        if period_ms > 0:
            self.outbox.set_timer(PeriodicTimer(what), now + period_ms * 1000)

    def do_periodically(self, now: int, what: str) -> None:
        """Runs one of the prologue's tasks and sets its next timer."""
        if what == "isr":
            for partition in self.partitions.values():
                partition.shrink_isr(now)
        elif what in log_directory.FILES:
            self.directory.try_checkpoint(self.partitions, what)
            self.cleaner.wake(now)
        elif what == "idle producers":
            for partition in self.partitions.values():
                partition.log.remove_expired_producers(now)
        else:
            for partition in self.partitions.values():
                if not self.cleaner.is_cleaning(partition.key):
                    retain(self.outbox, now, partition)
        self._set_timer(what, now)

    def close(self) -> None:
        """Stops cleanly: flushes everything and writes the checkpoints."""
        self.cleaner.close()
        self.directory.close(self.partitions, self.broker_epoch)
