"""Rules of consumer groups, broken one at a time; see mutants.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from engine.api import offset_commit
from engine.client.consumer.classic import ClassicMembership
from engine.client.consumer.consumer_group import ConsumerGroupMembership
from engine.client.consumer.handover import Handover
from engine.client.consumer.leading import Leadership
from engine.client.consumer.listener import Places
from engine.client.metadata import Metadata
from engine.coordinators.classic import failover, membership, rebalance
from engine.coordinators.classic.group import Group
from engine.coordinators.classic.groups import ClassicGroups
from engine.coordinators.classic.stored_group import GroupRecord
from engine.coordinators.consumer import failover as consumer_failover
from engine.coordinators.consumer import leave, reconciliation
from engine.coordinators.consumer.groups import ConsumerGroups, Deadline, MemberTimer
from engine.coordinators.consumer.stored_group import ConsumerRecord
from engine.coordinators.runtime.shard import Shard
from engine.events import Stored
from engine.sim.campaign.mutant import Mutant, Original, Patch
from engine.wire.errors import Errors

# -- generations


def _same_generation(original: Original, self: Group, now: int) -> None:
    original(self, now)
    self.generation = max(1, self.generation - 1)


def _before_it_is_stored(
    original: Original, self: Any, now: int, records: Sequence[Any], then: Stored | None = None
) -> Errors:
    if isinstance(then, membership.AssignmentStored):
        then.stored(now, Errors.NONE)
    return Errors(original(self, now, records, then))


def _at_once(
    original: Original, self: Any, now: int, records: Sequence[Any], then: Stored | None = None
) -> Errors:
    if not isinstance(then, offset_commit.Answer):
        return Errors(original(self, now, records, then))
    error = Errors(original(self, now, records))
    for record in records if error is Errors.NONE else ():
        self.state.replicated(record)
    then.stored(now, error)
    return error


# -- who is a member


def _none_expires(
    original: Original, groups: ClassicGroups, now: int, group: Group, member_id: str
) -> None:
    if member_id in group.pending_members:
        original(groups, now, group, member_id)


def _no_new_sessions(original: Original, groups: Any, now: int) -> None:
    return None


def _leaves_quietly(original: Original, *arguments: object) -> Errors:
    original(*arguments)
    return Errors.UNKNOWN_MEMBER_ID


def _without_members(original: Original, self: ClassicGroups, record: GroupRecord) -> None:
    original(self, record)
    group = self.by_id.get(record.group)
    for member_id in list(group.members if group is not None else ()):
        if group is not None:
            group.remove(member_id)


def _no_deadline(original: Original, groups: ConsumerGroups, now: int, timer: MemberTimer) -> None:
    if timer.deadline is not Deadline.SESSION:
        original(groups, now, timer)


def _no_tombstones(original: Original, self: ConsumerGroups, record: ConsumerRecord) -> None:
    if record.value is not None:
        original(self, record)


# -- who commits


def _any_owner_of_the_name(
    original: Original, group: Group | None, member_id: str, instance_id: str | None, *rest: int
) -> Errors:
    owners = {} if group is None else group.static_members
    return Errors(original(group, owners.get(instance_id or "", member_id), instance_id, *rest))


# -- who owns what


def _same_for_all(original: Original, self: Leadership, metadata: Metadata) -> dict[str, bytes]:
    shares: dict[str, bytes] = original(self, metadata)
    most = max(shares.values(), key=len, default=b"")
    return dict.fromkeys(shares, most)


def _all_of_it(original: Original, self: ClassicMembership) -> Places:
    return self.subscription.owned


def _does_not_come_back(original: Original, self: ClassicMembership, reason: str) -> None:
    if not reason.startswith("need to revoke"):
        original(self, reason)


def _keeps_reading(original: Original, self: Handover, now: int, places: Places, why: str) -> bool:
    return True


def _not_yet_released(original: Original, *arguments: object) -> bool:
    return True


def _gives_all_back(original: Original, self: ConsumerGroupMembership, now: int) -> None:
    if self.handover.give_back(now, self.subscription.owned, "a new target"):
        original(self, now)


_ALL = (
    Mutant("generation-stays", "a rebalance ends in the generation in which it began",
           (Patch(Group, "next_generation", _same_generation),), "generations"),
    Mutant("sync-before-storing", "SyncGroup is answered before the assignment is replicated",
           (Patch(Shard, "store", _before_it_is_stored),), "generations"),
    Mutant("commit-before-replication", "a commit is answered when the coordinator has it",
           (Patch(Shard, "store", _at_once),), ("offsets", "fencing")),
    Mutant("static-member-not-fenced", "the former owner of an instance id may still commit",
           (Patch(offset_commit, "check_commit", _any_owner_of_the_name),), "fencing"),
    Mutant("sessions-never-end", "a classic member that is silent stays",
           (Patch(rebalance, "session_over", _none_expires),), "liveness"),
    Mutant("no-session-after-a-move", "a new coordinator does not wait for its members",
           (Patch(failover, "loaded", _no_new_sessions),), "liveness"),
    Mutant("leaving-starts-no-rebalance", "a member that leaves starts no rebalance",
           (Patch(membership, "_leave", _leaves_quietly),), "liveness"),
    Mutant("members-forgotten", "a new coordinator restores a group without its members",
           (Patch(ClassicGroups, "replay", _without_members),), "members"),
    Mutant("leader-gives-twice", "the leader gives the same partitions to all",
           (Patch(Leadership, "assignments", _same_for_all),), "one owner"),
    Mutant("eager-keeps-reading", "a member gives nothing back before it joins again",
           (Patch(Handover, "give_back", _keeps_reading),), "one owner"),
    Mutant("cooperative-gives-all-back", "a cooperative member revokes what it may keep",
           (Patch(ClassicMembership, "_to_give_back", _all_of_it),), "cooperative"),
    Mutant("no-second-rebalance", "a cooperative member that gave back does not join again",
           (Patch(ClassicMembership, "request_rejoin", _does_not_come_back),), "liveness"),
    Mutant("given-before-released", "a partition is given out while another member has it",
           (Patch(reconciliation, "_is_free", _not_yet_released),), "one owner"),
    Mutant("sessions-never-end-848", "a silent member of the consumer protocol stays",
           (Patch(leave, "on_timer", _no_deadline),), "liveness"),
    Mutant("no-session-after-a-move-848", "a new coordinator does not wait for such members",
           (Patch(consumer_failover, "loaded", _no_new_sessions),), "liveness"),
    Mutant("removals-not-loaded", "a new coordinator passes over the removal of members",
           (Patch(ConsumerGroups, "replay", _no_tombstones),), "members"),
    Mutant("target-taken-in-one-go", "a member gives all back before it takes its new target",
           (Patch(ConsumerGroupMembership, "_reconcile", _gives_all_back),), "cooperative"),
)  # fmt: skip
GROUP_MUTANTS = tuple(replace(mutant, in_groups=True) for mutant in _ALL)
