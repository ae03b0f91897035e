"""FindCoordinator (key 10): which broker looks after this group, or this transactional id?

The leader of the group's partition of `__consumer_offsets`, or of the id's partition of
`__transaction_state`; any broker knows it.  If the topic does not exist yet, the controller is
asked to create it, and the client gets COORDINATOR_NOT_AVAILABLE until it is there.

    v0      groups only
    v1      a type: 0 group, 1 transaction
    v4      several keys at once (KIP-699)
    v6      type 2: share groups

Left out: share coordinators (INVALID_REQUEST, as from a broker without one).
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.events import Request
from engine.wire import messages as m
from engine.wire.errors import Errors

GROUP, TRANSACTION, SHARE = 0, 1, 2

Answer = m.FindCoordinatorResponse | m.FindCoordinatorResponse.Coordinator
"""Before version 4 the whole answer is about one key, from then on there are rows."""


def handle(broker: Broker, now: int, request: Request[m.FindCoordinatorRequest]) -> None:
    body, answer = request.body, m.FindCoordinatorResponse()
    if request.version >= 4:
        for key in body.coordinator_keys:
            row = m.FindCoordinatorResponse.Coordinator(key=key)
            _find(broker, body.key_type, key, row)
            if body.key_type not in (GROUP, TRANSACTION, SHARE):
                row.error_message = _MESSAGES[Errors.INVALID_REQUEST]
            answer.coordinators.append(row)
    else:
        _find(broker, body.key_type, body.key, answer)
        answer.error_message = _MESSAGES.get(answer.error_code) if request.version else None
    broker.outbox.reply(request, answer)


_MESSAGES: dict[int, str] = {
    Errors.NONE: "NONE",
    Errors.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    Errors.INVALID_REQUEST: "This broker coordinates groups and transactions only.",
}


def _find(broker: Broker, key_type: int, key: str, answer: Answer) -> None:
    """Fills in the coordinator, or an error and no node."""
    answer.node_id, answer.host, answer.port = -1, "", -1
    if key_type not in (GROUP, TRANSACTION):
        answer.error_code = Errors.INVALID_REQUEST
        return
    leader = (broker.groups if key_type == GROUP else broker.transactions).find(key)
    if leader is None:
        answer.error_code = Errors.COORDINATOR_NOT_AVAILABLE
        return
    found = broker.metadata.brokers[leader]
    answer.node_id, answer.host, answer.port = leader, found.host, found.port
