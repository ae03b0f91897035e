"""A tree that has many partitions from the start, to see what their number costs.

`World(control_plane="zookeeper", settings={"preloaded.partitions": 100_000})` begins as if so many
partitions had been created long ago: topics `preloaded-0`, `preloaded-1`, ... of 1,000 partitions
each, three replicas, leaders spread over the brokers.  The control plane treats them as any other:
it reads them, elects, writes, and sends them to brokers.  Brokers keep no replicas of them, for a
hundred thousand logs would tell nothing about controllers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from engine.metadata.image import PartitionImage
from engine.zookeeper import znodes
from engine.zookeeper.tree import Tree, Znode, name_of, parent

PREFIX = "preloaded-"
PARTITIONS_EACH = 1_000


def is_preloaded(topic: str) -> bool:
    return topic.startswith(PREFIX)


def tree(partitions: int, brokers: tuple[int, ...]) -> Tree:
    """The znodes of so many partitions; without any, an empty tree."""
    return _made(partitions, brokers).copy() if partitions else Tree()


@cache
def _made(partitions: int, brokers: tuple[int, ...]) -> Tree:
    made = Tree()
    for path, data in _znodes(partitions, brokers):
        if path not in made.nodes:
            made.nodes[path] = Znode(data, 0, 0, 0)
            made.children.setdefault(parent(path), {})[name_of(path)] = None
    return made


def _znodes(partitions: int, brokers: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Paths with their data, parents first."""
    yield from (("/brokers", ""), (znodes.TOPICS, ""))
    for first in range(0, partitions, PARTITIONS_EACH):
        name = f"{PREFIX}{first // PARTITIONS_EACH}"
        indexes = range(min(PARTITIONS_EACH, partitions - first))
        replicas = {index: _placed(first + index, brokers) for index in indexes}
        topic_id = (first + 1).to_bytes(16, "big")
        yield znodes.topic(name), znodes.topic_data(topic_id, replicas)
        yield znodes.partitions(name), ""
        for index, placed in replicas.items():
            image = PartitionImage(placed, placed, leader=placed[0])
            yield znodes.partition(name, index), ""
            yield znodes.state(name, index), znodes.state_data(image, 0)


def _placed(number: int, brokers: Sequence[int]) -> tuple[int, ...]:
    """Three replicas, or as many as there are brokers; each broker is first in turn."""
    return tuple(brokers[(number + each) % len(brokers)] for each in range(min(3, len(brokers))))
