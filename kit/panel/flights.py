"""What a message between two nodes means for one topic.

What a message says is read in kit/probes/messages.py.  Two kinds need the cluster itself to be
understood: a follower's fetch, which names only what has changed since the last one, and the
controller's metadata log on its way to a broker.

    fetch from 3, after epoch 0      a follower asks, and thereby says: below 3 I have it all
    102 leads, ISR 102 103           news from the metadata log

Heartbeats and everything about other topics say nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.items import NodeId
from engine.metadata.records import METADATA_TOPIC_ID, decode_batches
from engine.wire import messages as m
from kit.probes import messages
from kit.probes.messages import Message


def asked(cluster: Cluster, sender: NodeId, to: NodeId, body: Any, topic: str) -> Iterator[Message]:
    """What a request says about a topic's partitions."""
    node: Any = cluster.nodes.get(sender)
    if isinstance(body, m.FetchRequest) and to in cluster.spec.controllers:
        return
    if isinstance(body, m.FetchRequest) and hasattr(node, "replicas"):
        yield from _follower_asks(node, to, topic)
    else:
        yield from messages.read(body, topic, _topic_id(cluster, topic))


def answered(cluster: Cluster, body: Any, topic: str, question: list[Message]) -> Iterator[Message]:
    """What an answer says; `question` is what its request said."""
    yield from messages.read(body, topic, _topic_id(cluster, topic), question)
    if isinstance(body, m.FetchResponse):
        for one in body.responses:
            if one.topic_id == METADATA_TOPIC_ID:
                yield from _news(one.partitions[0].records, _topic_id(cluster, topic))


def _follower_asks(node: Any, leader: NodeId, topic: str) -> Iterator[Message]:
    """A follower's fetch says its log end even where an incremental request leaves it out."""
    fetcher = node.replicas.fetchers.get(leader)
    for following in fetcher.following.values() if fetcher is not None else ():
        if following.partition.topic == topic and following.asked is not None:
            offset, epoch = following.asked[:2]
            after = f", after epoch {epoch}" if epoch >= 0 else ""
            yield Message(following.partition.index, "fetch", f"fetch from {offset}{after}")


def _news(records: bytes | None, topic_id: bytes) -> Iterator[Message]:
    """What the metadata log says about the topic's partitions."""
    newest: dict[int, Message] = {}  # a broker that starts reads the whole history at once
    for _, record in decode_batches(records or b""):
        if not isinstance(record, m.PartitionRecord | m.PartitionChangeRecord):
            continue
        if record.topic_id != topic_id:
            continue
        news = []
        if record.leader >= 0:
            news.append(f"{record.leader} leads")
        elif record.leader == -1:
            news.append("no leader")
        if record.isr:
            news.append(f"ISR {' '.join(map(str, record.isr))}")
        if news:
            newest[record.partition_id] = Message(record.partition_id, "news", ", ".join(news))
    yield from newest.values()


def _topic_id(cluster: Cluster, topic: str) -> bytes:
    """Of a topic that the controller does not know (or if it is down), an id that no topic has."""
    controller = cluster.controller
    found: bytes | None = controller.image.topic_ids.get(topic) if controller is not None else None
    return found or b""
