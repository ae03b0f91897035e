"""What notebook 11 builds on: tellers that crash, and what their transactions leave in the logs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.clusters import engine
from kit.clusters.interface import Cluster
from lessons.nb11_transactions import bank, film
from lessons.nb11_transactions.bank import PATIENCE_S, Teller, ended

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def own_engine() -> Iterator[Cluster]:
    with engine.start() as cluster:
        yield cluster


@pytest.fixture(params=["engine", pytest.param("kafka", marks=pytest.mark.real)])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    name = "own_engine" if request.param == "engine" else "local_cluster"
    found: Cluster = request.getfixturevalue(name)
    bank.open_bank(found)
    yield found
    for topic in (bank.TRANSFERS, bank.ACCOUNTS):
        found.delete_topic(topic)


def test_a_lost_debit_is_aborted_and_its_teller_fenced(cluster: Cluster) -> None:
    first = Teller(cluster, "teller")
    assert first.take() == "10"
    first.producer.begin_transaction()
    first.book("Alice -10", 0)
    assert bank.ends(cluster) == (0, 1)
    assert bank.values(cluster) == []
    assert bank.values(cluster, 0, "read_uncommitted") == ["Alice -10"]

    second = Teller(cluster, "teller")
    assert second.take() == "10"
    second.producer.begin_transaction()
    second.book("Alice -10", 0)
    second.book("Bob +10", 1)
    second.offsets()
    second.producer.commit_transaction(PATIENCE_S)
    bank.wait_for_marker(cluster, 2)
    bank.wait_for_marker(cluster, 1, partition=1)
    assert bank.log_of(cluster, 0) == ["Alice -10", "ABORT", "Alice -10", "COMMIT"]
    assert bank.log_of(cluster, 1) == ["Bob +10", "COMMIT"]
    assert bank.read(cluster) == [(2, "Alice -10")]
    assert bank.ends(cluster) == (4, 4)
    assert [bank.total(cluster, level) for level in bank.LEVELS] == [-10, 0]
    assert second.committed() == 1

    first.book("Bob +10", 1)
    assert ended(first.producer.commit_transaction, PATIENCE_S) == "_FENCED"
    assert bank.values(cluster, 1) == ["Bob +10"]


def test_without_a_transaction_the_debit_is_booked_twice(cluster: Cluster) -> None:
    for crashes in (True, False):
        teller = Teller(cluster, group="plain")
        assert teller.take() == "10"
        teller.book("Alice -10", 0)
        if not crashes:
            teller.book("Bob +10", 1)
            teller.commit_offsets()
            assert teller.committed() == 1
    assert bank.values(cluster, 0) == ["Alice -10", "Alice -10"]
    assert bank.values(cluster, 1) == ["Bob +10"]


def test_the_film_has_its_markers_in_the_partitions_0_1_and_7() -> None:
    from kit import lab
    from kit.transaction_panel import producers

    world = film.bank()
    for name, crash in (("app", "debit"), ("app-2", "")):
        producers.start(world, name, "transfer")
        assert producers.wait(world, name)
        assert film.transfer(world, name, 10, crash) is not bool(crash)
    panel = lab.transactions(world, "accounts")
    panel.go(len(panel) - 1)

    def kinds(partition: str) -> list[str]:
        return [each.kind for each in panel.scene().row(partition).cells]

    assert kinds("accounts-0") == ["data", "abort", "data", "commit"]
    assert kinds("accounts-1") == kinds("__consumer_offsets-7") == ["data", "commit"]
