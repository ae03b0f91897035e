"""The states of a voter.

    unattached   --hears nothing for an election timeout-->       prospective
    follower     --no answer from its leader for a fetch timeout--> prospective
    prospective  --a majority would vote for it-->                candidate, in the next epoch
    candidate    --a majority has voted for it-->                 leader
    candidate    --no majority in time-->                         prospective
    leader       --no majority fetches any more, or it stops-->   resigned
    resigned     --an election timeout later-->                   unattached, in the next epoch
    any          --hears of a later epoch-->                      unattached, or follower

A prospective voter asks first whether it would win (pre-vote, KIP-996).  Its epoch stays, so a
voter that was cut off for a while comes back without unseating a leader.
"""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a voter is in its epoch."""

    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    FOLLOWER = "follower"
    LEADER = "leader"
    RESIGNED = "resigned"


NOMINEES = (Role.PROSPECTIVE, Role.CANDIDATE)
