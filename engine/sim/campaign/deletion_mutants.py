"""Rules of a topic that is deleted and made again, broken one at a time; see mutants.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engine.coordinators.group_coordinator import GroupCoordinator
from engine.coordinators.offsets import Offsets, TopicPartition
from engine.coordinators.transactions import markers
from engine.replication.log_directory import Key, LogDirectory
from engine.replication.replica_manager import ReplicaManager
from engine.sim.campaign.mutant import Mutant, Original, Patch
from engine.storage import checkpoints
from engine.storage.log import Log


def _does_nothing(original: Original, *arguments: object) -> None:
    return None


def _without_pending(original: Original, self: Offsets, group: str, where: TopicPartition) -> None:
    pending, self._pending = self._pending, {}
    original(self, group, where)
    self._pending = pending


def _whatever_id(
    original: Original, self: LogDirectory, now: int, key: Key, topic_id: bytes, config: Any
) -> Log:
    directory = f"{key[0]}-{key[1]}"
    if checkpoints.read_topic_id(self.disk, directory) is not None:
        checkpoints.write_topic_id(self.disk, directory, topic_id)
    log: Log = original(self, now, key, topic_id, config)
    return log


_ALL = (
    Mutant("offsets-outlive-their-topic", "a group keeps its offsets of a topic that is deleted",
           (Patch(GroupCoordinator, "on_topic_deleted", _does_nothing),), "offsets"),
    Mutant("pending-offsets-outlive-it", "a deletion leaves the offsets of open transactions",
           (Patch(Offsets, "_remove", _without_pending),), "offsets"),
    Mutant("markers-for-what-is-gone", "a coordinator waits for the marker of a deleted partition",
           (Patch(markers, "_forget_deleted", _does_nothing),), "hanging"),
    Mutant("old-files-are-taken", "a new topic takes over the files of one that had its name",
           (Patch(Log, "delete", _does_nothing), Patch(LogDirectory, "open", _whatever_id)),
           "deleted"),
    Mutant("a-deleted-replica-stays", "a broker keeps the replica of a topic that is deleted",
           (Patch(ReplicaManager, "topic_deleted", _does_nothing),), "hanging"),
)  # fmt: skip
DELETION_MUTANTS = tuple(replace(mutant, in_transactions=True) for mutant in _ALL)
