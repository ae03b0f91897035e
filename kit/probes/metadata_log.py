"""Reads the metadata log from a controller's files: the engine's, or a local Kafka's.

    before = end(cluster)
    cluster.create_topic("orders")
    for record in since(cluster, before): print(record)       # 17  partition  partition orders-0: …

Records of the quiet kinds are left out: what says nothing new, and ids that are given out.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.metadata.records import METADATA_DIRECTORY, decode_batches
from kit.clusters.data_dirs import data_dir
from kit.clusters.interface import Cluster
from kit.probes.metadata_words import MetadataWords

QUIET = ("quiet", "ids")


@dataclass(frozen=True)
class Entry:
    """A record: its offset, its kind in Kafka's words, and what it says."""

    offset: int
    kind: str
    says: str

    def __str__(self) -> str:
        return f"{self.offset:>4}  {self.kind:<22} {self.says}"


def entries(cluster: Cluster, controller: int = 100) -> list[Entry]:
    """All that the log of this controller holds; NotOffered where its files cannot be read."""
    words = MetadataWords()
    folder = data_dir(cluster, controller) / METADATA_DIRECTORY
    data = b"".join(file.read_bytes() for file in sorted(folder.glob("*.log")))
    found = []
    for offset, record in decode_batches(data):
        said = words.say(record)
        if said.kind not in QUIET:
            found.append(Entry(offset, type(record).__name__, said.full))
    return found


def end(cluster: Cluster, controller: int = 100) -> int:
    """The offset after the last record that says something."""
    found = entries(cluster, controller)
    return found[-1].offset + 1 if found else 0


def since(cluster: Cluster, offset: int, controller: int = 100) -> list[Entry]:
    """What was written from this offset on."""
    return [each for each in entries(cluster, controller) if each.offset >= offset]
