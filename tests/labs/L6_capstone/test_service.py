"""A driver dies where it is told to, its folder outlives it, and the samples are the run's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kit.clusters.interface import Cluster
from labs.fleet.records import POSITIONS, Fleet
from labs.L6_capstone import contract, service
from labs.L6_capstone.exercises import survivor
from labs.L6_capstone.service import AFTER, Day, Driver

FLEET = Fleet(120, seed=5, trucks=4, orders=0, late=0.1, duplicate=0.1, malformed=0.1)


def solution() -> Any:
    """The notebook's own."""
    from pyspark.sql import functions as F

    from kit.authoring.sources import solution_of

    names: dict[str, Any] = {"F": F, "__name__": "solution"}
    exec(solution_of("L6-6"), names)
    return names["pipeline"]


def test_waves_hold_every_record_once_in_order() -> None:
    from labs.fleet.records import records

    parts = service.waves(FLEET, 7)
    assert [record for part in parts for record in part] == list(records(FLEET))
    assert {len(part) for part in parts} <= {17, 18}
    with pytest.raises(ValueError, match="take from 1"):
        service.waves(FLEET, 0)


def test_a_sample_is_bad_when_late_and_when_counted_twice() -> None:
    (wave,) = service.waves(FLEET, 1)
    readable = contract.promised(wave).positions

    def sampled(counted: int) -> list[int]:
        day = Day()
        day.sample(wave, {contract.MINUTES: [["truck-01", 0, counted, 80]]})
        return day.bad

    assert sampled(readable) == []
    assert sampled(readable - 1) == []
    assert sampled(readable * 98 // 100) == [1]
    assert sampled(readable + 1) == [1]


def test_a_budget_that_is_used_up_is_zero() -> None:
    """(1 - 0.8) * 5 is a little less than 1, and no reader knows a budget of -0.0."""
    late = service.Sample(1, readable=100, counted=50)
    good = service.Sample(2, readable=100, counted=100)
    text = str(Day(samples=[late, good, good, good, good]))
    assert text.endswith("allows 1.0, so 0.0 samples are left")


@pytest.mark.spark
@pytest.mark.full
@pytest.mark.timeout(600)
class TestDriver:
    @pytest.fixture(scope="class")
    def day(self, engine_cluster: Cluster) -> Iterator[tuple[Day, Driver, list[bool]]]:
        """The driver dies after the sink of wave 1; wave 2 finds its folder."""
        engine_cluster.create_topic(POSITIONS, partitions=2)
        day, lived = Day(), []
        with Driver(solution(), engine_cluster) as driver:
            for wave, kill in zip(service.waves(FLEET, 2), (AFTER, ""), strict=True):
                service.write(engine_cluster, wave)
                lived.append(driver.run(kill))
                day.sample(wave, driver.tables, kill)
            yield day, driver, lived

    def test_it_dies_and_the_contract_holds(self, day: Any) -> None:
        samples, driver, lived = day
        assert lived == [False, True]
        assert driver.starts == 2
        assert samples.breach(driver.tables) is None
        assert samples.bad == [1]

    def test_a_pipeline_that_raises_is_named(self, day: Any, engine_cluster: Cluster) -> None:
        def broken(spark, bootstrap, folder):
            raise ValueError("no such table")

        with Driver(broken, engine_cluster) as driver:
            with pytest.raises(service.DriverFailed, match="ValueError: no such table"):
                driver.run()
            with pytest.raises(ValueError, match="is no moment"):
                driver.run(kill="at noon")


def breach_of(changed: dict[str, Any]) -> str:
    (wave,) = service.waves(FLEET, 1)
    truth = contract.promised(wave)
    good = {
        contract.MINUTES: [
            [truck, at, minute.positions, minute.maximum_kmh]
            for (truck, at), minute in sorted(truth.minutes.items())
        ],
        contract.DEAD_LETTERS: [[0, n, "unreadable"] for n in range(truth.dead_letters)],
    }
    found = contract.breach({name: changed.get(name, rows) for name, rows in good.items()}, truth)
    return found.message if found else ""


def test_each_broken_promise_has_a_sentence_of_its_own() -> None:
    (wave,) = service.waves(FLEET, 1)
    truth = contract.promised(wave)
    minutes = [[t, at, m.positions, m.maximum_kmh] for (t, at), m in sorted(truth.minutes.items())]
    letters = [[0, n, "unreadable"] for n in range(truth.dead_letters)]
    cases = {
        "": {},
        "no Delta table minutes": {contract.MINUTES: None},
        "does not have the columns": {contract.MINUTES: "not readable: positions"},
        "more than one row": {contract.MINUTES: [*minutes, minutes[0]]},
        "count twice": {contract.MINUTES: [[t, a, 2 * n, f] for t, a, n, f in minutes]},
        "Positions are missing": {contract.MINUTES: minutes[1:]},
        "the fastest of them": {contract.MINUTES: [[t, a, n, f + 1] for t, a, n, f in minutes]},
        "No truck sent": {contract.MINUTES: [*minutes, ["truck-99", 0, 1, 80]]},
        "have disappeared": {contract.DEAD_LETTERS: letters[1:]},
        "of records that can be read": {contract.DEAD_LETTERS: [*letters, [1, 0, "odd"]]},
        "more than once": {contract.DEAD_LETTERS: [*letters, letters[0]]},
        "does not say why": {contract.DEAD_LETTERS: [*letters[1:], [0, 99, None]]},
    }
    for words, changed in cases.items():
        assert re.search(words, breach_of(changed)) if words else not breach_of(changed), words


def test_the_truth_from_the_bytes_is_the_generators() -> None:
    (wave,) = service.waves(FLEET, 1)
    assert survivor.promised([[(r.key, r.value) for r in wave]]) == contract.promised(wave)
