"""Fetch (key 1): read batches; for followers also the way to tell how far they are.

The answer waits (long polling) until `min_bytes` are there, something is wrong, or
`max_wait_ms` is over; yet nobody waits who reads an older segment than the last, or stands above
what they may see.  Consumers see what is below the high watermark; followers all of
it.  A fetch that carries the epoch of the last fetched record learns if the two
histories differ (KIP-595).  Fetch sessions: engine/replication/fetch_sessions.py.

Left out: replication quotas, tiered storage, a replica selector (preferred_read_replica is -1, yet
a consumer may fetch from a follower, KIP-392).
Simplified: an answer ends with a whole batch; Kafka fills it to the byte limit, so that the last
batch may be cut, and clients drop such a piece.  A high watermark where two segments meet counts
to the older; in Kafka to either, by whether the newer was there when the last follower asked.
Versions: 7+ sessions; 11+ reads from followers; 12+ flexible, last fetched epoch; 13+
topic ids; 15+ replica state; 16+ new leader in a refusal; 18 follower's high watermark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.events import Request
from engine.replication.delayed import DelayedFetch, fetch_answer, read_all, segment_with
from engine.replication.reading import FetchTerms
from engine.wire import messages as m
from engine.wire.errors import Errors

if TYPE_CHECKING:
    from engine.broker.broker import Broker


def handle(broker: Broker, now: int, request: Request) -> None:
    body = request.body
    replica_id, replica_epoch = body.replica_id, -1
    if body.replica_state is not None:
        replica_id, replica_epoch = body.replica_state.replica_id, body.replica_state.replica_epoch
    limit: int = broker.settings["fetch.max.bytes"]
    if broker.metadata.quotas:
        limit = min(limit, broker.quotas.fetch_bytes_max(request) or limit)
    terms = FetchTerms(
        request.version,
        replica_id,
        replica_epoch,
        min(body.max_bytes, limit),
        min(body.min_bytes, body.max_bytes, limit),
        body.isolation_level,
    )
    replicas = broker.replicas
    context = replicas.sessions.open(now, body, terms.from_follower, replicas.topic_name)
    if context.error != Errors.NONE:
        broker.outbox.reply(request, m.FetchResponse(error_code=context.error))
        return
    answers, at_once = read_all(replicas, now, terms, context, note_progress=True)
    if at_once or body.max_wait_ms <= 0 or not context.partitions:
        broker.outbox.reply(request, fetch_answer(replicas, context, terms, answers))
        return
    keys = tuple((asked.topic, asked.index) for asked in context.partitions)
    segments = tuple(
        segment_with(replicas.partitions[key], asked.fetch_offset)
        for key, asked in zip(keys, context.partitions, strict=True)
    )
    waiting = DelayedFetch(request, context, terms, segments)
    if not waiting.try_complete(replicas, now):
        replicas.purgatory.wait(waiting, keys, now + body.max_wait_ms * 1000)
