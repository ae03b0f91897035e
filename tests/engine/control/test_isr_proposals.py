"""AlterPartition: what a leader may change, and what it is told when it may not."""

from __future__ import annotations

from typing import Any

import pytest

from engine.wire.errors import Errors


@pytest.fixture
def led(bench: Any) -> Any:
    """orders-0 led by 101, all three in sync, min.insync.replicas=2."""
    bench.create("orders", 101, 102, 103, min_in_sync=2)
    return bench


def test_leader_shrinks_and_grows_the_isr(led: Any) -> None:
    answer = led.alter_isr("orders", [101, 102])
    assert (answer.error_code, answer.isr, answer.partition_epoch) == (0, [101, 102], 1)
    answer = led.alter_isr("orders", [101, 102, 103])
    assert (answer.leader_id, answer.leader_epoch, answer.partition_epoch) == (101, 0, 2)
    assert led.partition("orders").isr == (101, 102, 103)


def test_shrinking_below_min_in_sync_fills_the_elr(led: Any) -> None:
    led.alter_isr("orders", [101])
    assert led.partition("orders").elr == (102, 103)


def test_repeated_proposal_is_answered_with_how_things_are(led: Any) -> None:
    led.alter_isr("orders", [101, 102])
    answer = led.alter_isr("orders", [101, 102])
    assert (answer.error_code, answer.partition_epoch) == (0, 1)


@pytest.mark.parametrize(
    ("proposal", "error"),
    [
        ({"partition_epoch": 7}, Errors.NOT_CONTROLLER),
        ({"leader_epoch": 7}, Errors.NOT_CONTROLLER),
        ({"leader_epoch": 0}, Errors.FENCED_LEADER_EPOCH),
        ({"partition_epoch": 0}, Errors.INVALID_UPDATE_VERSION),
        ({"broker_id": 103}, Errors.INVALID_REQUEST),
        ({"leader_recovery_state": 1}, Errors.INVALID_REQUEST),
        ({"partition_index": 5}, Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ({"epochs": {103: 1}}, Errors.INELIGIBLE_REPLICA),
    ],
    ids=lambda value: value.name if isinstance(value, Errors) else "-".join(value),
)
def test_wrong_proposal_is_refused_and_changes_nothing(
    led: Any, proposal: dict[str, Any], error: Errors
) -> None:
    led.die(101)
    led.join(101)
    before = led.partition("orders")
    assert (before.leader, before.leader_epoch, before.partition_epoch) == (102, 1, 1)
    assert led.alter_isr("orders", [102, 103], **proposal).error_code == error
    assert led.partition("orders") == before


@pytest.mark.parametrize("isr", [[], [102, 103], [101, 101], [101, 104]], ids=str)
def test_isr_must_hold_the_leader_and_replicas_once_each(led: Any, isr: list[int]) -> None:
    led.join(104)
    assert led.alter_isr("orders", isr).error_code == Errors.INVALID_REQUEST


def test_fenced_broker_joins_no_isr(led: Any) -> None:
    led.die(103)
    answer = led.alter_isr("orders", [101, 102, 103])
    assert answer.error_code == Errors.INELIGIBLE_REPLICA
    led.heartbeat(103)
    assert led.alter_isr("orders", [101, 102, 103]).error_code == Errors.NONE


def test_follower_of_a_former_life_joins_no_isr(led: Any) -> None:
    former = led.epochs[103]
    led.die(103)
    led.join(103)
    answer = led.alter_isr("orders", [101, 102, 103], epochs={103: former})
    assert answer.error_code == Errors.INELIGIBLE_REPLICA


def test_leader_after_an_unclean_election_recovers_alone(led: Any) -> None:
    led.set_config(2, "orders", "unclean.leader.election.enable", "true")
    led.alter_isr("orders", [101])
    led.alter_isr("orders", [101])
    led.set_config(2, "orders", "min.insync.replicas", "1")
    led.die(101)
    orders = led.partition("orders")
    assert (orders.leader, orders.isr, orders.leader_recovery_state) == (102, (102,), 1)
    answer = led.alter_isr("orders", [102, 103], leader_recovery_state=1)
    assert answer.error_code == Errors.INVALID_REQUEST
    answer = led.alter_isr("orders", [102, 103], leader_recovery_state=0)
    assert (answer.error_code, answer.leader_recovery_state) == (0, 0)
