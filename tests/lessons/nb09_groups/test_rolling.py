"""What the helpers of the rolling restart count, and how long a group read nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kit.film.source import Line
from lessons.nb09_groups.rates import Rates
from lessons.nb09_groups.workers import Caches, Team


def test_a_rate_counts_the_polls_of_each_step_and_leaves_the_last_one_out() -> None:
    rates = Rates(0.5, ["range", "static"])
    assert rates.note("static", [0.1, 0.4, 1.2, 1.7], [("A", 0.0)]) == [2, 0, 1]
    assert rates.text.splitlines() == [
        "Records read in each 0.5 s",
        "range: ; closed: no worker",
        "static: 2 0 1; closed: A at 0.0 s",
    ]
    assert "V2h1V0h1V1h1" in rates.svg()


def test_a_cache_is_loaded_with_each_assignment() -> None:
    caches, worker = Caches(0.0), SimpleNamespace(rest=lambda seconds: None)
    given: Any = worker
    caches.load(given, [("orders", 0), ("orders", 2)])
    caches.load(given, [("orders", 2)])
    assert caches.loads(3) == [1, 0, 2]
    caches.clear()
    assert (caches.loads(3), caches.seconds) == ([0, 0, 0], 0)


def test_a_gap_is_between_polls_of_any_member() -> None:
    cluster: Any = SimpleNamespace(bootstrap="")
    two = Team(cluster, ("orders",), "g")
    fields = {"client": "A", "partitions": ("orders-0", "orders-1")}
    workers: Any = {
        "A": SimpleNamespace(
            polled_us=[900_000, 2_000_000],
            lines=[Line(10, -1, "assigned", "", fields), Line(20, -1, "reads", "", fields)],
        ),
        "B": SimpleNamespace(polled_us=[3_500_000], lines=[]),
    }
    two.workers = workers
    assert two.polls(1_000_000) == [1.0, 2.5]
    assert two.longest_gap(1_000_000) == pytest.approx(1.5)
    assert two.longest_gap(4_000_000) == 0
    assert two.heard("A") == ["assigned 0 1"]
