"""The states of a consumer group and of its members, as tables.

Three epochs order everything.  They only grow:

    group epoch       counts the changes: a member joined, left or subscribed to something
                      else, or a topic that is subscribed to got more partitions
    assignment epoch  the group epoch for which the *target* was computed: who shall own
                      what in the end
    member epoch      the assignment epoch that this member has reached

A group's state follows from these numbers.  It is never set:

    Empty         no members
    Assigning     the group epoch is ahead of the assignment epoch
    Reconciling   some member has not reached the assignment epoch, or lacks a partition
    Stable        every member owns its target

A member goes its own way to its target; no other member stops for it.

    STABLE --> UNREVOKED_PARTITIONS    it owns what another one shall have: it must give
                                       that back, and confirm it, before it gets anything
           --> UNRELEASED_PARTITIONS   it is in the new epoch and waits for partitions
                                       that their owners have not given back yet
           --> STABLE                  it owns its target

Pictures are drawn from `MEMBER_TRANSITIONS` and `GROUP_TRANSITIONS`.

Source: KIP-848; Kafka's ConsumerGroupState and MemberState.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class GroupState(StrEnum):
    """As ListGroups and ConsumerGroupDescribe spell them."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class GroupEvent(StrEnum):
    """What changes the numbers from which a group's state follows."""

    EPOCH_BUMPED = "a member joined, left or changed, or a topic did"
    TARGET_COMPUTED = "the target assignment is computed"
    ALL_ARRIVED = "the last member has reached its target"
    MEMBER_AWAY = "a static member left for a while"
    ALL_LEFT = "no member is left"
    UNLOADED = "deleted, or another broker is the coordinator now"


_G, _E = GroupState, GroupEvent

GROUP_TRANSITIONS: dict[tuple[GroupState, GroupEvent], GroupState] = {
    (_G.EMPTY, _E.EPOCH_BUMPED): _G.ASSIGNING,
    (_G.RECONCILING, _E.EPOCH_BUMPED): _G.ASSIGNING,
    (_G.STABLE, _E.EPOCH_BUMPED): _G.ASSIGNING,
    (_G.ASSIGNING, _E.TARGET_COMPUTED): _G.RECONCILING,
    (_G.RECONCILING, _E.ALL_ARRIVED): _G.STABLE,
    (_G.STABLE, _E.MEMBER_AWAY): _G.RECONCILING,
    (_G.ASSIGNING, _E.ALL_LEFT): _G.EMPTY,
    (_G.RECONCILING, _E.ALL_LEFT): _G.EMPTY,
    (_G.STABLE, _E.ALL_LEFT): _G.EMPTY,
    (_G.EMPTY, _E.UNLOADED): _G.DEAD,
    (_G.ASSIGNING, _E.UNLOADED): _G.DEAD,
    (_G.RECONCILING, _E.UNLOADED): _G.DEAD,
    (_G.STABLE, _E.UNLOADED): _G.DEAD,
}


class MemberState(IntEnum):
    """As the log stores them; UNKNOWN stands for what a later version may have written."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def of(cls, stored: int) -> MemberState:
        return cls(stored) if stored in MemberState._value2member_map_ else cls.UNKNOWN


class MemberStep(StrEnum):
    """What a member's way to its target needs next."""

    REVOKE = "it has partitions to give back"
    WAIT = "partitions of its target still belong to others"
    ARRIVE = "it owns its target"


_M, _S = MemberState, MemberStep

MEMBER_TRANSITIONS: dict[tuple[MemberState, MemberStep], MemberState] = {
    (_M.STABLE, _S.REVOKE): _M.UNREVOKED_PARTITIONS,
    (_M.STABLE, _S.WAIT): _M.UNRELEASED_PARTITIONS,
    (_M.STABLE, _S.ARRIVE): _M.STABLE,
    # The target may change while it gives back: it goes on from what it still owns.
    (_M.UNREVOKED_PARTITIONS, _S.REVOKE): _M.UNREVOKED_PARTITIONS,
    (_M.UNREVOKED_PARTITIONS, _S.WAIT): _M.UNRELEASED_PARTITIONS,
    (_M.UNREVOKED_PARTITIONS, _S.ARRIVE): _M.STABLE,
    (_M.UNRELEASED_PARTITIONS, _S.REVOKE): _M.UNREVOKED_PARTITIONS,
    (_M.UNRELEASED_PARTITIONS, _S.WAIT): _M.UNRELEASED_PARTITIONS,
    (_M.UNRELEASED_PARTITIONS, _S.ARRIVE): _M.STABLE,
    # Only a member that owns nothing may start over from there.
    (_M.UNKNOWN, _S.REVOKE): _M.UNREVOKED_PARTITIONS,
    (_M.UNKNOWN, _S.WAIT): _M.UNRELEASED_PARTITIONS,
    (_M.UNKNOWN, _S.ARRIVE): _M.STABLE,
}

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
"""Member epochs of a request with a meaning of their own."""
