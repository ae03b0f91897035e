"""The in-sync replicas of a partition, as its leader sees them.

The leader decides who is in sync, the controller makes it official, and between asking
and hearing back there are two possible truths.  The leader must act safely under both
(KIP-497), so it keeps

* `committed`: what the controller last confirmed; min.insync.replicas counts these
* `maximal`: committed, plus a replica that it has asked to add.  The high watermark
  waits for all of them: if the request has succeeded already, the new member may be
  elected at any moment, and must then hold every committed record
* a replica that it asked to remove still counts until the removal is confirmed

    stable --ask to expand--> pending (maximal = committed + new)
           --ask to shrink--> pending (maximal = committed)
    pending --confirmed, or newer partition epoch seen--> stable

One request at a time may be in flight for a partition.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class InSyncReplicas:
    """`committed` and `proposed` are sorted tuples of broker ids."""

    committed: tuple[int, ...] = ()
    proposed: tuple[int, ...] | None = None
    partition_epoch: int = -1

    @property
    def maximal(self) -> tuple[int, ...]:
        """All replicas that may be in sync, however a pending request ends."""
        if self.proposed is None:
            return self.committed
        return tuple(sorted({*self.committed, *self.proposed}))

    @property
    def in_flight(self) -> bool:
        return self.proposed is not None

    def propose(self, replicas: tuple[int, ...]) -> None:
        assert self.proposed is None, "one AlterPartition per partition at a time"
        self.proposed = tuple(sorted(replicas))

    def withdraw(self) -> None:
        """The request failed for good; the metadata log will show the outcome."""
        self.proposed = None

    def confirm(self, replicas: tuple[int, ...], partition_epoch: int) -> bool:
        """Takes over the controller's state; False if it is no news."""
        if partition_epoch <= self.partition_epoch:
            return False
        self.committed = tuple(sorted(replicas))
        self.proposed = None
        self.partition_epoch = partition_epoch
        return True
