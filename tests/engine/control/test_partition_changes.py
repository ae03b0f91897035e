"""The rules of elections, ISR, ELR and epochs, on one partition and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.control.partition_changes import Change, Election, Rules, change_partition
from engine.metadata.image import RECOVERED, RECOVERING, PartitionImage

LED = PartitionImage((1, 2, 3), (1, 2, 3), leader=1, leader_epoch=4, partition_epoch=9)


def change(
    partition: PartitionImage,
    usable: tuple[int, ...] = (1, 2, 3),
    min_in_sync: int = 2,
    elr_enabled: bool = True,
    **wanted: Any,
) -> Change | None:
    rules = Rules(usable.__contains__, min_in_sync, elr_enabled)
    return change_partition(partition, b"t" * 16, 0, rules, **wanted)


def after(partition: PartitionImage, **how: Any) -> PartitionImage:
    found = change(partition, **how)
    assert found is not None
    return found.after


def test_nothing_to_do_is_no_record() -> None:
    assert change(LED) is None


def test_leader_dies_next_in_isr_leads_with_the_next_epoch() -> None:
    new = after(LED, usable=(2, 3), isr=(2, 3))
    assert (new.leader, new.leader_epoch, new.partition_epoch) == (2, 5, 10)
    assert (new.isr, new.elr) == ((2, 3), ())


def test_election_follows_replica_order_not_isr_order() -> None:
    new = after(replace(LED, replicas=(1, 3, 2)), usable=(2, 3), isr=(2, 3))
    assert new.leader == 3


def test_isr_shrink_and_growth_keep_the_leader_epoch() -> None:
    smaller = after(LED, isr=(1, 2))
    assert (smaller.leader_epoch, smaller.partition_epoch) == (4, 10)
    larger = after(smaller, isr=(1, 2, 3))
    assert (larger.leader_epoch, larger.partition_epoch) == (4, 11)


def test_above_min_in_sync_no_replica_becomes_eligible() -> None:
    assert after(LED, isr=(1, 2)).elr == ()


def test_below_min_in_sync_who_leaves_becomes_eligible() -> None:
    assert after(replace(LED, isr=(1, 2)), isr=(1,)).elr == (2,)


def test_both_who_leave_at_once_become_eligible() -> None:
    assert after(LED, isr=(1,)).elr == (2, 3)


def test_eligible_replicas_are_forgotten_once_enough_are_in_sync() -> None:
    below = replace(LED, isr=(1,), elr=(2,))
    assert after(below, isr=(1, 3)).elr == ()


def test_who_rejoins_the_isr_is_no_longer_in_the_elr() -> None:
    below = replace(LED, isr=(1,), elr=(2, 3))
    assert after(below, min_in_sync=3, isr=(1, 2)).elr == (3,)


def test_last_replica_dies_no_replica_leads_and_it_is_remembered() -> None:
    last = replace(LED, isr=(1,), elr=(2,))
    found = change(last, usable=(), isr=())
    assert found is not None
    assert found.elected == "no leader"
    assert (found.after.leader, found.after.leader_epoch) == (-1, 5)
    assert (found.after.isr, found.after.elr, found.after.last_known_elr) == ((), (1, 2), (1,))


LEADERLESS = replace(LED, isr=(), elr=(1, 2), last_known_elr=(1,), leader=-1)


def test_eligible_replica_is_elected_cleanly_and_becomes_the_isr() -> None:
    found = change(LEADERLESS, usable=(2, 3))
    assert found is not None
    assert found.elected == "eligible"
    assert (found.after.leader, found.after.isr, found.after.elr) == (2, (2,), (1,))
    assert found.after.leader_recovery_state == RECOVERED
    assert found.after.last_known_elr == ()


def test_replica_that_is_not_eligible_waits() -> None:
    assert change(LEADERLESS, usable=(3,)) is None


def test_unclean_restart_costs_the_place_in_the_elr() -> None:
    assert after(LEADERLESS, usable=(), unclean_restart=1).elr == (2,)


def test_unclean_restart_costs_the_place_in_the_isr() -> None:
    new = after(replace(LED, isr=(1, 2)), usable=(2,), isr=(2,), unclean_restart=1)
    assert (new.leader, new.isr, new.elr) == (2, (2,), ())


def test_last_known_leader_is_elected_when_isr_and_elr_are_empty_as_unclean() -> None:
    nobody = replace(LEADERLESS, elr=())
    found = change(nobody, usable=(1, 3))
    assert found is not None
    assert found.elected == "last known"
    assert (found.after.leader, found.after.isr) == (1, (1,))
    assert found.after.leader_recovery_state == RECOVERING
    assert found.after.last_known_elr == ()


def test_last_known_leader_that_is_down_is_not_elected() -> None:
    assert change(replace(LEADERLESS, elr=()), usable=(2, 3)) is None


def test_unclean_election_takes_the_first_usable_replica_and_empties_the_elr() -> None:
    found = change(LEADERLESS, usable=(3,), election=Election.UNCLEAN)
    assert found is not None
    assert found.elected == "unclean"
    assert (found.after.leader, found.after.isr, found.after.elr) == (3, (3,), ())
    assert found.after.leader_recovery_state == RECOVERING


def test_unclean_election_prefers_an_eligible_replica() -> None:
    assert after(LEADERLESS, usable=(2, 3), election=Election.UNCLEAN).leader == 2


def test_preferred_election_moves_leadership_back() -> None:
    moved = replace(LED, leader=2)
    found = change(moved, election=Election.PREFERRED)
    assert found is not None
    assert (found.elected, found.after.leader, found.after.leader_epoch) == ("preferred", 1, 5)


@pytest.mark.parametrize("usable", [(2, 3), (1, 2, 3)])
def test_preferred_election_leaves_a_leader_whose_preferred_is_down_or_lags(
    usable: tuple[int, ...],
) -> None:
    assert change(replace(LED, leader=2, isr=(2, 3)), usable, election=Election.PREFERRED) is None


def test_recovered_leader_says_so() -> None:
    recovering = replace(LED, isr=(1,), leader_recovery_state=RECOVERING)
    new = after(recovering, min_in_sync=1, isr=(1, 2), recovery_state=RECOVERED)
    assert (new.leader_recovery_state, new.isr) == (RECOVERED, (1, 2))


def test_old_rule_keeps_the_last_in_sync_replica() -> None:
    new = after(replace(LED, isr=(1,)), usable=(), elr_enabled=False, isr=())
    assert (new.leader, new.isr, new.elr, new.last_known_elr) == (-1, (1,), (), ())
    back = after(new, usable=(1,), elr_enabled=False)
    assert (back.leader, back.isr) == (1, (1,))
