"""The scale row: a record may cost a fifth more, or less, among many; no part runs it unasked."""

from __future__ import annotations

import pytest

from kit import bench as of_the_kit
from labs import bench
from labs.bench import pipeline_scale


@pytest.mark.parametrize(("large", "holds"), [(119.0, True), (121.0, False), (79.0, False)])
def test_the_cost_of_a_record_stays_within_a_fifth(large: float, holds: bool) -> None:
    assert pipeline_scale._row("pipeline", large, 100.0)["holds"] is holds


def test_it_runs_only_by_name() -> None:
    assert "pipeline_scale" in bench.ON_REQUEST
    assert not set(bench.ON_REQUEST) & set(bench.PARTS)


def test_an_unknown_part_is_refused_with_the_known_ones() -> None:
    known = "codec, .*, explorer, pipeline, spark, grading, wide, failover, restart, pipeline_scale"
    with pytest.raises(ValueError, match=f"there is no part speed: choose from {known}"):
        of_the_kit.rows_of(["speed"], (of_the_kit, bench), rounds=1)


def test_two_times_within_their_noise_do_not_hold() -> None:
    assert pipeline_scale._row("pipeline", -100.0, -100.0)["holds"] is False
