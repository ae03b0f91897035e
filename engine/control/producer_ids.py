"""Producer ids, in blocks of a thousand (KIP-730).

An id must never be given out twice, also not after a crash.  So a block is taken out of the
metadata log first and used afterwards; a broker that dies wastes the unused ids of its block.
"""

from __future__ import annotations

from engine.control.state import ControlState, Decision
from engine.wire import messages as m

BLOCK_SIZE = 1_000


def allocate(state: ControlState, body: m.AllocateProducerIdsRequest) -> Decision:
    """AllocateProducerIds: the next block, for this incarnation of a broker."""
    state.check_broker_epoch(body.broker_id, body.broker_epoch)
    start = state.image.next_producer_id
    record = m.ProducerIdsRecord(
        broker_id=body.broker_id,
        broker_epoch=body.broker_epoch,
        next_producer_id=start + BLOCK_SIZE,
    )
    answer = m.AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=BLOCK_SIZE)
    return Decision(answer, [record])
