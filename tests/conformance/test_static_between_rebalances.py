"""A static member that dies between the two rebalances of a cooperative group leaves an orphan.

The first rebalance takes two partitions from it; it would begin the second one, which gives them
away.  It dies before, and its replacement gets the rest of its assignment without a rebalance: from
then on nobody has the two, until the group rebalances for another reason.  So it is on Kafka, and
the campaign's groups are judged by it (GroupInvariants.orphans).
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer

from kit.clusters.interface import Cluster

PATIENCE_S = 60.0
STAYS_S = 3.0
"""Several heartbeats: a rebalance that is due would have begun."""
SETTINGS: dict[str, Any] = {
    "group.id": "between",
    "partition.assignment.strategy": "cooperative-sticky",
    "session.timeout.ms": 30_000,
    "heartbeat.interval.ms": 500,
    "auto.offset.reset": "earliest",
    "log_level": 0,
}
STATIC = """
import os, signal, sys
from confluent_kafka import Consumer

settings, topic, dies = eval(sys.argv[1]), sys.argv[2], sys.argv[3] == "dies"
consumer = Consumer(settings | {"group.instance.id": "worker-1"})

def revoked(consumer, partitions):
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)

def assigned(consumer, partitions):
    print("assigned", len(partitions), flush=True)

consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked)
while True:
    consumer.poll(0.1)
"""


@pytest.mark.real
@pytest.mark.parametrize("side", ["engine_cluster", "local_cluster"], ids=["engine", "kafka"])
def test_its_partitions_wait_for_the_next_rebalance(
    side: str, request: pytest.FixtureRequest
) -> None:
    cluster: Cluster = request.getfixturevalue(side)
    cluster.create_topic("between", partitions=4)
    settings = SETTINGS | {"bootstrap.servers": cluster.bootstrap}
    started: list[subprocess.Popen[str]] = []

    def static(dies: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", STATIC, repr(settings), "between", dies]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return started[-1]

    others = [Consumer(settings), Consumer(settings)]
    try:
        doomed = static("dies")
        assert heard(doomed) == "assigned 4"
        others[0].subscribe(["between"])
        poll_until(others, lambda: doomed.poll() is not None)
        assert heard(static("lives")) == "assigned 2"
        deadline = time.monotonic() + STAYS_S
        poll_until(others, lambda: time.monotonic() > deadline)
        assert others[0].assignment() == []
        others[1].subscribe(["between"])
        poll_until(others, lambda: sum(len(each.assignment()) for each in others) == 2)
    finally:
        for each in started:
            each.kill()
            each.wait()
        for each in others:
            each.close()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
    assert ready, "it says nothing"
    return process.stdout.readline().strip()


def poll_until(consumers: list[Consumer], holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        for each in consumers:
            each.poll(0.05)
