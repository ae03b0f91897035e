"""How long to wait: doubling, jitter, and a longest wait that is never exceeded."""

from __future__ import annotations

from random import Random

from engine.client.backoff import ExponentialBackoff


def test_no_wait_is_longer_than_the_longest() -> None:
    backoff = ExponentialBackoff(100, 1_000, Random(1))
    waits = [backoff.wait_us(10) for _ in range(200)]
    assert max(waits) == 1_000
    assert 800 <= min(waits) < 900


def test_waits_double_with_a_fifth_of_jitter_before_that() -> None:
    backoff = ExponentialBackoff(100_000, 1_000_000, Random(1))
    for failures, bare in enumerate((100_000, 200_000, 400_000, 800_000)):
        waits = [backoff.wait_us(failures) for _ in range(50)]
        assert 0.8 * bare <= min(waits) < max(waits) <= 1.2 * bare


def test_a_first_wait_as_long_as_the_longest_has_no_jitter() -> None:
    for initial in (1_000, 5_000):
        backoff = ExponentialBackoff(initial, 1_000, Random(1))
        assert {backoff.wait_us(failures) for failures in range(20)} == {1_000}
