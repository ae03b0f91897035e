"""The quorum as a whole, at a moment: its leader, its voters, and the line of facts on top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.quorum.election_state import NONE
from kit.quorum_panel.view import Voter


def leader_of(voters: Mapping[int, Voter]) -> int:
    """The one that leads in the latest epoch; -1 if none does."""
    leading = [(each.get("epoch", -1), name) for name, each in voters.items()
               if each.get("role") == "leader"]  # fmt: skip
    return max(leading)[1] if leading else NONE


def active_of(voters: Mapping[int, Voter]) -> int:
    """The one that decides: it leads, and its first record is committed; -1 if there is none."""
    active = [(each.get("epoch", -1), name) for name, each in voters.items()
              if each.get("is_active")]  # fmt: skip
    return max(active)[1] if active else NONE


def voting_of(voters: Mapping[int, Voter]) -> list[int]:
    """The controllers that vote, by the leader's log, else by the longest; all if none says it."""
    longest = max(voters, key=lambda each: voters[each].get("log_end_offset", -1), default=NONE)
    leader = leader_of(voters)
    known = voters.get(longest if leader == NONE else leader, {})
    return list(known.get("voters") or voters)


def facts(voters: Mapping[int, Voter]) -> Iterator[tuple[str, str]]:
    active = active_of(voters)
    yield "active", str(active) if active != NONE else "none"
    epochs = [each["epoch"] for each in voters.values() if each.get("epoch", -1) >= 0]
    if epochs:
        yield "epoch", str(max(epochs))
    marks = [each.get("high_watermark", -1) for each in voters.values()]
    if max(marks, default=-1) >= 0:
        yield "committed", f"below {max(marks)}"
    running = sum(each["state"] == "running" for each in voters.values())
    voting = voting_of(voters)
    yield "majority", f"{len(voting) // 2 + 1} of {len(voting)}"
    if len(voting) < len(voters):
        yield "voters", " ".join(map(str, voting))
    yield "running", str(running)
