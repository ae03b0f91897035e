"""Features and their finalised levels (KIP-584, KIP-1022).

A feature level is a promise that every node of the cluster keeps: once finalised, all of
them act by it.  Kafka 4.3 finalises metadata.version 30 (4.3-IV0), group.version,
share.version and streams.version 1, transaction.version 2 and
eligible.leader.replicas.version 1 in a new cluster.  This engine finalises what it
implements and nothing else, because clients act on it: with a finalised transaction.version 2,
for instance, producers no longer send AddPartitionsToTxn (KIP-890).

kraft.version is no FeatureLevelRecord but a control record of the quorum; with one fixed
voter it is 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.metadata.image import BROKER
from engine.wire import messages as m

ELR_FEATURE = "eligible.leader.replicas.version"
GROUP_FEATURE = "group.version"
TRANSACTION_FEATURE = "transaction.version"
METADATA_VERSION = 30
"""4.3-IV0, the level of Kafka 4.3's releases."""

FINALISED: dict[str, int] = {
    "metadata.version": METADATA_VERSION,
    ELR_FEATURE: 1,
    GROUP_FEATURE: 1,
    TRANSACTION_FEATURE: 2,
}


def bootstrap_records(levels: Mapping[str, int], min_in_sync: int) -> list[m.Message]:
    """The first records of a new cluster's metadata log.

    With ELR on, the cluster's min.insync.replicas is written down, so that no broker's
    own file decides it.  Simplified: one atomic batch, where Kafka writes a transaction.
    """
    records: list[m.Message] = [
        m.FeatureLevelRecord(name=name, feature_level=level)
        for name, level in levels.items()
        if level > 0
    ]
    if levels.get(ELR_FEATURE, 0) > 0:
        records.append(
            m.ConfigRecord(
                resource_type=BROKER,
                resource_name="",
                name="min.insync.replicas",
                value=str(min_in_sync),
            )
        )
    return records
