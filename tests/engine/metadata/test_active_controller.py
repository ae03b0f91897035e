"""A broker finds the controller that leads, and does not go back to one that is gone."""

from __future__ import annotations

from engine.metadata.active_controller import ActiveController


def test_a_later_epoch_names_the_controller_to_ask() -> None:
    known = ActiveController((100, 200, 300))
    assert known.leads(200, 4)
    assert (known.id, known.epoch) == (200, 4)
    assert not known.leads(100, 3)
    assert not known.leads(101, 9)
    assert known.id == 200


def test_one_that_still_names_the_lost_leader_is_passed_over() -> None:
    known = ActiveController((100, 200, 300))
    assert known.leads(100, 4)
    known.try_next()
    assert not known.leads(100, 4)
    known.try_next()
    assert known.id == 300
    assert known.leads(300, 5)


def test_the_only_controller_is_asked_again() -> None:
    known = ActiveController((100,))
    known.try_next()
    assert known.id == 100
    assert not known.has_others
