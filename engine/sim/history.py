"""What a consumer saw, judged against what a producer sent.

A send has one of three verdicts: acknowledged, refused, unknown (a time-out, say).  An
acknowledged record must be there, a refused one must not, an unknown one may be.

    lost         acknowledged, yet not at its offset
    phantom      seen, though nobody sent it, or though it was refused
    duplicated   seen twice, though the producer is idempotent
    reordered    seen before a record that was sent earlier

After an unclean election a partition may have lost records: there only phantoms count.
"""

from __future__ import annotations

from engine.sim.clients import Producer, Sent
from engine.sim.consumer import Consumer


def judge(producer: Producer, consumer: Consumer, unclean: tuple[str, ...] = ()) -> list[str]:
    """A sentence for each thing that went wrong; `unclean` names partitions, as orders-0."""
    findings: list[str] = []
    for index, sent in producer.history.items():
        name = f"{producer.topic}-{index}"
        seen = consumer.positions[index].seen
        findings += [f"{finding} in {name}" for finding in _phantoms(sent, seen)]
        if name not in unclean:
            findings += [f"{finding} in {name}" for finding in _lost(sent, seen)]
            findings += [f"{f} in {name}" for f in _out_of_order(sent, seen, producer.idempotent)]
    return findings


Seen = list[tuple[int, int, str]]


def _phantoms(sent: list[Sent], seen: Seen) -> list[str]:
    verdicts = {each.value: each.verdict for each in sent}
    return [
        f"phantom: {value!r} at offset {offset} was {verdicts.get(value, 'never sent')}"
        for offset, _, value in seen
        if verdicts.get(value, "refused") == "refused"
    ]


def _lost(sent: list[Sent], seen: Seen) -> list[str]:
    at = {offset: value for offset, _, value in seen}
    return [
        f"lost: {each.value!r} was acknowledged at offset {each.offset}, "
        f"where {at.get(each.offset, 'nothing')!r} is"
        for each in sent
        if each.verdict == "acknowledged" and each.offset >= 0 and at.get(each.offset) != each.value
    ]


def _out_of_order(sent: list[Sent], seen: Seen, idempotent: bool) -> list[str]:
    findings = []
    sequences = {each.value: each.sequence for each in sent}
    last = -1
    for offset, _, value in seen:
        sequence = sequences.get(value, -1)
        if sequence > last:
            last = sequence
        elif idempotent:
            kind = "duplicated" if sequence == last else "reordered"
            findings.append(f"{kind}: {value!r} at offset {offset}")
    return findings
