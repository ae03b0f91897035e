"""Power lost before some of the writes of a transactional script; all of them: power_losses.py."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from engine.storage.log import Log
from tests.engine.sim.power_losses import Point, Shop, points, try_one

SEED, TRIED = 1, 8


@pytest.mark.parametrize(
    "torn", [False, pytest.param(True, marks=pytest.mark.full)], ids=["lost", "torn"]
)
def test_a_transaction_is_whole_whenever_power_is_lost(torn: bool) -> None:
    every = list(points(SEED, torn))
    assert len(every) > 1_000
    first = Random(f"power/{torn}").randrange(len(every) // TRIED)
    for point in islice(every, first, None, len(every) // TRIED):
        losses, _, _ = try_one(point)
        assert losses == 1, point


def test_a_flushed_record_that_recovery_cuts_off_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Log.__init__

    def forgetful(log: Log, *arguments: object) -> None:
        known(log, *arguments)  # type: ignore[arg-type]
        log.truncate_to(0)

    shop = Shop(Point(SEED, 101, 400, False))
    monkeypatch.setattr(Log, "__init__", forgetful)
    with pytest.raises(AssertionError, match="flushed, and lost"):
        shop.play()
