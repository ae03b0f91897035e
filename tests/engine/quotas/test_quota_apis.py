"""AlterClientQuotas and DescribeClientQuotas: what is taken, refused and found."""

from __future__ import annotations

from typing import Any

import pytest

from engine.metadata.records import decode_record, encode_record
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.quotas.quota_cluster import QuotaCluster, alteration

Request = m.DescribeClientQuotasRequest
EXACT, DEFAULT, SPECIFIED = range(3)


@pytest.fixture(scope="module")
def cluster() -> QuotaCluster:
    cluster = QuotaCluster()
    cluster.limit({"client-id": "report"}, producer_byte_rate=1_000, request_percentage=12.5)
    cluster.limit({"client-id": None}, consumer_byte_rate=2_000)
    cluster.limit({"user": "alice", "client-id": "report"}, producer_byte_rate=3_000)
    return cluster


def described(cluster: QuotaCluster, *components: Any, strict: bool = False) -> Any:
    asked = [Request.ComponentData(*each) for each in components]
    return cluster.ask(Request(components=asked, strict=strict))


def found(cluster: QuotaCluster, *components: Any, strict: bool = False) -> list[Any]:
    entries = described(cluster, *components, strict=strict).entries
    return [
        (
            {part.entity_type: part.entity_name for part in entry.entity},
            {each.key: each.value for each in entry.values},
        )
        for entry in entries
    ]


REPORT = ({"client-id": "report"}, {"producer_byte_rate": 1_000, "request_percentage": 12.5})
ANY = ({"client-id": None}, {"consumer_byte_rate": 2_000})
BOTH = ({"client-id": "report", "user": "alice"}, {"producer_byte_rate": 3_000})


def test_filters_find_what_they_should(cluster: QuotaCluster) -> None:
    assert found(cluster) == [REPORT, ANY, BOTH]
    assert found(cluster, ("client-id", EXACT, "report")) == [REPORT, BOTH]
    assert found(cluster, ("client-id", EXACT, "report"), strict=True) == [REPORT]
    assert found(cluster, ("client-id", DEFAULT, None)) == [ANY]
    assert found(cluster, ("client-id", SPECIFIED, None), strict=True) == [REPORT, ANY]
    assert found(cluster, ("user", SPECIFIED, None)) == [BOTH]
    assert found(cluster, ("ip", SPECIFIED, None)) == []


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([("", EXACT, "x")], Errors.INVALID_REQUEST),
        ([("user", EXACT, "x"), ("user", DEFAULT, None)], Errors.INVALID_REQUEST),
        ([("group", EXACT, "x")], Errors.UNSUPPORTED_VERSION),
        ([("user", EXACT, None)], Errors.INVALID_REQUEST),
        ([("user", DEFAULT, "x")], Errors.INVALID_REQUEST),
        ([("user", 7, None)], Errors.INVALID_REQUEST),
        ([("ip", SPECIFIED, None), ("user", SPECIFIED, None)], Errors.INVALID_REQUEST),
    ],
)
def test_filters_that_make_no_sense(
    cluster: QuotaCluster, components: list[Any], error: Errors
) -> None:
    answer = described(cluster, *components)
    assert answer.error_code == error
    assert answer.error_message
    assert answer.entries is None


@pytest.mark.parametrize(
    ("entity", "limits"),
    [
        ({}, {"producer_byte_rate": 1.0}),
        ({"client-id": ""}, {"producer_byte_rate": 1.0}),
        ({"group": "g"}, {"producer_byte_rate": 1.0}),
        ({"ip": "127.0.0.1"}, {"connection_creation_rate": 1.0}),
        ({"client-id": "x"}, {"producer_bytes_rate": 1.0}),
        ({"client-id": "x"}, {"producer_byte_rate": 0.0}),
        ({"client-id": "x"}, {"producer_byte_rate": 0.5}),
        ({"client-id": "x"}, {"producer_byte_rate": 1e30}),
    ],
)
def test_limits_that_make_no_sense(
    cluster: QuotaCluster, entity: dict[str, str], limits: dict[str, float]
) -> None:
    answer = cluster.ask(alteration(entity, **limits))
    assert answer.entries[0].error_code == Errors.INVALID_REQUEST
    assert answer.entries[0].error_message


def test_validate_only_changes_nothing(cluster: QuotaCluster) -> None:
    body = alteration({"client-id": "tried"}, producer_byte_rate=1)
    body.validate_only = True
    assert cluster.ask(body).entries[0].error_code == 0
    assert found(cluster) == [REPORT, ANY, BOTH]


def test_a_limit_is_a_record_of_the_metadata_log() -> None:
    part = m.ClientQuotaRecord.EntityData("client-id", None)
    record = m.ClientQuotaRecord(entity=[part], key="request_percentage", value=12.5)
    assert decode_record(encode_record(record)) == record


def test_limits_survive_a_restart_of_the_controller(cluster: QuotaCluster) -> None:
    quotas = dict(cluster.cluster.nodes[100].image.quotas)
    cluster.cluster.kill(100)
    cluster.cluster.start(100)
    assert cluster.cluster.nodes[100].image.quotas == quotas != {}
