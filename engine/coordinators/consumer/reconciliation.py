"""From what a member owns to what it shall own, one heartbeat at a time.

    keep     what it owns and is in its target, it keeps: it never stops reading that
    revoke   What it owns and is not in its target, it must give back.  It stays in its
             epoch until its heartbeat no longer lists those partitions.
    get      what is in its target and is not held, it gets
    wait     what is in its target and held by another member, it gets later

First it gives, then it gets: a member with partitions to give back gets nothing new.  A
member that waits is already in the new epoch; its next heartbeats find out whether the
partitions are free.

The member confirms a revocation by what it reports, not by saying so.  So an answer that is
lost costs one more heartbeat and no partition.

A topic that the member has unsubscribed from is taken from it at once, although the
target, which may not be computed yet, still has it.

Source: KIP-848; Kafka's CurrentAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from engine.coordinators.consumer.group import ConsumerGroup, Member, Owned, Partitions
from engine.coordinators.consumer.states import MEMBER_TRANSITIONS, MemberState, MemberStep
from engine.wire.errors import Errors, KafkaError

Reported = Partitions | None
"""The partitions that a heartbeat lists, None if it has none to tell."""


def reconcile(
    group: ConsumerGroup,
    member: Member,
    subscribed: Collection[bytes],
    reported: Reported,
    subscription_changed: bool,
) -> Member:
    """The member after its next step to the group's target, the same one if it takes none."""
    if member.has_reached(group.assignment_epoch):
        return _unsubscribe(member, subscribed, reported) if subscription_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS and _holds(reported, member.revoking):
        return _unsubscribe(member, subscribed, reported) if subscription_changed else member
    if member.state is MemberState.UNKNOWN and reported != {}:
        raise KafkaError(
            Errors.FENCED_MEMBER_EPOCH,
            "The consumer group member is in a unknown state. "
            "The member must abandon all its partitions and rejoin.",
        )
    return _step(group, member, subscribed, reported)


def _step(
    group: ConsumerGroup, member: Member, subscribed: Collection[bytes], reported: Reported
) -> Member:
    target = group.target.get(member.id, {})
    kept: Owned = {}
    lost: Owned = {}
    gained: dict[bytes, list[int]] = {}
    waits = False
    for topic_id in dict.fromkeys([*target, *member.assigned]):
        wanted = target.get(topic_id, ()) if topic_id in subscribed else ()
        owned = member.assigned.get(topic_id, {})
        for partition, epoch in owned.items():
            part = kept if partition in wanted else lost
            part.setdefault(topic_id, {})[partition] = epoch
        for partition in wanted:
            if partition in owned:
                continue
            if _is_free(group, member, topic_id, partition):
                gained.setdefault(topic_id, []).append(partition)
            else:
                waits = True
    if lost and _holds(reported, lost):
        return _moved(member, MemberStep.REVOKE, member.epoch, kept, lost)
    for topic_id, partitions in gained.items():
        kept.setdefault(topic_id, {}).update(dict.fromkeys(partitions, group.assignment_epoch))
    step = MemberStep.WAIT if waits else MemberStep.ARRIVE
    return _moved(member, step, group.assignment_epoch, kept, {})


def _moved(
    member: Member, step: MemberStep, epoch: int, assigned: Owned, revoking: Owned
) -> Member:
    moved = replace(
        member,
        state=MEMBER_TRANSITIONS[member.state, step],
        epoch=epoch,
        previous_epoch=member.epoch,
        assigned=assigned,
        revoking=revoking,
    )
    return member if moved == member else moved


def _is_free(group: ConsumerGroup, member: Member, topic_id: bytes, partition: int) -> bool:
    """Not held, or held by this member, which gives it back just now."""
    if (topic_id, partition) not in group.owner_epochs:
        return True
    return partition in member.revoking.get(topic_id, {})


def _holds(reported: Reported, revoking: Owned) -> bool:
    """Whether the member still lists one of these; a member that lists nothing does."""
    if reported is None:
        return True
    return any(
        partition in revoking.get(topic_id, {})
        for topic_id, partitions in reported.items()
        for partition in partitions
    )


def _unsubscribe(member: Member, subscribed: Collection[bytes], reported: Reported) -> Member:
    """Takes the topics away that it no longer reads, without a look at its target."""
    kept = {each: owned for each, owned in member.assigned.items() if each in subscribed}
    if len(kept) == len(member.assigned):
        return member
    lost: Owned = {each: dict(owned) for each, owned in member.revoking.items()}
    for topic_id, owned in member.assigned.items():
        if topic_id not in kept:
            lost.setdefault(topic_id, {}).update(owned)
    if _holds(reported, lost):
        return _moved(member, MemberStep.REVOKE, member.epoch, kept, lost)
    return replace(member, previous_epoch=member.epoch, assigned=kept)
