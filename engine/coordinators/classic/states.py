"""The life of a classic consumer group, as tables.

The coordinator does not assign partitions.  It brings the members to agree on who is
in the group, lets one of them (the leader) compute the assignment, stores it, and hands
it out.  Each round of that is a *generation*:

    Empty --join--> PreparingRebalance --all joined--> CompletingRebalance
                        ^        |                          |      |
                        |        +--all left--> Empty       |      | leader's SyncGroup
                        +---- a member joins, leaves, ------+      v is stored
                        +---- dies or changes ------------------ Stable

`PreparingRebalance` waits for every member's JoinGroup, `CompletingRebalance` for the
leader's SyncGroup; Kafka shows both under these names in `kafka-consumer-groups`.
`Dead` is a group that was deleted, or whose coordinator is now another broker.

`TRANSITIONS` is the only place where a state changes; pictures are drawn from it.
`HEARTBEAT_ANSWERS` and `COMMIT_ANSWERS` say what a member with the right generation
gets in each state.

Source: KIP-62, KIP-134, KIP-394; Kafka's ClassicGroupState.
"""

from __future__ import annotations

from enum import StrEnum

from engine.wire.errors import Errors


class GroupState(StrEnum):
    """As ListGroups and DescribeGroups spell them."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class GroupEvent(StrEnum):
    """What moves a group from one state to another."""

    REBALANCE = "a member joined, left, died or changed"
    ALL_JOINED = "all members have joined, or the rebalance timeout is over"
    ALL_LEFT = "no member is left"
    ASSIGNMENT_STORED = "the leader's assignment is replicated"
    UNLOADED = "deleted, or another broker is the coordinator now"


_S, _E = GroupState, GroupEvent

TRANSITIONS: dict[tuple[GroupState, GroupEvent], GroupState] = {
    (_S.EMPTY, _E.REBALANCE): _S.PREPARING_REBALANCE,
    (_S.PREPARING_REBALANCE, _E.ALL_JOINED): _S.COMPLETING_REBALANCE,
    (_S.PREPARING_REBALANCE, _E.ALL_LEFT): _S.EMPTY,
    (_S.COMPLETING_REBALANCE, _E.ASSIGNMENT_STORED): _S.STABLE,
    (_S.COMPLETING_REBALANCE, _E.REBALANCE): _S.PREPARING_REBALANCE,
    (_S.STABLE, _E.REBALANCE): _S.PREPARING_REBALANCE,
    (_S.EMPTY, _E.UNLOADED): _S.DEAD,
    (_S.PREPARING_REBALANCE, _E.UNLOADED): _S.DEAD,
    (_S.COMPLETING_REBALANCE, _E.UNLOADED): _S.DEAD,
    (_S.STABLE, _E.UNLOADED): _S.DEAD,
}

HEARTBEAT_ANSWERS: dict[GroupState, Errors] = {
    _S.EMPTY: Errors.UNKNOWN_MEMBER_ID,
    _S.PREPARING_REBALANCE: Errors.REBALANCE_IN_PROGRESS,
    # A member may heartbeat between its JoinGroup answer and its SyncGroup.
    _S.COMPLETING_REBALANCE: Errors.NONE,
    _S.STABLE: Errors.NONE,
    _S.DEAD: Errors.COORDINATOR_NOT_AVAILABLE,
}

COMMIT_ANSWERS: dict[GroupState, Errors] = {
    _S.EMPTY: Errors.NONE,
    # While the others join, a member may still store what it did in this generation.
    _S.PREPARING_REBALANCE: Errors.NONE,
    # The new generation is numbered but not assigned: no member owns anything yet.
    _S.COMPLETING_REBALANCE: Errors.REBALANCE_IN_PROGRESS,
    _S.STABLE: Errors.NONE,
    _S.DEAD: Errors.COORDINATOR_NOT_AVAILABLE,
}
