"""Finds the partitions that a broker matters to, without looking at all of them.

When a broker is fenced, the controller must find the partitions that have it in the ISR
(thousands in a cluster of millions).  So it keeps, beside the image, a few look-up
tables, updated with each changed partition: the price of one change is a handful of
dictionary entries, and no timer ever walks the partitions.
"""

from __future__ import annotations

from engine.metadata.image import NO_LEADER, MetadataImage, PartitionImage
from engine.metadata.records import MetadataRecord
from engine.wire import messages as m

Key = tuple[bytes, int]
"""Topic id and partition index."""

# Dictionaries serve as sets here: they keep their order, sets do not.
_Keys = dict[Key, None]


class PartitionIndex:
    """Partitions by the role that a broker has in them."""

    def __init__(self) -> None:
        self.in_isr: dict[int, _Keys] = {}
        self.in_elr: dict[int, _Keys] = {}
        self.led_by: dict[int, _Keys] = {}
        self.imbalanced: _Keys = {}

    def with_in_isr(self, broker_id: int) -> list[Key]:
        return sorted(self.in_isr.get(broker_id, ()))

    def with_in_elr(self, broker_id: int) -> list[Key]:
        return sorted(self.in_elr.get(broker_id, ()))

    def leaderless(self) -> list[Key]:
        return sorted(self.led_by.get(NO_LEADER, ()))

    def not_led_by_preferred(self) -> list[Key]:
        """Partitions that have a leader, but not the first of their replicas."""
        return sorted(self.imbalanced)

    def leads_any(self, broker_id: int) -> bool:
        return bool(self.led_by.get(broker_id))

    def replace(
        self, key: Key, before: PartitionImage | None, after: PartitionImage | None
    ) -> None:
        """A partition has changed, appeared (before None) or gone (after None)."""
        if before is not None:
            _take(self.in_isr, before.isr, key)
            _take(self.in_elr, before.elr, key)
            _take(self.led_by, (before.leader,), key)
            self.imbalanced.pop(key, None)
        if after is not None:
            _put(self.in_isr, after.isr, key)
            _put(self.in_elr, after.elr, key)
            _put(self.led_by, (after.leader,), key)
            if after.leader != after.replicas[0]:
                self.imbalanced[key] = None


def touched_by(image: MetadataImage, record: MetadataRecord) -> list[Key]:
    """The partitions that a record of the log is going to change."""
    match record:
        case m.PartitionRecord() | m.PartitionChangeRecord():
            return [(record.topic_id, record.partition_id)]
        case m.RemoveTopicRecord():
            topics = [image.topics[record.topic_id]]
        case m.ClearElrRecord():
            topic = image.topic(record.topic_name)
            topics = list(image.topics.values()) if topic is None else [topic]
        case _:
            return []
    return [(topic.id, index) for topic in topics for index in topic.partitions]


def partition_at(image: MetadataImage, key: Key) -> PartitionImage | None:
    topic = image.topics.get(key[0])
    return None if topic is None else topic.partitions.get(key[1])


def _take(table: dict[int, _Keys], brokers: tuple[int, ...], key: Key) -> None:
    for broker_id in brokers:
        del table[broker_id][key]


def _put(table: dict[int, _Keys], brokers: tuple[int, ...], key: Key) -> None:
    for broker_id in brokers:
        table.setdefault(broker_id, {})[key] = None
