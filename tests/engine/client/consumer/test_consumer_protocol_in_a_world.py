"""Consumers with group.protocol=consumer (KIP-848) among brokers in virtual time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from engine.client.consumer.consumer import Consumer
from engine.sim.world.world import World
from tests.engine.client.consumer.worlds import (
    bare,
    call,
    consumer,
    fill,
    lines,
    member,
    produce,
    stable,
    values,
    world,
)

BROKER = {
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.session.timeout.ms": 5_000,
    "group.consumer.session.timeout.ms": 6_000,
}
NEW = {"group.protocol": "consumer"}


def a_world(partitions: int = 4, **options: Any) -> World:
    return world(partitions, settings=BROKER, **options)


def join(w: World, name: str, given: dict[str, Any] | None = None, **loop: Any) -> Consumer:
    return member(w, name, {**NEW, **(given or {})}, **loop)


def settled(*names: str, each: int) -> Any:
    """All have joined and own so many partitions, and no partition is owned twice."""

    def holds(w: World) -> bool:
        found = [consumer(w, name) for name in names]
        owned = [place for c in found for place in c.owned]
        sizes = all(len(c.owned) == each and c.membership.state == "stable" for c in found)
        return sizes and len(owned) == len(set(owned))

    return holds


def watch(w: World, until: Any, *names: str, for_s: float = 30) -> bool:
    """Steps until the condition holds; no partition may be believed to be owned by two."""
    end = w.now_us + int(for_s * 1e6)
    while not until(w):
        if w.now_us > end or not w.step():
            return False
        owned = [place for name in names for place in consumer(w, name).owned]
        assert len(owned) == len(set(owned))
    return True


def test_members_share_the_partitions_and_read_every_record_once() -> None:
    w = a_world()
    produce(w, 400)
    join(w, "A")
    assert watch(w, settled("A", each=4), "A")
    join(w, "B")
    assert watch(w, settled("A", "B", each=2), "A", "B")
    w.run(for_s=10)
    assert sorted(values(w, "A", "B")) == sorted(f"shop-{n}" for n in range(400))


def test_only_what_moves_is_revoked_and_the_others_are_read_all_the_time() -> None:
    w = a_world()
    produce(w, 600)
    join(w, "A")
    watch(w, settled("A", each=4), "A")
    began = w.now_us
    join(w, "B")
    assert watch(w, settled("A", "B", each=2), "A", "B")
    w.run(for_s=2)
    (revoked,) = lines(w, "A", "revoked")
    stays = {f"{t}-{i}" for t, i in consumer(w, "A").owned}
    assert set(revoked[1]["partitions"].split()).isdisjoint(stays)
    reads = [at for at, _, _ in lines(w, "A", "polled") if at > began]
    assert max(b - a for a, b in pairwise(reads)) < 500_000


def test_what_moves_is_not_read_while_its_commit_is_under_way() -> None:
    w = a_world()
    produce(w, 2_000, 5_000)
    join(w, "A", {"auto.commit.interval.ms": 60_000})
    watch(w, settled("A", each=4), "A")
    join(w, "B")
    assert w.run(until=lambda w: consumer(w, "A").membership.auto_commit, for_s=10)
    a = consumer(w, "A")
    coordinator, commit, application = a.coordinator.node, a.membership.auto_commit, a.application
    assert coordinator is not None
    assert commit is not None
    assert application is not None
    w.slow(coordinator, "A", 500)
    known = len(application.processed)
    w.run(until=lambda w: lines(w, "A", "revoked"), for_s=20)
    assert (len(commit.offsets), commit.verdict, len(a.owned)) == (4, "committed", 2)
    read = {(record.topic, record.partition) for record in application.processed[known:]}
    assert read, "it goes on reading what stays"
    assert read <= set(a.owned), "the new owner reads these records again"


def test_three_members_come_one_after_the_other() -> None:
    w = a_world(partitions=6)
    names: list[str] = []
    for name in "ABC":
        join(w, name)
        names.append(name)
        assert watch(w, settled(*names, each=6 // len(names)), *names)


def test_the_coordinator_and_the_members_agree_on_who_owns_what() -> None:
    w = a_world()
    for name in "AB":
        join(w, name)
    watch(w, settled("A", "B", each=2), "A", "B")
    w.run(for_s=2)
    group = w.snapshot()["groups"]["billing"]
    assert group["type"] == "consumer"
    owns = {each["id"]: each["owns"] for each in group["members"]}
    for name in "AB":
        c = consumer(w, name)
        assert owns[c.membership.member_id] == {"orders": [i for _, i in c.owned]}


def test_a_member_that_closes_leaves_at_once_and_a_static_one_keeps_its_seat() -> None:
    w = a_world()
    join(w, "A")
    join(w, "B")
    join(w, "S", {"group.instance.id": "i-s"})
    w.run(for_s=10)
    had = consumer(w, "S").owned
    call(w, "S", "finish")
    w.run(for_s=2)
    assert not [p for name in "AB" for p in consumer(w, name).owned if p in had]
    join(w, "S2", {"group.instance.id": "i-s"})
    w.run(for_s=3)
    assert consumer(w, "S2").owned == had
    began = w.now_us
    call(w, "B", "finish")
    assert watch(w, settled("A", "S2", each=2), "A", "S2", for_s=3)
    assert w.now_us - began < 3_000_000


def test_a_member_that_dies_is_missed_after_the_session_timeout() -> None:
    w = a_world()
    for name in "AB":
        join(w, name)
    watch(w, settled("A", "B", each=2), "A", "B")
    began = w.now_us
    w.kill("B")
    assert watch(w, settled("A", each=4), "A")
    assert 5_000_000 < w.now_us - began < 9_000_000


def test_a_frozen_member_is_fenced_loses_its_partitions_and_joins_again() -> None:
    w = a_world()
    produce(w, 1_200)
    for name in "AB":
        join(w, name, {"enable.auto.commit": False}, commit="after", per_record_us=5_000)
    watch(w, settled("A", "B", each=2), "A", "B")
    w.pause("B")
    assert w.run(until=settled("A", each=4), for_s=30)
    believes = consumer(w, "B").owned
    assert len(believes) == 2
    w.resume("B")
    assert w.run(until=lambda w: lines(w, "B", "lost"), for_s=10)
    assert lines(w, "B", "fenced")[0][2] in ("UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH")
    assert watch(w, settled("A", "B", each=2), "A", "B")


def test_a_loop_that_is_too_slow_leaves_by_itself_and_its_commit_fails() -> None:
    w = a_world()
    fill(w, 200)
    manual = {"enable.auto.commit": False}
    join(w, "B", {**manual, "max.poll.interval.ms": 3_000}, commit="after", per_record_us=100_000)
    assert w.run(until=lambda w: lines(w, "B", "left"), for_s=30)
    assert lines(w, "B", "left")[0][2] == "consumer poll timeout has expired."
    assert w.run(until=lambda w: lines(w, "B", "commit failed"), for_s=30)
    assert lines(w, "B", "commit failed")[0][1]["error"] == "COMMIT_FAILED"
    assert w.run(until=lambda w: lines(w, "B", "lost"), for_s=30)


def test_a_coordinator_killed_while_partitions_move_does_not_stop_the_group() -> None:
    w = a_world()
    produce(w, 1_000)
    for name in "AB":
        join(w, name)
    watch(w, settled("A", "B", each=2), "A", "B")
    join(w, "C")
    assert w.run(until=lambda w: lines(w, "C", "joined"), for_s=10)
    coordinator = consumer(w, "A").coordinator.node
    assert coordinator is not None
    w.kill(coordinator)

    def all_owned(w: World) -> bool:
        found = [consumer(w, name) for name in "ABC"]
        return sum(len(c.owned) for c in found) == 4 and all(c.owned for c in found)

    assert watch(w, all_owned, *"ABC", for_s=60)
    w.start(coordinator)
    w.run(for_s=20)
    assert set(values(w, *"ABC")) == {f"shop-{n}" for n in range(1_000)}


def test_a_second_process_with_the_same_instance_id_is_turned_away() -> None:
    w = a_world()
    join(w, "A", {"group.instance.id": "same"})
    watch(w, settled("A", each=4), "A")
    join(w, "A2", {"group.instance.id": "same"})
    assert w.run(until=lambda w: consumer(w, "A2").application.state == "stopped", for_s=20)
    assert consumer(w, "A2").application.error == "UNRELEASED_INSTANCE_ID"
    assert len(consumer(w, "A").owned) == 4


def test_a_pattern_is_matched_by_the_broker_and_its_topics_are_learned_by_id() -> None:
    w = a_world()
    fill(w, 40)
    bare(w, "P", group_id="billing", group_protocol="consumer")
    w.tell("P", "subscribe_pattern", "ord.*")
    read: list[str] = []
    for _ in range(20):
        read += [record.text for record in call(w, "P", "poll", 1_000).records]
    assert sorted(read) == sorted(f"shop-{n}" for n in range(40))


def test_a_classic_group_becomes_a_consumer_group_member_by_member() -> None:
    w = a_world()
    cooperative = {"partition.assignment.strategy": "cooperative-sticky"}
    for name in "AB":
        member(w, name, cooperative)
    w.run(until=stable("A", "B", each=2), for_s=20)
    join(w, "C")
    w.run(for_s=15)
    owned = [place for name in "ABC" for place in consumer(w, name).owned]
    assert sorted(owned) == [("orders", i) for i in range(4)]
    assert consumer(w, "C").owned
    for name in "AB":
        call(w, name, "finish")
        join(w, f"{name}2")
        w.run(for_s=8)
    owned = [place for name in ("C", "A2", "B2") for place in consumer(w, name).owned]
    assert sorted(owned) == [("orders", i) for i in range(4)]
    assert w.snapshot()["groups"]["billing"]["type"] == "consumer"


def test_a_fork_has_the_same_future() -> None:
    w = a_world()
    produce(w, 100)
    for name in "AB":
        join(w, name)
    w.run(for_s=1.2)
    copy = w.fork()
    w.run(for_s=5)
    copy.run(for_s=5)
    assert w.trace_lines() == copy.trace_lines()
