"""What the panel shows of a moment, taken out of a snapshot and the controllers' logs.

    time_us
    voters    by id: state, role, epoch, leader, voted, granted, is_active, voters, is_voter, as in
              engine/cluster/snapshot.py; log_start_offset, log_end_offset, high_watermark, epochs,
              and batches (kit/quorum_panel/logs.py).  What is not known is left out.
    links     the broken ones

A controller that is down keeps the log that it had: its files are still on its disk.  Of one that
is seen from outside only, the file `quorum-state` says what it remembers over a restart, and from
that follows its role, as far as it can: a nominee that only asks whether it would win has written
nothing down.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.quorum import election_state
from engine.quorum.election_state import NONE
from engine.quorum.roles import Role
from kit.film.source import Snapshot
from kit.quorum_panel.logs import Stored

DOWN = ("killed", "stopped")
Voter = Mapping[str, Any]


def of_quorum(
    whole: Snapshot, logs: Mapping[int, Sequence[Stored]], before: Snapshot | None = None
) -> dict[str, Any]:
    """A moment; `logs` are the batches of the controllers whose logs can be read."""
    old = before["voters"] if before else {}
    return {
        "time_us": whole.get("time_us", 0),
        "voters": {
            each: _voter(known, logs.get(each), old.get(each, {}))
            for each, known in sorted(whole.get("controllers", {}).items())
        },
        "links": list(whole.get("links") or ()),
    }


def _voter(known: Voter, batches: Sequence[Stored] | None, before: Voter) -> Voter:
    is_down = known["state"] in DOWN
    extent = {} if batches is None or "epochs" in known else _extent(batches, known)
    if is_down:
        kept = {name: part for name, part in before.items() if name != "granted"}
        known = {**kept, **known, "is_active": False, "role": ""}
    held = before.get("batches", ()) if batches is None else batches
    return {**known, **extent, "batches": held}


def _extent(batches: Sequence[Stored], known: Voter) -> dict[str, Any]:
    """Where a log ends and its epochs begin, by its batches."""
    epochs: list[list[int]] = []
    for each in batches:
        if not epochs or each["epoch"] > epochs[-1][0]:
            epochs.append([each["epoch"], each["base_offset"]])
    end = batches[-1]["last_offset"] + 1 if batches else known.get("log_end_offset", 0)
    return {"epochs": epochs, "log_end_offset": end}


def remembered(directory: Path, controller: int) -> dict[str, Any]:
    """What a controller's own file says of its epoch, leader and vote; empty if it says nothing."""
    try:
        found = json.loads((directory / election_state.PATH).read_bytes())
        epoch, leader = int(found["leaderEpoch"]), int(found.get("leaderId", NONE))
        voted = int(found.get("votedId", NONE))
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    if leader == controller:
        role = Role.LEADER
    elif leader != NONE:
        role = Role.FOLLOWER
    else:
        role = Role.CANDIDATE if voted == controller else Role.UNATTACHED
    return {"role": str(role), "epoch": epoch, "leader": leader, "voted": voted}
