"""The fleet's records: the same by seed, as troubled as asked, and the truth adds up."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labs.fleet.records import (
    LATEST_MS,
    NULL_VALUE,
    ORDERS,
    POSITIONS,
    REASONS,
    RESENT_WITHIN_MS,
    STATUSES,
    TOPICS,
    Fleet,
    records,
)
from labs.fleet.truth import Tally, Truth
from labs.fleet.writer import Pace, write

fleets = st.builds(
    Fleet,
    events=st.integers(0, 600),
    seed=st.integers(0, 1000),
    trucks=st.integers(1, 50),
    per_second=st.integers(1, 200),
    late=st.floats(0, 1),
    duplicate=st.floats(0, 1),
    malformed=st.floats(0, 1),
    orders=st.floats(0, 1),
)


def truth_of(fleet: Fleet) -> Truth:
    tally = Tally()
    for _ in tally.counting(records(fleet)):
        pass
    return tally.truth()


@settings(max_examples=40, deadline=None)
@given(fleets)
def test_the_same_seed_gives_the_same_records(fleet: Fleet) -> None:
    first = list(records(fleet))
    assert first == list(records(fleet))
    assert len(first) == fleet.events


def test_another_seed_gives_other_records() -> None:
    assert list(records(Fleet(100, seed=1))) != list(records(Fleet(100, seed=2)))


@settings(max_examples=40, deadline=None)
@given(fleets)
def test_the_counts_of_the_truth_add_up(fleet: Fleet) -> None:
    truth = truth_of(fleet)
    assert truth.produced == fleet.events
    for counts in truth.counts.values():
        assert counts.events >= 0
        assert counts.produced == sum(counts.by_key.values())
        copies = counts.duplicates - counts.time_as_text_duplicates
        assert counts.produced == counts.events_at_first + counts.refused_at_first + copies
    assert sum(each.positions for each in truth.minutes.values()) == truth.positions.events


@settings(max_examples=40, deadline=None)
@given(fleets)
def test_records_arrive_in_order_and_within_the_bounds(fleet: Fleet) -> None:
    arrived = 0
    first_copy: dict[str, int] = {}
    for record in records(fleet):
        assert record.arrives_ms >= arrived
        arrived = record.arrives_ms
        on_its_way = record.arrives_ms - record.event_time_ms
        assert 20 <= on_its_way <= LATEST_MS + RESENT_WITHIN_MS
        if record.duplicate:
            assert record.arrives_ms - first_copy[record.event_id] <= RESENT_WITHIN_MS
        else:
            assert record.event_id not in first_copy
            first_copy[record.event_id] = record.arrives_ms


def test_the_bytes_say_what_the_generator_knows() -> None:
    """A reader of the bytes alone, with rules of its own, comes to the same verdicts."""
    kinds = Counter[str]()
    for record in records(Fleet(30_000, malformed=0.05)):
        kinds[record.fault or "good"] += 1
        if record.value is None:
            assert record.fault == NULL_VALUE
            continue
        try:
            read = json.loads(record.value)
        except ValueError:
            read = None
        clean = isinstance(read, dict) and not isinstance(read.get("event_time"), str)
        if clean and not record.fault:
            assert read == record.report
        elif not record.fault:
            assert record.time_as_text
            assert record.schema == 2
        else:
            assert read != record.report
    assert set(kinds) == {"good", *REASONS}


def test_each_kind_of_trouble_has_its_share() -> None:
    truth = truth_of(Fleet(20_000))
    positions = truth.positions
    assert 0.04 < positions.late / positions.produced < 0.06
    assert 0.015 < positions.duplicates / positions.produced < 0.025
    assert 0.005 < sum(positions.malformed.values()) / positions.produced < 0.015
    assert positions.out_of_order > positions.late / 2
    assert positions.hottest_share > 5 / 40
    assert positions.time_as_text > 0
    assert {topic for topic in TOPICS if truth.counts[topic].produced} == set(TOPICS)


def test_the_schema_changes_half_way() -> None:
    sent = sorted(records(Fleet(4_000)), key=lambda each: each.event_time_ms)
    schemas = [each.schema for each in sent if not each.duplicate]
    change = schemas.index(2)
    assert set(schemas[:change]) == {1}
    assert set(schemas[change:]) == {2}
    assert 0.45 < change / len(schemas) < 0.55
    assert all(("heading" in r.report) == (r.schema == 2) for r in sent if r.topic == POSITIONS)


def test_an_order_ends_at_its_highest_revision_in_any_order_of_arrival() -> None:
    fleet = Fleet(3_000, late=0.5, orders=0.5)
    tally, backwards = Tally(), Tally()
    for record in records(fleet):
        tally.add(record)
    for record in reversed(list(records(fleet))):
        backwards.add(record)
    assert tally.truth().orders == backwards.truth().orders
    assert {state.status for state in tally.truth().orders.values()} == set(STATUSES)
    assert all(STATUSES[each.revision - 1] == each.status for each in tally.truth().orders.values())


def test_a_pace_waits_for_what_is_not_due_and_catches_up() -> None:
    now = [100.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    pace = Pace(4, clock=lambda: now[0], sleep=sleep)
    pace.wait(1)
    pace.wait(2)
    now[0] += 10
    pace.wait(3)
    assert slept == [0.25, 0.25]
    Pace(None, clock=lambda: now[0], sleep=sleep).wait(1_000_000)
    assert len(slept) == 2
    with pytest.raises(ValueError, match="above 0"):
        Pace(0)


def test_the_topics_hold_the_records_that_were_counted(engine_cluster) -> None:
    from confluent_kafka import Consumer

    for topic in TOPICS:
        engine_cluster.create_topic(topic, partitions=3, replicas=3)
    tally = Tally()
    assert write(engine_cluster, tally.counting(records(Fleet(1_000, orders=0.3)))) == 1_000
    settings = {"bootstrap.servers": engine_cluster.bootstrap, "group.id": "fleet",
                "auto.offset.reset": "earliest"}  # fmt: skip
    consumer = Consumer(settings)
    consumer.subscribe(list(TOPICS))
    found = Counter[tuple[str, bytes, bytes | None]]()
    while found.total() < 1_000:
        for message in consumer.consume(500, timeout=1):
            assert message.error() is None, message.error()
            found[message.topic(), message.key(), message.value()] += 1
    consumer.close()
    expected = records(Fleet(1_000, orders=0.3))
    assert found == Counter((each.topic, each.key, each.value) for each in expected)
    assert tally.truth().counts[ORDERS].produced > 200
