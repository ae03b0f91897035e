"""Lives of consumer groups (KIP-848), written once and acted on both sides; see actors.py."""

from __future__ import annotations

from typing import Any

from engine.wire import messages as m
from tests.conformance.probe.actors import Scenario, Stage
from tests.conformance.probe.consumers import Consumer, described, pair, without_interval
from tests.conformance.probe.members import describe, listed, reading_of
from tests.conformance.probe.migration_scenarios import MIGRATIONS
from tests.conformance.probe.side import COMPACT, TOPIC

H = m.ConsumerGroupHeartbeatRequest


# -- members


def one_member(stage: Stage) -> None:
    without_interval(stage)
    one = Consumer(stage, "one")
    one.join()
    one.ask(topic_partitions=None)
    one.beat()
    one.beat(full=True)
    one.beat(full=True, member_epoch=0, topic_partitions=[])
    described(stage)
    describe(stage)
    for types in ([], ["consumer"], ["classic"]):
        listed(stage, [], types)
    listed(stage, ["Stable"], [])
    one.ask(member_epoch=2)
    one.leave()
    described(stage)
    one.leave()
    one.ask(member_epoch=1)
    stage.actor("admin").ask(m.DeleteGroupsRequest([stage.group]))
    described(stage)


def two_members(stage: Stage) -> None:
    """A partition is given back, and then given out."""
    without_interval(stage)
    one, two = Consumer(stage, "one"), Consumer(stage, "two")
    one.join()
    two.join()
    two.ask(topic_partitions=None)
    one.beat(topic_partitions=None)
    two.beat()
    one.ask(topic_partitions=None)
    described(stage)
    one.beat()
    two.beat()
    one.beat()
    described(stage)
    stage.actor("admin").ask(m.DeleteGroupsRequest([stage.group]))
    two.leave()
    one.beat()
    described(stage)


def lost_answers(stage: Stage) -> None:
    """A member that missed an answer goes on with its epoch before; a zombie does not."""
    without_interval(stage)
    one, two = Consumer(stage, "one"), Consumer(stage, "two")
    one.join()
    two.join()
    everything = one.owned
    one.beat()
    one.ask()
    one.ask(topic_partitions=None)
    one.ask(topic_partitions=everything)
    one.beat(full=True)
    one.ask(member_epoch=9)
    two.ask(member_epoch=1)
    two.beat()
    one.join()
    two.join()


def revocation_takes_too_long(stage: Stage) -> None:
    without_interval(stage)
    one, two = Consumer(stage, "one", rebalance_ms=1_500), Consumer(stage, "two")
    one.join()
    two.join()
    one.beat()
    two.beat_until(lambda answer: len(parts(answer)) == 2)
    one.ask()
    one.join()
    two.beat()
    two.beat()
    one.beat()


def parts(answer: Any) -> list[int]:
    rows = answer.assignment.topic_partitions if answer.assignment else []
    return [partition for row in rows for partition in row.partitions]


def statics(stage: Stage) -> None:
    without_interval(stage)
    one, two = Consumer(stage, "one", instance="a"), Consumer(stage, "two", instance="b")
    one.join()
    two.join()
    one.beat()
    one.beat()
    two.beat()
    twin = Consumer(stage, "twin", instance="b")
    twin.join()
    twin.ask(member_epoch=2)
    two.leave(-2)
    described(stage)
    one.beat()
    twin.join()
    two.ask()
    two.leave()
    described(stage)
    one.beat()
    stranger = Consumer(stage, "stranger", instance="z")
    stranger.ask(member_epoch=1)
    stranger.leave()
    stranger.leave(-2)
    twin.leave()
    one.beat()
    stage.actor("admin").ask(
        m.LeaveGroupRequest(stage.group, members=[m.LeaveGroupRequest.MemberIdentity("", "a")])
    )
    described(stage)


def static_returns_with_other_topics(stage: Stage) -> None:
    without_interval(stage)
    one, two = Consumer(stage, "one", instance="a"), Consumer(stage, "two", instance="b")
    one.join()
    two.join()
    one.beat()
    one.beat()
    two.beat()
    two.leave(-2)
    again = Consumer(stage, "again", TOPIC, COMPACT, instance="b")
    again.join()
    one.beat()
    again.beat()
    described(stage)


def subscriptions(stage: Stage) -> None:
    """Topics come and go, also topics that do not exist."""
    without_interval(stage)
    one = Consumer(stage, "one", TOPIC, COMPACT, "probe-nowhere")
    one.join()
    one.topics = (COMPACT,)
    one.beat(full=True)
    one.beat()
    one.topics = (COMPACT, TOPIC, TOPIC)
    one.beat(full=True)
    one.topics = ()
    one.beat(full=True)
    one.beat()
    one.topics = ("probe-nowhere",)
    one.beat(full=True)
    one.beat(full=True, rack_id="r", rebalance_timeout_ms=500)
    described(stage)


def mixed_subscriptions(stage: Stage) -> None:
    without_interval(stage)
    one, two = Consumer(stage, "one", TOPIC, COMPACT), Consumer(stage, "two", COMPACT)
    one.join()
    two.join()
    for _ in range(3):
        one.beat()
        two.beat()
    described(stage)


def range_of_three(stage: Stage) -> None:
    without_interval(stage)
    terms = {"server_assignor": "range"}
    three = [Consumer(stage, each, TOPIC, COMPACT, **terms) for each in ("one", "two", "three")]
    for each in three:
        each.join()
    for _ in range(3):
        for each in three:
            each.beat()
    described(stage)


def expressions(stage: Stage) -> None:
    """Kafka resolves them in the background, so only what comes of it is compared."""
    without_interval(stage)
    one = Consumer(stage, "one", subscribed_topic_regex=f"{TOPIC}|{COMPACT}x?")
    one.topics = None
    told = len(stage.told)
    one.join()
    one.beat_until(lambda _: len(one.owned) == 2)
    del stage.told[told:]
    one.ask(full=True, subscribed_topic_regex="(")
    one.ask(full=True, subscribed_topic_regex=r"(a)\1")
    other = Consumer(stage, "other", subscribed_topic_regex="(?=a)")
    other.topics = None
    other.join()


def refused(stage: Stage) -> None:
    """What is wrong with a request as such."""
    one = Consumer(stage, "one")
    for changes in (
        {"member_id": ""},
        {"group_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"subscribed_topic_names": None},
        {"member_epoch": -3},
        {"member_epoch": -2},
        {"member_epoch": -1},
        {"member_epoch": 1},
        {"server_assignor": "best"},
        {"server_assignor": ""},
        {"member_epoch": -2, "instance_id": "a"},
        {"topic_partitions": [H.TopicPartitions(stage.side.topic_ids[TOPIC], [0])]},
        {"member_epoch": 3, "instance_id": "a"},
    ):
        one.ask(full=True, **changes)
    described(stage, "", "probe-nothing")


# -- offsets


def commits(stage: Stage) -> None:
    one, two = pair(stage)
    one.commit(1, 2)
    one.commit(2, 1)
    one.commit(3, 1, partition=1)
    two.commit(4, 1, partition=1)
    two.commit(5, 2, partition=1)
    two.commit(6, 3, partition=1)
    two.commit(7, 2, partition=0)
    one.commit(8, -1)
    one.commit(9, 2, version=9)
    one.commit(9, 2, version=8)
    stranger = Consumer(stage, "stranger")
    stranger.commit(9, 2)
    stranger.id = ""
    stranger.commit(9, -1)
    asked = m.OffsetFetchRequest
    topics = [asked.OffsetFetchRequestTopics("", stage.side.topic_ids[TOPIC], [0, 1])]
    for member, epoch in (("one", 2), ("one", 1), ("x", 2), (None, -1), ("", -1)):
        group = asked.OffsetFetchRequestGroup(stage.group, member, epoch, topics)
        one.actor.ask(asked(groups=[group]))
    delete = m.OffsetDeleteRequest
    rows = [
        delete.OffsetDeleteRequestTopic(name, [delete.OffsetDeleteRequestPartition(0)])
        for name in (TOPIC, COMPACT)
    ]
    one.actor.ask(delete(stage.group, rows))
    two.leave()
    one.leave()
    stranger.commit(11, -1)
    one.actor.ask(delete(stage.group, rows))
    one.actor.ask(reading_of(stage, 10, everything=True))


SCENARIOS: dict[str, Scenario] = {
    each.__name__: each
    for each in (
        one_member, two_members, lost_answers, revocation_takes_too_long,
        statics, static_returns_with_other_topics,
        subscriptions, mixed_subscriptions, range_of_three, expressions, refused, commits,
        *MIGRATIONS,
    )
}  # fmt: skip
