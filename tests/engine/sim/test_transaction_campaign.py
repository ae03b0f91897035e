"""Schedules with transactional producers: they are killed and frozen, and have zombies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.sim.campaign import campaign, till_ending
from engine.sim.campaign.members import MemberPlan
from engine.sim.campaign.play import Outcome, play, run
from engine.sim.campaign.schedules import STRANDS, Schedule, Setup, draw
from engine.sim.campaign.shrink import replay
from engine.sim.campaign.tills import PAYMENTS, READER, TillSetup
from engine.sim.campaign.timed_scripts import Timed, read, write
from engine.sim.history.operations import Poll
from engine.sim.invariants.invariants import Violation
from engine.sim.scripts.scripts import parse
from engine.sim.world.faults import Fault
from engine.sim.world.world import World

SEEDS = range(300_000, 300_008)


@pytest.fixture(scope="module")
def results() -> list[Outcome]:
    return list(campaign.outcomes(SEEDS, jobs=2, light=True, transactions=True))


@pytest.fixture(scope="module")
def calm() -> World:
    """A schedule without faults, played to its end."""
    drawn = Setup(seed=4, partitions=1, period_us=300_000, tills=TillSetup(2, 2), calm_us=8_000_000)
    world, outcome = run(Schedule(drawn, torn=False, plans=()), tape=())
    assert outcome.violation == ""
    return world


@pytest.mark.timeout(600)
def test_fresh_schedules_with_transactions_are_clean(results: list[Outcome]) -> None:
    assert [f"{each.setup.seed}: {each.violation}" for each in results if each.violation] == []


def test_transactions_end_both_ways_time_out_and_coordinators_move(results: list[Outcome]) -> None:
    count = len(results)
    assert sum(each.committed > 0 < each.aborted for each in results) >= 0.9 * count
    assert sum(each.timed_out > 0 for each in results) >= campaign.TIMEOUTS_MIN * count
    assert sum(each.moves > 0 for each in results) >= campaign.TRANSACTION_MOVES_MIN * count
    assert any(each.cleaned for each in results)
    assert any(each.remade for each in results)
    text, _ = campaign.report(results, light=True)
    assert f"transactions: {sum(each.committed for each in results)} committed" in text


def test_a_campaign_whose_transactions_do_nothing_is_not_good(results: list[Outcome]) -> None:
    busy = [replace(each, elections=1, truncations=1, moves=1, timed_out=1) for each in results]
    busy = [replace(each, committed=1, aborted=1, cleaned=1, remade=1) for each in busy]
    busy = [replace(each, violation="") for each in busy]
    assert campaign.report(busy, light=True)[1]
    for missing in ("committed", "aborted", "timed_out", "moves", "cleaned", "remade"):
        idle = [replace(each, **{missing: 0}) for each in busy]
        assert not campaign.report(idle, light=True)[1], missing


def test_a_violation_comes_with_the_line_that_replays_it(results: list[Outcome]) -> None:
    broken = replace(results[0], violation="whole: broken by hand")
    text, good = campaign.report([broken], light=True)
    assert not good
    assert f"--replay {broken.setup.seed} --light --transactions" in text


def test_tills_are_killed_frozen_and_doubled(results: list[Outcome]) -> None:
    happened = {
        (done.action.kind, str(done.action.nodes[0])[-1] == "b")
        for each in results
        for done in each.tape
        if done.action.nodes and str(done.action.nodes[0]).startswith("till-")
    }
    assert {("kill", False), ("pause", False), ("resume", False), ("start", True)} <= happened


def test_both_protocols_are_drawn_with_and_without_compaction() -> None:
    drawn = [draw(seed, transactions=True) for seed in range(40)]
    setups = [each.setup.tills for each in drawn if each.setup.tills is not None]
    assert {(each.protocol, each.compacted) for each in setups} == {
        (protocol, compacted) for protocol in (1, 2) for compacted in (False, True)
    }
    targets = {plan.target for each in drawn for plan in each.plans}
    assert {"coordinator", PAYMENTS, "leader"} <= targets


def test_the_schedule_of_a_seed_without_transactions_has_none_of_this() -> None:
    drawn = draw(7)
    assert (drawn.setup.tills, drawn.lives) == (None, ())
    kinds = [plan.kind for plan in draw(7, transactions=True).plans if plan.kind != "strand"]
    assert [plan.kind for plan in drawn.plans] == kinds


def test_requests_arrive_late_where_each_transaction_has_an_epoch(results: list[Outcome]) -> None:
    for seed in range(20):
        drawn = draw(seed, transactions=True)
        assert drawn.setup.tills is not None
        late = [plan for plan in drawn.plans if plan.kind == "strand"]
        assert len(late) == (STRANDS if drawn.setup.tills.protocol == 2 else 0)
    stranded = [
        done.action
        for each in results
        for done in each.tape
        if isinstance(done.action, Fault) and done.action.kind == "strand"
    ]
    assert len({dict(each.options)["api"] for each in stranded}) >= 3


def test_a_tape_with_tills_replays_the_run() -> None:
    drawn = draw(300_001, light=True, transactions=True)
    told: list[list[str]] = [[], []]
    first = play(drawn, tell=told[0].append)
    again = play(replace(drawn, setup=first.setup, plans=(), lives=()), first.tape, told[1].append)
    assert told[0] == told[1]
    assert (first.violation, first.events) == (again.violation, again.events)


def test_a_script_keeps_the_tills() -> None:
    outcome = play(draw(300_003, light=True, transactions=True))
    text = write(Timed(outcome.setup, outcome.tape), "seed 300003", "")
    assert "\ntills payments count=" in text
    found = read(parse(text))
    assert found.setup == outcome.setup
    assert [each.action for each in found.tape] == [each.action for each in outcome.tape]


@pytest.mark.parametrize("protocol", [1, 2])
def test_a_zombie_is_fenced_and_its_transaction_is_not_seen(protocol: int) -> None:
    drawn = draw(1, light=True, transactions=True)
    setup = replace(drawn.setup, tills=TillSetup(1, protocol))
    lives = (
        MemberPlan(2_000, "pause", "till-1", 3_000),
        MemberPlan(2_200, "start", "till-1b", 0),
        MemberPlan(8_000, "kill", "till-1b", 2_000),
    )
    world, outcome = run(Schedule(setup, torn=False, plans=(), lives=lives))
    assert outcome.violation == ""
    assert world.client("till-1").over == "its producer is of no use any more"
    assert outcome.aborted >= 1


def test_a_world_with_transactions_goes_back_and_forth() -> None:
    drawn = draw(9, light=True, transactions=True)
    drawn = replace(drawn, plans=drawn.plans[:3], lives=drawn.lives[:2])
    world, _ = run(drawn, rewindable=True)
    lines, last = world.trace_lines(), world.events
    world.back(1_500)
    assert len(world.trace_lines()) < len(lines)
    world.goto(event=last)
    assert world.trace_lines() == lines
    fork = world.fork()
    for each in (world, fork):
        each.run(for_s=1)
    assert world.trace_lines() == fork.trace_lines()


@pytest.mark.parametrize(
    ("seed", "light"), [(43, True), (124, True), (20_469, True), (61_797, False)]
)
def test_the_invariants_accept_what_kafka_does(seed: int, light: bool) -> None:
    """43: brokers that have not heard of an election go on among themselves.  124: a former
    coordinator hears late that what it wrote was replicated.  20469: a producer repeats its first
    AddPartitionsToTxn for a partition that is gone; the second one had added it (KAFKA-20077).
    61797: a former leader tells its latest offset after an unclean election it has not heard of."""
    assert play(draw(seed, light, transactions=True)).violation == ""


HIGH_WATERMARK_WENT_BACK = """\
cluster brokers=3 seed=467
create orders partitions=1 replication=3 min.insync.replicas=2
load orders period_us=300000 idempotent=1
load orders period_us=300000 acks=1
reader orders
tills payments count=2 protocol=2
at 2.015665 kill 102
at 2.040665 start till-2b
at 2.364665 start 102
at 3.699665 isolate 103
at 8.164665 kill 102
at 8.823665 kill 101
at 12.902481 calm
"""


def test_a_follower_whose_high_watermark_went_back_has_forgotten_markers() -> None:
    """103 led, and saw a marker replicated.  When it follows 101, which was started with an older
    checkpoint, the marker is above its high watermark again, and holds nothing."""
    timed = read(parse(HIGH_WATERMARK_WENT_BACK))
    assert replay(timed.setup, timed.tape).violation == ""


GIVEN_UP_WHILE_ABORTING = """\
cluster brokers=3 seed=813
create orders partitions=1 replication=3 min.insync.replicas=2
load orders period_us=300000 idempotent=1
load orders period_us=300000 acks=1
reader orders
tills payments count=3 protocol=1 compacted=1
at 3.452086 isolate 103
at 4.885086 kill 101
at 6.142086 pause 102
at 11.506907 calm
"""


def test_a_till_closes_a_producer_that_cannot_begin_again() -> None:
    """docs/findings.md: the last answers are lost for good while the transaction is aborted."""
    timed = read(parse(GIVEN_UP_WHILE_ABORTING))
    assert replay(timed.setup, timed.tape).violation == ""


EPOCH_GIVEN_TWICE = """\
cluster brokers=3 seed=1457
create orders partitions=1 replication=3 min.insync.replicas=2
load orders period_us=300000 idempotent=1
load orders period_us=300000 acks=1
reader orders
tills payments count=2 protocol=2 compacted=1
at 1.812284 pause 101
at 2.434284 kill 101
at 2.817284 pause till-1
at 3.589284 resume till-1
at 3.646284 lose_power 102 torn=1
at 4.002284 kill 103
at 4.505284 start till-2b
at 5.189284 start 102
at 9.151284 start 103
at 9.525059 calm
"""


def test_a_coordinator_that_lost_its_log_gives_an_epoch_twice() -> None:
    """The last known leader of `__transaction_state` had lost power.  till-2b has the epoch of
    till-2, so its first batch is taken for one that till-2 wrote: that promises nothing."""
    timed = read(parse(EPOCH_GIVEN_TWICE))
    assert replay(timed.setup, timed.tape).violation == ""


CLEANED_WHILE_A_CLOCK_WENT_BACK = """\
cluster brokers=3 seed=620037
create orders partitions=1 replication=3 min.insync.replicas=2
load orders period_us=300000 idempotent=0
load orders period_us=300000 acks=1
reader orders
tills payments count=3 protocol=2 compacted=1
at 2.484507 strand till-2 101 ms=300 count=2 api=EndTxn
at 3.350507 strand till-3 103 ms=300 count=3 api=Produce
at 5.876507 jump_clock 101 ms=-1000
at 6.280000 calm
"""


def test_the_last_pass_of_a_cleaner_need_not_have_the_highest_time() -> None:
    timed = read(parse(CLEANED_WHILE_A_CLOCK_WENT_BACK))
    assert replay(timed.setup, timed.tape).violation == ""


# -- each check of the end, against a world in which it does not hold


def test_a_record_of_an_aborted_transaction_that_was_read(calm: World) -> None:
    world = calm.fork()
    reader = world.client(READER)
    polls = [each for each in reader.operations if isinstance(each, Poll)]
    reader.operations.remove(polls[-1])
    with pytest.raises(Violation, match=r"read: .* is committed, and was not read"):
        till_ending.judge(world, TillSetup(2, 2))
    reader.operations += [polls[-1], polls[-1]]
    with pytest.raises(Violation, match="was given a record twice"):
        till_ending.judge(world, TillSetup(2, 2))


def test_an_offset_of_another_transaction(calm: World) -> None:
    world = calm.fork()
    assert world.invariants is not None
    assert world.invariants.transactions is not None
    shard = world.invariants.transactions.groups.shard("till-1-readers")
    assert shard is not None
    by_place = shard.offsets._by_group["till-1-readers"]
    ((place, placed),) = by_place.items()
    by_place[place] = replace(placed, committed=replace(placed.committed, offset=5))
    with pytest.raises(Violation, match=r"offsets: till-1-readers has 5, and the last committed"):
        till_ending.judge(world, TillSetup(2, 2))
    with pytest.raises(Violation, match=r"offsets: .* no producer has asked to commit it"):
        world.invariants.transactions.check_offsets()


def test_a_transaction_that_is_open_for_good(calm: World) -> None:
    world = calm.fork()
    assert world.invariants is not None
    leader = world.leader(PAYMENTS, 0)
    ledger = world.invariants.books[f"{PAYMENTS}-0"].chains[leader].ledger
    ledger.open[77] = ledger.entries[0]
    with pytest.raises(Violation, match="hanging: in payments-0 a transaction of producer"):
        till_ending.judge(world, TillSetup(2, 2))


def test_a_transaction_torn_in_two(calm: World) -> None:
    world = calm.fork()
    assert world.invariants is not None
    for index in world.partitions(PAYMENTS):
        leader = world.leader(PAYMENTS, index)
        ledger = world.invariants.books[f"{PAYMENTS}-{index}"].chains[leader].ledger
        ledger.entries = [
            each._replace(ends="aborted") if each.ends == "committed" and index else each
            for each in ledger.entries
        ]
    with pytest.raises(Violation, match="whole: "):
        till_ending.judge(world, TillSetup(2, 2))
