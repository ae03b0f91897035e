"""What each fault does, and that the invariants hold under it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.cluster.clock import Clock
from engine.records import batch
from engine.sim.campaign.crew import Crew
from engine.sim.world.world import World
from engine.storage import damage
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from tests.engine.sim.loaded import end, kinds, loaded, whole

# -- links


def test_one_way_cut_lets_the_other_way_through() -> None:
    world = loaded()
    world.cut_one_way(101, 103)  # the leader's answers no longer reach 103
    sent = world.cluster.agenda.sequence
    world.run(for_s=1)
    assert end(world, 103) < end(world, 101)
    assert end(world, 102) > end(world, 103)
    assert list(world.cluster.network.held) == [(101, 103)]
    assert world.snapshot()["links"] == [
        {"between": [101, 103], "state": "cut one way", "delay_ms": 0}
    ]
    assert world.cluster.agenda.sequence > sent
    world.heal(103, 101)
    assert world.snapshot()["links"] == []
    assert world.run(until=lambda w: whole(w) and end(w, 103) == end(w, 101), for_s=10)


def test_a_request_that_is_dropped_is_never_processed() -> None:
    world = loaded()
    world.drop("admin", 101, api="DescribeCluster")
    number = world.post(m.DescribeClusterRequest(), 101)
    world.run(for_s=1)
    assert number in world.client("admin").answers
    assert world.answer(number) is None
    assert world.ask(m.DescribeClusterRequest(), 101) is not None


def test_an_answer_that_is_dropped_was_processed() -> None:
    """The producer's retry makes a second copy, unless it is idempotent."""
    copies = {}
    for idempotent in (False, True):
        world = loaded(idempotent=idempotent, period_us=200_000)
        world.drop(101, "producer-1", api="Produce")
        world.run(for_s=2)
        seen = [value for _, _, value in read(world)]
        copies[idempotent] = len(seen) - len(set(seen))
    assert copies == {False: 1, True: 0}


def test_a_doubled_request_is_processed_twice() -> None:
    copies = {}
    for idempotent in (False, True):
        world = loaded(idempotent=idempotent, period_us=200_000)
        world.duplicate("producer-1", 101, count=3, api="Produce")
        world.run(for_s=2)
        seen = [value for _, _, value in read(world)]
        copies[idempotent] = len(seen) - len(set(seen))
    assert copies == {False: 3, True: 0}


def test_a_stranded_request_is_lost_to_its_sender_and_arrives_all_the_same() -> None:
    """The sender asks again at once; without idempotence there are two copies then."""
    copies = {}
    for idempotent in (False, True):
        world = loaded(idempotent=idempotent, period_us=200_000)
        before = end(world, 101)
        world.strand("producer-1", 101, ms=900, api="Produce")
        world.run(until=lambda w, start=before: end(w, 101) > start, for_s=2)
        assert world.now_us < 2_000_000, "the second attempt does not wait for the first"
        world.run(for_s=2)
        seen = [value for _, _, value in read(world)]
        copies[idempotent] = len(seen) - len(set(seen))
    assert copies == {False: 1, True: 0}


def test_answers_use_up_nothing_of_a_duplicate() -> None:
    """The leader only answers its follower; what it asks some day is doubled then."""
    world = loaded()
    world.duplicate(101, 103, count=3)
    world.duplicate(103, 101, count=3, api="Fetch")
    assert "the next 3 requests to 103: delivered twice" in world.trace_lines(("duplicate",))[0]
    assert "the next 3 Fetch requests to 101: del" in world.trace_lines(("duplicate",))[1]
    world.run(for_s=1)
    assert [trouble.left for trouble in world.cluster.network.troubles[101, 103]] == [3]
    assert world.cluster.network.troubles[103, 101] == []


@pytest.mark.parametrize("number", range(16))
@pytest.mark.parametrize("target", ["leader", "follower"])
def test_a_campaign_doubles_what_travels_towards_the_one_who_answers(
    number: int, target: str
) -> None:
    world = loaded()
    crew = Crew(world, "orders", 2, ())
    chosen = crew.choose(number, "duplicate", target, 2, False, 0)
    if chosen is not None:
        source, destination = chosen.nodes
        assert isinstance(destination, int), "nobody asks a client"
        assert source not in (100, 101) or (source, destination) == (101, 100)


def test_what_follows_a_late_message_waits_behind_it() -> None:
    world = loaded()
    world.delay(101, 102, ms=700, api="Fetch")
    before = end(world, 102)
    world.run(for_s=0.6)
    assert end(world, 102) == before
    world.run(for_s=0.4)
    assert end(world, 102) > before + 10


def test_a_new_process_does_not_wait_behind_what_was_sent_to_the_old_one() -> None:
    world = loaded()
    world.delay(100, 103, ms=60_000)
    world.run(for_s=1)
    world.kill(103)
    world.heal()
    assert world.run(until=lambda w: w.is_fenced(103), for_s=5)
    world.start(103)
    assert world.run(until=lambda w: not w.is_fenced(103), for_s=5)


def test_the_end_of_a_connection_comes_after_what_was_sent_before_it() -> None:
    world = loaded()
    world.delay(101, "admin", ms=500)
    first = world.post(m.DescribeClusterRequest(), 101)
    world.run(for_s=0.1)
    second = world.post(m.DescribeClusterRequest(), 101)
    world.kill(101)
    world.start(101)
    world.run(for_s=0.3)
    assert not {first, second} & set(world.client("admin").answers)
    world.run(for_s=0.3)
    assert world.answer(first) is not None
    assert second in world.client("admin").answers
    assert world.answer(second) is None


def test_what_is_overtaken_arrives_later_than_what_was_sent_after_it() -> None:
    """Two questions, one after the other: the second one's answer is there first."""
    world = loaded()
    world.reorder("admin", 101, ms=300)
    first, second = (world.post(m.DescribeClusterRequest(), 101) for _ in range(2))
    world.run(for_s=0.1)
    assert world.answer(first) is None
    assert world.answer(second) is not None
    world.run(for_s=0.4)
    assert world.answer(first) is not None


def test_only_the_api_that_is_named_is_in_trouble_and_only_so_often() -> None:
    world = loaded()
    world.drop("admin", 101, count=2, api="DescribeCluster")
    assert world.ask(m.ListGroupsRequest(), 101) is not None
    answers = [world.ask(m.DescribeClusterRequest(), 101) for _ in range(3)]
    assert [each is None for each in answers] == [True, True, False]
    assert world.cluster.network.troubles.get(("admin", 101)) in ([], None)


@pytest.mark.parametrize("encoded", [False, True])
def test_troubles_are_the_same_for_messages_as_bytes(encoded: bool) -> None:
    world = World(4, encoded=encoded)
    world.create_topic("orders")
    world.load("orders", idempotent=True)
    world.duplicate("producer-1", world.leader("orders", 0), count=4, api="Produce")
    world.drop(world.leader("orders", 0), "producer-1", api="Produce")
    world.run(for_s=2)
    world.drop("producer-1", world.leader("orders", 0), api="Fetch")
    assert len(world.trace_lines(("acknowledged",))) > 50


# -- clocks


def test_a_clock_jumps_and_gains() -> None:
    clock = Clock(since_us=0)
    clock.change(1_000_000, by_us=500_000)
    assert clock.shows(1_000_000) == 1_500_000
    clock.change(2_000_000, ppm=100_000)
    assert clock.shows(2_000_000) == 2_500_000
    assert clock.shows(3_000_000) == 3_600_000
    clock.change(3_000_000, by_us=-3_600_000)
    assert clock.shows(3_000_000) == 0
    assert clock.shows(4_000_000) == 1_100_000


@pytest.mark.parametrize("ppm", [-50_000, 0, 50_000, 333_333])
def test_a_timer_never_rings_before_its_time(ppm: int) -> None:
    clock = Clock(since_us=10, ahead_us=-77, ppm=ppm)
    for at in (clock.shows(1_000_000) + wait for wait in (1, 234_567, 5_000_000)):
        rings = clock.rings(1_000_000, at)
        assert clock.shows(rings) >= at
        assert clock.shows(rings - 2) < at


@pytest.mark.parametrize(("node", "ms"), [(100, 10_000), (101, 10_000), (101, -5_000), (102, -900)])
def test_a_clock_that_jumps_does_no_lasting_harm(node: int, ms: int) -> None:
    world = loaded()
    before = end(world, 101)
    world.jump_clock(node, ms=ms)
    world.skew_clock(103, ppm=-50_000)
    world.run(for_s=9)
    world.set_clock(node)
    world.set_clock(103)
    assert world.cluster.clocks == {}
    assert world.run(until=lambda w: whole(w) and end(w, 101) > before + 100, for_s=10)


def test_records_are_stamped_by_the_leaders_own_clock() -> None:
    world = World(1)
    world.create_topic("orders", config={"message.timestamp.type": "LogAppendTime"})
    leader = world.leader("orders", 0)
    world.jump_clock(leader, ms=3_600_000)
    world.load("orders")
    world.run(for_s=1)
    data = world.replica(leader, "orders", 0).log.read(0, 1 << 16)
    stamped = next(batch.iterate(data))[0].max_timestamp
    assert stamped - world.cluster.now // 1000 > 3_500_000


# -- disks


def test_a_broker_halts_when_its_disk_is_full_and_comes_back_when_there_is_room() -> None:
    world = loaded()
    world.fill_disk(101)
    assert world.run(until=lambda w: w.cluster.states[101] == "killed", for_s=2)
    assert kinds(world, 101)[-2:] == ["disk-full", "disk-failed"]
    assert world.run(until=lambda w: w.leader("orders", 0) > 101, for_s=5)
    world.start(101)
    world.run(for_s=6)
    assert world.cluster.states[101] == "killed", "there is still no room"
    world.free_disk(101)
    world.start(101)
    assert world.run(until=whole, for_s=20)


def test_a_broker_that_cannot_write_its_last_files_did_not_stop_cleanly() -> None:
    world = World(seed=1)
    world.create_topic("orders", partitions=3, replicas=3)
    world.run(until=whole, for_s=5)
    world.stop(103)
    world.fill_disk(103)
    assert world.run(until=lambda w: 103 not in w.cluster.nodes, for_s=5)
    assert world.cluster.states[103] == "killed"
    assert kinds(world, 103)[-1] == "disk-failed"
    world.free_disk(103)
    world.start(103)
    assert world.run(until=whole, for_s=20)


def test_a_full_disk_under_the_controller_loses_no_metadata() -> None:
    world = loaded()
    world.fill_disk(100)
    world.kill(103)
    world.run(for_s=4)
    assert world.cluster.states[100] == "killed"
    world.free_disk(100)
    world.start(100)
    world.start(103)
    assert world.run(until=whole, for_s=20)


def test_a_follower_with_a_new_disk_copies_everything_again() -> None:
    world = loaded()
    world.run(for_s=1)
    written = end(world, 101)
    world.replace_disk(103)
    assert world.cluster.states[103] == "killed"
    assert world.cluster.disks[103].list("") == []
    world.run(for_s=2)
    world.start(103)
    assert world.run(until=whole, for_s=20)
    assert end(world, 103) >= written


def test_a_new_disk_under_the_only_replica_takes_its_records() -> None:
    world = World(seed=1, checked=False)
    world.create_topic("orders", assignment={0: [101]})
    world.load("orders")
    world.run(for_s=1)
    world.tell("producer-1", "finish")
    world.run(for_s=1)
    assert end(world, 101) > 0
    world.replace_disk(101)
    world.start(101)
    world.run(for_s=5)
    assert end(world, 101) == 0


def test_recovery_after_a_crash_finds_the_changed_bit() -> None:
    world = loaded()
    world.kill(103)
    world.run(until=lambda w: not whole(w), for_s=10)
    world.flip_bit(103, "orders", offset=5)
    world.start(103)
    assert world.run(until=whole, for_s=20)
    recovered = world.trace_lines(("recovered",))
    assert any("103 recovered" in line and "end=5" in line for line in recovered), recovered
    assert world.run(until=lambda w: end(w, 103) == end(w, 101), for_s=5)


def test_no_follower_takes_a_changed_batch_from_a_leader() -> None:
    """A new follower refuses the whole answer, and asks again and again."""
    world = loaded()
    world.stop(103)
    world.run(until=lambda w: 103 not in w.cluster.nodes, for_s=10)
    world.cluster.disks[103].delete("orders-0")  # it will have to fetch from the beginning
    world.flip_bit(101, "orders", offset=5)
    world.start(103)
    world.run(for_s=3)
    assert end(world, 103) == 0
    failed = world.trace_lines(("append-failed",))
    assert any("CORRUPT_MESSAGE" in line for line in failed), failed


def test_a_consumer_refuses_a_changed_batch() -> None:
    world = World(11)
    world.create_topic("orders", assignment={0: [101, 102, 103]})
    world.load("orders", count=20, period_us=10_000)
    world.run(for_s=1)
    world.flip_bit(101, "orders", offset=7)
    world.reader("orders")
    world.run(for_s=2)
    assert [offset for offset, _, _ in read(world)] == list(range(7))


def test_a_torn_write_is_cut_off() -> None:
    """Half a batch after a power loss: the log ends before it, and catches up."""
    for seed in range(6):
        world = World(seed)
        world.create_topic("orders", config={"min.insync.replicas": 2})
        world.load("orders", period_us=2_000)
        world.run(for_s=1)
        follower = next(b for b in (101, 102, 103) if b != world.leader("orders", 0))
        world.lose_power(follower, torn=True)
        world.start(follower)
        assert world.run(until=whole, for_s=20)


def test_all_brokers_lose_power_at_once_and_nothing_that_was_flushed_is_gone() -> None:
    world = loaded()
    assert world.invariants is not None
    world.invariants = None  # three machines are more than the settings promise to survive
    for broker in (101, 102, 103):
        world.cluster.disks[broker].flush("orders-0")
    flushed = end(world, 103)
    for broker in (101, 102, 103):
        world.lose_power(broker)
    for broker in (101, 102, 103):
        world.start(broker)
    world.run(for_s=20)
    assert min(end(world, broker) for broker in (101, 102, 103)) >= flushed


def read(world: World) -> list[tuple[int, int, str]]:
    """What the consumer has seen: (offset, epoch, value)."""
    lines = [dict(line.fields) for _, _, line in world.cluster.trace if line.kind == "read"]
    return [(each["offset"], each["epoch"], each["value"]) for each in lines]


# -- all of it, back and forth


TROUBLES: dict[str, Callable[[World], None]] = {
    "cut_one_way": lambda w: w.cut_one_way(102, 101),
    "delay": lambda w: w.delay(101, 102, ms=300, count=2),
    "drop": lambda w: w.drop(102, 101, count=3),
    "duplicate": lambda w: w.duplicate(102, 101, count=3),
    "strand": lambda w: w.strand(102, 101, ms=300, count=2),
    "reorder": lambda w: w.reorder(101, 102, ms=100, count=3),
    "jump_clock": lambda w: w.jump_clock(101, ms=3_000),
    "skew_clock": lambda w: w.skew_clock(101, ppm=50_000),
    "lose_power": lambda w: w.lose_power(102, torn=True),
    "fill_disk": lambda w: w.fill_disk(101),
    "replace_disk": lambda w: w.replace_disk(102),
    "flip_bit": lambda w: w.flip_bit(102, "orders"),
}


@pytest.mark.parametrize("kind", TROUBLES)
def test_a_world_goes_back_over_it_and_forth_again(kind: str) -> None:
    world = loaded(idempotent=True)
    TROUBLES[kind](world)
    assert str(world.tape[-1].action).startswith(kind)
    struck = world.events
    world.run(for_s=3)
    last, before = world.events, world.trace_lines()
    world.goto(event=struck - 1)
    assert kind not in {str(each.action).split()[0] for each in world.tape[: world.on_tape]}
    world.goto(event=last)
    assert world.trace_lines() == before


def test_a_bit_flips_in_front_of_what_a_power_loss_has_left() -> None:
    disk = MemoryDisk()
    whole = batch.encode([batch.Record(0, 0, None, b"A", ())])
    disk.append("orders-0/00000000000000000000.log", whole + bytes(100))
    assert damage.flip_bit(disk, "orders-0") == 0
    with pytest.raises(batch.CorruptBatch):
        batch.validate(disk.read("orders-0/00000000000000000000.log", 0, len(whole)))
