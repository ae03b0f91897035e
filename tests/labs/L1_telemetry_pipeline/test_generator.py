"""The fleet: the same seed gives the same bytes, and the truth is what the bytes say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict

import pytest

from kit.course import PROJECT
from labs.L1_telemetry_pipeline import generator

REQUIRED = {"event_id": str, "truck": str, "event_time": int, "speed_kmh": int}


def fleet(events: int = 20_000, seed: int = 7) -> list:
    return list(generator.positions(generator.Fleet(events=events, seed=seed)))


def reason(value: bytes) -> str:
    """What is wrong with a record, found by reading it."""
    try:
        event = json.loads(value)
    except ValueError:
        return generator.NOT_JSON
    if set(REQUIRED) - set(event):
        return generator.MISSING_FIELD
    typed = all(isinstance(event[name], kind) for name, kind in REQUIRED.items())
    return "" if typed else generator.WRONG_TYPE


def test_a_seed_decides_every_byte_under_any_hash_seed() -> None:
    code = (
        "import hashlib; from labs.L1_telemetry_pipeline import generator as g\n"
        "everything = b''.join(p.value for p in g.positions(g.Fleet(3000, 5)))\n"
        "print(hashlib.sha256(everything).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert fleet(3_000, 5) == fleet(3_000, 5)
    assert fleet(3_000, 5) != fleet(3_000, 6)


def test_the_truth_is_what_reading_every_record_finds() -> None:
    records = fleet()
    truth = generator.truth(records)
    found = Counter(reason(record.value) for record in records)
    assert truth.malformed == {name: found[name] for name in generator.REASONS}
    assert all(truth.malformed.values())
    events, minutes = {}, defaultdict(list)
    for record in records:
        if not reason(record.value):
            event = json.loads(record.value)
            events.setdefault(event["event_id"], event)
    for event in events.values():
        minute = event["event_time"] // 60_000 * 60_000
        minutes[event["truck"], minute].append(event["speed_kmh"])
    assert truth.produced == len(records) == 20_000
    assert truth.duplicates == found[""] - len(events)
    assert truth.events == len(events)
    assert truth.minutes == {
        place: (len(speeds), sum(speeds) / len(speeds), max(speeds))
        for place, speeds in minutes.items()
    }


def test_each_kind_of_trouble_has_about_its_share() -> None:
    truth = generator.truth(fleet())
    assert truth.late / truth.produced == pytest.approx(0.05, rel=0.2)
    assert truth.duplicates / truth.produced == pytest.approx(0.02, rel=0.2)
    assert sum(truth.malformed.values()) / truth.produced == pytest.approx(0.01, rel=0.3)


def test_a_duplicate_repeats_an_earlier_record_byte_for_byte() -> None:
    seen = set()
    for record in fleet():
        if not reason(record.value):
            assert (record.value in seen) == (record.kind == "duplicate")
            seen.add(record.value)


def test_late_positions_are_older_than_any_other_when_they_arrive() -> None:
    newest = 0
    for record in fleet():
        if record.kind == "late":
            assert newest - record.event_time_ms > 50_000 or newest == 0
        elif record.kind == "good":
            newest = max(newest, record.event_time_ms)


def test_a_few_trucks_send_most_of_the_positions() -> None:
    sent = Counter(record.truck for record in fleet())
    assert sent.most_common(1)[0][0] == "truck-01"
    assert sum(n for _, n in sent.most_common(5)) > sum(sent.values()) / 2
    assert len(sent) == 40


def test_the_key_is_the_truck() -> None:
    assert all(record.key == record.truck.encode() for record in fleet(2_000))
