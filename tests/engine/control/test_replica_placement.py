"""Placement: leaders and replicas spread over brokers and racks, the same for the same seed."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from engine.control.placement import UsableBroker, place
from engine.wire.errors import Errors, KafkaError

RACKS = {101: "a", 102: "b", 103: "c", 104: "a", 105: "b", 106: "c"}


def brokers(*fenced: int, racks: bool = True) -> list[UsableBroker]:
    return [
        UsableBroker(broker, rack if racks else None, broker in fenced)
        for broker, rack in RACKS.items()
    ]


def test_each_rack_has_one_replica() -> None:
    for replicas in place(60, 3, brokers(), Random(1)):
        assert sorted(RACKS[replica] for replica in replicas) == ["a", "b", "c"]


@pytest.mark.parametrize("racks", [True, False])
def test_leaders_and_replicas_are_spread_evenly(racks: bool) -> None:
    placed = place(60, 3, brokers(racks=racks), Random(2))
    assert Counter(replicas[0] for replicas in placed) == dict.fromkeys(RACKS, 10)
    counts = Counter(replica for replicas in placed for replica in replicas)
    assert counts == dict.fromkeys(RACKS, 30)


def test_more_replicas_than_racks() -> None:
    for replicas in place(24, 6, brokers(), Random(3)):
        assert sorted(replicas) == sorted(RACKS)


def test_neighbors_change() -> None:
    """A dead broker's leaderships do not all fall to the same one."""
    placed = place(120, 3, brokers(racks=False), Random(4))
    seconds = {replicas[1] for replicas in placed if replicas[0] == 101}
    assert len(seconds) >= 4


def test_fenced_brokers_never_come_first() -> None:
    placed = place(60, 6, brokers(101, 104), Random(5))
    assert not {replicas[0] for replicas in placed} & {101, 104}


def test_rack_with_only_fenced_brokers_is_still_used() -> None:
    for replicas in place(30, 3, brokers(101, 104), Random(6)):
        assert sorted(RACKS[replica] for replica in replicas) == ["a", "b", "c"]


def test_same_seed_same_places() -> None:
    assert place(50, 3, brokers(), Random(7)) == place(50, 3, reversed(brokers()), Random(7))


def test_replicas_of_a_partition_differ_no_matter_which_brokers_are_fenced() -> None:
    chance = Random(8)
    for _ in range(300):
        some = chance.sample(brokers(*chance.sample(list(RACKS), 3)), chance.randint(1, 6))
        if all(broker.fenced for broker in some):
            continue
        factor = chance.randint(1, len(some))
        for replicas in place(15, factor, some, chance):
            assert len(set(replicas)) == factor


@pytest.mark.parametrize(
    ("factor", "there", "words"),
    [
        (7, brokers(), "only 6 broker"),
        (0, brokers(), "not positive"),
        (1, brokers(*RACKS), "all brokers are fenced"),
        (1, [], "all brokers are fenced"),
    ],
)
def test_impossible(factor: int, there: list[UsableBroker], words: str) -> None:
    with pytest.raises(KafkaError, match=words) as refused:
        place(1, factor, there, Random(9))
    assert refused.value.code == Errors.INVALID_REPLICATION_FACTOR
