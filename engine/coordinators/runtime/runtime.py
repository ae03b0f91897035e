"""The shards of one coordinator's topic that this broker leads.

A broker coordinates what lives in the partitions it leads.  So coordinators are
elected, replicated and moved by the means that every partition has; they need no election
of their own.

    on_leader    this broker leads the partition: load its shard
    on_resign    it no longer leads: send the waiting away, forget the shard

A leader that is elected again, in a new leader epoch, loads again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from engine.coordinators.runtime.host import Host
from engine.coordinators.runtime.shard import LogTopic, Shard, State
from engine.coordinators.runtime.writes import Record


class Runtime(Generic[Record, State]):
    """`machine` makes a shard's state machine."""

    def __init__(
        self,
        host: Host,
        topic: LogTopic[Record],
        machine: Callable[[Shard[Record, State]], State],
    ) -> None:
        self.host = host
        self.topic = topic
        self.machine = machine
        self.shards: dict[int, Shard[Record, State]] = {}

    def on_leader(self, now: int, index: int) -> None:
        """This broker leads partition `index` now."""
        partition = self.host.replicas.partition(self.topic.name, index)
        if partition is None or index in self.shards:
            return
        shard = Shard(self.host, self.topic, index, self.machine)
        self.shards[index] = shard
        shard.load(now, partition.log)

    def on_resign(self, now: int, index: int) -> None:
        """Another broker leads the partition, or it is gone."""
        shard = self.shards.pop(index, None)
        if shard is not None:
            shard.resign(now)

    def states(self) -> list[State]:
        """The state machines, by partition."""
        return [shard.state for _, shard in sorted(self.shards.items())]
