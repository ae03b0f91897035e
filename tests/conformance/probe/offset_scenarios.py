"""Offsets of classic groups: what is stored, for whom, and what is shown."""

from __future__ import annotations

import time
from typing import Any

from engine.wire import messages as m
from kit.probes.raw_client import RawClient
from tests.conformance.probe.actors import Scenario, Stage
from tests.conformance.probe.members import C, Member, describe, listed, reading_of
from tests.conformance.probe.side import Side


def side_ask(side: Side, request: Any, broker: int = 101) -> Any:
    """Like Side.ask, on a connection of its own: scenarios run side by side."""
    with RawClient.at(side.brokers[broker], "probe") as client:
        return client.ask(request, type(request).LATEST)


def positions(stage: Stage) -> None:
    """Leader epochs and notes, as each version stores and shows them."""
    simple = Member(stage, "simple")
    for version in range(2, 11):
        simple.commit(version, epoch=version, version=version)
        for reading in (1, 2, 4, 5, 7, 8, 9, 10):
            simple.actor.ask(reading_of(stage, reading), reading)


def a_topic_made_again(stage: Stage) -> None:
    """Its offsets went with the old one; the old id is not the topic any more."""
    side, name = stage.side, f"probe-again-{stage.group[-6:]}"
    admin = stage.actor("admin")
    c = m.CreateTopicsRequest
    creation = c([c.CreatableTopic(name, 1, 3)])
    d = m.DeleteTopicsRequest
    deletion_of_topic = d([d.DeleteTopicState(name)], timeout_ms=10_000)

    def made() -> bytes:
        deadline = time.monotonic() + 60
        while True:
            side_answer = side_ask(side, creation)
            if side_answer.topics[0].error_code == 0:
                break
            assert time.monotonic() < deadline
            time.sleep(0.1)
        wanted = m.MetadataRequest.MetadataRequestTopic(name=name)
        while True:
            found = side_ask(side, m.MetadataRequest([wanted], False), side.coordinator).topics[0]
            if not found.error_code and found.partitions[0].leader_id >= 0:
                return bytes(found.topic_id)
            time.sleep(0.05)

    def committing(topic_id: bytes) -> Any:
        row = C.OffsetCommitRequestPartition(0, 5, 0, "")
        return C(stage.group, topics=[C.OffsetCommitRequestTopic(name, topic_id, [row])])

    old = made()
    admin.ask(committing(old))
    admin.ask(reading_of(stage, 10, topic=name, topic_id=old))
    side_ask(side, deletion_of_topic)
    time.sleep(1)
    admin.ask(reading_of(stage, 10, topic=name, topic_id=old))
    admin.ask(reading_of(stage, 9, topic=name, topic_id=old))
    admin.ask(reading_of(stage, 10, everything=True))
    admin.ask(committing(old))
    new = made()
    admin.ask(reading_of(stage, 9, topic=name, topic_id=old))
    admin.ask(reading_of(stage, 10, topic=name, topic_id=old))
    admin.ask(reading_of(stage, 10, topic=name, topic_id=new))
    admin.ask(committing(old))
    admin.ask(committing(new))
    admin.ask(committing(bytes(16)))
    admin.ask(reading_of(stage, 10, everything=True))
    side_ask(side, deletion_of_topic)
    time.sleep(1)
    describe(stage)


def several_groups(stage: Stage) -> None:
    """One OffsetFetch for groups of this and of another coordinator, and for the group ''."""
    simple = Member(stage, "simple")
    simple.commit()
    own = stage.group
    lives = coordinators(stage.side, "", *(f"{own}-{number}" for number in range(100)))
    away = [each for each in lives if each and lives[each] != stage.side.coordinator]
    assert away, "one broker coordinates all groups"
    elsewhere = away[0]
    stage.ids[elsewhere] = "GROUP elsewhere"
    for stable in (False, True):
        simple.actor.ask(reading_of(stage, 10, own, elsewhere, own, stable=stable))
        simple.actor.ask(reading_of(stage, 9, own, own, stable=stable, everything=True))
    stage.move(lives[""])
    for stable in (False, True):
        stage.actor("nameless").ask(reading_of(stage, 10, "", stable=stable))


def coordinators(side: Side, *groups: str) -> dict[str, int]:
    """The broker that has each group's offsets."""
    answer = side_ask(side, m.FindCoordinatorRequest(coordinator_keys=list(groups)))
    return {each.key: each.node_id for each in answer.coordinators}


def simple_commits(stage: Stage) -> None:
    """A group of nobody: it may be described, listed, joined, and deleted."""
    simple = Member(stage, "simple")
    simple.commit()
    describe(stage)
    listed(stage, ["Empty"], ["classic"])
    simple.generation, simple.id = 3, "x"
    simple.commit()
    simple.commit(version=8)
    simple.generation, simple.id = -1, "x"
    simple.commit()
    simple.id = ""
    one = Member(stage, "one")
    one.join()
    simple.commit()
    one.sync(one)
    simple.commit()
    simple.instance = "i"
    simple.commit()
    simple.instance = None
    stage.actor("admin").ask(m.DeleteGroupsRequest([stage.group]))
    one.leave()
    simple.commit()
    simple.generation = 1
    simple.commit()
    simple.actor.ask(reading_of(stage, 10, everything=True))
    stage.actor("admin").ask(m.DeleteGroupsRequest([stage.group]))
    simple.actor.ask(reading_of(stage, 10, everything=True))
    describe(stage)


OFFSETS: tuple[Scenario, ...] = (
    positions, a_topic_made_again, several_groups, simple_commits,
)  # fmt: skip
