"""The answer to 06-5 is the controller's own, whatever goes down in which order."""

from __future__ import annotations

from random import Random

import pytest

from engine.control.partition_changes import Rules, change_partition
from engine.metadata.image import PartitionImage
from lessons.nb06_replication.exercises.election import ELECTIONS, elect, election

TOPIC = bytes(16)


def leader_after(arguments: tuple, order: Random) -> int:
    """The controller fences the brokers that are not alive, one after the other."""
    replicas, isr, elr, alive = arguments
    up = set(replicas) | set(alive)
    partition = PartitionImage(
        tuple(replicas), tuple(isr), tuple(elr), leader=next(iter(isr), -1), leader_epoch=3
    )
    rules = Rules(lambda broker: broker in up, min_in_sync=max(2, len(isr) + 1))
    down = [broker for broker in replicas if broker not in alive]
    for broker in order.sample(down, k=len(down)):
        up.discard(broker)
        rest = tuple(each for each in partition.isr if each != broker)
        change = change_partition(partition, TOPIC, 0, rules, isr=rest)
        partition = change.after if change else partition
    if partition.leader == -1:
        change = change_partition(partition, TOPIC, 0, rules)
        partition = change.after if change else partition
    return partition.leader


def clean_of(arguments: tuple) -> bool:
    """Whether the ISR's first is down: a leader that is alive stays, and nothing is elected."""
    _, isr, _, alive = arguments
    return not isr or isr[0] not in alive


@pytest.mark.parametrize("arguments", [each for each in ELECTIONS if clean_of(each)], ids=str)
def test_the_instructive_cases(arguments) -> None:
    assert elect(*arguments) == leader_after(arguments, Random(1))


def test_random_partitions_and_brokers_that_go_down_in_any_order() -> None:
    source = Random(9)
    tried = 0
    while tried < 2_000:
        arguments = election(source)
        if clean_of(arguments):
            assert elect(*arguments) == leader_after(arguments, source), arguments
            tried += 1
