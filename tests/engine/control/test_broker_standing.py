"""Brokers come, fall silent, leave, and come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.control import brokers
from engine.control.broker_states import TRANSITIONS, BrokerEvent, BrokerState
from engine.wire import messages as m
from engine.wire.errors import Errors


def test_new_broker_is_fenced_until_it_has_read_its_own_registration(new_bench: Any) -> None:
    bench = new_bench()
    epoch = bench.register(101).broker_epoch
    answer = bench.heartbeat(101, offset=epoch - 1)
    assert (answer.is_caught_up, answer.is_fenced) == (False, True)
    answer = bench.heartbeat(101, offset=epoch)
    assert (answer.is_caught_up, answer.is_fenced) == (True, False)


def test_broker_that_wants_to_stay_fenced_stays_fenced(new_bench: Any) -> None:
    bench = new_bench()
    bench.register(101)
    assert bench.heartbeat(101, fence=True).is_fenced


def test_silent_broker_is_fenced_and_its_partitions_move(bench: Any) -> None:
    bench.create("orders", 101, 102, 103)
    bench.die(101)
    orders = bench.partition("orders")
    assert (orders.leader, orders.leader_epoch, orders.isr) == (102, 1, (102, 103))
    (line,) = bench.reported("elected")
    assert "orders-0 leader=102 epoch=1 isr=(102, 103)" in line
    assert "broker 101 is fenced" in line
    assert bench.reported("fenced") == [
        "fenced broker=101 (no heartbeat for broker.session.timeout.ms)"
    ]


def test_heartbeats_keep_a_session_alive(bench: Any) -> None:
    for _ in range(10):
        bench.pass_time(8_000_000)
        for broker in (101, 102, 103):
            assert bench.heartbeat(broker).error_code == Errors.NONE
    assert not bench.reported("fenced")


def test_fenced_broker_is_unfenced_by_its_next_heartbeat(bench: Any) -> None:
    bench.die(101)
    assert not bench.heartbeat(101).is_fenced


def test_second_life_is_refused_while_the_first_has_a_session(bench: Any) -> None:
    assert bench.register(101).error_code == Errors.DUPLICATE_BROKER_REGISTRATION
    bench.pass_time(10_000_000)
    assert bench.register(101).error_code == Errors.NONE


def test_same_life_may_register_again_and_keeps_epoch_and_standing(bench: Any) -> None:
    epoch = bench.epochs[101]
    assert bench.register(101, same_life=True).broker_epoch == epoch
    assert not bench.broker(101).fenced


def test_former_life_is_refused(bench: Any) -> None:
    old = bench.epochs[101]
    bench.die(101)
    bench.join(101)
    bench.epochs[101] = old
    assert bench.heartbeat(101).error_code == Errors.STALE_BROKER_EPOCH


def test_heartbeat_before_registration_is_refused(bench: Any) -> None:
    bench.epochs[109] = 3
    assert bench.heartbeat(109).error_code == Errors.STALE_BROKER_EPOCH


def test_controlled_shutdown_moves_leaderships_first(bench: Any) -> None:
    bench.create("orders", 101, 102, 103)
    offset = bench.image.offset
    assert not bench.heartbeat(101, leave=True).should_shut_down
    assert bench.partition("orders").leader == 102
    assert bench.partition("orders").isr == (102, 103)
    # The others do not know yet: they have read up to what they said last.
    assert not bench.heartbeat(101, leave=True).should_shut_down
    bench.heartbeat(102)
    bench.heartbeat(103, offset=offset - 1)
    assert not bench.heartbeat(101, leave=True).should_shut_down
    bench.heartbeat(103)
    assert bench.heartbeat(101, leave=True).should_shut_down
    assert bench.broker(101).fenced


def test_broker_that_leads_nothing_may_stop_at_once(bench: Any) -> None:
    bench.create("orders", 102, 101, 103)
    answer = bench.heartbeat(101, leave=True)
    assert (answer.should_shut_down, answer.is_fenced) == (True, True)
    assert bench.partition("orders").isr == (102, 103)


def test_leaving_broker_gets_no_new_partitions_and_joins_no_isr(bench: Any) -> None:
    bench.create("orders", 101, 102, 103)
    bench.heartbeat(101, leave=True)
    answer = bench.alter_isr("orders", [101, 102, 103])
    assert answer.error_code == Errors.INELIGIBLE_REPLICA
    request = m.CreateTopicsRequest
    topic = request.CreatableTopic(name="more", num_partitions=4, replication_factor=2)
    bench.ask(request(topics=[topic]))
    partitions = bench.image.topic("more").partitions.values()
    assert all(101 not in partition.replicas for partition in partitions)


def below_min(bench: Any) -> None:
    """ISR 101, ELR 102, with min.insync.replicas=2; 103 fell out before."""
    bench.create("orders", 101, 102, 103, min_in_sync=2)
    bench.die(103)
    bench.die(102)
    assert (bench.partition("orders").isr, bench.partition("orders").elr) == ((101,), (102,))


def test_unclean_restart_takes_a_broker_out_of_the_elr(bench: Any) -> None:
    below_min(bench)
    bench.join(102)
    assert bench.partition("orders").elr == ()


def test_clean_stop_keeps_the_place_in_the_elr(bench: Any) -> None:
    bench.create("orders", 101, 102, 103, min_in_sync=2)
    bench.die(103)
    epoch = bench.stop_cleanly(102)
    assert bench.partition("orders").elr == (102,)
    bench.join(102, previous_epoch=epoch)
    assert bench.partition("orders").elr == (102,)


def test_eligible_replica_leads_when_the_last_in_sync_one_is_gone(bench: Any) -> None:
    below_min(bench)
    bench.heartbeat(102)
    bench.die(101)
    orders = bench.partition("orders")
    assert (orders.leader, orders.isr, orders.elr) == (102, (102,), (101,))
    assert "eligible election" in bench.reported("elected")[-1]


def test_replica_that_is_not_eligible_must_wait(bench: Any) -> None:
    below_min(bench)
    bench.die(101)
    bench.join(103)
    assert bench.partition("orders").leader == -1
    bench.heartbeat(102)
    assert bench.partition("orders").leader == 102


def test_last_known_leader_leads_after_unclean_restarts_of_all_eligible(bench: Any) -> None:
    below_min(bench)
    bench.die(101)
    assert bench.partition("orders").last_known_elr == (101,)
    bench.join(102)
    bench.join(103)
    assert (bench.partition("orders").leader, bench.partition("orders").elr) == (-1, (101,))
    bench.join(101)
    orders = bench.partition("orders")
    assert (orders.leader, orders.isr, orders.leader_recovery_state) == (101, (101,), 1)
    assert "last known election" in bench.reported("elected")[-1]


def test_old_rule_keeps_the_last_in_sync_replica_through_an_unclean_restart(
    new_bench: Callable[..., Any],
) -> None:
    bench = new_bench(levels={"eligible.leader.replicas.version": 0})
    bench.join(101, 102)
    bench.create("orders", 101, 102, min_in_sync=2)
    bench.die(102)
    bench.die(101)
    assert (bench.partition("orders").leader, bench.partition("orders").isr) == (-1, (101,))
    bench.join(102)
    assert bench.partition("orders").leader == -1
    bench.join(101)
    assert (bench.partition("orders").leader, bench.partition("orders").isr) == (101, (101,))


def test_unregistered_broker_is_forgotten_and_leads_nothing(bench: Any) -> None:
    bench.create("orders", 101, 102, 103)
    assert bench.ask(m.UnregisterBrokerRequest(broker_id=101)).error_code == Errors.NONE
    assert 101 not in bench.image.brokers
    assert (bench.partition("orders").leader, bench.partition("orders").isr) == (102, (102, 103))
    again = bench.ask(m.UnregisterBrokerRequest(broker_id=101))
    assert again.error_code == Errors.BROKER_ID_NOT_REGISTERED


def test_broker_of_another_cluster_is_refused(bench: Any) -> None:
    bench.controller.cluster_id = "this-one"
    answer = bench.ask(m.BrokerRegistrationRequest(broker_id=104, cluster_id="another"))
    assert answer.error_code == Errors.INCONSISTENT_CLUSTER_ID


def test_broker_that_cannot_do_what_is_finalised_is_refused(bench: Any) -> None:
    request = m.BrokerRegistrationRequest
    feature = request.Feature(
        name="metadata.version", min_supported_version=7, max_supported_version=29
    )
    answer = bench.ask(request(broker_id=104, features=[feature]))
    assert answer.error_code == Errors.UNSUPPORTED_VERSION


# -- the table


def put(bench: Any, state: BrokerState) -> None:
    """Brings broker 101 into a state, by what it sends."""
    bench.create("orders", 101, 102)
    match state:
        case BrokerState.UNREGISTERED:
            bench.ask(m.UnregisterBrokerRequest(broker_id=101))
        case BrokerState.FENCED:
            bench.let_sessions_end(101)
        case BrokerState.CONTROLLED_SHUTDOWN:
            bench.heartbeat(101, leave=True)
        case BrokerState.SHUTDOWN_NOW:
            bench.stop_cleanly(101)


def cause(bench: Any, event: BrokerEvent) -> None:
    match event:
        case BrokerEvent.REGISTERS:
            bench.register(101)
        case BrokerEvent.CAUGHT_UP:
            bench.heartbeat(101)
        case BrokerEvent.FALLS_SILENT:
            bench.let_sessions_end(101)
        case BrokerEvent.WANTS_FENCE:
            bench.heartbeat(101, fence=True)
        case BrokerEvent.STILL_NEEDED:
            bench.heartbeat(101, leave=True)
        case BrokerEvent.MAY_STOP:
            bench.stop_cleanly(101)
        case BrokerEvent.FORGOTTEN:
            bench.ask(m.UnregisterBrokerRequest(broker_id=101))


@pytest.mark.parametrize(("state", "event"), TRANSITIONS, ids=str)
def test_brokers_move_as_the_table_says(bench: Any, state: BrokerState, event: BrokerEvent) -> None:
    put(bench, state)
    cause(bench, event)
    after = TRANSITIONS[state, event]
    in_the_log = BrokerState.FENCED if after is BrokerState.SHUTDOWN_NOW else after
    assert brokers.state_of(bench.controller.state, 101) is in_the_log
