"""A controller with hand-driven brokers: what they say, what time it is, when the disk flushes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from engine import api
from engine.control.controller import Controller
from engine.events import (
    CancelTimer,
    Effect,
    Expired,
    Flush,
    Flushed,
    Reply,
    Request,
    SetTimer,
    Trace,
)
from engine.metadata.image import BrokerImage, PartitionImage
from engine.metadata.records import METADATA_TOPIC_ID
from engine.settings import Settings
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from engine.wire import uuids

SESSION_US = 9_000_000
NEVER_CLEAN = -1


class ControlBench:
    """Steps a controller; brokers 101… are only what they send."""

    def __init__(self, **settings: Any) -> None:
        levels = settings.pop("levels", None)
        self.given = {"broker.session.timeout.ms": SESSION_US // 1000, **settings}
        self.levels = levels
        self.disk = MemoryDisk()
        self.ids = Random(7)
        self.now = 1_767_225_600_000_000
        self.flushes_at_once = True
        self.last_number = 0
        self.lives: dict[int, bytes] = {}
        self.epochs: dict[int, int] = {}
        self.start()

    # -- the controller's process

    def start(self) -> None:
        self.controller = Controller(
            100, Settings(self.given), self.disk, Random(11), api.refusal, levels=self.levels
        )
        self.timers: dict[tuple[Any, ...], int] = {}
        self.replies: dict[int, Any] = {}
        self.trace: list[Trace] = []
        self.to_flush: list[Flush] = []
        self.take(self.controller.start(self.now))

    def take(self, effects: list[Effect]) -> None:
        """Carries out effects, flushing at once unless told not to."""
        for effect in effects:
            match effect:
                case Reply():
                    self.replies[effect.token[0]] = effect.body
                case SetTimer():
                    self.timers[effect.token] = effect.at
                case CancelTimer():
                    self.timers.pop(effect.token, None)
                case Trace():
                    self.trace.append(effect)
                case Flush():
                    self.to_flush.append(effect)
        if self.flushes_at_once:
            self.flush()

    def flush(self) -> None:
        while self.to_flush:
            effect = self.to_flush.pop(0)
            self.disk.flush(effect.path)
            self.take(self.controller.step(self.now, Flushed(effect.token)))

    def pass_time(self, us: int) -> None:
        """Lets time go by; timers run out in order."""
        end = self.now + us
        while self.timers:
            token, at = min(self.timers.items(), key=lambda timer: timer[1])
            if at > end:
                break
            del self.timers[token]
            self.now = max(self.now, at)
            self.take(self.controller.step(self.now, Expired(token)))
        self.now = end

    # -- what is sent to it

    def send(self, body: Any, source: int | str = "client") -> int:
        self.last_number += 1
        request = Request(source, (self.last_number,), type(body).LATEST, body)
        self.take(self.controller.step(self.now, request))
        return self.last_number

    def ask(self, body: Any) -> Any:
        """The answer, which must come at once."""
        return self.replies[self.send(body)]

    def fetch(
        self, offset: int, max_wait_ms: int = 0, replica: int = 101, max_bytes: int = 1 << 20
    ) -> int:
        request = m.FetchRequest
        partition = request.FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=max_bytes
        )
        return self.send(
            request(
                replica_state=request.ReplicaState(replica_id=replica),
                max_wait_ms=max_wait_ms,
                topics=[request.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
            )
        )

    # -- brokers

    def register(
        self,
        broker: int,
        previous_epoch: int = NEVER_CLEAN,
        rack: str | None = None,
        same_life: bool = False,
    ) -> Any:
        if not same_life:
            self.lives[broker] = uuids.new(self.ids)
        request = m.BrokerRegistrationRequest
        answer = self.ask(
            request(
                broker_id=broker,
                incarnation_id=self.lives[broker],
                listeners=[
                    request.Listener(name="PLAINTEXT", host="127.0.0.1", port=9000 + broker)
                ],
                rack=rack,
                previous_broker_epoch=previous_epoch,
            )
        )
        if answer.error_code == 0:
            self.epochs[broker] = answer.broker_epoch
        return answer

    def heartbeat(
        self, broker: int, offset: int | None = None, fence: bool = False, leave: bool = False
    ) -> Any:
        return self.ask(
            m.BrokerHeartbeatRequest(
                broker_id=broker,
                broker_epoch=self.epochs[broker],
                current_metadata_offset=self.image.offset - 1 if offset is None else offset,
                want_fence=fence,
                want_shut_down=leave,
            )
        )

    def join(self, *brokers: int, previous_epoch: int = NEVER_CLEAN) -> None:
        """Registers brokers and has them unfenced."""
        for broker in brokers:
            assert self.register(broker, previous_epoch).error_code == 0
            assert not self.heartbeat(broker).is_fenced

    def die(self, *dead: int) -> None:
        """The brokers fall silent until their sessions are over."""
        self.let_sessions_end(*dead)
        assert all(self.broker(broker).fenced for broker in dead)

    def stop_cleanly(self, broker: int) -> int:
        """A controlled shutdown to its end; the epoch that the broker writes down."""
        while not self.heartbeat(broker, leave=True).should_shut_down:
            self._others_beat(broker)
        self.let_sessions_end(broker)
        return self.epochs[broker]

    def let_sessions_end(self, *silent: int) -> None:
        for _ in range(4):
            self._others_beat(*silent)
            self.pass_time(SESSION_US // 3)

    def _others_beat(self, *silent: int) -> None:
        for broker in list(self.image.brokers.values()):
            if broker.id not in silent and not broker.fenced:
                self.heartbeat(broker.id)

    # -- topics and partitions

    def create(self, topic: str, *replicas: int, min_in_sync: int | None = None) -> Any:
        """A topic of one partition on these brokers."""
        request = m.CreateTopicsRequest
        configs = []
        if min_in_sync is not None:
            config = request.CreatableTopicConfig(
                name="min.insync.replicas", value=str(min_in_sync)
            )
            configs.append(config)
        assignment = request.CreatableReplicaAssignment(
            partition_index=0, broker_ids=list(replicas)
        )
        wanted = request.CreatableTopic(
            name=topic,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[assignment],
            configs=configs,
        )
        (result,) = self.ask(request(topics=[wanted])).topics
        assert result.error_code == 0, result.error_message
        return result

    def set_config(self, resource_type: int, name: str, config: str, value: str | None) -> Any:
        request = m.IncrementalAlterConfigsRequest
        change = request.AlterableConfig(
            name=config, config_operation=1 if value is None else 0, value=value
        )
        resource = request.AlterConfigsResource(
            resource_type=resource_type, resource_name=name, configs=[change]
        )
        (result,) = self.ask(request(resources=[resource])).responses
        return result

    def alter_isr(self, topic: str, isr: list[int], index: int = 0, **overrides: Any) -> Any:
        """The leader proposes an ISR; the partition's part of the answer."""
        partition = self.partition(topic, index)
        request = m.AlterPartitionRequest
        broker_id = overrides.pop("broker_id", partition.leader)
        epochs = overrides.pop("epochs", {})
        data = request.PartitionData(
            partition_index=index,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=[
                request.BrokerState(broker_id=b, broker_epoch=epochs.get(b, self.epochs[b]))
                for b in isr
            ],
        )
        for name, value in overrides.items():
            setattr(data, name, value)
        topic_id = self.image.topic_ids[topic]
        answer = self.ask(
            request(
                broker_id=broker_id,
                broker_epoch=self.epochs[broker_id],
                topics=[request.TopicData(topic_id=topic_id, partitions=[data])],
            )
        )
        assert answer.error_code == 0
        return answer.topics[0].partitions[0]

    def elect(self, election_type: int, topic: str | None = None, index: int = 0) -> Any:
        request = m.ElectLeadersRequest
        wanted = None
        if topic is not None:
            wanted = [request.TopicPartitions(topic=topic, partitions=[index])]
        return self.ask(request(election_type=election_type, topic_partitions=wanted))

    # -- looking

    @property
    def image(self) -> Any:
        return self.controller.image

    def partition(self, topic: str, index: int = 0) -> PartitionImage:
        found: PartitionImage = self.image.topic(topic).partitions[index]
        return found

    def broker(self, broker: int) -> BrokerImage:
        found: BrokerImage = self.image.brokers[broker]
        return found

    def reported(self, kind: str) -> list[str]:
        """The story's lines of a kind."""
        return [f"{line} ({line.why})" for line in self.trace if line.kind == kind]


@pytest.fixture
def new_bench() -> Callable[..., ControlBench]:
    """Makes a bench with these settings."""
    return ControlBench


@pytest.fixture
def bench() -> ControlBench:
    """Brokers 101, 102 and 103, in service."""
    bench = ControlBench()
    bench.join(101, 102, 103)
    return bench
