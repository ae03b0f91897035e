"""What must hold of a group's committed offsets: who may commit, and what is fetched afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.client.consumer.consumer import Consumer
from engine.client.metadata import Place
from engine.coordinators.classic.group import Group
from engine.coordinators.group_shard import GroupShard
from engine.plain import Plain
from engine.sim.invariants.books import Violation
from engine.sim.invariants.group_books import Committed, GroupBooks, named


def committing(
    books: GroupBooks, shard: GroupShard | None, member: Consumer, place: Place, fields: Plain,
    now_us: int,
) -> None:  # fmt: skip
    """A member sends a commit."""
    if fields["generation"] < 0:
        return
    commit = Committed(
        fields["offset"], now_us, (member.name, fields["number"]), fields["member"],
        fields["generation"], shard,
    )  # fmt: skip
    if shard is not None:
        commit.refused = _refused(shard, member.settings.group_id, commit, place)
    books.commits.setdefault(place, []).append(commit)


def committed(
    books: GroupBooks, shard: GroupShard | None, member: Consumer, place: Place, fields: Plain,
    now_us: int,
) -> None:  # fmt: skip
    """A member's commit is acknowledged; Violation if it had to be refused."""
    number = (member.name, fields["number"])
    made = books.commits.get(place, [])
    commit = next((each for each in reversed(made) if each.number == number), None)
    if commit is None:
        return
    if commit.refused and commit.shard is shard:
        raise Violation(
            f"fencing: {member.settings.group_id}: {member.name} commits {commit.offset} of "
            f"{named(place)}, and {commit.refused}"
        )
    commit.acknowledged_us = now_us
    books.forget_overwritten(place, commit)


def fetched(books: GroupBooks, group: str, place: Place, offset: int, asked_us: int) -> None:
    """OffsetFetch has answered this offset, -1 for none; Violation if a later one was sure."""
    made = books.commits.get(place, [])
    sure = [each for each in made if 0 <= each.acknowledged_us < asked_us]
    if not sure:
        return
    if offset not in {each.offset for each in made if not _is_overwritten(each, sure)}:
        last = max(sure, key=lambda each: each.asked_us)
        raise Violation(
            f"offsets: {group}: {named(place)} is fetched as {offset}, after {last.offset} "
            f"was acknowledged to {last.number[0]}"
        )


def _is_overwritten(commit: Committed, sure: Iterable[Committed]) -> bool:
    """Whether a commit was answered before a later one began that is through."""
    return any(0 <= commit.acknowledged_us < each.asked_us for each in sure)


def _refused(shard: GroupShard, group_id: str, commit: Committed, place: Place) -> str:
    """Why the coordinator, as it is now, must refuse a commit; empty if it need not."""
    group = shard.group(group_id)
    member: Any = None if group is None else group.members.get(commit.member)
    if group is None or member is None:
        return f"{commit.member} is no member"
    if isinstance(group, Group):
        is_old = commit.generation < group.generation
        return f"the generation is {group.generation}, not {commit.generation}" if is_old else ""
    topic_id = shard.log.host.metadata.topic_ids.get(place[0])
    if topic_id is None or commit.generation == member.epoch:
        return ""
    is_its = member.assignment_epoch_of(topic_id, place[1]) is not None
    return "" if is_its else f"its epoch {commit.generation} is old and the partition not its own"
