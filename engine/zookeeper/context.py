"""What the controller knows: brokers, topics, and the state of every partition.

All of it is a copy of znodes, read when this controller was elected and kept up to date by watches
and by its own writes.  `image` holds it in the form that all of the engine uses, so that rules
about topics and configs are today's (engine/control).  A partition without a state znode is *new*;
one whose leader is none of the live brokers is *offline*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from engine.control.state import ControlState
from engine.events import AnyRequest, Outbox
from engine.metadata.image import BrokerImage, MetadataImage, PartitionImage
from engine.settings import Settings
from engine.wire import messages as m
from engine.zookeeper.channels import Channels
from engine.zookeeper.messages import LEADER_DURING_DELETE, PartitionState
from engine.zookeeper.steps import Results, Steps, fenced
from engine.zookeeper.tree import Multi, Write

Key = tuple[str, int]
_HERE = "zookeeper"


@dataclass(slots=True)
class Batch:
    """What a change has for the brokers: states to take up, to stop, and to tell clients of."""

    leader_and_isr: dict[int, dict[Key, None]] = field(default_factory=dict)
    stop: dict[int, dict[Key, bool]] = field(default_factory=dict)
    metadata: dict[int, dict[Key, None]] = field(default_factory=dict)


class Context:
    """Of broker `node_id`, empty while it is not the controller."""

    def __init__(
        self, node_id: int, settings: Settings, outbox: Outbox, ids: Random, steps: Steps
    ) -> None:
        self.node_id = node_id
        self.settings = settings
        self.outbox = outbox
        self.ids = ids
        self.steps = steps
        self.channels = Channels(node_id, outbox)
        self.epoch, self.epoch_version = -1, -1
        self.is_active = False
        self.forget()

    def forget(self) -> None:
        """Knows nothing."""
        self.is_loaded = False
        self.state = ControlState(self.node_id, self.settings)
        self.replicas: dict[Key, tuple[int, ...]] = {}
        self.written_by: dict[Key, int] = {}
        self.deleting: dict[str, dict[tuple[int, int], None]] = {}
        """By topic that is to be deleted: (broker, partition) of replicas that are still there."""
        self.creating: list[tuple[AnyRequest, m.Message, list[str]]] = []
        self.batch = Batch()

    @property
    def image(self) -> MetadataImage:
        return self.state.image

    def is_online(self, broker: int) -> bool:
        """Alive, and not about to stop."""
        return self.state.is_active(broker)

    @property
    def live(self) -> dict[int, BrokerImage]:
        """Those that are about to stop included."""
        return self.image.brokers

    def fenced(self, write: Write) -> Multi:
        return fenced(write, self.epoch_version)

    # -- partitions

    def partition(self, key: Key) -> PartitionImage | None:
        """None while it is new."""
        topic = self.image.topic(key[0])
        return topic.partitions.get(key[1]) if topic is not None else None

    def new_partitions(self) -> list[Key]:
        return [each for each in self.replicas if each not in self.written_by
                and each[0] not in self.deleting]  # fmt: skip

    def offline_partitions(self) -> list[Key]:
        led_by = self.state.index.led_by
        away = [each for each in led_by if not self.is_online(each)]
        found = sorted(key for broker in away for key in led_by[broker])
        named = [(self.image.topics[topic_id].name, index) for topic_id, index in found]
        return [key for key in named if key[0] not in self.deleting]

    def on_broker(self, broker: int) -> list[Key]:
        """The partitions that have a replica there."""
        return [key for key, each in self.replicas.items() if broker in each]

    def take(self, key: Key, image: PartitionImage, controller_epoch: int) -> None:
        """The partition's state, as it is in its znode now."""
        topic_id = self.image.topic_ids[key[0]]
        self.written_by[key] = controller_epoch
        self.state.apply(self.image.offset, m.PartitionRecord(
            partition_id=key[1], topic_id=topic_id, replicas=list(image.replicas),
            isr=list(image.isr), leader=image.leader, leader_epoch=image.leader_epoch,
            partition_epoch=image.partition_epoch,
            leader_recovery_state=image.leader_recovery_state,
        ))  # fmt: skip

    def add_topic(self, name: str, topic_id: bytes) -> None:
        if name not in self.image.topic_ids:
            self.state.apply(self.image.offset, m.TopicRecord(name=name, topic_id=topic_id))

    def remove_topic(self, name: str) -> None:
        topic = self.image.topic(name)
        if topic is not None:
            self.state.apply(self.image.offset, m.RemoveTopicRecord(topic_id=topic.id))
        self.replicas = {key: each for key, each in self.replicas.items() if key[0] != name}
        self.written_by = {key: each for key, each in self.written_by.items() if key[0] != name}
        self.deleting.pop(name, None)

    # -- for brokers

    def order(self, brokers: list[int], key: Key) -> None:
        """LeaderAndIsr for these brokers, and UpdateMetadata for all."""
        for broker in brokers:
            self.batch.leader_and_isr.setdefault(broker, {})[key] = None
        self.inform(list(self.live), [key])

    def inform(self, brokers: list[int], keys: list[Key]) -> None:
        """UpdateMetadata; without keys, only the live brokers are news."""
        for broker in brokers:
            self.batch.metadata.setdefault(broker, {}).update(dict.fromkeys(keys))

    def state_for_brokers(self, key: Key) -> PartitionState | None:
        topic, image = self.image.topic(key[0]), self.partition(key)
        if topic is None or image is None:
            return None
        if key[0] in self.deleting:
            image = PartitionImage(image.replicas, image.isr, leader=LEADER_DURING_DELETE)
        return PartitionState(key[0], topic.id, key[1], image, self.written_by[key])

    def answer_created(self, now: int, _: Results) -> None:
        """A step: answers requests whose topics have all their partitions started."""
        waiting = [key[0] for key in self.new_partitions()]
        still = []
        for request, answer, names in self.creating:
            if any(name in waiting or name not in self.image.topic_ids for name in names):
                still.append((request, answer, names))
            else:
                self.outbox.reply(request, answer)
        self.creating = still

    def tell(self, rule: str, kind: str, why: str, partition: str = "", **fields: object) -> None:
        self.outbox.trace(f"{_HERE}.{rule}", kind, partition, why, **fields)
