"""What a transaction coordinator does by the clock.

time-out   an open transaction holds back every read_committed reader of its partitions.  If
           its producer does not end it within transaction.timeout.ms, the coordinator fences
           the producer and aborts.  It looks every
           transaction.abort.timed.out.transaction.cleanup.interval.ms (10 s)
expiry     an id that no producer used for transactional.id.expiration.ms (a week) is
           removed.  It looks every
           transaction.remove.expired.transaction.cleanup.interval.ms (1 h)
"""

from __future__ import annotations

from engine.coordinators.transactions.requests import ProducerIdSource, fence
from engine.coordinators.transactions.states import IDLE, TransactionState
from engine.coordinators.transactions.transaction_shard import TransactionShard
from engine.wire.errors import KafkaError


def abort_timed_out(shard: TransactionShard, ids: ProducerIdSource, now: int) -> None:
    """Fences the producers whose time is over."""
    for transaction in tuple(shard.by_id.values()):
        metadata = transaction.metadata
        if shard.is_busy(transaction) or metadata.state is not TransactionState.ONGOING:
            continue
        if metadata.start_ms + metadata.timeout_ms >= now // 1000:
            continue
        why = f"open for longer than transaction.timeout.ms={metadata.timeout_ms}"
        try:
            fence(shard, ids, now, transaction, why)
        except KafkaError:
            continue  # there is no producer id at hand; the next look has one


def remove_expired(shard: TransactionShard, now: int, expiration_ms: int) -> None:
    """Writes a tombstone for each id that no producer used for so long."""
    for transaction in tuple(shard.by_id.values()):
        metadata = transaction.metadata
        if shard.is_busy(transaction) or metadata.state not in IDLE:
            continue
        if metadata.last_update_ms <= now // 1000 - expiration_ms:
            why = f"not used for transactional.id.expiration.ms={expiration_ms}"
            shard.change(now, transaction, None, why)
