"""A judge looks at a cluster that the notebook started, and at no other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kit.clusters import engine, registry
from kit.clusters.kafka_cluster import KafkaCluster
from kit.exercises.cluster_log import Context, NoCluster
from kit.exercises.known_clusters import FirstStarted, OfKernel


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[KafkaCluster, KafkaCluster]]:
    with engine.start() as first, engine.start() as second:
        yield first, second


def test_in_class_it_is_a_cluster_that_this_kernel_registered(two) -> None:
    for cluster in two:
        OfKernel(os.getpid()).must_know(cluster.bootstrap)
    with pytest.raises(NoCluster, match="is not the one of this notebook's set-up cells"):
        OfKernel(os.getppid()).must_know(two[0].bootstrap)
    with pytest.raises(NoCluster, match="is not the one of this notebook's set-up cells"):
        OfKernel(os.getpid()).must_know("127.0.0.1:1")


def test_a_cluster_that_kafkalab_up_shares_is_everybodys(two) -> None:
    (mine,) = [each for each in registry.registrations() if each.bootstrap == two[0].bootstrap]
    try:
        replace(mine, shared=True).save()
        OfKernel(os.getppid()).must_know(mine.bootstrap)
    finally:
        mine.save()


def test_another_cluster_at_the_same_address_is_found_out(two) -> None:
    (mine,) = [each for each in registry.registrations() if each.bootstrap == two[0].bootstrap]
    assert mine.cluster_id == Context(mine.bootstrap).cluster_id()
    try:
        replace(mine, cluster_id="another").save()
        with pytest.raises(NoCluster, match="there is another cluster now"):
            OfKernel(os.getpid()).must_know(mine.bootstrap)
    finally:
        mine.save()


def test_while_marking_it_is_the_first_that_was_announced(two) -> None:
    first, second = two
    clusters = FirstStarted()
    with pytest.raises(NoCluster, match="is not the one"):
        clusters.must_know(first.bootstrap)
    clusters.announced(first.bootstrap)
    clusters.announced(second.bootstrap)
    clusters.must_know(first.bootstrap)
    with pytest.raises(NoCluster, match="is not the one"):
        clusters.must_know(second.bootstrap)


def test_what_the_set_up_made_is_named_when_it_is_missing(two) -> None:
    cluster, _ = two
    context = Context(cluster.bootstrap)
    with pytest.raises(NoCluster, match="The topic fleet of the set-up cells is not there"):
        context.set_up("fleet", 6)
    cluster.create_topic("fleet", partitions=2, replicas=3)
    with pytest.raises(NoCluster, match="has 2 partitions, not 6"):
        context.set_up("fleet", 6)
    assert sorted(context.set_up("fleet", 2)) == sorted(context.set_up("fleet")) == [0, 1]


def test_a_leader_epoch_tells_of_an_election(two) -> None:
    cluster, _ = two
    cluster.create_topic("once-led", partitions=1, replicas=3)
    context = Context(cluster.bootstrap)
    assert context.leader_epochs("once-led") == {0: 0}
    leader = context.partitions("once-led")[0].leader
    cluster.stop(leader)
    cluster.wait_until(
        lambda _: context.partitions("once-led")[0].leader not in (leader, -1), what="a new leader"
    )
    assert context.leader_epochs("once-led") == {0: 1}
    cluster.start(leader)
