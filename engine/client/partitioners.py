"""Which partition a record goes to.

With a key, records of one key belong together, so the partition is a hash of the key:

    Java client      murmur2(key), sign bit cleared, modulo the number of partitions
    librdkafka       CRC-32(key) modulo the number of partitions ("consistent_random")

Two hashes, two answers: the same key goes to different partitions, depending on the
client, unless librdkafka has `partitioner=murmur2_random`.  In both, adding partitions
moves most keys.

Without a key any partition will do, and fewer, fuller batches are cheaper.  So the Java
client stays with one partition until batch.size bytes have gone there, as the batches count
them, header and all, and then draws the next (sticky, KIP-480, made uniform by bytes in
KIP-794).  It is *adaptive*: a partition whose queue is long, because its leader is slow, is
drawn less often.

    queue lengths   2  0  1      weights   1  3  2      (longest + 1 - length)

`round-robin` takes one after the other, which looks fair and makes batches small.

Simplified: partitioner.availability.timeout.ms (a silent leader's partitions are left out)
and partitioner.ignore.keys do not exist here.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Protocol

_MURMUR_SEED = 0x9747B28C
_MURMUR_M = 0x5BD1E995
_UINT32 = 0xFFFFFFFF
_POSITIVE = 0x7FFFFFFF


def murmur2(data: bytes) -> int:
    """MurmurHash 2 as Kafka has it, unsigned 32 bit."""
    h = (_MURMUR_SEED ^ len(data)) & _UINT32
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _MURMUR_M & _UINT32
        k = (k ^ k >> 24) * _MURMUR_M & _UINT32
        h = h * _MURMUR_M & _UINT32 ^ k
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * _MURMUR_M & _UINT32
    h = (h ^ h >> 13) * _MURMUR_M & _UINT32
    return h ^ h >> 15


def murmur2_partition(key: bytes, partitions: int) -> int:
    """Where the Java client sends a key."""
    return (murmur2(key) & _POSITIVE) % partitions


def crc32_partition(key: bytes, partitions: int) -> int:
    """Where librdkafka sends a key by default."""
    return zlib.crc32(key) % partitions


class Partitioner(Protocol):
    """Chooses a partition."""

    def choose(self, topic: str, key: bytes | None, available: Sequence[int], count: int) -> int:
        """One of `count` partitions; `available` are those whose leader is known."""
        ...


class BuiltIn:
    """The Java client's own: murmur2 with a key, sticky and adaptive without."""

    def __init__(self, batch_size: int, adaptive: bool, chance: Random) -> None:
        self.batch_size = max(1, batch_size)
        self.adaptive = adaptive
        self.chance = chance
        self.stuck_to: dict[str, int] = {}
        self.sent_there: dict[str, int] = {}
        self.queues: dict[str, dict[int, int]] = {}

    def choose(self, topic: str, key: bytes | None, available: Sequence[int], count: int) -> int:
        if key is not None:
            return murmur2_partition(key, count)
        if topic not in self.stuck_to:
            self.stuck_to[topic] = self._draw(topic, available or range(count), count)
            self.sent_there[topic] = 0
        return self.stuck_to[topic]

    def appended(self, topic: str, size: int, queues: Mapping[int, int], full: bool) -> None:
        """Counts bytes without a key in the current partition.  Moves on after batch.size of them
        if no batch is left half full, otherwise after twice as many."""
        self.queues[topic] = dict(queues)
        if topic in self.stuck_to:
            self.sent_there[topic] += size
            sent = self.sent_there[topic]
            if (sent >= self.batch_size and full) or sent >= 2 * self.batch_size:
                del self.stuck_to[topic]

    def _draw(self, topic: str, candidates: Sequence[int], count: int) -> int:
        """One partition at random; short queues more often, once every partition has one."""
        queues = self.queues.get(topic, {})
        lengths = [queues.get(index, 0) for index in candidates]
        if not self.adaptive or len(queues) < count or len(set(lengths)) == 1:
            return candidates[int(self.chance.random() * len(candidates))]
        longest = max(lengths)
        weights = [longest + 1 - length for length in lengths]
        at = self.chance.random() * sum(weights)
        for index, weight in zip(candidates, weights, strict=True):
            at -= weight
            if at < 0:
                return index
        return candidates[-1]


class Crc32:
    """librdkafka's default, `consistent_random`: CRC-32 with a key, random without."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance

    def choose(self, topic: str, key: bytes | None, available: Sequence[int], count: int) -> int:
        if key:
            return crc32_partition(key, count)
        candidates = available or range(count)
        return candidates[int(self.chance.random() * len(candidates))]


class RoundRobin:
    """One after the other, key or not: RoundRobinPartitioner."""

    def __init__(self) -> None:
        self.turn: dict[str, int] = {}

    def choose(self, topic: str, key: bytes | None, available: Sequence[int], count: int) -> int:
        candidates = available or range(count)
        turn = self.turn.get(topic, 0)
        self.turn[topic] = turn + 1
        return candidates[turn % len(candidates)]


def make(name: str, batch_size: int, adaptive: bool, chance: Random) -> Partitioner:
    """The partitioner that `partitioner.class` names."""
    if name == "crc32":
        return Crc32(chance)
    if name == "round-robin":
        return RoundRobin()
    return BuiltIn(batch_size, adaptive, chance)
