"""Consumers of one group among brokers in virtual time: join, leave, freeze, crash, stay slow."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pytest

from engine.sim.world.world import World
from engine.wire import messages as m
from tests.engine.client.consumer.worlds import (
    COOPERATIVE,
    assigned_by_generation,
    call,
    consumer,
    fill,
    lines,
    member,
    one_owner_each,
    produce,
    stable,
    values,
    world,
)

STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_members_share_the_partitions_and_read_every_record_once(strategy: str) -> None:
    w = world()
    produce(w, 400)
    given = {"partition.assignment.strategy": strategy}
    member(w, "A", given)
    assert w.run(until=stable("A", each=4), for_s=10)
    member(w, "B", given)
    assert w.run(until=stable("A", "B", each=2), for_s=20)
    w.run(for_s=10)
    assert sorted(values(w, "A", "B")) == sorted(f"shop-{n}" for n in range(400))
    assert one_owner_each(w)


def test_an_eager_member_gives_everything_back_before_it_joins_again() -> None:
    w = world()
    member(w, "A")
    w.run(until=stable("A", each=4), for_s=10)
    member(w, "B")
    w.run(until=stable("A", "B", each=2), for_s=20)
    ((_, fields, _),) = lines(w, "A", "revoked")
    assert fields["partitions"] == "orders-0 orders-1 orders-2 orders-3"


def test_a_cooperative_member_never_revokes_what_stays_and_reads_it_all_the_time() -> None:
    w = world()
    produce(w, 600)
    member(w, "A", COOPERATIVE)
    w.run(until=stable("A", each=4), for_s=10)
    began = w.now_us
    member(w, "B", COOPERATIVE)
    assert w.run(until=stable("A", "B", each=2), for_s=20)
    w.run(for_s=2)
    (revoked,) = lines(w, "A", "revoked")
    stays = consumer(w, "A").owned
    assert set(revoked[1]["partitions"].split()).isdisjoint(f"{t}-{i}" for t, i in stays)
    first, second = (each[0] for each in lines(w, "A", "joined")[-2:])
    assert first < second  # a second rebalance hands over what the first took away
    reads = [at for at, fields, _ in lines(w, "A", "polled") if at > began]
    assert max(b - a for a, b in pairwise(reads)) < 500_000
    assert one_owner_each(w)


def owners(w: World, *names: str) -> list[tuple[str, int]]:
    return [place for name in names for place in consumer(w, name).owned]


def test_in_a_cooperative_group_no_two_members_ever_believe_to_own_one_partition() -> None:
    w = world(partitions=6)
    names: list[str] = []
    for name in "ABC":
        member(w, name, COOPERATIVE)
        names.append(name)
        until = stable(*names, each=6 // len(names))
        while not until(w):
            assert w.step()
            assert len(owners(w, *names)) == len(set(owners(w, *names)))
            assert w.now_us < 60_000_000


def test_a_member_that_closes_leaves_and_the_others_go_on_at_once() -> None:
    w = world()
    for name in "AB":
        member(w, name)
    w.run(until=stable("A", "B", each=2), for_s=20)
    began = w.now_us
    call(w, "B", "finish")
    assert consumer(w, "B").owned == ()
    assert w.run(until=stable("A", each=4), for_s=20)
    assert w.now_us - began < 2_000_000  # a heartbeat interval, no session timeout
    assert lines(w, "B", "left")[0][2] == "the consumer is being closed"


def test_a_member_that_dies_is_missed_after_the_session_timeout() -> None:
    w = world()
    produce(w, 900)
    for name in "AB":
        member(w, name, commit="after")
    w.run(until=stable("A", "B", each=2), for_s=20)
    w.run(for_s=2)
    began = w.now_us
    w.kill("B")
    assert w.run(until=stable("A", each=4), for_s=30)
    assert 5_000_000 < w.now_us - began < 9_000_000
    w.run(for_s=15)
    assert set(values(w, "A")) | {f"shop-{n}" for n in range(900)} == {
        f"shop-{n}" for n in range(900)
    }
    assert one_owner_each(w)


def test_a_frozen_member_comes_back_as_a_zombie_and_learns_that_its_partitions_are_lost() -> None:
    w = world()
    produce(w, 1_500)
    for name in "AB":
        member(w, name, commit="after", per_record_us=5_000)
    w.run(until=stable("A", "B", each=2), for_s=20)
    w.run(until=lambda w: consumer(w, "B").application.state == "working", for_s=5)
    w.pause("B")
    assert w.run(until=stable("A", each=4), for_s=30)
    believes = consumer(w, "B").owned
    assert len(believes) == 2  # what a member believes, and what is so
    w.resume("B")
    assert w.run(until=lambda w: lines(w, "B", "lost"), for_s=10)
    assert lines(w, "B", "lost")[0][1]["partitions"] == " ".join(f"{t}-{i}" for t, i in believes)
    assert lines(w, "B", "fenced")
    assert not [
        each for each in lines(w, "B", "revoked") if each[0] > lines(w, "B", "fenced")[0][0]
    ]
    assert w.run(until=stable("A", "B", each=2), for_s=30)
    assert one_owner_each(w)


def test_a_commit_of_a_zombie_is_refused() -> None:
    w = world()
    fill(w, 40)
    for name in "AB":
        member(w, name, {"enable.auto.commit": False}, commit="after", per_record_us=50_000)
    w.run(until=stable("A", "B", each=2), for_s=20)
    w.run(until=lambda w: consumer(w, "B").application.state == "working", for_s=5)
    w.cut(101, "B"), w.cut(102, "B"), w.cut(103, "B")  # it works on, and does not know
    assert w.run(until=stable("A", each=4), for_s=30)
    w.heal()
    assert w.run(until=lambda w: lines(w, "B", "commit failed"), for_s=60)
    assert {each[1]["error"] for each in lines(w, "B", "commit failed")} <= {
        "COMMIT_FAILED", "REBALANCE_IN_PROGRESS", "REQUEST_TIMED_OUT",
    }  # fmt: skip


def test_a_loop_that_is_too_slow_leaves_by_itself_and_its_commit_fails() -> None:
    w = world()
    fill(w, 200)
    member(w, "A", {"enable.auto.commit": False}, commit="after")
    slow = {"enable.auto.commit": False, "max.poll.interval.ms": 3_000}
    member(w, "B", slow, commit="after", per_record_us=100_000)
    assert w.run(until=lambda w: lines(w, "B", "left"), for_s=30)
    left_at, _, why = lines(w, "B", "left")[0]
    assert why == "consumer poll timeout has expired."
    polled_at = max(at for at, *_ in lines(w, "B", "polled") if at < left_at)
    assert 2_900_000 < left_at - polled_at < 3_300_000
    assert lines(w, "B", "heartbeat answered")  # it was alive all the time
    assert w.run(until=lambda w: lines(w, "B", "commit failed"), for_s=30)
    assert lines(w, "B", "commit failed")[0][1]["error"] == "COMMIT_FAILED"
    assert lines(w, "B", "lost")
    assert one_owner_each(w)


def test_slow_work_below_max_poll_interval_costs_nothing() -> None:
    w = world()
    fill(w, 40)
    member(w, "A", {"max.poll.records": 10}, per_record_us=800_000)
    w.run(for_s=40)
    assert len(values(w, "A")) == 40
    assert len(lines(w, "A", "joined")) == 1


@pytest.mark.parametrize(
    ("strategy", "when"),
    [
        ("range", "joining"),
        ("cooperative-sticky", "joined"),
        pytest.param("range", "joined", marks=pytest.mark.full),
        pytest.param("cooperative-sticky", "joining", marks=pytest.mark.full),
    ],
)
def test_a_coordinator_killed_in_mid_rebalance_does_not_stop_the_group(
    when: str, strategy: str
) -> None:
    w = world()
    produce(w, 1_000)
    given = {"partition.assignment.strategy": strategy}
    for name in "AB":
        member(w, name, given)
    w.run(until=stable("A", "B", each=2), for_s=20)
    w.run(for_s=1)
    member(w, "C", given)
    known = len(lines(w, "A", when))
    assert w.run(until=lambda w: len(lines(w, "A", when)) > known, for_s=20)
    coordinator = consumer(w, "A").coordinator.node
    assert coordinator is not None
    w.kill(coordinator)
    assert w.run(until=lambda w: stable("A", "B", "C")(w) and len(owners(w, *"ABC")) == 4, for_s=60)
    w.start(coordinator)
    w.run(for_s=20)
    assert set(values(w, "A", "B", "C")) == {f"shop-{n}" for n in range(1_000)}
    assert one_owner_each(w)


def test_a_static_member_that_comes_back_in_time_finds_its_partitions_without_a_rebalance() -> None:
    w = world()
    member(w, "A", {"group.instance.id": "i-a"})
    member(w, "B", {"group.instance.id": "i-b"})
    w.run(until=stable("A", "B", each=2), for_s=20)
    had, generation = consumer(w, "B").owned, consumer(w, "B").membership.generation
    call(w, "B", "finish")
    w.run(for_s=1)
    member(w, "B-again", {"group.instance.id": "i-b"})
    assert w.run(until=stable("A", "B-again", each=2), for_s=5)
    assert consumer(w, "B-again").owned == had
    assert consumer(w, "A").membership.generation == generation
    assert len(lines(w, "A", "joined")) == len(lines(w, "A", "assigned"))


def test_a_second_process_with_the_same_instance_id_fences_the_first() -> None:
    w = world()
    member(w, "A", {"group.instance.id": "same"})
    w.run(until=stable("A", each=4), for_s=20)
    member(w, "A2", {"group.instance.id": "same"})
    assert w.run(until=lambda w: consumer(w, "A").application.state == "stopped", for_s=20)
    assert consumer(w, "A").application.error == "FENCED_INSTANCE_ID"
    assert w.run(until=stable("A2", each=4), for_s=5)


def test_the_leader_sees_a_topic_grow_and_the_group_rebalances() -> None:
    w = world()
    for name in "AB":
        member(w, name, {"metadata.max.age.ms": 2_000})
    w.run(until=stable("A", "B", each=2), for_s=20)
    topic = m.CreatePartitionsRequest.CreatePartitionsTopic("orders", 6, None)
    w.ask(m.CreatePartitionsRequest(topics=[topic], timeout_ms=5_000))
    assert w.run(until=stable("A", "B", each=3), for_s=20)


def test_all_generations_of_a_restless_group_have_one_owner_for_each_partition() -> None:
    w = world(partitions=6)
    produce(w, 2_000, 10_000)
    for name in "ABCD":
        member(w, name, COOPERATIVE)
        w.run(for_s=0.7)
    w.pause("B")
    w.run(for_s=9)
    w.kill("C")
    w.run(for_s=1)
    w.resume("B")
    w.kill(consumer(w, "A").coordinator.node or 101)
    assert w.run(until=lambda w: stable("A", "B", "D", each=2)(w), for_s=60)
    w.run(for_s=20)
    assert len(assigned_by_generation(w)) > 4
    assert one_owner_each(w)
    assert set(values(w, "A", "B", "D")) <= {f"shop-{n}" for n in range(2_000)}


def test_the_same_seed_gives_the_same_story_and_a_fork_the_same_future() -> None:
    def run() -> list[str]:
        w = world()
        produce(w, 100)
        for name in "AB":
            member(w, name, COOPERATIVE)
        w.run(for_s=2)
        copy = w.fork()
        w.pause("B"), copy.pause("B")
        w.run(for_s=9), copy.run(for_s=9)
        assert w.trace_lines() == copy.trace_lines()
        pickle.loads(pickle.dumps(w.client("A")))
        return w.trace_lines()

    assert run() == run()


def test_it_works_when_messages_travel_as_bytes() -> None:
    w = world(encoded=True)
    fill(w, 20)
    for name in "AB":
        member(w, name, COOPERATIVE)
    assert w.run(until=stable("A", "B", each=2), for_s=20)
    w.run(for_s=3)
    assert sorted(values(w, "A", "B")) == sorted(f"shop-{n}" for n in range(20))


def test_a_coordinator_that_moves_to_another_broker_keeps_the_generation() -> None:
    w = world()
    member(w, "A")
    w.run(until=stable("A", each=4), for_s=10)
    first = consumer(w, "A").coordinator.node
    assert first is not None
    w.kill(first)
    w.run(until=lambda w: w.leader("__consumer_offsets", 0) not in (-1, first), for_s=10)
    w.start(first)
    w.run(for_s=8)
    topic = m.ElectLeadersRequest.TopicPartitions("__consumer_offsets", [0])
    w.ask(m.ElectLeadersRequest(election_type=0, topic_partitions=[topic], timeout_ms=5_000))
    w.run(for_s=5)
    assert consumer(w, "A").coordinator.node == first
    assert "NOT_COORDINATOR" in {why for _, _, why in lines(w, "A", "coordinator unknown")}
    assert len(lines(w, "A", "joined")) == 1
