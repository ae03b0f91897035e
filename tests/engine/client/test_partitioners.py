"""Keys go where real clients send them; records without a key stick, and move on."""

from __future__ import annotations

from random import Random

import pytest
from confluent_kafka import Producer

from engine.client import partitioners
from engine.client.partitioners import BuiltIn, RoundRobin, murmur2
from kit.probes.scripted_broker import ScriptedBroker


@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_gives_kafkas_own_numbers(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF


def test_a_batch_of_bytes_goes_to_one_partition_and_then_the_next_is_drawn() -> None:
    sticky = BuiltIn(100, adaptive=False, chance=Random(1))
    places = []
    for _ in range(40):
        places.append(sticky.choose("t", None, range(4), 4))
        sticky.appended("t", 25, {}, full=True)
    runs = [places[at : at + 4] for at in range(0, 40, 4)]
    assert all(len(set(run)) == 1 for run in runs)
    assert len(set(places)) == 4


def test_it_does_not_leave_a_batch_half_full_unless_twice_its_size_went_there() -> None:
    sticky = BuiltIn(100, adaptive=False, chance=Random(1))
    sticky.choose("t", None, range(4), 4)
    sticky.appended("t", 150, {}, full=False)
    assert "t" in sticky.stuck_to
    sticky.appended("t", 50, {}, full=False)
    assert "t" not in sticky.stuck_to


def test_a_long_queue_is_drawn_less_often() -> None:
    sticky = BuiltIn(1, adaptive=True, chance=Random(1))
    drawn = [0, 0]
    for _ in range(1000):
        drawn[sticky.choose("t", None, range(2), 2)] += 1
        sticky.appended("t", 1, {0: 9, 1: 0}, full=True)
    assert drawn[0] * 5 < drawn[1]


def test_round_robin_takes_one_after_the_other() -> None:
    turns = RoundRobin()
    assert [turns.choose("t", b"k", range(3), 3) for _ in range(5)] == [0, 1, 2, 0, 1]


@pytest.mark.parametrize("name", ["crc32", "murmur2"])
def test_a_key_goes_where_librdkafka_sends_it(name: str) -> None:
    """It is told 16 partitions, and asked which it chose."""
    keys = [f"key-{n}".encode() for n in range(40)]
    ours = partitioners.make(name, 1, True, Random(1))
    expected = [ours.choose("orders", key, range(16), 16) for key in keys]
    broker = ScriptedBroker([], partitions=16)
    settings = {"bootstrap.servers": f"127.0.0.1:{broker.port}", "linger.ms": 0}
    settings["partitioner"] = {"crc32": "consistent_random", "murmur2": "murmur2_random"}[name]
    producer = Producer(settings)
    chosen: dict[bytes, int] = {}
    for key in keys:
        producer.produce(
            "orders", b"v", key, on_delivery=lambda _, m: chosen.update({m.key(): m.partition()})
        )
    assert producer.flush(20) == 0
    broker.close()
    assert [chosen[key] for key in keys] == expected
