"""A transaction that hangs: open in a partition, while no coordinator knows of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.interface import Cluster
from kit.probes import clients
from lessons.nb11_transactions import bank
from lessons.nb11_transactions.by_hand import ByHand

VERIFICATION = "transaction.partition.verification.enable"


def late_records(cluster: Cluster) -> Mapping[str, Any]:
    """A record that comes when its transaction has ended: refused, or the start of another one."""
    bank.open_bank(cluster)
    bank.write(cluster, bank.ACCOUNTS, ["before"])
    seen: dict[str, Any] = {}
    with ByHand(cluster, "new-teller") as new, ByHand(cluster, "old-teller", protocol=1) as old:
        for teller in (new, old):
            teller.start()
            teller.write(bank.ACCOUNTS, "Alice -10")
        late = new.epoch
        new.end(True)
        old.end(True)
        bank.wait_for_marker(cluster, 2)
        new.epoch, new.sequences[bank.ACCOUNTS, 0] = late, 1
        seen["protocol 2, a late record"] = new.produce(bank.ACCOUNTS, "late")
        seen["protocol 1, a late record"] = old.produce(bank.ACCOUNTS, "late")
        with _unverified(cluster):
            seen["protocol 1, the leader does not ask"] = _taken(cluster, old)
        bank.write(cluster, bank.ACCOUNTS, ["behind"])
        seen["the coordinator's state of old-teller"] = old.state()
        seen["last stable offset, high watermark"] = list(bank.ends(cluster))
        seen["read_committed"] = bank.values(cluster)
        old.start()
        seen["old-teller starts again, last stable offset"] = bank.ends(cluster)[0]
        seen["an ABORT marker by hand"] = _abort(cluster, old)
    bank.wait_for_marker(cluster, 3)
    return {**seen, "read_committed then": bank.values(cluster)}


def left_behind(cluster: Cluster, age_ms: int) -> int:
    """Leaves a hanging transaction behind, whose record is that old; its first offset."""
    bank.open_bank(cluster)
    bank.write(cluster, bank.ACCOUNTS, ["before"])
    with ByHand(cluster, "old-teller", protocol=1) as old, _unverified(cluster):
        old.start()
        _taken(cluster, old, age_ms)
    bank.write(cluster, bank.ACCOUNTS, ["behind"])
    return bank.ends(cluster)[0]


@contextlib.contextmanager
def _unverified(cluster: Cluster) -> Iterator[None]:
    """Leaders take a transaction's first record without a question to the coordinator."""
    clients.set_broker_config(cluster, "", VERIFICATION, "false")
    try:
        yield
    finally:
        clients.set_broker_config(cluster, "", VERIFICATION, "true")


def _taken(cluster: Cluster, producer: ByHand, age_ms: int = 0) -> str:
    """A late record's answer, once the leader has heard that it need not ask."""

    def is_taken(_: Cluster) -> bool:
        return producer.produce(bank.ACCOUNTS, "late", age_ms=age_ms) == "NONE"

    cluster.wait_until(is_taken, bank.PATIENCE_S, "the leader to take a late record")
    return "NONE"


def _abort(cluster: Cluster, producer: ByHand) -> str:
    """Asks the leader for an ABORT marker, as `kafka-transactions abort` does."""
    request = m.WriteTxnMarkersRequest
    marker = request.WritableTxnMarker(
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        transaction_result=False,
        topics=[request.WritableTxnMarkerTopic(bank.ACCOUNTS, [0])],
        coordinator_epoch=0,
    )
    answer = clients.ask(cluster, cluster.leader(bank.ACCOUNTS), request([marker]))
    (part,) = answer.markers[0].topics[0].partitions
    return Errors(part.error_code).name
