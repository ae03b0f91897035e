"""What a voter must remember over a restart: its epoch, its leader, and its vote.

    {"clusterId":"","leaderId":-1,"leaderEpoch":7,"votedId":200,"appliedOffset":0,
     "currentVoters":[{"voterId":100},{"voterId":200},{"voterId":300}],"data_version":0}

    {"leaderId":-1,"leaderEpoch":7,"votedId":200,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ",
     "data_version":1}                              if the voters may change: the log has them

The file `quorum-state` is written before the voter answers, or asks anything in the new epoch.  A
voter that forgot its vote could give a second one, and an epoch could have two leaders.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from engine.metadata.records import METADATA_DIRECTORY
from engine.storage.disk import Disk
from engine.wire import uuids
from engine.wire.errors import Errors, KafkaError

PATH = f"{METADATA_DIRECTORY}/quorum-state"
NONE = -1
_RESTORE = "restore it from a copy; a voter that forgot its vote could give a second one"


@dataclass(frozen=True, slots=True)
class ElectionState:
    """`leader` and `voted` are -1 if there is none; a vote is for a node's directory, if known."""

    epoch: int = 0
    leader: int = NONE
    voted: int = NONE
    voted_directory: bytes = uuids.ZERO


def read(disk: Disk, voters: Sequence[int], log_epoch: int = 0) -> ElectionState:
    """Epoch 0 if there is no file, and no log either, or no other voter.

    KafkaError for a file that says nothing, for a log without one, and for one of other voters: a
    majority of these need not have one voter in common with a majority of those.
    """
    if not disk.exists(PATH):
        if log_epoch and len(voters) > 1:
            raise _unusable(f"there is a metadata log, and no {PATH} that says whose", _RESTORE)
        return ElectionState()
    try:
        found = json.loads(disk.read(PATH, 0, disk.size(PATH)))
        numbers = [found.get(name, NONE) for name in ("leaderEpoch", "leaderId", "votedId")]
        directory = uuids.from_text(found.get("votedDirectoryId", uuids.to_text(uuids.ZERO)))
        known = tuple(each["voterId"] for each in found.get("currentVoters") or ())
        if found["data_version"] not in (0, 1) or not all(isinstance(n, int) for n in numbers):
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _unusable(f"{PATH} says nothing", _RESTORE) from None
    if known and known != tuple(voters):
        raise _unusable(
            f"{PATH} is of the voters {' '.join(map(str, known))}, not of "
            f"{' '.join(map(str, voters))}",
            "start as many controllers as before, or begin with empty folders",
        )
    epoch, leader, voted = numbers
    return ElectionState(epoch, leader, voted, directory)


def _unusable(why: str, remedy: str) -> KafkaError:
    return KafkaError(Errors.KAFKA_STORAGE_ERROR, f"{why}: {remedy}")


def write(disk: Disk, state: ElectionState, voters: Sequence[int] | None) -> None:
    """Replaces the file; it survives a power loss when this returns.

    `voters` are written down with it, None if they may change.
    """
    content: dict[str, object] = {
        "clusterId": "",
        "leaderId": state.leader,
        "leaderEpoch": state.epoch,
        "votedId": state.voted,
    }
    if voters is None:
        del content["clusterId"]
        content["votedDirectoryId"] = uuids.to_text(state.voted_directory)
        content["data_version"] = 1
    else:
        content["appliedOffset"] = 0
        content["currentVoters"] = [{"voterId": voter} for voter in voters]
        content["data_version"] = 0
    disk.replace(PATH, json.dumps(content, separators=(",", ":")).encode())
