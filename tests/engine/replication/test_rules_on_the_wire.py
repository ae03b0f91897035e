"""What each truncation rule puts on the wire, and which answers it believes."""

from __future__ import annotations

from typing import Any

import pytest

from engine.replication.truncation import DEFAULT_RULE, RULES
from engine.wire import messages as m
from tests.engine.replication.parts import NOW, image
from tests.engine.replication.test_fetcher_answers import Following

ASKS_FIRST = {"kip-101", "kip-279", "kip-320"}
NAMES_LEADER_EPOCH = {"kip-320", "fetch-divergence"}
NAMES_LAST_EPOCH = {"kip-320-first-try", "fetch-divergence"}


def reported(epoch: int, end_offset: int) -> Any:
    """The leader's answer about one epoch."""
    response = m.OffsetForLeaderEpochResponse
    end = response.EpochEndOffset(partition=0, leader_epoch=epoch, end_offset=end_offset)
    return response(topics=[response.OffsetForLeaderTopicResult(topic="orders", partitions=[end])])


def test_the_rules_stand_in_the_order_of_their_time() -> None:
    assert list(RULES) == [
        "to-high-watermark", "kip-101", "kip-279", "kip-320-first-try", "kip-320",
        "fetch-divergence",
    ]  # fmt: skip
    assert DEFAULT_RULE == "fetch-divergence"


@pytest.mark.parametrize("rule", RULES)
def test_only_some_rules_ask_before_they_fetch(rule: str) -> None:
    request = Following(epochs=(0, 0, 1), rule=rule).sent()
    asks = type(request).__name__ == "OffsetForLeaderEpochRequest"
    assert asks == (rule in ASKS_FIRST)


@pytest.mark.parametrize("rule", RULES)
def test_only_some_rules_say_which_leader_epoch_they_mean(rule: str) -> None:
    following = Following(epochs=(0, 0, 1), rule=rule)
    expected = 1 if rule in NAMES_LEADER_EPOCH else -1
    first = following.asked()
    assert first.current_leader_epoch == expected
    if rule in ASKS_FIRST:
        following.answer(reported(1, 3))
        assert following.asked().current_leader_epoch == expected


@pytest.mark.parametrize("rule", RULES)
def test_only_some_rules_name_their_last_epoch_in_a_fetch(rule: str) -> None:
    following = Following(epochs=(0, 0, 1), rule=rule)
    asked = following.asked()
    if rule in ASKS_FIRST:
        following.answer(reported(1, 3))
        asked = following.asked()
    held = following.partition.log.latest_epoch
    assert asked.last_fetched_epoch == (held if rule in NAMES_LAST_EPOCH else -1)


@pytest.mark.parametrize(("rule", "end"), [("kip-101", 3), ("kip-279", 2), ("kip-320", 2)])
def test_an_answer_about_another_epoch_is_taken_by_its_offset_or_by_its_epoch(
    rule: str, end: int
) -> None:
    """The leader never had epoch 1: its epoch 0 ends at 3, ours at 2.  That is KIP-279."""
    following = Following(epochs=(0, 0, 1, 1), rule=rule)
    following.sent()
    following.answer(reported(0, 3))
    assert following.partition.log.log_end_offset == end


def test_an_epoch_unknown_here_is_asked_on_until_both_name_the_same() -> None:
    """KIP-279: the leader answers with epoch 1, of which there is nothing here."""
    following = Following(epochs=(0, 0, 2, 2), rule="kip-279")
    following.sent()
    following.answer(reported(1, 3))
    assert following.partition.log.log_end_offset == 2
    again = following.asked()
    assert (type(again).__name__, again.leader_epoch) == ("OffsetForLeaderPartition", 0)
    following.answer(reported(0, 1))
    assert following.partition.log.log_end_offset == 1
    assert type(following.sent()).__name__ == "FetchRequest"


@pytest.mark.parametrize(("rule", "believes"), [("kip-279", True), ("kip-320", False)])
def test_an_answer_from_before_the_epoch_changed_is_believed_only_without_a_fence(
    rule: str, believes: bool
) -> None:
    """Asked in epoch 1, answered in epoch 2: the leader may have cut its log in between."""
    following = Following(epochs=(0, 0, 1, 1), rule=rule)
    following.sent()
    following.partition.update(NOW, image(leader_epoch=2, partition_epoch=9))
    following.fetcher.unfollow(following.partition)
    following.fetcher.follow(following.partition)
    following.answer(reported(0, 2))
    assert following.partition.log.log_end_offset == (2 if believes else 4)
    if not believes:
        assert following.asked().current_leader_epoch == 2
