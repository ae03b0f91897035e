"""The Transaction panel over running brokers: the engine and a local Kafka look the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kit import lab
from kit.clusters.data_dirs import data_dir
from kit.clusters.kafka_cluster import KafkaCluster
from kit.transaction_panel.live_panel import TransactionPanel
from tests.real_clusters import restored

pytestmark = pytest.mark.real

TOPIC, ID = "panel-accounts", "panel-transfer"
PATIENCE_S = 60
STATES = ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit", "Ongoing", "PrepareAbort",
          "CompleteAbort", "Empty"]  # fmt: skip


@pytest.fixture(scope="module", params=["engine_cluster", "local_cluster"])
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    found: KafkaCluster = request.getfixturevalue(request.param)
    with restored(found):
        yield found


def wait(panel: TransactionPanel, until: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < deadline, panel.text
        time.sleep(0.1)
        panel.refresh()


def one(panel: TransactionPanel) -> Any:
    return next((each for each in panel.picture.ids if each.id == ID), None)


def fates(panel: TransactionPanel, partition: int) -> list[tuple[str, str]]:
    """A partition's cells: what each is, and how it ended."""
    name = f"{TOPIC}-{partition}"
    rows = [each for each in panel.picture.rows if each.name == name]
    return [(each.kind, each.fate) for row in rows for each in row.cells]


def readers(panel: TransactionPanel) -> list[tuple[int, int, int]]:
    return [(each.given, each.held, each.skipped) for each in panel.picture.readers]


def states(panel: TransactionPanel) -> list[str]:
    """The id's records, each state once in a row."""
    found = [each["state"] for each in panel.picture.records if each["id"] == ID]
    return [state for at, state in enumerate(found) if at == 0 or found[at - 1] != state]


def test_a_commit_and_a_fenced_zombie_look_the_same_on_both_sides(cluster: KafkaCluster) -> None:
    cluster.create_topic(TOPIC, partitions=2)
    panel = lab.transactions(cluster, TOPIC)
    try:
        first = panel.start(ID)
        panel.press("begin", first)
        panel.send(first, "Alice -10", partition=0)
        panel.send(first, "Bob +10", partition=1)
        panel.press("offsets", first)
        wait(panel, lambda: readers(panel) == [(2, 0, 0), (0, 2, 0)])
        assert one(panel).state == "Ongoing"
        assert one(panel).coordinator in cluster.brokers
        assert fates(panel, 0) == [("data", "open")]
        panel.press("commit", first)
        wait(panel, lambda: one(panel).state == "CompleteCommit")
        wait(panel, lambda: readers(panel) == [(2, 0, 0), (2, 0, 0)])
        assert fates(panel, 1) == [("data", "committed"), ("commit", "")]
        panel.press("begin", first)
        panel.send(first, "half", partition=0)
        wait(panel, lambda: readers(panel) == [(3, 0, 0), (2, 1, 0)])
        panel.start(ID)
        wait(panel, lambda: readers(panel) == [(3, 0, 0), (2, 0, 1)])
        wait(panel, lambda: states(panel)[-len(STATES) :] == STATES)
        assert fates(panel, 0)[2:] == [("data", "aborted"), ("abort", "")]
        panel.press("commit", first)
        assert "fenced" in panel.notice
        named = " ".join(mark[2] for mark in panel.timeline["marks"])
        assert "Commit" in named
        assert "Abort" in named
        _check_a_directory(cluster, panel)
    finally:
        panel.close()


def _check_a_directory(cluster: KafkaCluster, panel: TransactionPanel) -> None:
    """The leader's files alone say the same; its checkpoint may be some seconds old."""
    row = next(each for each in panel.picture.rows if each.name == f"{TOPIC}-0")
    still = lab.transactions(str(data_dir(cluster, row.leader)), TOPIC)
    assert fates(still, 0) == fates(panel, 0)
    wait(still, lambda: states(still) == states(panel))  # a follower's files may come later
    assert (one(still).state, one(still).epoch) == ("Empty", one(panel).epoch)
