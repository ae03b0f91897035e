"""Configs that change while the cluster runs, and what min.insync.replicas has to do with ELR."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


@pytest.fixture
def orders(bench: Any) -> Any:
    bench.create("orders", 101, 102, 103)
    return bench


def alter(
    bench: Any, key: tuple[int, str], *changes: tuple[str, int, str | None], **more: Any
) -> int:
    request = m.IncrementalAlterConfigsRequest
    configs = [
        request.AlterableConfig(name=name, config_operation=operation, value=value)
        for name, operation, value in changes
    ]
    resource = request.AlterConfigsResource(
        resource_type=key[0], resource_name=key[1], configs=configs
    )
    code: int = bench.ask(request(resources=[resource], **more)).responses[0].error_code
    return code


def test_set_and_delete(orders: Any) -> None:
    key = (TOPIC, "orders")
    assert alter(orders, key, ("retention.ms", SET, "5"), ("segment.ms", SET, "6")) == 0
    assert orders.image.configs[key] == {"retention.ms": "5", "segment.ms": "6"}
    assert alter(orders, key, ("retention.ms", DELETE, None)) == 0
    assert alter(orders, key, ("segment.ms", DELETE, None)) == 0
    assert key not in orders.image.configs


def test_append_and_subtract_work_on_lists(orders: Any) -> None:
    key = (TOPIC, "orders")
    assert alter(orders, key, ("cleanup.policy", APPEND, "compact")) == 0
    assert orders.image.configs[key] == {"cleanup.policy": "delete,compact"}
    assert alter(orders, key, ("cleanup.policy", SUBTRACT, "delete")) == 0
    assert orders.image.configs[key] == {"cleanup.policy": "compact"}
    assert alter(orders, key, ("retention.ms", APPEND, "1")) == Errors.INVALID_CONFIG


def test_repeated_value_writes_nothing(orders: Any) -> None:
    alter(orders, (TOPIC, "orders"), ("retention.ms", SET, "5"))
    end = orders.image.offset
    assert alter(orders, (TOPIC, "orders"), ("retention.ms", SET, "5")) == 0
    assert orders.image.offset == end


def test_validate_only_writes_nothing(orders: Any) -> None:
    end = orders.image.offset
    change = ("retention.ms", SET, "5")
    assert alter(orders, (TOPIC, "orders"), change, validate_only=True) == 0
    assert orders.image.offset == end


@pytest.mark.parametrize(
    ("key", "change", "error"),
    [
        ((TOPIC, "nix"), ("retention.ms", SET, "5"), Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ((TOPIC, "orders"), ("no.such", SET, "5"), Errors.INVALID_CONFIG),
        ((TOPIC, "orders"), ("retention.ms", SET, "soon"), Errors.INVALID_CONFIG),
        ((TOPIC, "orders"), ("retention.ms", SET, None), Errors.INVALID_REQUEST),
        ((TOPIC, "orders"), ("retention.ms", 9, "5"), Errors.UNKNOWN_SERVER_ERROR),
        ((TOPIC, "orders"), ("retention.ms", SET, "9" * 40_000), Errors.INVALID_CONFIG),
        ((BROKER, "109"), ("log.retention.ms", SET, "5"), Errors.BROKER_ID_NOT_REGISTERED),
        ((BROKER, "me"), ("log.retention.ms", SET, "5"), Errors.INVALID_REQUEST),
        ((BROKER, "101"), ("num.partitions", SET, "5"), Errors.INVALID_REQUEST),
        ((77, "orders"), ("retention.ms", SET, "5"), Errors.INVALID_REQUEST),
        ((BROKER, "101"), ("min.insync.replicas", SET, "2"), Errors.INVALID_CONFIG),
        ((BROKER, ""), ("min.insync.replicas", DELETE, None), Errors.INVALID_CONFIG),
    ],
    ids=str,
)
def test_refused(orders: Any, key: Any, change: Any, error: Errors) -> None:
    before = dict(orders.image.configs)
    assert Errors(alter(orders, key, change)) == error
    assert orders.image.configs == before


def test_broker_and_group_configs(orders: Any) -> None:
    assert alter(orders, (BROKER, "101"), ("log.retention.ms", SET, "5")) == 0
    assert alter(orders, (BROKER, ""), ("log.retention.ms", SET, "6")) == 0
    assert alter(orders, (GROUP, "g"), ("consumer.session.timeout.ms", SET, "45000")) == 0
    assert orders.image.configs[BROKER, "101"] == {"log.retention.ms": "5"}


def test_new_cluster_writes_min_in_sync_down(new_bench: Any) -> None:
    bench = new_bench(**{"min.insync.replicas": 2})
    assert bench.image.configs[BROKER, ""] == {"min.insync.replicas": "2"}


def test_min_in_sync_in_effect_decides_who_is_eligible(orders: Any) -> None:
    orders.alter_isr("orders", [101, 102])
    assert alter(orders, (BROKER, ""), ("min.insync.replicas", SET, "2")) == 0
    orders.alter_isr("orders", [101])
    assert orders.partition("orders").elr == (102,)


def test_another_min_in_sync_empties_the_elr(orders: Any) -> None:
    alter(orders, (TOPIC, "orders"), ("min.insync.replicas", SET, "2"))
    orders.alter_isr("orders", [101])
    assert orders.partition("orders").elr == (102, 103)
    epoch = orders.partition("orders").partition_epoch
    alter(orders, (TOPIC, "orders"), ("min.insync.replicas", SET, "3"))
    assert orders.partition("orders").elr == ()
    assert orders.partition("orders").partition_epoch == epoch + 1


def test_min_in_sync_counts_no_more_than_there_are_replicas(bench: Any) -> None:
    bench.create("small", 101, 102, min_in_sync=3)
    bench.alter_isr("small", [101])
    assert bench.partition("small").elr == (102,)
    bench.alter_isr("small", [101, 102])
    assert bench.partition("small").elr == ()


def test_older_api_takes_away_what_it_does_not_name(orders: Any) -> None:
    key = (TOPIC, "orders")
    alter(orders, key, ("retention.ms", SET, "5"), ("segment.ms", SET, "6"))
    request = m.AlterConfigsRequest
    configs = [request.AlterableConfig(name="segment.ms", value="7")]
    resource = request.AlterConfigsResource(
        resource_type=TOPIC, resource_name="orders", configs=configs
    )
    answer = orders.ask(request(resources=[resource]))
    assert answer.responses[0].error_code == 0
    assert orders.image.configs[key] == {"segment.ms": "7"}


def test_resource_named_twice(orders: Any) -> None:
    request = m.IncrementalAlterConfigsRequest
    resource = request.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name="orders",
        configs=[request.AlterableConfig(name="retention.ms", config_operation=SET, value="5")],
    )
    answer = orders.ask(request(resources=[resource, resource]))
    assert {each.error_code for each in answer.responses} == {Errors.INVALID_REQUEST}


# -- within what the brokers allow


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("consumer.session.timeout.ms", "50000", Errors.NONE),
        ("consumer.session.timeout.ms", "1", Errors.INVALID_CONFIG),
        ("consumer.session.timeout.ms", "60001", Errors.INVALID_CONFIG),
        ("consumer.heartbeat.interval.ms", "15001", Errors.INVALID_CONFIG),
        ("streams.num.standby.replicas", "3", Errors.INVALID_CONFIG),
    ],
)
def test_a_groups_own_configs_stay_within_the_brokers_bounds(
    orders: Any, name: str, value: str, error: Errors
) -> None:
    assert Errors(alter(orders, (GROUP, "g"), (name, SET, value))) == error


def test_a_group_needs_a_name_and_a_topic_a_legal_one(orders: Any) -> None:
    change = ("consumer.session.timeout.ms", SET, "50000")
    assert alter(orders, (GROUP, ""), change) == Errors.INVALID_REQUEST
    change = ("retention.ms", SET, "5")
    assert alter(orders, (TOPIC, ""), change) == Errors.INVALID_REQUEST
    assert alter(orders, (TOPIC, "b@d"), change) == Errors.INVALID_TOPIC_EXCEPTION
    impossible = ("retention.ms", SET, "-5")
    assert alter(orders, (TOPIC, "nix"), impossible) == Errors.INVALID_CONFIG


@pytest.mark.parametrize("value", ["5_000", "five", "5.0", ""])
def test_a_number_is_what_java_takes_for_one(orders: Any, value: str) -> None:
    assert alter(orders, (TOPIC, "orders"), ("retention.ms", SET, value)) == Errors.INVALID_CONFIG


def test_an_alteration_of_more_configs_than_a_batch_has_records_is_refused(orders: Any) -> None:
    request = m.IncrementalAlterConfigsRequest
    one = [request.AlterableConfig("retention.ms", SET, "7")]
    names = [f"t{i}" for i in range(10_001)]
    for name in names:
        orders.image.topic_ids[name] = orders.image.topic_ids["orders"]
    resources = [request.AlterConfigsResource(TOPIC, name, one) for name in names]
    refused = orders.ask(request(resources, validate_only=True)).responses
    assert {each.error_code for each in refused} == {Errors.POLICY_VIOLATION}
    taken = orders.ask(request(resources[1:], validate_only=True)).responses
    assert {each.error_code for each in taken} == {Errors.NONE}
