"""A rate over windows, a bucket of tokens: Kafka's figures, worked out by hand."""

from __future__ import annotations

import pytest

from engine.quotas.rate import TokenBucket, WindowedRate


def byte_rate() -> WindowedRate:
    return WindowedRate(samples=11, window_ms=1000)


def test_a_young_rate_is_spread_over_ten_full_windows() -> None:
    rate = byte_rate()
    rate.record(1_000_000, 0)
    assert rate.measure(0) == pytest.approx(100_000)
    assert rate.elapsed_ms(400) == 10_400


def test_over_the_limit_the_wait_brings_the_rate_down_to_it() -> None:
    rate = byte_rate()
    rate.record(1_200_000, 0)
    wait_ms = rate.throttle_ms(100_000, 0)
    assert wait_ms == 2_000
    assert 1_200_000 * 1000 / (rate.elapsed_ms(0) + wait_ms) == pytest.approx(100_000)


def test_exactly_the_limit_is_not_over_it() -> None:
    rate = byte_rate()
    rate.record(1_000_000, 0)
    assert rate.throttle_ms(100_000, 0) == 0


def test_samples_older_than_eleven_windows_are_forgotten() -> None:
    rate = byte_rate()
    for second in range(30):
        rate.record(50_000, second * 1000)
    # 29 s is inside the twelfth window: eleven samples count, the oldest began at 19 s.
    assert rate.measure(29_000) == pytest.approx(11 * 50_000 / 10)
    assert rate.measure(29_000 + 11_000) == 0


def test_what_is_taken_back_leaves_the_rate_as_it_was() -> None:
    rate = byte_rate()
    rate.record(300, 0)
    before = rate.measure(100)
    rate.record(5_000, 100)
    rate.record(-5_000, 100)
    assert rate.measure(100) == pytest.approx(before)


def test_a_bucket_lets_a_burst_pass_and_then_the_rate() -> None:
    bucket = TokenBucket(samples=11, window_ms=1000)
    now = 1_700_000_000_000
    assert bucket.measure(2, now) == 22
    bucket.take(30, 2, now)
    assert bucket.throttle_ms(2, now) == 4_000
    assert bucket.throttle_ms(2, now + 3_999) == 1
    assert bucket.throttle_ms(2, now + 4_000) == 0
