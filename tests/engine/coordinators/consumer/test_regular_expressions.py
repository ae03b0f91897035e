"""Subscriptions by regular expression, resolved by the coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from engine.coordinators.consumer.regular_expressions import matching
from engine.wire.errors import Errors, KafkaError
from tests.engine.coordinators.consumer.by_hand import Consumer, member, settle, shown


def matcher(cluster: Any, name: str, regex: str, topics: tuple[str, ...] | None = None) -> Consumer:
    return Consumer(cluster, name, topics=topics, regex=regex)


def test_a_member_gets_the_topics_whose_whole_name_matches(cluster: Any):
    cluster.add_topic("orders-old", bytes([7] * 16), 1, 101)
    first = matcher(cluster, "a", "orders|pay.*")
    first.join()
    assert first.assigned == {"orders": [0, 1, 2, 3], "payments": [0, 1]}
    assert member(cluster, "a")["subscribed"] == {"topics": [], "regex": "orders|pay.*"}


def test_names_and_an_expression_together(cluster: Any):
    first = matcher(cluster, "a", "pay.*", ("orders",))
    first.join()
    assert sorted(first.assigned) == ["orders", "payments"]


def test_a_new_topic_that_matches_is_found_after_ten_seconds_at_the_earliest(cluster: Any):
    first = matcher(cluster, "a", "o.*")
    first.join()
    cluster.add_topic("other", bytes([7] * 16), 1, 101)
    cluster.metadata.offset += 1
    cluster.wait(9_000)
    first.beat()
    assert sorted(first.assigned) == ["orders"]
    cluster.wait(2_000)
    first.beat()
    assert sorted(first.assigned) == ["orders", "other"]
    assert first.epoch == 3


def test_an_expression_is_resolved_again_when_its_interval_is_over(make_groups: Any):
    groups = make_groups(
        group_consumer_assignment_interval_ms=0, group_consumer_regex_refresh_interval_ms=20_000
    )
    groups.lead(101)
    first = matcher(groups, "a", "o.*")
    first.join()
    end = groups.shared.log.log_end_offset
    groups.wait(19_000)
    first.beat()
    assert groups.shared.log.log_end_offset == end
    groups.wait(2_000)
    first.beat()
    assert groups.shared.log.log_end_offset == end + 1, "written with its new time"


def test_members_with_one_expression_share(cluster: Any):
    clients = [matcher(cluster, each, "orders") for each in "ab"]
    for each in clients:
        each.join()
    settle(*clients)
    assert [each.partitions for each in clients] == [[0, 1], [2, 3]]


def test_an_expression_that_no_member_has_any_more_is_forgotten(cluster: Any):
    first = matcher(cluster, "a", "o.*")
    first.join()
    first.regex, first.topics = "", ("payments",)
    first.beat(full=True)
    settle(first)
    assert first.assigned == {"payments": [0, 1]}
    assert cluster.coordinator.shards[0].consumer.by_id["g"].regexes == {}
    cluster.lead(102)
    assert cluster.coordinator.shards[0].consumer.by_id["g"].regexes == {}


def test_what_an_expression_matched_survives_the_coordinator(cluster: Any):
    first = matcher(cluster, "a", "o.*")
    first.join()
    before = shown(cluster)
    cluster.lead(102)
    assert {**shown(cluster), "coordinator": 101} == before


@pytest.mark.parametrize(
    "expression", ["(", "[a", "a{2,1}", r"(a)\1", "(?=a)", "(?<!a)b", "(?P=x)", "a*+", r"\pL"]
)
def test_an_expression_that_re2_would_refuse_is_refused(cluster: Any, expression: str):
    answer = matcher(cluster, "a", expression).join()
    assert answer.error_code == Errors.INVALID_REGULAR_EXPRESSION
    assert answer.error_message.startswith(f"SubscribedTopicRegex `{expression}` is not a valid")
    assert cluster.coordinator.snapshot() == {}


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("orders.*", ("orders", "orders-eu")),
        ("(?i)ORDERS", ("orders",)),
        (r"\w+", ("orders", "payments")),
        (r"orders\-eu", ("orders-eu",)),
        ("", ()),
        (r"[^\d]+", ("orders", "orders-eu", "payments")),
        (r"\\1|orders", ("orders",)),
    ],
)
def test_what_expressions_match(expression: str, found: tuple[str, ...]):
    assert matching(expression, ["payments", "orders", "orders-eu"]) == found


def test_a_refusal_names_the_expression():
    with pytest.raises(KafkaError, match=r"\(\?=a\)"):
        matching("(?=a)", ["a"])
