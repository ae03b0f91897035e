"""A budget for the reference core says the same on a core that is half as fast."""

from __future__ import annotations

import pytest

from kit.bench import core, explorer, simulator


def test_each_round_is_held_to_the_cores_speed_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    paces = iter([0.25, 0.5, 1.0])
    monkeypatch.setattr(core, "pace", lambda: next(paces))
    rates = iter([9_000.0, 10_000.0])
    assert core.paced(lambda: next(rates), rounds=2) == (9_000.0, 0.375), "a fast core owes more"


@pytest.mark.parametrize("speed", [1.0, 0.5])
def test_a_slow_core_owes_less(speed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "pace", lambda: speed)
    monkeypatch.setattr(explorer, "_pace", lambda: 32_000 * speed)
    (row,) = explorer.measure(rounds=1)
    assert (row["holds"], row["budget"]) == (True, f"≥ 31,500 × core {speed:.2f}")
    monkeypatch.setattr(explorer, "_pace", lambda: 31_000 * speed)
    (row,) = explorer.measure(rounds=1)
    assert not row["holds"]


def test_the_simulators_budgets_follow_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "pace", lambda: 0.5)
    monkeypatch.setattr(simulator, "_campaign_pace", lambda: 10_100.0)
    monkeypatch.setattr(simulator, "_cost_us", lambda brokers: 50.0)
    monkeypatch.setattr(simulator, "_idle_share", lambda: 0.3)
    monkeypatch.setattr(simulator, "_travel_s", lambda: 0.39)
    pace, _, _, travel = simulator.measure(rounds=1)
    assert (pace["theirs"], pace["holds"]) == (10_000.0, True)
    assert (travel["theirs"], travel["holds"]) == (0.4, True)


def test_the_same_loop_twice_is_the_same_work() -> None:
    assert 0 < core.pace(turns=2_000) < 100
