"""What a member has on its disk: its vote, and the changes that it has taken in.

    version-2/acceptedEpoch   epoch and vote, written before any other member hears of them
    version-2/log             lists of proposals; in front of them perhaps a whole state

After a restart a member has in its log what it had, but not how much of it was committed: the
leader says so.

Simplified: what is appended is on the disk at once, in a form of its own, and the log is never cut.
ZooKeeper waits for its disk, and writes snapshots beside its logs.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from engine.storage.disk import Disk
from engine.zookeeper.messages import Proposal
from engine.zookeeper.tree import Tree

EPOCH_PATH, LOG_PATH = "version-2/acceptedEpoch", "version-2/log"
SIZE_BYTES = 4
State = tuple[Tree, int, list[Proposal]]
"""A tree, the zxid up to which it has everything, and the proposals after that."""


class TxnLog:
    """The files of one member."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def vote(self) -> tuple[int, int]:
        """Epoch and vote; zeros if there was none."""
        if not self.disk.exists(EPOCH_PATH):
            return 0, 0
        epoch, voted = pickle.loads(self._whole(EPOCH_PATH))
        return epoch, voted

    def write_vote(self, epoch: int, voted: int) -> None:
        self.disk.replace(EPOCH_PATH, pickle.dumps((epoch, voted)))

    def read(self, tree: Tree) -> State:
        """What the last process has left; `tree` is what was there before the first change."""
        state: State = (tree, 0, [])
        data = self._whole(LOG_PATH) if self.disk.exists(LOG_PATH) else b""
        position = 0
        while position < len(data):
            begin = position + SIZE_BYTES
            position = begin + int.from_bytes(data[position:begin], "big")
            found = pickle.loads(data[begin:position])
            if isinstance(found, list):
                state[2].extend(found)
            else:
                state = found
        return state

    def append(self, proposals: Sequence[Proposal]) -> None:
        self.disk.append(LOG_PATH, _frame(list(proposals)))
        self.disk.flush(LOG_PATH)

    def begin_with(self, tree: Tree, applied: int, pending: list[Proposal]) -> None:
        """Another state takes the place of everything."""
        self.disk.replace(LOG_PATH, _frame((tree, applied, pending)))

    def _whole(self, path: str) -> bytes:
        return self.disk.read(path, 0, self.disk.size(path))


def _frame(what: object) -> bytes:
    data = pickle.dumps(what)
    return len(data).to_bytes(SIZE_BYTES, "big") + data
