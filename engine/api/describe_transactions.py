"""DescribeTransactions (key 65): the state of transactional ids (KIP-664).

The coordinator of each id answers.  While a transaction is being committed or aborted, its
partitions are those that still lack their marker: the way to a partition that holds it up.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.coordinators.transactions.states import PREPARED
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors

Response = m.DescribeTransactionsResponse


def handle(broker: Broker, now: int, request: Request[m.DescribeTransactionsRequest]) -> None:
    rows = [_describe(broker, now, each) for each in request.body.transactional_ids]
    broker.outbox.reply(request, Response(transaction_states=rows))


def refuse(
    request: Request[m.DescribeTransactionsRequest], code: Errors, message: str | None
) -> m.DescribeTransactionsResponse:
    return Response(
        transaction_states=[
            Response.TransactionState(error_code=code, transactional_id=each)
            for each in request.body.transactional_ids
        ]
    )


def _describe(broker: Broker, now: int, transactional_id: str) -> Response.TransactionState:
    row = Response.TransactionState(transactional_id=transactional_id)
    shard, row.error_code = broker.transactions.shard_of(now, transactional_id)
    if shard is None:
        return row
    transaction = shard.by_id.get(transactional_id)
    if transaction is None:
        row.error_code = Errors.TRANSACTIONAL_ID_NOT_FOUND
        return row
    metadata = transaction.metadata
    shown = transaction.awaiting if metadata.state in PREPARED else metadata.partitions
    topics: dict[str, list[int]] = {}
    for topic, index in shown:
        topics.setdefault(topic, []).append(index)
    row.transaction_state = str(metadata.state)
    row.transaction_timeout_ms = metadata.timeout_ms
    row.transaction_start_time_ms = metadata.start_ms
    row.producer_id, row.producer_epoch = metadata.producer_id, metadata.producer_epoch
    row.topics = [Response.TopicData(*each) for each in topics.items()]
    return row
