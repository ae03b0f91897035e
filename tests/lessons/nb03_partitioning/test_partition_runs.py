"""The parts of notebook 03: the ring, the ribbons, the payloads, and the fleet's second."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
import zlib

from engine.client.partitioners import murmur2, murmur2_partition
from kit.exercises.cluster_log import Context
from lessons.nb03_partitioning import key_scenes, order_scenes, payloads
from lessons.nb03_partitioning.exercises import fleet_settings
from lessons.nb03_partitioning.fleet import drive
from lessons.nb03_partitioning.key_moves import KeyMoves, moved
from lessons.nb03_partitioning.ring import Ring

KEYS = [f"order-{number}" for number in range(2_000)]


def placed(rule) -> dict[str, int]:
    return {key: rule(key.encode()) for key in KEYS}


def test_a_ring_moves_about_one_key_in_n_and_only_to_the_new_partition() -> None:
    before, after = placed(Ring(4).partition), placed(Ring(5).partition)
    assert 0.12 < moved(before, after) / len(KEYS) < 0.28
    assert {after[key] for key in KEYS if after[key] != before[key]} == {4}


def test_a_remainder_moves_four_keys_of_five() -> None:
    before = placed(lambda key: murmur2_partition(key, 4))
    assert 0.75 < moved(before, placed(lambda key: murmur2_partition(key, 5))) / len(KEYS) < 0.85
    assert 0.45 < moved(before, placed(lambda key: murmur2_partition(key, 8))) / len(KEYS) < 0.55


def test_the_ribbons_say_and_draw_the_same() -> None:
    before, after = {"a": 0, "b": 1, "c": 1}, {"a": 0, "b": 2, "c": 1}
    drawn = KeyMoves(["modulo"], [(before, after)])
    assert drawn.text == "modulo, 2 to 3 partitions: 1 of 3 keys move"
    root = ElementTree.fromstring(drawn.svg())
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert sorted(titles) == ["1 key from 0 to 0", "1 key from 1 to 1", "1 key from 1 to 2"]


def test_payloads_are_the_same_in_every_run() -> None:
    assert payloads.positions(3) == payloads.positions(3)
    assert payloads.truck_of(payloads.positions(1)[0]).startswith("truck-")
    assert len(payloads.text(300_000)) == 300_000
    assert len(zlib.compress(payloads.chance_bytes(1_000))) > 1_000


def test_abs_disagrees_with_the_client_for_a_third_of_the_keys_and_three_partitions() -> None:
    hashes = [murmur2(b"%d" % n) for n in range(10_000)]
    signed = [h - (1 << 32) if h >> 31 else h for h in hashes]
    other = sum(abs(h) % 3 != (h & 0x7FFFFFFF) % 3 for h in signed)
    assert 0.32 < other / 10_000 < 0.36


def test_the_fleet_s_second_shows_what_each_setting_does() -> None:
    defaults, patient = drive({}), drive({"linger.ms": 60, "compression.type": "zstd"})
    assert defaults.requests > 3 * patient.requests
    assert defaults.p99_ms < 20 < patient.p99_ms < fleet_settings.P99_MOST
    assert patient.share < fleet_settings.SHARE_MOST < 1 < defaults.share


def test_the_judge_of_the_settings_accepts_another_codec_and_names_what_is_wrong() -> None:
    def judged(batch: int, linger: int, codec: str):
        given = {"batch.size": batch, "linger.ms": linger, "compression.type": codec}
        return fleet_settings.judge_settings(given, Context())

    assert judged(32_768, 70, "gzip").passed
    assert "too late" in judged(16_384, 200, "zstd").message
    assert "too many requests" in judged(200, 60, "zstd").message
    assert "too many bytes" in judged(16_384, 60, "none").message
    assert "refuses these settings" in judged(16_384, 60, "brotli").message


def test_sticky_shares_become_even_as_batches_add_up() -> None:
    few, some, many = (key_scenes.largest_share(records) for records in (600, 6_000, 60_000))
    assert few > some > many
    assert 16.6 < many < 18


def test_workers_in_parallel_finish_orders_of_one_partition_out_of_order() -> None:
    read = [f"{order} {state}" for state in order_scenes.STATES for order in (4, 5)]
    finished = order_scenes._four_workers(read)
    assert sorted(finished) == sorted(read)
    assert order_scenes._in_order(read) == 2
    assert order_scenes._in_order(finished) < 2


def test_a_key_is_kept_in_order_by_one_partition_with_rising_offsets() -> None:
    names = ["a", "b", "c", "a", "b", "c"]
    places = [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (1, 2)]
    assert order_scenes._kept(names, places) == 2
    assert order_scenes._kept(["a", "a"], [(0, 1), (0, 0)]) == 0
