"""Features and their finalised levels (KIP-584, KIP-1022).

A feature level is a promise that every node of the cluster keeps: once finalised, all of
them act by it.  Kafka 4.3 finalises metadata.version 30 (4.3-IV0), group.version,
share.version and streams.version 1, transaction.version 2 and
eligible.leader.replicas.version 1 in a new cluster.  This engine finalises what it
implements and nothing else, because clients act on it: with a finalised transaction.version 2,
for instance, producers no longer send AddPartitionsToTxn (KIP-890).

*Supported* is the range of levels that this software can act by.  For metadata.version it is
Kafka's own, 7 (3.3-IV3) to 30, but a new cluster begins at 30, and from there no
step down is safe: the levels are there to be refused, on Kafka and here.

kraft.version is no FeatureLevelRecord but a control record of the quorum: 0 if its voters are
fixed, 1 if they may change (KIP-853).
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.metadata.image import BROKER, KRAFT_FEATURE
from engine.wire import messages as m

ELR_FEATURE = "eligible.leader.replicas.version"
GROUP_FEATURE = "group.version"
METADATA_FEATURE = "metadata.version"
TRANSACTION_FEATURE = "transaction.version"
MINIMUM_METADATA_VERSION, METADATA_VERSION = 7, 30
"""3.3-IV3, the first that a cluster without ZooKeeper could start with, and 4.3-IV0, the level
of Kafka 4.3's releases."""

SUPPORTED: dict[str, tuple[int, int]] = {
    # name: lowest and highest level
    ELR_FEATURE: (0, 1),
    GROUP_FEATURE: (0, 1),
    KRAFT_FEATURE: (0, 1),
    METADATA_FEATURE: (MINIMUM_METADATA_VERSION, METADATA_VERSION),
    TRANSACTION_FEATURE: (0, 2),
}

FINALISED: dict[str, int] = {
    METADATA_FEATURE: METADATA_VERSION,
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
        records.append(min_in_sync_record("", str(min_in_sync)))
    return records


def min_in_sync_record(broker: str, value: str | None) -> m.ConfigRecord:
    """min.insync.replicas of one broker or (empty name) of all; None removes it."""
    return m.ConfigRecord(
        resource_type=BROKER, resource_name=broker, name="min.insync.replicas", value=value
    )
