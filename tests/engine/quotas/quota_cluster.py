"""A cluster in virtual time with limits, and clients of any name that ask it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.events import Reply, Request
from engine.records import batch
from engine.records.batch import Record
from engine.wire import messages as m
from tests.engine.api.asking import Asking

TOPIC = "orders"
Entity = Mapping[str, str | None]


def alteration(entity: Entity, **limits: float | None) -> Any:
    """An AlterClientQuotas request; None removes a limit."""
    request = m.AlterClientQuotasRequest
    entry = request.EntryData(
        entity=[request.EntityData(*part) for part in entity.items()],
        ops=[
            request.OpData(key=key, value=value or 0.0, remove=value is None)
            for key, value in limits.items()
        ],
    )
    return request(entries=[entry])


def producing(acks: int = 1, value_bytes: int = 100, at_ms: int = 1_700_000_000_000) -> Any:
    """A Produce request with one record for orders-0."""
    request = m.ProduceRequest
    records = batch.encode([Record(0, at_ms, None, bytes(value_bytes))])
    part = request.PartitionProduceData(index=0, records=records)
    topic = request.TopicProduceData(name=TOPIC, partition_data=[part])
    return request(acks=acks, timeout_ms=5_000, topic_data=[topic])


def fetching(offset: int = 0, session_id: int = 0, session_epoch: int = -1) -> Any:
    """A Fetch request for orders-0 by name (version 12)."""
    request = m.FetchRequest
    part = request.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = [request.FetchTopic(topic=TOPIC, partitions=[part])]
    return request(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=topics,
    )


class QuotaCluster(Asking):
    """`orders-0` is led by 101."""

    def __init__(self) -> None:
        super().__init__()
        placed = m.CreateTopicsRequest.CreatableReplicaAssignment
        self.create(TOPIC, -1, -1, assignments=[placed(0, [101, 102, 103])])
        self.run_until(lambda: (TOPIC, 0) in self.cluster.nodes[101].replicas.partitions)

    def limit(self, entity: Entity, **limits: float | None) -> int:
        """Sets limits, waits until every broker knows; the error code."""
        answer = self.ask(alteration(entity, **limits))
        known = self.cluster.nodes[100].image
        self.run_until(lambda: all(self.image(b).quotas == known.quotas for b in (101, 102, 103)))
        return int(answer.entries[0].error_code)

    def send(self, client_id: str, body: Any, version: int = 12, **more: Any) -> Reply:
        """The reply to a request of a client, as the driver gets it."""
        name = f"connection of {client_id}"
        request = Request(name, (1, 1), version, body, client_id, **more)
        self.cluster.submit(101, request)
        self.run_until(lambda: self.cluster.outgoing)
        return self.cluster.outgoing.pop()[1]

    def pass_ms(self, milliseconds: int) -> None:
        self.cluster.run(self.cluster.now + milliseconds * 1000, 1_000_000)
