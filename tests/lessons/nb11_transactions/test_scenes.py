"""Scenes of notebook 11 on the engine: requests by hand, and applications that crash."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clusters import engine
from kit.clusters.interface import Cluster
from lessons.nb11_transactions import bank, chains, costs, hanging, in_the_log, scenes
from lessons.nb11_transactions.by_hand import ByHand

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def own_engine() -> Iterator[Cluster]:
    with engine.start() as cluster:
        yield cluster


@pytest.fixture
def cluster(own_engine: Cluster) -> Iterator[Cluster]:
    yield own_engine
    for topic in list(own_engine.snapshot()["topics"]):
        own_engine.delete_topic(topic)


def test_each_end_under_protocol_2_brings_an_epoch_and_the_old_one_is_refused(
    cluster: Cluster,
) -> None:
    bank.open_bank(cluster)
    with ByHand(cluster, "till") as till:
        assert till.start() == "NONE"
        first = till.epoch
        assert till.write(bank.ACCOUNTS, "A") == "NONE"
        assert till.state() == "Ongoing"
        assert till.end(True) == "NONE"
        assert till.epoch == first + 1
        till.epoch, till.sequences[bank.ACCOUNTS, 0] = first, 1
        assert till.produce(bank.ACCOUNTS, "late") == "INVALID_PRODUCER_EPOCH"
    states = in_the_log.wait_for_state(cluster, "till", "CompleteCommit")
    assert [each.split()[0] for each in states] == [
        "Empty", "Ongoing", "PrepareCommit", "CompleteCommit"
    ]  # fmt: skip
    assert [each.split(",")[0] for each in in_the_log.batches(cluster, bank.ACCOUNTS)] == [
        "transactional", "COMMIT marker"
    ]  # fmt: skip


def test_a_late_record_hangs_only_where_no_leader_asks_the_coordinator(cluster: Cluster) -> None:
    seen = hanging.late_records(cluster)
    assert seen["protocol 2, a late record"] == "INVALID_PRODUCER_EPOCH"
    assert seen["protocol 1, a late record"] == "TRANSACTION_ABORTABLE"
    stable, high_watermark = seen["last stable offset, high watermark"]
    assert stable < high_watermark
    assert seen["old-teller starts again, last stable offset"] == stable
    assert "behind" not in seen["read_committed"]
    assert "behind" in seen["read_committed then"]


def test_a_step_that_crashes_is_done_once_in_a_transaction_only(cluster: Cluster) -> None:
    assert list(chains.torn(cluster).values()) == [2, 0, 1, 1]


def test_a_marker_takes_an_offset_that_no_reader_gets(cluster: Cluster) -> None:
    seen = scenes.state_log(cluster)
    assert seen["accounts-0: offsets of records, and the end"] == [0, 2]


def test_behind_an_open_transaction_only_read_committed_waits(cluster: Cluster) -> None:
    seen = costs.waiting(cluster)
    behind = [seen[f"read behind an open transaction, {level}"] for level in bank.LEVELS]
    assert behind == [True, False]
