"""DeleteGroups (key 42): remove groups that have no members, and their offsets (KIP-229).

NON_EMPTY_GROUP while there are members, GROUP_ID_NOT_FOUND for a group that is not
there.  The answer waits until the tombstones of all groups are replicated.  The versions
differ in their layout only.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.broker.broker import Broker
from engine.coordinators.removal import delete_group
from engine.events import Outbox, Request
from engine.wire import messages as m
from engine.wire.errors import Errors

GroupRow = m.DeleteGroupsResponse.DeletableGroupResult


def handle(broker: Broker, now: int, request: Request[m.DeleteGroupsRequest]) -> None:
    names = list(dict.fromkeys(request.body.groups_names))
    answer = m.DeleteGroupsResponse(results=[GroupRow(group_id=each) for each in names])
    waiting = Answer(broker.outbox, request, answer, len(names))
    if not names:
        broker.outbox.reply(request, answer)
    for row in answer.results:
        _delete(broker, now, row, Row(waiting, row))


def _delete(broker: Broker, now: int, row: GroupRow, then: Row) -> None:
    shard, error = broker.groups.shard_of(row.group_id)
    group = None if shard is None else shard.group(row.group_id)
    if shard is not None and group is None:
        error = Errors.GROUP_ID_NOT_FOUND
    elif group is not None and str(group.state) != "Empty":
        error = Errors.NON_EMPTY_GROUP
    if shard is None or group is None or error is not Errors.NONE:
        then.stored(now, error)
    else:
        delete_group(shard, now, group, then)


@dataclass(slots=True)
class Answer:
    """Goes out when every row is settled."""

    outbox: Outbox
    request: Request[m.DeleteGroupsRequest]
    body: m.DeleteGroupsResponse
    missing: int


@dataclass(slots=True)
class Row:
    """One group of a request."""

    answer: Answer
    row: GroupRow

    def stored(self, now: int, error: Errors) -> None:
        self.row.error_code = error
        self.answer.missing -= 1
        if not self.answer.missing:
            self.answer.outbox.reply(self.answer.request, self.answer.body)
