"""The faults of the control plane: what each design does, and that a real cluster does the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kit.columns import columns
from kit.columns.columns import declared
from kit.columns.outcome import DESIGNS
from kit.columns.scenarios import SCENARIOS
from kit.columns.side import LOST, STANDARD, Side

Scenario = Callable[[Side], None]
EVERY = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
ANOTHER, SAME, NOT_ONE = "another", "the same", "none"
FACTS: dict[str, dict[str, tuple[object, object]]] = {
    "controller_killed": {"active": (ANOTHER, ANOTHER), "created": ("NONE", "NONE")},
    "controller_stopped": {"active": (ANOTHER, ANOTHER), "created": ("NONE", "NONE")},
    "controller_paused": {
        "active": (ANOTHER, ANOTHER),
        "created": ("NONE", "NONE"),
        "the zombie is active again": (False, False),
    },
    "controller_isolated": {
        "active": (ANOTHER, ANOTHER),
        "cut off, it takes itself for active": (False, True),
        "created": ("NONE", "NONE"),
    },
    "successor_killed": {
        "active": (NOT_ONE, ANOTHER),
        "there is a third": (False, True),
        "created": (False, True),
    },
    "topic_created_first": {
        "active": (ANOTHER, ANOTHER),
        "created before": ("NONE", "NONE"),
        "created after": ("TOPIC_ALREADY_EXISTS", "TOPIC_ALREADY_EXISTS"),
    },
    "standby_killed": {"active": (SAME, SAME), "created": ("NONE", "NONE")},
    "majority_lost": {
        "created meanwhile": (False, False),
        "records are acknowledged meanwhile": (True, True),
        "created": ("NONE", "NONE"),
    },
    "broker_killed": {
        "active": (SAME, SAME),
        "leader epochs passed": (1, 1),
        "in the ISR": (False, False),
    },
    "broker_stopped": {
        "active": (SAME, SAME),
        "leader epochs passed": (1, 1),
        "another leads": (True, True),
    },
    "broker_paused": {"active": (SAME, SAME), "it leads again": (False, False)},
    "broker_isolated": {"active": (SAME, SAME), "it leads again": (False, False)},
    "broker_cut_from_controller": {
        "active": (SAME, SAME),
        "in service": (False, True),
        "created": ("NONE", "NONE"),
    },
}


@EVERY
def test_the_engine_shows_what_the_designs_do(scenario: Scenario) -> None:
    outcome = columns.run(scenario, real=False)
    for place, design in enumerate(DESIGNS):
        seen = outcome.of(f"engine {design}")
        assert (seen["errors"], seen[LOST]) == (0, True)
        expected = {what: both[place] for what, both in FACTS[scenario.__name__].items()}
        if (fate := expected.pop("active", None)) is not None:
            assert fate_of(seen) == fate
        assert {what: value for what, value in seen.items() if what not in STANDARD} == expected


def fate_of(seen: dict[str, object]) -> str:
    if seen["active after"] == -1:
        return NOT_ONE
    return SAME if seen["active after"] == seen["active before"] else ANOTHER


@pytest.mark.real
@pytest.mark.full
@pytest.mark.heavy
@EVERY
def test_real_clusters_do_the_same(scenario: Scenario) -> None:
    outcome = columns.run(scenario)
    assert outcome.absent == {}
    assert all(seen[LOST] is True for seen in outcome.seen.values())
    differ = {
        f"{design} › {what}" for design, found in outcome.differences.items() for what in found
    }
    assert differ == declared(outcome).keys(), outcome.text
