"""Fetch (key 1): read batches; for followers also the way to tell how far they are.

The answer waits (long polling) until `min_bytes` are there, something is wrong, or
`max_wait_ms` is over.  A reader in an older segment than the last, or above what it may see, gets
its answer at once.  Consumers see what is below the high watermark; followers see all of
it.  A fetch that carries the epoch of the last fetched record learns if the two
logs diverge (KIP-595).  Over a socket the records are slices of files, read while they
are being sent: a slow reader costs no memory.
What a topic in tiered storage has in the tier alone is read from there.
Fetch sessions: engine/replication/fetch_sessions.py.  Whether a consumer is sent to a follower in
its rack: engine/replication/replica_selector.py.

Left out: replication quotas.
Simplified: an answer ends with a whole batch; Kafka fills it to the byte limit, so that the last
batch may be cut, and clients drop such a piece.  A high watermark where two segments meet counts
as part of the older one; in Kafka that depends on whether the newer one was there when the last
follower asked.
Versions: 7+ sessions; 11+ reads from followers; 12+ flexible, last fetched epoch; 13+
topic ids; 15+ replica state; 16+ new leader in a refusal; 18 follower's high watermark.
"""

from __future__ import annotations

from engine.api.fetch.answers import (
    Found,
    fetch_answer,
    is_due,
    is_known,
    read_all,
    refusal,
    segment_with,
)
from engine.api.fetch.delayed_fetch import DelayedFetch
from engine.broker.broker import Broker
from engine.events import Request
from engine.replication.fetch_sessions import FetchedPartition, View
from engine.replication.reading import (
    FIRST_VERSION_FOR_FOLLOWER_READS,
    FIRST_VERSION_WITH_TOPIC_IDS,
    ISOLATION_LEVELS,
    FetchTerms,
)
from engine.replication.replica_selector import RACK_AWARE
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError


def handle(broker: Broker, now: int, request: Request[m.FetchRequest]) -> None:
    body = request.body
    hosted = broker.replicas.hosted
    terms = _terms(broker, request)
    if terms.isolation_level not in ISOLATION_LEVELS:
        broker.outbox.reply(request, _whole_refusal(request, Errors.UNKNOWN_SERVER_ERROR))
        return
    by_id = request.version >= FIRST_VERSION_WITH_TOPIC_IDS
    view = View(terms.replica_id, terms.replica_epoch, terms.isolation_level, terms.rack)
    context = broker.replicas.sessions.open(now, body, view, hosted.topic_name, by_id=by_id)
    if context.error != Errors.NONE:
        broker.outbox.reply(request, m.FetchResponse(error_code=context.error))
        return
    session = context.session
    found = read_all(hosted, terms, context)
    moved = _note_progress(broker, now, terms, found) if terms.from_follower else {}
    for asked, data in found:
        if data is None and asked not in moved:
            asked.rest(segment_with(hosted, asked, asked.fetch_offset))
    unknown = {asked: None for asked, data in found if not is_known(data)}
    if is_due(terms, found) or body.max_wait_ms <= 0 or len(unknown) == context.size:
        broker.outbox.reply(request, fetch_answer(hosted, terms, context, found))
        return
    known = [asked for asked, data in found if is_known(data)]
    for asked in known:
        asked.segment = segment_with(hosted, asked, asked.fetch_offset)
    waiting = DelayedFetch(hosted, broker.outbox, request, terms, context, unknown)
    watched = [(each.topic, each.index) for each in known] if session is None else [session.id]
    broker.replicas.purgatory.try_or_wait(now, waiting, tuple(watched), body.max_wait_ms)


def _whole_refusal(request: Request[m.FetchRequest], error: Errors) -> m.FetchResponse:
    """The same error for everything; up to version 12 also in each partition's row."""
    answer = m.FetchResponse(error_code=error, session_id=request.body.session_id)
    for topic in request.body.topics if request.version < FIRST_VERSION_WITH_TOPIC_IDS else ():
        rows = [
            m.FetchResponse.PartitionData(
                partition_index=asked.partition, error_code=error, high_watermark=-1, records=b""
            )
            for asked in topic.partitions
        ]
        answer.responses.append(
            m.FetchResponse.FetchableTopicResponse(topic=topic.topic, partitions=rows)
        )
    return answer


def _terms(broker: Broker, request: Request[m.FetchRequest]) -> FetchTerms:
    body = request.body
    replica_id, replica_epoch = body.replica_id, -1
    if body.replica_state is not None:
        replica_id, replica_epoch = body.replica_state.replica_id, body.replica_state.replica_epoch
    limit: int = broker.settings["fetch.max.bytes"]
    if broker.metadata.quotas:
        limit = min(limit, broker.quotas.fetch_bytes_max(request) or limit)
    may_name = request.version >= FIRST_VERSION_FOR_FOLLOWER_READS and replica_id < 0
    selects = may_name and broker.settings["replica.selector.class"] == RACK_AWARE
    return FetchTerms(
        request.version,
        replica_id,
        replica_epoch,
        min(body.max_bytes, limit),
        min(body.min_bytes, body.max_bytes, limit),
        body.isolation_level,
        body.rack_id if selects else "",
        slices=request.size > 0,
    )


def _note_progress(
    broker: Broker, now: int, terms: FetchTerms, found: Found
) -> dict[FetchedPartition, None]:
    """Notes, partition by partition, that the follower holds all below the offset it asks for.

    That may move the high watermark, and with it answer requests that wait for it; gives those
    where it did.  A partition
    that was refused, or whose log diverges from the follower's, says nothing about progress.
    One without news is idle from here on (engine/replication/follower_state.py).  If another
    session of the follower thinks the same, it looks again: this fetch may be a late one.
    """
    all_moved: dict[FetchedPartition, None] = {}
    for number, (asked, data) in enumerate(found):
        if data is not None and (data.error_code or data.diverging_epoch is not None):
            continue
        partition = broker.replicas.partitions[asked.topic, asked.index]
        idle = partition.followers[terms.replica_id].idle
        if idle is not None and idle is not asked:
            idle.look_again()
        try:
            moved = partition.follower_fetched(
                now,
                terms.replica_id,
                asked.fetch_offset,
                asked.log_start_offset,
                terms.replica_epoch,
            )
        except KafkaError as error:
            found[number] = (asked, refusal(broker.replicas.hosted, terms, asked, error))
            continue
        if data is None:
            partition.followers[terms.replica_id].idle = asked
        if moved:
            all_moved[asked] = None
            broker.replicas.purgatory.check(now, partition.key)
    return all_moved
