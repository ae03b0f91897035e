"""The history of simulated clients, and the campaign's judgement on it.

The clients keep their own books (engine/sim/clients.py, engine/sim/consumer.py); this
module reads them once a run is over.  A send that still waits for its answer is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.sim.history.check import check
from engine.sim.history.findings import Finding
from engine.sim.history.operations import UNKNOWN, VERDICTS, History, Operation, Reached, Send

if TYPE_CHECKING:
    from engine.sim.clients import Producer
    from engine.sim.consumer import Consumer


def history_of(
    producers: Iterable[Producer], consumers: Iterable[Consumer], at_end: bool = False
) -> History:
    """What these clients did.

    With `at_end`, the run is over and calm, and every consumer stands at the end of its
    partitions: what none of them has seen is not there.
    """
    operations: list[Operation] = []
    last_us = 0
    for producer in producers:
        for index, batches in producer.history.items():
            for sent in batches:
                verdict = sent.verdict if sent.verdict in VERDICTS else UNKNOWN
                operations.append(
                    Send(sent.first_sent_us, producer.name, producer.topic, index, sent.value,
                         verdict, sent.offset, sent.ended_us)
                )  # fmt: skip
                last_us = max(last_us, sent.first_sent_us, sent.ended_us)
    for consumer in consumers:
        operations += consumer.operations
        last_us = max(last_us, *(each.at_us for each in consumer.operations), 0)
        if at_end:
            operations += [
                Reached(last_us + 1, consumer.name, consumer.topic, index, position.offset)
                for index, position in consumer.positions.items()
            ]
    return History(tuple(operations))


def judge(producer: Producer, consumer: Consumer, unclean: tuple[str, ...] = ()) -> list[str]:
    """A sentence for each thing that went wrong in a run that is over.

    `unclean` names partitions, as orders-0, that had an unclean election: they may have lost
    records, so there only phantoms count.  Only an idempotent producer promises that nothing
    is there twice or out of order.
    """
    findings = check(history_of([producer], [consumer], at_end=True))
    return [str(each) for each in findings if _counts(each, producer.idempotent, unclean)]


def _counts(finding: Finding, idempotent: bool, unclean: tuple[str, ...]) -> bool:
    if finding.kind == "phantom":
        return True
    if f"{finding.topic}-{finding.partition}" in unclean:
        return False
    return idempotent or finding.kind not in ("duplicate", "reordered")
