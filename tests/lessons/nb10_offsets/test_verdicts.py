"""The verdicts of notebook 10 come from what its runs observe."""

from __future__ import annotations

from typing import Any

import pytest

from engine.client.consumer.subscription import Subscription
from kit.exercises import settling
from lessons.nb10_offsets.exercises.predictions import PREDICTIONS
from tests.lessons.verdicts import engines_run, seen_by, settled

DEFINED = {each.id: each for each in PREDICTIONS}

COMMITS_ONLY_RISE = """
from engine.__main__ import main
from engine.coordinators.offsets import OffsetRecord, Offsets

takes = Offsets.apply

def compares(self, line):
    if isinstance(line, OffsetRecord) and line.committed:
        before = self.of(line.group).get((line.topic, line.partition))
        if before and line.committed.offset < before.offset:
            return
    takes(self, line)

Offsets.apply = compares
main()
"""


@pytest.mark.heavy
@pytest.mark.timeout(180)
@pytest.mark.usefixtures("own_engines")
def test_it_does_not_where_a_coordinator_compares_offsets(monkeypatch) -> None:
    engines_run(COMMITS_ONLY_RISE, monkeypatch)
    assert settled("10-2", seen_by("10", "backwards")) == "6 6"


def test_a_client_that_commits_what_it_has_processed_loses_nothing_and_repeats() -> None:
    """The cell `java-way`, in virtual time: A is killed in the middle of a poll."""
    by_a, by_b = played_in_virtual_time()
    assert set(by_a) | set(by_b) == set(range(12))
    assert set(by_a) & set(by_b)


def test_a_client_that_commits_all_it_has_fetched_loses_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mutant commits as if every record were processed when it arrives."""
    consumed = Subscription.consumed

    def ahead(self: Subscription) -> Any:
        return {place: type(at)(at.offset + 3, at.epoch) for place, at in consumed(self).items()}

    monkeypatch.setattr(Subscription, "consumed", ahead)
    by_a, by_b = played_in_virtual_time()
    assert set(by_a) | set(by_b) != set(range(12))


def played_in_virtual_time() -> tuple[list[int], list[int]]:
    """What A processed before it was killed, and B after it."""
    from engine.sim.world.world import World
    from kit.group_panel import members
    from kit.probes import virtual

    world = World(10)
    world.create_topic("orders", assignment={0: [101, 102, 103]})
    virtual.post(world, "orders", *(f"order-{n}" for n in range(12)))
    own = {"auto.commit.interval.ms": 1_000, "max.poll.records": 3}
    members.join(world, "A", "orders", "billing", "range", own, work_us=300_000)
    world.run(lambda w: len(w.client("A").application.processed) >= 8, for_s=60)
    by_a = [each.offset for each in world.client("A").application.processed]
    members.act(world, "kill", "A")
    members.join(world, "B", "orders", "billing", "range", own, work_us=300_000)
    world.run(for_s=25)
    return by_a, [each.offset for each in world.client("B").application.processed]


ONE_LOST = {"most records lost by one crash": 1, "most records repeated by one crash": 0.0}
SEEN: dict[str, list[tuple[dict[str, Any], str]]] = {
    "10-1": [
        ({"most records lost by one crash": 0}, "0"),
        ({"most records lost by one crash": 4}, "4"),
    ],
    "10-2": [({"next offset": 6, "first offset after a restart": 9}, "6 9")],
    "10-3": [({"processed twice": 6}, "6"), ({"processed twice": 0}, "0")],
    "10-4": [({"what the loop does": "exactly once"}, "a")],
    "10-5": [({"first offset processed": 50}, "50"), ({"first offset processed": 20}, "20")],
    "10-6": [({"new records processed": 15}, "15")],
    "10-8": [
        ({"errors that it saw": 0, "the reader in the rack": ["A", "B", "C"]}, "a"),
        ({"errors that it saw": 1, "the reader in the rack": ["A", "B"]}, "b"),
        ({"errors that it saw": 0, "the reader in the rack": ["A", "B"],
          "when the link is back": ["A", "B"]}, ""),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "seen", "right"),
    [(question, *case) for question, cases in SEEN.items() for case in cases],
)
def test_a_changed_scenario_makes_another_answer_right(
    question: str, seen: dict[str, Any], right: str
) -> None:
    assert settled(question, seen) == right


@pytest.mark.parametrize(
    ("question", "answer", "seen", "says"),
    [
        ("10-1", "0", ONE_LOST, "the record in hand"),
        ("10-1", "12", ONE_LOST, "only the record in hand"),
        ("10-2", "2 2", {"next offset": 6, "first offset after a restart": 2,
                         "committed offset": 2}, "looks at its position"),
        ("10-2", "6 6", {"next offset": 6, "first offset after a restart": 2,
                         "committed offset": 2}, "the last commit that arrives"),
        ("10-3", "6", {"processed twice": 12, "by B": 6, "by A again": 6}, "eager strategy"),
        ("10-3", "0", {"processed twice": 12, "by B": 6, "by A again": 6}, "not committed"),
        ("10-5", "50", {"first offset processed": 100, "still there, and skipped": 50},
         "50 records that could still be read"),
        ("10-6", "15", {"new records processed": 5, "the first of them": "new-10"}, "no error"),
        ("10-7", "6 7", {"offset": 1, "minutes read": "9 1 6 7"}, "before the one of minute 1"),
    ],
)  # fmt: skip
def test_a_wrong_answer_hears_what_this_run_showed(
    question: str, answer: str, seen: dict[str, Any], says: str
) -> None:
    prediction = DEFINED[question]
    given = settling.answer_of(prediction, answer)
    assert says in settling.settle(prediction, given, {"": seen}).because
