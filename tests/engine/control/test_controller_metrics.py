"""A controller's counts, by Kafka's names, of what it has applied itself."""

from __future__ import annotations

from typing import Any

from engine.control import metrics
from engine.sim.world.world import World


def test_brokers_and_partitions_are_counted(bench: Any) -> None:
    bench.create("alone", 101)
    bench.create("fleet", 101, 102, 103)
    seen = metrics.of(bench.controller)
    assert (seen["GlobalTopicCount"], seen["GlobalPartitionCount"]) == (2, 2)
    assert (seen["ActiveBrokerCount"], seen["FencedBrokerCount"]) == (3, 0)
    assert (seen["OfflinePartitionsCount"], seen["PreferredReplicaImbalanceCount"]) == (0, 0)
    bench.die(101)
    seen = metrics.of(bench.controller)
    assert (seen["ActiveBrokerCount"], seen["FencedBrokerCount"]) == (2, 1)
    assert seen["OfflinePartitionsCount"] == 1
    assert seen["PreferredReplicaImbalanceCount"] == 2, "alone has none, fleet another"


def test_a_broker_that_leaves_is_counted_as_active_until_it_may_stop(bench: Any) -> None:
    bench.create("fleet", 101, 102, 103)
    bench.heartbeat(101, leave=True)
    seen = metrics.of(bench.controller)
    assert (seen["ActiveBrokerCount"], seen["ControlledShutdownBrokerCount"]) == (3, 1)


def test_one_controller_is_active_and_each_counts_for_itself() -> None:
    world = World(seed=1, controllers=3)
    world.create_topic("orders", partitions=4)
    world.run(for_s=2)
    seen = [metrics.of(world.cluster.nodes[each]) for each in (100, 200, 300)]
    assert sorted(each["ActiveControllerCount"] for each in seen) == [0, 0, 1]
    assert [each["GlobalPartitionCount"] for each in seen] == [4, 4, 4]
    offsets = {each["LastCommittedRecordOffset"] for each in seen}
    assert offsets == {each["LastAppliedRecordOffset"] for each in seen}
