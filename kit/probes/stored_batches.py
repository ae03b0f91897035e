"""The batches of a partition as its leader has them on disk: their headers say it all.

    stored(cluster, "orders", 2)     [StoredBatch(base_offset=0, records=60, size=6102, …)]

A consumer's Fetch brings the bytes that are in the log.  Header fields are never compressed, so
they can be read with any codec.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.records import batch, compression
from kit.clusters.interface import Cluster
from kit.probes import requests
from kit.probes.clients import ask, partition, topic_id


@dataclass(frozen=True)
class StoredBatch:
    """`size` counts every byte of the batch, its header too."""

    base_offset: int
    records: int
    size: int
    codec: str


def stored(cluster: Cluster, topic: str, index: int = 0) -> list[StoredBatch]:
    """Every batch that a consumer may read now."""
    leader = partition(cluster, topic, index)["leader"]
    topic_uuid = topic_id(cluster, topic)
    found: list[StoredBatch] = []
    offset = 0
    while True:
        answer = ask(cluster, leader, requests.fetching(topic_uuid, offset, partitions=[index]))
        more = _headers(requests.first_partition(answer).records or b"")
        if not more:
            return found
        found += more
        offset = more[-1].base_offset + more[-1].records


def _headers(data: bytes) -> list[StoredBatch]:
    return [
        StoredBatch(
            header.base_offset,
            header.records_count,
            header.size_in_bytes,
            compression.NAMES[header.compression],
        )
        for header, _ in batch.iterate(data)
    ]
