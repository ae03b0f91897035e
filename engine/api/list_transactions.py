"""ListTransactions (key 66): the transactional ids that this broker coordinates (KIP-664).

Ask every broker for all of them.  An empty filter lets all pass.

    v0      filters by state (an unknown one comes back in the answer) and by producer id
    v1      only what has been open for longer than a duration (KIP-994)
    v2      a regular expression for the transactional id (KIP-1152)
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.coordinators.consumer import regular_expressions
from engine.coordinators.transactions.states import TransactionState
from engine.coordinators.transactions.transaction_shard import Transaction
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors

Response = m.ListTransactionsResponse


def handle(broker: Broker, now: int, request: Request[m.ListTransactionsRequest]) -> None:
    body = request.body
    known = [str(each) for each in TransactionState]
    pattern = body.transactional_id_pattern
    if pattern:
        regular_expressions.check(pattern)
    answer = Response(
        unknown_state_filters=[each for each in body.state_filters if each not in known]
    )
    for shard in broker.transactions.shards:
        if not shard.log.settle(now):
            broker.outbox.reply(request, Response(error_code=Errors.COORDINATOR_LOAD_IN_PROGRESS))
            return
        answer.transaction_states += [
            Response.TransactionState(each.id, each.metadata.producer_id, str(each.metadata.state))
            for each in shard.by_id.values()
            if _passes(body, now, each)
        ]
    broker.outbox.reply(request, answer)


def _passes(body: m.ListTransactionsRequest, now: int, transaction: Transaction) -> bool:
    metadata, pattern = transaction.metadata, body.transactional_id_pattern
    if body.producer_id_filters and metadata.producer_id not in body.producer_id_filters:
        return False
    if body.state_filters and str(metadata.state) not in body.state_filters:
        return False
    if body.duration_filter >= 0 and now // 1000 - metadata.start_ms <= body.duration_filter:
        return False
    return not pattern or bool(regular_expressions.matching(pattern, [transaction.id]))
