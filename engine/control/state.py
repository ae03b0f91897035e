"""What the controller decides from, and what a decision is.

Every rule of the controller is a function from this state and a request to a `Decision`:
records for the metadata log, the answer to give once they are durable, and the lines
that tell the story.  The function changes nothing itself.  The controller appends the
records and applies them to this state at once, so that the next request is judged by
what has been decided, not by what has been flushed (Kafka does the same with its
timeline data structures).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from engine.control.partition_changes import Change, Rules
from engine.events import Trace
from engine.metadata.features import ELR_FEATURE
from engine.metadata.image import BROKER, TOPIC, MetadataImage, PartitionImage
from engine.metadata.partition_index import Key, PartitionIndex, partition_at, touched_by
from engine.metadata.records import RECORDS_PER_BATCH_MAX, MetadataRecord
from engine.settings import Settings, TopicConfig
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError


@dataclass(slots=True)
class Decision:
    """Records to append (none: nothing changes), the answer, and the story."""

    answer: m.Message | None = None
    records: list[m.Message] = field(default_factory=list)
    story: list[Trace] = field(default_factory=list)

    def check_size(self) -> None:
        """Refuses a client's whole request once it leads to more records than a batch holds."""
        if len(self.records) > RECORDS_PER_BATCH_MAX:
            raise KafkaError(
                Errors.POLICY_VIOLATION, "Unable to perform excessively large batch operation."
            )

    def tell(self, rule: str, kind: str, why: str, partition: str = "", **fields: object) -> None:
        self.story.append(Trace(kind, partition, tuple(fields.items()), why, f"control.{rule}"))

    def change(self, topic: str, index: int, change: Change, why: str) -> None:
        """Takes in a partition's change, with a line for a new leader and one for a new ELR."""
        self.records.append(change.record)
        name, rule, after = f"{topic}-{index}", "partition_changes.change_partition", change.after
        if change.elected:
            self.tell(
                rule,
                "elected",
                f"{why}; {change.elected} election",
                name,
                leader=after.leader,
                epoch=after.leader_epoch,
                isr=after.isr,
                reason=change.elected,
            )
        if after.elr != change.before.elr:
            self.tell(rule, "eligible", why, name, elr=after.elr, isr=after.isr)


class ControlState:
    """The image with its indexes; `settings` are the controller's own, kept up to date."""

    def __init__(self, node_id: int, settings: Settings) -> None:
        self.node_id = node_id
        # A copy: dynamic configs are set on it as the log names them.
        self.settings = settings.extended({})
        self.image = MetadataImage()
        self.index = PartitionIndex()
        self.registered_at: dict[int, int] = {}
        self._topic_configs: dict[str, TopicConfig] = {}

    def apply(self, offset: int, record: MetadataRecord) -> None:
        """Applies one record of the log to the image and everything derived from it."""
        changed = [(key, self.partition(key)) for key in touched_by(self.image, record)]
        self.image.apply(record)
        self.image.offset = offset + 1
        for key, before in changed:
            self.index.replace(key, before, self.partition(key))
        match record:
            case m.RegisterBrokerRecord():
                self.registered_at[record.broker_id] = offset
            case m.UnregisterBrokerRecord():
                del self.registered_at[record.broker_id]
            case m.ConfigRecord() if record.resource_type == BROKER:
                self._topic_configs.clear()
                configs = self.image.configs
                own = configs.get((BROKER, str(self.node_id)), {})
                self.settings.set_dynamic(configs.get((BROKER, ""), {}), own)
            case m.ConfigRecord():
                self._topic_configs.pop(record.resource_name, None)
            case m.RemoveTopicRecord():
                self._topic_configs.clear()

    # -- questions

    @property
    def elr_enabled(self) -> bool:
        return self.image.features.get(ELR_FEATURE, 0) >= 1

    def partition(self, key: Key) -> PartitionImage | None:
        return partition_at(self.image, key)

    def topic_config(self, name: str) -> TopicConfig:
        """A topic's effective configs, as the controller sees them."""
        config = self._topic_configs.get(name)
        if config is None:
            config = self.settings.topic(self.image.configs.get((TOPIC, name), {}))
            self._topic_configs[name] = config
        return config

    def is_active(self, broker_id: int) -> bool:
        """Registered, not fenced, not shutting down: may lead and be in an ISR."""
        broker = self.image.brokers.get(broker_id)
        return broker is not None and not broker.fenced and not broker.in_controlled_shutdown

    def rules(self, topic: str, usable: Callable[[int], bool] | None = None) -> Rules:
        """The rules for the partitions of a topic."""
        partitions = self.image.topics[self.image.topic_ids[topic]].partitions
        wanted: int = self.topic_config(topic)["min.insync.replicas"]
        return Rules(
            usable=usable or self.is_active,
            min_in_sync=min(wanted, len(partitions[0].replicas)),
            elr_enabled=self.elr_enabled,
        )

    def unclean_allowed(self, topic: str) -> bool:
        return bool(self.topic_config(topic)["unclean.leader.election.enable"])

    def check_broker_epoch(self, broker_id: int, epoch: int) -> None:
        """Refuses a request from a broker's former incarnation."""
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            raise KafkaError(Errors.STALE_BROKER_EPOCH, f"Broker {broker_id} is not registered.")
        if broker.epoch != epoch:
            raise KafkaError(
                Errors.STALE_BROKER_EPOCH,
                f"Broker {broker_id} has epoch {broker.epoch}; the request says {epoch}.",
            )
