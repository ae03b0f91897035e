"""UpdateFeatures: which levels may change, which way, and that a request changes all or nothing."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from engine.metadata.features import FINALISED, SUPPORTED
from engine.wire import messages as m
from engine.wire.errors import Errors

BROKER = 4
MIN_IN_SYNC = "min.insync.replicas"
ELR, GROUP, METADATA = "eligible.leader.replicas.version", "group.version", "metadata.version"
PROTOCOL = "transaction.version"
UPGRADE, SAFE, UNSAFE = 1, 2, 3
LEVELS, WAYS = [0, 1, 2, 0, 1, 2, -1, 3, 29, 30], [1, 2, 3, 1, 2, 3, 0, 4]
Step = tuple[str, int, int]
REFUSED = "The update failed for all features since the following feature had an error: "


def update(bench: Any, *steps: Step, validate_only: bool = False) -> Any:
    key = m.UpdateFeaturesRequest.FeatureUpdateKey
    updates = [key(name, level, upgrade_type=way) for name, level, way in steps]
    return bench.ask(m.UpdateFeaturesRequest(30_000, updates, validate_only))


def refused(bench: Any, *steps: Step) -> str:
    """Why; nothing has changed."""
    before, end = dict(bench.image.features), bench.image.offset
    answer = update(bench, *steps)
    assert answer.error_code == Errors.INVALID_UPDATE_VERSION
    assert (bench.image.features, bench.image.offset) == (before, end)
    assert answer.error_message.startswith(REFUSED)
    return str(answer.error_message.removeprefix(REFUSED))


def test_down_off_and_up_again(bench: Any) -> None:
    for level, way in ((1, SAFE), (0, UNSAFE), (2, UPGRADE)):
        answer = update(bench, (PROTOCOL, level, way))
        assert (answer.error_code, answer.error_message) == (0, None)
        assert [(row.feature, row.error_code) for row in answer.results] == [(PROTOCOL, 0)]
        assert bench.image.features.get(PROTOCOL, 0) == level
    told = [dict(line.fields) for line in bench.trace if line.kind == "feature"]
    assert [(line["before"], line["level"]) for line in told] == [(2, 1), (1, 0), (0, 2)]


def test_a_controller_that_starts_again_finds_the_levels_in_its_log(bench: Any) -> None:
    update(bench, (PROTOCOL, 1, SAFE), (GROUP, 0, SAFE))
    bench.start()
    kept = {name: level for name, level in FINALISED.items() if name != GROUP}
    assert bench.image.features == {**kept, PROTOCOL: 1}


def test_what_is_only_validated_changes_nothing(bench: Any) -> None:
    end = bench.image.offset
    answer = update(bench, (PROTOCOL, 1, SAFE), validate_only=True)
    assert answer.error_code == 0
    assert (bench.image.features, bench.image.offset) == (FINALISED, end)
    wrong = update(bench, (PROTOCOL, 3, UPGRADE), validate_only=True)
    assert wrong.error_code == Errors.INVALID_UPDATE_VERSION


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ((PROTOCOL, 3, UPGRADE), "Local controller 100 only supports versions 0-2"),
        ((PROTOCOL, -1, SAFE), "A feature version cannot be less than 0."),
        ((PROTOCOL, 2, 0), "The controller does not support the given upgrade type."),
        ((PROTOCOL, 1, UPGRADE), "without setting the upgrade type to either safe or unsafe"),
        (("kraft.version", 1, UPGRADE), "The voters of this quorum are fixed."),
        (("kraft.version", 2, UPGRADE), "Local controller 100 only supports versions 0-1"),
        (("nope", 1, UPGRADE), "Local controller 100 does not support this feature."),
        (("nope", 0, SAFE), "Feature nope not found."),
        ((METADATA, 31, UPGRADE), "Local controller 100 only supports versions 7-30"),
        ((METADATA, 29, SAFE), "from 30 to 29. Refusing to perform the requested downgrade"),
        ((METADATA, 29, UNSAFE), "Unsafe metadata downgrade is not supported in this version."),
    ],
)
def test_refused(bench: Any, step: Step, why: str) -> None:
    assert why in refused(bench, step)


def test_a_downgrade_does_not_raise(bench: Any) -> None:
    update(bench, (PROTOCOL, 1, SAFE))
    assert "Can't downgrade to a newer version." in refused(bench, (PROTOCOL, 2, SAFE))


def test_one_wrong_update_refuses_all(bench: Any) -> None:
    assert "feature nope" in refused(bench, (PROTOCOL, 1, SAFE), ("nope", 1, UPGRADE))


def test_switching_elr_on_makes_min_insync_replicas_the_same_everywhere(bench: Any) -> None:
    update(bench, (ELR, 0, SAFE))
    assert bench.set_config(BROKER, "", MIN_IN_SYNC, None).error_code == 0
    assert bench.set_config(BROKER, "101", MIN_IN_SYNC, "2").error_code == 0
    update(bench, (ELR, 1, UPGRADE))
    assert bench.image.configs == {(BROKER, ""): {MIN_IN_SYNC: "1"}}


@pytest.mark.parametrize("seed", range(20))
def test_levels_stay_supported_and_move_the_way_that_was_named(bench: Any, seed: int) -> None:
    chance = Random(seed)
    names = [*SUPPORTED, PROTOCOL, GROUP, ELR, "nope"]
    changed = 0
    for _ in range(60):
        steps = [
            (chance.choice(names), chance.choice(LEVELS), chance.choice(WAYS))
            for _ in range(chance.randint(1, 2))
        ]
        before = dict(bench.image.features)
        judged = update(bench, *steps, validate_only=True)
        assert bench.image.features == before
        answer = update(bench, *steps)
        after = bench.image.features
        assert (answer.error_code, answer.error_message) == (
            judged.error_code,
            judged.error_message,
        )
        last = {name: (level, way) for name, level, way in steps}
        if answer.error_code:
            assert after == before
            continue
        changed += after != before
        for name in SUPPORTED:
            old, new = before.get(name, 0), after.get(name, 0)
            low, high = SUPPORTED[name]
            assert low <= new <= high
            assert new == last.get(name, (old, 0))[0]
            assert new >= old if last.get(name, (0, UPGRADE))[1] == UPGRADE else new <= old
        assert after[METADATA] == 30
    assert changed
