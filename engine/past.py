"""Rules that Kafka has given up, to be run again beside what replaced them.

A cluster made with `before=("KIP-966",)` behaves, in that one point, as Kafka did before
that KIP.  The mark belongs to the cluster, not to a request, so a simulated world keeps
it when it goes back and forth.  Truncation has a scale of its own:
engine/replication/truncation.py.

    KIP-207   2.2   "latest" right after an election was the new leader's high watermark,
                    even when that was below what had been answered before
    KIP-360   2.5   a leader that did not remember a producer refused any batch of it that
                    was not its first: UNKNOWN_PRODUCER_ID; today it takes the batch
    KIP-890   4.0   the epoch of a transactional producer stayed the same from one transaction to
                    the next: that is Kafka's own transaction.version=0
    KIP-966   4.1   the last in-sync replica stayed in the ISR when it died, so it alone
                    could lead again, even with records lost from its disk: that is Kafka's own
                    eligible.leader.replicas.version=0
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.metadata.features import ELR_FEATURE, TRANSACTION_FEATURE
from engine.records import batch
from engine.storage.log import Log
from engine.wire.errors import Errors, KafkaError

KIP_207, KIP_360, KIP_890, KIP_966 = "KIP-207", "KIP-360", "KIP-890", "KIP-966"
KNOWN = (KIP_207, KIP_360, KIP_890, KIP_966)


def check(before: Sequence[str]) -> tuple[str, ...]:
    """The names, if all are known; ValueError lists the known ones."""
    for name in before:
        if name not in KNOWN:
            raise ValueError(f"No rule before {name!r} is kept; there are {', '.join(KNOWN)}.")
    return tuple(before)


def feature_levels(before: Sequence[str]) -> dict[str, int]:
    """The feature levels that a cluster of that time starts with, where they differ."""
    level_zero = {KIP_890: TRANSACTION_FEATURE, KIP_966: ELR_FEATURE}
    return {feature: 0 for kip, feature in level_zero.items() if kip in before}


def refuse_unknown_producer(log: Log, records: bytes) -> None:
    """KafkaError(UNKNOWN_PRODUCER_ID) for a later batch of a producer that is not remembered."""
    header = next(iter(batch.iterate(records)), (None, 0))[0]
    if header is None or header.producer_id < 0 or header.base_sequence == 0:
        return
    known = log.producers.get(header.producer_id)
    if known is None or known.epoch != header.producer_epoch:
        raise KafkaError(
            Errors.UNKNOWN_PRODUCER_ID,
            f"producer {header.producer_id} goes on at sequence {header.base_sequence}, "
            "but this log does not remember it",
        )
