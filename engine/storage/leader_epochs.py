"""Which leader epoch begins at which offset: a log's history in a few lines.

    epoch         0        3    4           5
    offset   0........17.......20......31........40 = log end
    file         0 0 / 3 17 / 4 20 / 5 31

Offsets alone cannot tell whether two replicas agree: after an unclean election both may have an
offset 25, with different records.  An (epoch, offset) pair can, since one leader writes one epoch
and never rewrites it (KIP-101).  So a follower asks the leader, or learns from its
answers, where the leader's version of the follower's last epoch ends, and cuts there.

Entries rise in both columns.  An epoch without records leaves no entry behind: the next
one to start at the same offset replaces it.  The file is written at every change, in
Kafka's `leader-epoch-checkpoint` format, durably.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from engine.storage import checkpoints
from engine.storage.disk import Disk

UNDEFINED = -1
FILE_NAME = "leader-epoch-checkpoint"


class LeaderEpochs:
    """`entries` is a list of (epoch, start offset), ascending in both."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self.disk = disk
        self.path = f"{directory}/{FILE_NAME}"
        self.entries: list[tuple[int, int]] = checkpoints.read_epochs(disk, self.path)

    @property
    def latest(self) -> int:
        """-1 when there is none."""
        return self.entries[-1][0] if self.entries else UNDEFINED

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Begins `epoch` at `start_offset`, unless it has begun already; True if it is new.

        Entries that contradict it (a later epoch, or a later start) were wrong and go.
        """
        assert epoch >= 0, "an epoch is not negative"
        assert start_offset >= 0, "an offset is not negative"
        if self.entries:
            last_epoch, last_start = self.entries[-1]
            if epoch == last_epoch and start_offset >= last_start:
                return False
        while self.entries and (
            self.entries[-1][0] >= epoch or self.entries[-1][1] >= start_offset
        ):
            self.entries.pop()
        self.entries.append((epoch, start_offset))
        self._write()
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch up to `epoch`, and the offset where it ends; (-1, -1) if none.

        An epoch ends where the next begins, the latest at the log's end.
        """
        if epoch == UNDEFINED or not self.entries or epoch > self.latest:
            return UNDEFINED, UNDEFINED
        if epoch == self.latest:
            return epoch, log_end_offset
        higher = bisect_right(self.entries, epoch, key=_epoch)
        end_offset = self.entries[higher][1]
        return (self.entries[higher - 1][0] if higher else epoch), end_offset

    def epoch_for_offset(self, offset: int) -> int | None:
        """The epoch that `offset` was written in; None below the first entry."""
        after = bisect_right(self.entries, offset, key=_start)
        return self.entries[after - 1][0] if after else None

    def truncate_from_end(self, end_offset: int) -> None:
        """Drops the epochs that begin at or above `end_offset`."""
        keep = bisect_left(self.entries, end_offset, key=_start)
        if keep < len(self.entries):
            del self.entries[keep:]
            self._write()

    def truncate_from_start(self, start_offset: int) -> None:
        """Drops the epochs that end below `start_offset`; the one it is in now begins there."""
        below = bisect_right(self.entries, start_offset, key=_start)
        if below and self.entries[below - 1][1] != start_offset:
            self.entries[:below] = [(self.entries[below - 1][0], start_offset)]
            self._write()
        elif below > 1:
            del self.entries[: below - 1]
            self._write()

    def clear(self) -> None:
        if self.entries:
            self.entries = []
            self._write()

    def _write(self) -> None:
        checkpoints.write_epochs(self.disk, self.path, self.entries)


def _epoch(entry: tuple[int, int]) -> int:
    return entry[0]


def _start(entry: tuple[int, int]) -> int:
    return entry[1]
