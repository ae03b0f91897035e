"""A consumer of librdkafka that misses one answer keeps what it was told to give back.

The finding is in docs/findings.md.  The brokers stand still for longer than one heartbeat interval
while a second member joins: the first never hears of its new assignment.

The stall must begin after the second member's join and before the first's next heartbeat.  A busy
machine can miss that moment, so the short interval has three tries.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes import clients
from tests.real_clusters import restored

pytestmark = [pytest.mark.real, pytest.mark.timeout(120)]

PARTITIONS = 4
STALL_S = 2.6
WATCHED_S = 10.0


@pytest.fixture(params=["engine_cluster", pytest.param("local_cluster", marks=pytest.mark.full)])
def cluster(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    found: KafkaCluster = request.getfixturevalue(request.param)
    with restored(found):
        yield found


@pytest.mark.parametrize(
    ("interval_ms", "shares", "tries"),
    [(1_000, (4, 0), 3), (3_000, (2, 2), 1)],
    ids=["short", "long"],
)
def test_a_stall_longer_than_the_interval_loses_a_revocation(
    cluster: KafkaCluster, interval_ms: int, shares: tuple[int, int], tries: int
) -> None:
    seen: list[tuple[int, ...]] = []
    while shares not in seen and len(seen) < tries:
        group = f"stalled-{interval_ms}-{len(seen)}"
        seen.append(_shares_after_a_stall(cluster, group, interval_ms))
    assert seen[-1] == shares, seen


def _shares_after_a_stall(cluster: KafkaCluster, group: str, interval_ms: int) -> tuple[int, ...]:
    """How many partitions each of two members has, some seconds after the stall."""
    cluster.create_topic(group, partitions=PARTITIONS)
    _set_interval(cluster, group, interval_ms)
    with closing(_member(cluster, group)) as first:
        _poll_until([first], lambda: len(first.assignment()) == PARTITIONS, 30)
        with closing(_member(cluster, group)) as second:
            members = [first, second]
            _poll_until(members, lambda: False, 0.3)
            _stand_still(cluster)
            _poll_until(members, lambda: len(second.assignment()) == PARTITIONS // 2, WATCHED_S)
            return tuple(len(each.assignment()) for each in members)


def _set_interval(cluster: KafkaCluster, group: str, interval_ms: int) -> None:
    times = {"consumer.heartbeat.interval.ms": interval_ms, "consumer.session.timeout.ms": 45_000}
    configs = [
        ConfigEntry(name, str(ms), incremental_operation=AlterConfigOpType.SET)
        for name, ms in times.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group, incremental_configs=configs)
    admin = clients.admin(cluster)
    admin.incremental_alter_configs([resource])[resource].result(20)


def _member(cluster: KafkaCluster, group: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "group.protocol": "consumer",
            "log_level": 0,
        }
    )
    consumer.subscribe([group])
    return consumer


def _poll_until(members: list[Consumer], is_reached: Any, seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not is_reached():
        for each in members:
            each.poll(0.05)


def _stand_still(cluster: KafkaCluster) -> None:
    brokers = [101, 102, 103]
    for each in brokers:
        cluster.pause(each)
    time.sleep(STALL_S)
    for each in brokers:
        cluster.resume(each)
