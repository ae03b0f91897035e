"""OffsetFetch (key 9): how far has this group read?

The offset of a partition that has none is -1, as is any of an unknown group: neither is
an error.  No list of topics means all that the group has.  `require_stable` waits for
commits in flight (KIP-447), so that a consumer which takes over a partition sees the last
commit of the one before.  While a transaction is open that commits an offset here, the answer for
this partition is UNSTABLE_OFFSET_COMMIT, and the consumer asks again.

    v1      errors only per partition
    v2      one error for the group; null topics mean all
    v5      the leader epoch of the position (KIP-320)
    v7      require_stable (KIP-447)
    v8      several groups at once (KIP-709)
    v9      member id and epoch: a member of a consumer group must be what it says (KIP-848)
    v10     topic ids instead of names; an unknown id is UNKNOWN_TOPIC_ID

An offset committed under another id of a topic of this name (deleted, created again)
does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.broker.broker import Broker
from engine.coordinators.consumer.offset_rules import check_fetch
from engine.coordinators.offsets import CommittedOffset
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors

Asked = m.OffsetFetchRequest | m.OffsetFetchRequest.OffsetFetchRequestGroup
"""One group of a request; before version 8 the request itself."""

Group = m.OffsetFetchResponse.OffsetFetchResponseGroup
Topics = m.OffsetFetchResponse.OffsetFetchResponseTopics
Partitions = m.OffsetFetchResponse.OffsetFetchResponsePartitions

FIRST_VERSION_WITH_TOPIC_IDS = 10
_NO_ID = bytes(16)


def handle(broker: Broker, now: int, request: Request[m.OffsetFetchRequest]) -> None:
    groups = _asked(request)
    answer = Answer(broker, request, [Group(each.group_id) for each in groups], len(groups))
    if not groups:
        answer.reply()
    for position, asked in enumerate(groups):
        shard, _ = broker.groups.shard_of(asked.group_id)
        if shard is not None:
            shard.log.settle(now)
        late = shard is not None and any(each.late for each in shard.log.writes)
        if request.body.require_stable and shard is not None and not late:
            shard.log.after_writes(now, WaitingGroup(answer, position))
        else:
            answer.fill(now, position)


@dataclass(slots=True)
class WaitingGroup:
    """One group of a request, until the commits in flight have arrived."""

    answer: Answer
    position: int

    def stored(self, now: int, error: Errors) -> None:
        self.answer.fill(now, self.position)


@dataclass(slots=True)
class Answer:
    """Collects the groups' answers; the last one sends the response."""

    broker: Broker
    request: Request[m.OffsetFetchRequest]
    groups: list[Group]
    missing: int

    def fill(self, now: int, position: int) -> None:
        asked = _asked(self.request)[position]
        self.groups[position] = _group(self.broker, now, self.request, asked)
        self.missing -= 1
        if not self.missing:
            self.reply()

    def reply(self) -> None:
        answer = m.OffsetFetchResponse()
        if self.request.version >= 8:
            answer.groups = self.groups
        else:
            _flatten(answer, self.groups[0], self.request)
        self.broker.outbox.reply(self.request, answer)


def _asked(request: Request[m.OffsetFetchRequest]) -> Sequence[Asked]:
    body = request.body
    return [body] if request.version < 8 else body.groups


def _group(broker: Broker, now: int, request: Request[m.OffsetFetchRequest], asked: Asked) -> Group:
    version = request.version
    answer = Group(group_id=asked.group_id)
    shard, error = broker.groups.shard_of(asked.group_id)
    if shard is not None and (
        not shard.log.settle(now) or (request.body.require_stable and shard.log.writes)
    ):
        error = Errors.COORDINATOR_LOAD_IN_PROGRESS
    elif shard is not None and isinstance(asked, m.OffsetFetchRequest.OffsetFetchRequestGroup):
        group = shard.consumer.by_id.get(asked.group_id)
        if group is not None:
            error = check_fetch(group, asked.member_id, asked.member_epoch)
    if shard is None or error is not Errors.NONE:
        answer.error_code = error
        return answer
    offsets = shard.offsets.of(asked.group_id)
    pending = shard.offsets.pending_of(asked.group_id) if request.body.require_stable else {}
    wanted: list[tuple[str, bytes, Iterable[int]]]
    if asked.topics is None:
        wanted = _all_of(broker, version, offsets)
    else:
        wanted = [(*_find(broker, version, each), each.partition_indexes) for each in asked.topics]
    for name, topic_id, partitions in wanted:
        if version >= FIRST_VERSION_WITH_TOPIC_IDS and not name:
            found = [_none(index, Errors.UNKNOWN_TOPIC_ID) for index in partitions]
        else:
            found = [
                _none(each, Errors.UNSTABLE_OFFSET_COMMIT)
                if (name, each) in pending
                else _partition(offsets.get((name, each)), topic_id, each)
                for each in partitions
            ]
        answer.topics.append(Topics(name, topic_id, found))
    return answer


def _all_of(
    broker: Broker, version: int, offsets: Iterable[tuple[str, int]]
) -> list[tuple[str, bytes, Iterable[int]]]:
    """Every partition with a committed offset, by topic."""
    found: dict[str, list[int]] = {}
    for name, partition in offsets:
        found.setdefault(name, []).append(partition)
    ids = {name: broker.metadata.topic_ids.get(name, _NO_ID) for name in found}
    by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
    return [
        (name, ids[name], partitions)
        for name, partitions in found.items()
        if ids[name] != _NO_ID or not by_id
    ]


def _find(
    broker: Broker,
    version: int,
    topic: m.OffsetFetchRequest.OffsetFetchRequestTopic
    | m.OffsetFetchRequest.OffsetFetchRequestTopics,
) -> tuple[str, bytes]:
    """A topic's name and id; an unknown id has no name, an unknown name the id 0."""
    if version < FIRST_VERSION_WITH_TOPIC_IDS or isinstance(
        topic, m.OffsetFetchRequest.OffsetFetchRequestTopic
    ):
        return topic.name, broker.metadata.topic_ids.get(topic.name, _NO_ID)
    image = broker.metadata.topics.get(topic.topic_id)
    return "" if image is None else image.name, topic.topic_id


def _partition(committed: CommittedOffset | None, topic_id: bytes, index: int) -> Partitions:
    if committed is None or (
        committed.topic_id != topic_id and _NO_ID not in (committed.topic_id, topic_id)
    ):
        return _none(index)
    return Partitions(index, committed.offset, committed.leader_epoch, committed.metadata)


def _none(index: int, error: Errors = Errors.NONE) -> Partitions:
    """There is no committed offset, or none can be given."""
    return Partitions(index, -1, -1, "", error)


def _flatten(
    answer: m.OffsetFetchResponse, group: Group, request: Request[m.OffsetFetchRequest]
) -> None:
    """The one group of versions below 8, in their form."""
    answer.error_code = group.error_code
    topics = [(each.name, each.partitions) for each in group.topics]
    if group.error_code and request.version < 2:
        topics = [
            (
                topic.name,
                [_none(index, Errors(group.error_code)) for index in topic.partition_indexes],
            )
            for topic in request.body.topics or ()
        ]
    answer.topics = [
        m.OffsetFetchResponse.OffsetFetchResponseTopic(
            name=name,
            partitions=[
                m.OffsetFetchResponse.OffsetFetchResponsePartition(
                    each.partition_index,
                    each.committed_offset,
                    each.committed_leader_epoch,
                    each.metadata,
                    each.error_code,
                )
                for each in partitions
            ],
        )
        for name, partitions in topics
    ]
