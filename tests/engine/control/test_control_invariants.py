"""Whatever happens in whatever order, the rules of the metadata hold.

Random sequences of what brokers and operators do; after each one:

* a leader is in the ISR; with ELR on, no leader means an empty ISR
* epochs only grow, and the leader epoch grows exactly when the leader changes
* ISR and ELR have nobody in common, and are replicas
* there is an ELR only while the ISR is below min.insync.replicas
* a fenced or leaving broker leads nothing and is in no ISR
* the look-up tables agree with the partitions, and the log with the image
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.metadata.image import NO_LEADER, MetadataImage, PartitionImage
from engine.metadata.partition_index import PartitionIndex

BROKERS = (101, 102, 103, 104)
TOPICS = {"one": 1, "two": 2, "three": 3}

broker_ids = st.sampled_from(BROKERS)
topic_names = st.sampled_from(list(TOPICS))
actions = st.one_of(
    st.tuples(st.just("die"), broker_ids),
    st.tuples(st.just("beat"), broker_ids),
    st.tuples(st.just("return"), broker_ids, st.booleans()),
    st.tuples(st.just("leave"), broker_ids),
    st.tuples(st.just("isr"), topic_names, st.sets(broker_ids)),
    st.tuples(st.just("elect"), topic_names, st.integers(0, 1)),
    st.tuples(st.just("min"), topic_names, st.integers(1, 3)),
    st.tuples(st.just("unclean"), topic_names, st.booleans()),
    st.tuples(st.just("restart")),
)


def act(bench: Any, action: tuple[Any, ...]) -> None:
    match action:
        case "die", broker:
            bench.let_sessions_end(broker)
        case "beat", broker:
            bench.heartbeat(broker)
        case "return", broker, clean:
            bench.let_sessions_end(broker)
            bench.register(broker, previous_epoch=bench.epochs[broker] if clean else -1)
            bench.heartbeat(broker)
        case "leave", broker:
            bench.heartbeat(broker, leave=True)
        case "isr", topic, wanted:
            partition = bench.partition(topic)
            if partition.leader != NO_LEADER:
                isr = sorted({*wanted, partition.leader} & {*partition.replicas})
                bench.alter_isr(topic, isr)
        case "elect", topic, election_type:
            bench.elect(election_type, topic)
        case "min", topic, count:
            bench.set_config(2, topic, "min.insync.replicas", str(count))
        case "unclean", topic, allowed:
            value = "true" if allowed else "false"
            bench.set_config(2, topic, "unclean.leader.election.enable", value)
        case ("restart",):
            bench.start()


def check_partition(bench: Any, topic: str, partition: PartitionImage, elr_enabled: bool) -> None:
    isr, elr = set(partition.isr), set(partition.elr)
    assert isr | elr <= set(partition.replicas)
    assert not isr & elr
    for broker in isr if elr_enabled else {partition.leader} - {NO_LEADER}:
        found = bench.broker(broker)
        assert not found.fenced
        assert not found.in_controlled_shutdown
    if partition.leader == NO_LEADER:
        assert not (isr and elr_enabled)
    else:
        assert partition.leader in isr
        assert partition.last_known_elr == ()
    min_in_sync = int(bench.image.configs[2, topic]["min.insync.replicas"])
    if elr:
        assert elr_enabled
        assert len(isr) < min(min_in_sync, len(partition.replicas))


def check_progress(before: PartitionImage, after: PartitionImage) -> None:
    assert after.leader_epoch >= before.leader_epoch
    assert after.partition_epoch >= before.partition_epoch
    if after != before:
        assert after.partition_epoch > before.partition_epoch
    assert (after.leader_epoch > before.leader_epoch) or after.leader == before.leader


def check_indexes(bench: Any) -> None:
    fresh = PartitionIndex()
    for topic in bench.image.topics.values():
        for index, partition in topic.partitions.items():
            fresh.replace((topic.id, index), None, partition)
    kept = bench.controller.state.index
    for broker in (*BROKERS, NO_LEADER):
        assert kept.with_in_isr(broker) == fresh.with_in_isr(broker)
        assert kept.with_in_elr(broker) == fresh.with_in_elr(broker)
        assert kept.leads_any(broker) == fresh.leads_any(broker)
    assert kept.leaderless() == fresh.leaderless()
    assert kept.not_led_by_preferred() == fresh.not_led_by_preferred()


def check_log(bench: Any) -> None:
    image = MetadataImage()
    for offset, record in bench.controller.log.records(0, bench.controller.log.end_offset):
        image.apply(record)
        image.offset = offset + 1
    assert image == bench.image


@pytest.mark.parametrize("elr_version", [1, 0], ids=["elr", "without-elr"])
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(sequence=st.lists(actions, min_size=5, max_size=25))
def test_rules_hold_after_any_sequence(
    new_bench: Callable[..., Any], elr_version: int, sequence: list[tuple[Any, ...]]
) -> None:
    bench = new_bench(levels={"eligible.leader.replicas.version": elr_version})
    bench.join(*BROKERS)
    for topic, min_in_sync in TOPICS.items():
        bench.create(topic, *BROKERS[:3], min_in_sync=min_in_sync)
    for action in sequence:
        before = {topic: bench.partition(topic) for topic in TOPICS}
        act(bench, action)
        for topic in TOPICS:
            check_partition(bench, topic, bench.partition(topic), elr_version == 1)
            check_progress(before[topic], bench.partition(topic))
    check_indexes(bench)
    check_log(bench)
