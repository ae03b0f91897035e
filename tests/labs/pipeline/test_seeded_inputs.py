"""Small inputs from seeds go through every layer and sink, and nothing of them is lost or doubled.

An input has what a real source has: times out of range, late events, copies, payments 50 minutes
behind positions, several payments of an order.  A round puts `INPUTS` of them through one pipeline
in waves, on Delta or on Parquet.  After each wave every table is compared with what the generator
knows; the values' bytes are not read again.  Tables are compacted after each wave, so gold meets
micro-batches without rows.  At the end bronze's log is cleaned, and all is made again from bronze.

    KAFKALAB_ROUNDS=5 KAFKALAB_INPUTS=100 pytest tests/labs/pipeline/test_seeded_inputs.py
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kit.clusters import engine
from labs.fleet.records import (
    MINUTE_MS,
    MISSING_FIELD,
    NOT_JSON,
    NULL_FIELD,
    NULL_VALUE,
    ORDERS,
    PAYMENTS,
    POSITIONS,
    START_MS,
    TOPICS,
    WRONG_TYPE,
    Record,
)
from labs.fleet.writer import write
from labs.L1_telemetry_pipeline.layers import clean_log
from labs.pipeline import driver, layers
from labs.pipeline.delta import DeltaStorage
from labs.pipeline.events import MENDED
from labs.pipeline.parquet import ParquetStorage
from labs.pipeline.storage import Storage
from labs.pipeline.tables import GOLD, MINUTES, PAID, STATES, Place

pytestmark = [pytest.mark.spark, pytest.mark.full, pytest.mark.timeout(1_200)]

ROUNDS = int(os.environ.get("KAFKALAB_ROUNDS", "2"))
INPUTS = int(os.environ.get("KAFKALAB_INPUTS", "20"))
"""By round."""
WAVES = 3
BEHIND_MIN = {POSITIONS: 0, ORDERS: 20, PAYMENTS: 50}
WATERMARK_MS = int(layers.WATERMARK.removesuffix(" minutes")) * MINUTE_MS
OUT_OF_RANGE = [
    "9999-12-31T00:00:00Z", "0001-01-01T00:00:00Z", "1999-12-31T23:59:59.999Z", "12:30", "today",
    "2026-03-02", "2026-02-30T08:00:00Z", "", -1, 0, 10**15, 10**18, 10**30, 946_684_799_999,
    4_102_444_800_000, True, [1], {"ms": 1}, 1.5e12,
]  # fmt: skip
STATUSES = ("placed", "loaded", "under way", "delivered")


@dataclass(frozen=True, slots=True)
class Sent:
    """A record, and what is known about it: an event, or the reason why it is none."""

    topic: str
    value: bytes | None
    event: dict[str, Any]
    reason: str = ""

    @property
    def at_ms(self) -> int:
        return int(self.event["event_time"])


def an_input(seed: int) -> list[Sent]:
    """From 8 to 30 records in the order of their arrival."""
    dice = random.Random(seed)
    made: list[Sent] = []
    for number in range(dice.randint(8, 24)):
        sent = _sent(dice, seed, number)
        made.append(sent)
        if dice.random() < 0.2:  # the same bytes again, in this wave or in a later one
            made.insert(dice.randint(0, len(made)), sent)
    return made


def _sent(dice: random.Random, seed: int, number: int) -> Sent:
    topic = dice.choice(TOPICS)
    late = dice.choice((60, 300, 60 * 24 * 400)) if dice.random() < 0.08 else 0
    ago_ms = (BEHIND_MIN[topic] + late + dice.randint(-5, 5)) * MINUTE_MS + dice.randint(0, 59_999)
    order = f"o{seed}-{dice.randint(0, 2)}"
    event: dict[str, Any] = {"event_id": f"{seed}-{number}", "event_time": START_MS - ago_ms}
    if topic == POSITIONS:
        event |= {"truck": f"t{seed}-{dice.randint(0, 1)}", "speed_kmh": dice.randint(-5, 130)}
    elif topic == ORDERS:
        event |= {"order_id": order, "truck": "t", "revision": number}
        event["status"] = dice.choice(STATUSES)
    else:
        event |= {"order_id": order, "cents": dice.choice((100, 250, 10**12))}
    if dice.random() < 0.7:
        return Sent(topic, json.dumps(event).encode(), event)
    return _odd(dice, topic, event)


def _odd(dice: random.Random, topic: str, event: dict[str, Any]) -> Sent:
    """A time as text, an unknown field, or a record that is no event."""
    name = dice.choice(sorted(event))
    number = {POSITIONS: "speed_kmh", ORDERS: "revision", PAYMENTS: "cents"}[topic]
    sent_at = datetime.fromtimestamp(event["event_time"] / 1000, UTC)
    text = sent_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    cases: list[tuple[bytes | None, str]] = [
        (json.dumps(event | {"event_time": text}).encode(), ""),
        (json.dumps(event | {"event_time": str(event["event_time"])}).encode(), ""),
        (json.dumps(event | {"more": [1, {"a": None}]}).encode(), ""),
        (None, NULL_VALUE),
        (b"", NOT_JSON),
        (b"null", NOT_JSON),
        (b"[1]", NOT_JSON),
        (json.dumps(event).encode()[:-1], NOT_JSON),
        (b"\xff\xfe", NOT_JSON),
        (json.dumps({k: v for k, v in event.items() if k != name}).encode(), MISSING_FIELD),
        (json.dumps(event | {name: None}).encode(), NULL_FIELD),
        (json.dumps(event | {number: "83"}).encode(), WRONG_TYPE),
        (json.dumps(event | {number: 83.5}).encode(), WRONG_TYPE),
        (json.dumps(event | {number: 10**20}).encode(), WRONG_TYPE),
        (json.dumps(event | {"event_time": dice.choice(OUT_OF_RANGE)}).encode(), WRONG_TYPE),
        (json.dumps(event | {"event_time": dice.choice(OUT_OF_RANGE)}).encode(), WRONG_TYPE),
        (json.dumps(event | {"event_time": dice.choice(OUT_OF_RANGE)}).encode(), WRONG_TYPE),
    ]
    value, reason = dice.choice(cases)
    return Sent(topic, value, event, reason)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_no_event_of_any_input_is_lost_or_doubled(spark: Any, tmp_path: Path, number: int) -> None:
    storage: Storage = ParquetStorage(spark) if number % 2 else DeltaStorage(spark)
    place = Place(tmp_path / "pipeline")
    dice = random.Random(number)
    waves: list[list[Sent]] = [[] for _ in range(WAVES)]
    for seed in range(number * INPUTS, (number + 1) * INPUTS):
        for sent in an_input(seed):
            waves[dice.randrange(WAVES)].append(sent)
    arrived: list[Sent] = []
    with engine.start() as cluster:
        for topic, partitions in layers.PARTITIONS.items():
            cluster.create_topic(topic, partitions=partitions)
        job = driver.Job(cluster.bootstrap, place.folder, batch_records=400, compact=True)
        for wave in (*waves, []):  # at last nothing new, but for the compactions
            write(cluster, [_record(dice, sent) for sent in wave])
            arrived += wave
            driver.run(storage, job, tell=lambda _: None)
            assert_all_is_there(storage, place, arrived)
    assert storage.read(place.late).count(), "no input was late, so nothing was shown about it"
    if storage.format == "delta":
        again = Place(tmp_path / "again")
        again.folder.mkdir()
        shutil.copytree(place.bronze, again.bronze)
        clean_log(spark, again.bronze)
        driver.finish([layers.start_dead_letters(storage, again, MENDED)], lambda _: None)
        driver._silver(storage, again, MENDED, lambda _: None, lambda _: None)
        for gold in GOLD.values():
            driver.finish([*layers.start_gold(storage, again, gold)], lambda _: None)
        assert_all_is_there(storage, again, arrived)


def _record(dice: random.Random, sent: Sent) -> Record:
    key = str(dice.randrange(8)).encode()
    return Record(sent.topic, key, sent.value, START_MS, sent.event)


def assert_all_is_there(storage: Storage, place: Place, arrived: list[Sent]) -> None:
    def rows(path: str, *columns: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in storage.read(path).selectExpr(*columns).collect()]

    assert Counter(topic for (topic,) in rows(place.bronze, "topic")) == Counter(
        sent.topic for sent in arrived
    )
    letters = rows(place.dead_letters, "topic", "reason", "value")
    letters = [(*of, value and bytes(value)) for *of, value in letters]
    assert Counter(letters) == Counter(
        (sent.topic, sent.reason, sent.value) for sent in arrived if sent.reason
    )
    good = {(s.topic, s.event["event_id"]): s for s in arrived if not s.reason}
    newest: dict[str, int] = defaultdict(int)
    for sent in good.values():
        newest[sent.topic] = max(newest[sent.topic], sent.at_ms)
    late = rows(place.late, "topic", "event_id", "unix_millis(event_time)")
    for topic, event_id, at_ms in late:
        assert at_ms == good[topic, event_id].at_ms
        assert at_ms <= newest[topic] - WATERMARK_MS, f"{event_id} was not late"
    there = [(topic, event_id) for topic, event_id, _ in late]
    silver: dict[str, list[dict[str, Any]]] = {}
    for topic in TOPICS:
        found = storage.read(place.silver(topic)).selectExpr(
            "event_id", "unix_millis(event_time) AS at_ms"
        )
        silver[topic] = []
        for event_id, at_ms in map(tuple, found.collect()):
            assert at_ms == good[topic, event_id].at_ms
            there.append((topic, event_id))
            silver[topic].append(good[topic, event_id].event)
    assert sorted(there) == sorted(good), "each event is in silver or late, once"
    assert_gold_is_silver(rows, place, silver)


def assert_gold_is_silver(rows: Any, place: Place, silver: dict[str, list[dict[str, Any]]]) -> None:
    minutes: dict[tuple[str, int], list[int]] = defaultdict(list)
    for event in silver[POSITIONS]:
        minute = event["event_time"] // MINUTE_MS * MINUTE_MS
        minutes[event["truck"], minute].append(event["speed_kmh"])
    columns = ("truck", "unix_millis(minute)", "positions", "total_kmh", "maximum_kmh")
    assert sorted(rows(place.gold(MINUTES), *columns)) == sorted(
        (*at, len(speeds), sum(speeds), max(speeds)) for at, speeds in minutes.items()
    )
    states: dict[str, tuple[int, str]] = {}
    for event in silver[ORDERS]:
        state = event["revision"], event["status"]
        states[event["order_id"]] = max(states.get(event["order_id"], state), state)
    assert sorted(rows(place.gold(STATES), "order_id", "revision", "status")) == sorted(
        (order, *state) for order, state in states.items()
    )
    paid = [(each["event_id"], each["order_id"], each["cents"]) for each in silver[PAYMENTS]]
    assert sorted(rows(place.gold(PAID), "event_id", "order_id", "cents")) == sorted(paid)
