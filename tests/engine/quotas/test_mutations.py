"""controller_mutation_rate: bursts pass, then topics are refused or their makers muted."""

from __future__ import annotations

from typing import Any

import pytest

from engine.events import Reply
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.quotas.quota_cluster import QuotaCluster

Topics = m.CreateTopicsRequest


@pytest.fixture
def cluster() -> QuotaCluster:
    cluster = QuotaCluster()
    cluster.limit({"client-id": "maker"}, controller_mutation_rate=1)
    return cluster


def make(cluster: QuotaCluster, name: str, partitions: int, version: int = 7) -> Reply:
    topic = Topics.CreatableTopic(name, partitions, 1)
    return cluster.send("maker", Topics([topic], timeout_ms=1_000), version)


def error(reply: Reply) -> Any:
    return Errors(reply.body.topics[0].error_code)


def test_a_burst_of_eleven_seconds_passes_and_a_debt_is_refused(cluster: QuotaCluster) -> None:
    assert error(make(cluster, "a", 16)) is Errors.NONE
    refused = make(cluster, "b", 1)
    assert error(refused) is Errors.THROTTLING_QUOTA_EXCEEDED
    assert 4_000 < refused.body.throttle_time_ms <= 5_000
    assert refused.mute_ms == refused.body.throttle_time_ms
    cluster.pass_ms(refused.mute_ms)
    assert error(make(cluster, "b", 1)) is Errors.NONE


def test_a_client_that_knows_no_such_error_is_muted_instead(cluster: QuotaCluster) -> None:
    assert make(cluster, "a", 11, version=4).mute_ms == 0
    reply = make(cluster, "b", 3, version=4)
    assert error(reply) is Errors.NONE
    assert 2_000 < reply.mute_ms <= 3_000


def test_deleting_and_adding_partitions_count_too(cluster: QuotaCluster) -> None:
    make(cluster, "a", 8)
    adding = m.CreatePartitionsRequest.CreatePartitionsTopic("a", 14, None)
    body = m.CreatePartitionsRequest([adding], timeout_ms=1_000)
    assert cluster.send("maker", body, 3).body.results[0].error_code == 0
    deleting = m.DeleteTopicsRequest(topic_names=["a"], timeout_ms=1_000)
    refused = cluster.send("maker", deleting, 5).body
    assert refused.responses[0].error_code == Errors.THROTTLING_QUOTA_EXCEEDED
    assert refused.throttle_time_ms > 0


def test_what_is_refused_for_another_reason_costs_nothing(cluster: QuotaCluster) -> None:
    for _ in range(3):
        assert error(make(cluster, "bad name", 100)) is Errors.INVALID_TOPIC_EXCEPTION
    assert error(make(cluster, "a", 11)) is Errors.NONE


def test_others_are_not_limited(cluster: QuotaCluster) -> None:
    for number in range(3):
        topic = Topics.CreatableTopic(f"t{number}", 11, 1)
        reply = cluster.send("another", Topics([topic], timeout_ms=1_000), 7)
        assert error(reply) is Errors.NONE
