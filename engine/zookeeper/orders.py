"""A broker obeys its controller: LeaderAndIsr, UpdateMetadata, StopReplica.

    broker epoch below ours       STALE_BROKER_EPOCH      meant for a former life of this broker
    controller epoch below the    STALE_CONTROLLER_EPOCH  from a former controller: a zombie that
    highest that we have seen                             does not know yet that it is one

A partition is taken up only with a later leader epoch than the one it has here.  The first
LeaderAndIsr for a topic makes the broker read the topic's configs before it makes a log.

Source: KafkaApis, ReplicaManager and ZkMetadataCache of Kafka 3.9.  Simplified: there is one image;
LeaderAndIsr changes it too.
"""

from __future__ import annotations

from functools import partial

from engine.broker.broker import Broker
from engine.events import AnyRequest
from engine.metadata.image import TOPIC, BrokerImage
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.zookeeper import znodes
from engine.zookeeper.client import Client
from engine.zookeeper.messages import (
    LEADER_DURING_DELETE,
    LeaderAndIsrRequest,
    Order,
    Ordered,
    PartitionState,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from engine.zookeeper.preloaded import is_preloaded
from engine.zookeeper.steps import Results
from engine.zookeeper.tree import GetData

EPOCH_DURING_DELETE = -2
ORDERS = (LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest)
_HERE = "zookeeper.orders.Orders"


class Orders:
    """What the controller has ordered; `controller_epoch` is the highest seen."""

    def __init__(self, broker: Broker, client: Client) -> None:
        self.broker = broker
        self.client = client
        self.controller_epoch = 0
        self.configured: dict[str, None] = {}

    def requested(self, now: int, request: AnyRequest) -> None:
        body = request.body
        assert isinstance(body, ORDERS)
        unknown = []
        if isinstance(body, LeaderAndIsrRequest) and self._refusal(body) is Errors.NONE:
            topics = dict.fromkeys(each.topic for each in body.partitions)
            unknown = [each for each in topics if each not in self.configured]
        if unknown:
            self.client.ask(
                [GetData(znodes.config(TOPIC, each)) for each in unknown],
                partial(self._configured, request, unknown),
            )
        else:
            self._obey(now, request)

    def _configured(
        self, request: AnyRequest, topics: list[str], now: int, results: Results
    ) -> None:
        for topic, result in zip(topics, results, strict=True):
            self.configured[topic] = None
            data = znodes.config_data({}) if result.znode is None else result.znode.data
            self.take_configs(now, TOPIC, topic, data)
        self._obey(now, request)

    def _obey(self, now: int, request: AnyRequest) -> None:
        body: Order = request.body  # type: ignore[assignment]
        error = self._refusal(body)
        if error is not Errors.NONE:
            self._trace("requested", "refused", error.name, controller=body.controller_id,
                        epoch=body.controller_epoch, known=self.controller_epoch)  # fmt: skip
            self.broker.outbox.reply(request, Ordered(error))
            return
        self._adopt(body)
        match body:
            case LeaderAndIsrRequest():
                answer = self._lead_and_follow(now, body)
            case UpdateMetadataRequest():
                answer = self._update(now, body)
            case StopReplicaRequest():
                answer = self._stop(now, body)
        self.broker.metadata.offset += 1
        self.broker.outbox.reply(request, answer)

    def _refusal(self, body: Order) -> Errors:
        if body.broker_epoch < self.broker.lifecycle.epoch:
            return Errors.STALE_BROKER_EPOCH
        if body.controller_epoch < self.controller_epoch:
            return Errors.STALE_CONTROLLER_EPOCH
        return Errors.NONE

    def _adopt(self, body: Order) -> None:
        """From now on, this is the controller."""
        if body.controller_epoch > self.controller_epoch:
            self._trace("requested", "obeys", "the highest controller epoch so far",
                        controller=body.controller_id, epoch=body.controller_epoch)  # fmt: skip
        self.controller_epoch = self.broker.metadata.epoch = body.controller_epoch
        self.broker.controller.id = body.controller_id

    # -- the orders

    def _lead_and_follow(self, now: int, body: LeaderAndIsrRequest) -> Ordered:
        answer = Ordered()
        self.broker.replicas.directory.has_begun = True
        for each in body.partitions:
            hosted = self.broker.replicas.partition(each.topic, each.index)
            if hosted is not None and each.image.leader_epoch <= hosted.leader_epoch:
                answer.partition_errors[each.topic, each.index] = Errors.STALE_CONTROLLER_EPOCH
                continue
            for record in self._records(each):
                if is_preloaded(each.topic):
                    self.broker.metadata.apply(record)
                else:
                    self.broker._apply(now, self.broker.metadata.offset, record)
        self.broker.replicas.open_new(now)
        return answer

    def _update(self, now: int, body: UpdateMetadataRequest) -> Ordered:
        image, apply = self.broker.metadata, self.broker._apply
        live = {each.id: each for each in body.live_brokers}
        for broker_id in [each for each in image.brokers if each not in live]:
            image.apply(m.UnregisterBrokerRecord(broker_id=broker_id))
            self.broker.replicas.broker_changed(now, broker_id)
        for each in live.values():
            if image.brokers.get(each.id) != _as_known(each):
                apply(now, image.offset, _registration(each))
        for state in body.partitions:
            known = image.topic(state.topic)
            if state.image.leader == LEADER_DURING_DELETE:
                if known is not None:
                    image.apply(m.RemoveTopicRecord(topic_id=known.id))
                    self.broker.groups.on_topic_deleted(now, state.topic)
                continue
            for record in self._records(state):
                image.apply(record)
        return Ordered()

    def _stop(self, now: int, body: StopReplicaRequest) -> Ordered:
        answer, replicas = Ordered(), self.broker.replicas
        for topic, index, epoch in body.partitions:
            partition = replicas.partition(topic, index)
            if partition is None:
                if body.delete:  # deleted while this broker was down: only files are left
                    replicas.directory.disk.delete(f"{topic}-{index}")
                    replicas.directory.forget((topic, index))
                continue
            if epoch != EPOCH_DURING_DELETE and epoch < partition.leader_epoch:
                answer.partition_errors[topic, index] = Errors.FENCED_LEADER_EPOCH
            elif body.delete:
                replicas.topic_deleted(now, topic, [index])
                self.configured.pop(topic, None)
            else:
                replicas.fetchers.release(partition)
        return answer

    def _records(self, state: PartitionState) -> list[m.Message]:
        """What the metadata log would say."""
        image, found = state.image, list[m.Message]()
        known = self.broker.metadata.topic(state.topic)
        if known is not None and known.id != state.topic_id:
            found.append(m.RemoveTopicRecord(topic_id=known.id))
            known = None
        if known is None:
            found.append(m.TopicRecord(name=state.topic, topic_id=state.topic_id))
        found.append(m.PartitionRecord(
            partition_id=state.index, topic_id=state.topic_id, replicas=list(image.replicas),
            isr=list(image.isr), leader=image.leader, leader_epoch=image.leader_epoch,
            partition_epoch=image.partition_epoch,
            leader_recovery_state=image.leader_recovery_state,
        ))  # fmt: skip
        return found

    # -- configs

    def take_configs(self, now: int, resource_type: int, name: str, data: str) -> None:
        """A resource's configs become what the znode says."""
        now_set: dict[str, str] = znodes.fields(data)["config"]
        before = self.broker.metadata.configs.get((resource_type, name), {})
        for config in {**before, **now_set}:
            if before.get(config) != now_set.get(config):
                self.broker._apply(now, self.broker.metadata.offset, m.ConfigRecord(
                    resource_type=resource_type, resource_name=name, name=config,
                    value=now_set.get(config),
                ))  # fmt: skip

    def _trace(self, method: str, kind: str, why: str, **fields: object) -> None:
        self.broker.outbox.trace(f"{_HERE}.{method}", kind, "", why, **fields)


def _registration(broker: BrokerImage) -> m.RegisterBrokerRecord:
    """UpdateMetadata names no broker epochs: another broker's lives look the same (KIP-903)."""
    point = m.RegisterBrokerRecord.BrokerEndpoint(
        name="PLAINTEXT", host=broker.host, port=broker.port
    )
    return m.RegisterBrokerRecord(
        broker_id=broker.id, broker_epoch=-1, end_points=[point], rack=broker.rack, fenced=False
    )


def _as_known(broker: BrokerImage) -> BrokerImage:
    return BrokerImage(broker.id, -1, bytes(16), broker.host, broker.port, broker.rack, False)
