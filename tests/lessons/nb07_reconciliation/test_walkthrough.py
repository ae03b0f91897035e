"""The walk-through's frames: every number of the slides, from brokers that said it."""

from __future__ import annotations

import pytest

from engine.sim.world.world import World
from kit.drawings.walkthrough import Walkthrough, high_watermarks, in_sync, led_by, log_ends
from kit.panel.time_panel import TimePanel
from lessons.nb07_reconciliation import watermark_runs as runs


def watermarks(walk: Walkthrough) -> dict[int, int]:
    return {replica.broker: replica.high_watermark for replica in walk.frames[-1].replicas}


def records(walk: Walkthrough, broker: int) -> str:
    row = next(row for row in walk.frames[-1].replicas if row.broker == broker)
    return " ".join(f"{value}{epoch}" for value, epoch in row.log)


def three_committed() -> tuple[World, Walkthrough]:
    """A, B, C at offsets 0 to 2; all three know that they are committed."""
    world = runs.settled(101, 103, 102)
    walk = Walkthrough(world)
    walk.send("A", "B", "C")
    walk.quietly(high_watermarks(3, 101, 102, 103))
    return world, walk


def test_the_leader_learns_one_fetch_late_and_followers_one_answer_later() -> None:
    world = runs.settled(101, 103, 102)
    walk = Walkthrough(world)
    walk.send("A", "B", "C")
    walk.shot("copied", log_ends(3, 102, 103))
    assert watermarks(walk) == {101: 0, 102: 0, 103: 0}
    walk.shot("committed", high_watermarks(3, 101))
    assert walk.frames[-1].said == (
        "103 → 101  Fetch in epoch 0: offset 3, last epoch 0",
        "102 → 101  Fetch in epoch 0: offset 3, last epoch 0",
    )
    assert watermarks(walk) == {101: 3, 102: 0, 103: 0}
    walk.shot("known", high_watermarks(3, 102, 103))
    assert "101 → 102  HW 3, no records" in walk.said


def test_a_new_leader_whose_watermark_is_behind() -> None:
    world, walk = three_committed()
    walk.send("D")
    walk.shot("D is committed", high_watermarks(4, 101))
    assert walk.read(101, 3) == "D"
    for link in ((101, 102), (101, 103), (102, 103)):
        world.cut(*link)
    walk.kill(101)
    walk.shot("103 leads", led_by(103, 102, 103))
    assert walk.frames[-1].said[-1] == "cut: 101 – 102, 101 – 103, 102 – 103"
    assert watermarks(walk) == {101: 4, 102: 3, 103: 3}
    assert records(walk, 101) == records(walk, 103) == "A0 B0 C0 D0"
    assert [row.does for row in walk.frames[-1].replicas] == [
        "dead",
        "follows 103, epoch 1",
        "leads epoch 1",
    ]
    assert (walk.list_latest(103), walk.read(103, 3)) == ("OFFSET_NOT_AVAILABLE", "nothing")
    assert walk.read(103, 0) == "A B C"
    world.heal()
    walk = walk.onwards()
    walk.shot("caught up", high_watermarks(4, 103))
    assert walk.said == [
        "healed: 101 – 102, 101 – 103, 102 – 103",
        "102 → 103  Fetch in epoch 1: offset 4, last epoch 0",
    ]
    assert (walk.list_latest(103), walk.read(103, 3)) == ("4", "D")


def test_reconciliation_with_the_numbers_of_the_slides() -> None:
    world, walk = three_committed()
    world.cut(101, 103)
    walk.send("D", "E")
    walk.shot("102 alone", log_ends(5, 102))
    world.cut(101, 102)
    walk.send("F")
    walk.shot("nobody", log_ends(6, 101))
    world.cut(102, 103)
    walk.kill(101)
    walk.shot("103 leads", led_by(103, 102, 103))
    walk.send("W", "X", "Y", "Z")
    walk.shot("two histories", log_ends(7, 103))
    assert records(walk, 101) == "A0 B0 C0 D0 E0 F0"
    assert records(walk, 102) == "A0 B0 C0 D0 E0"
    assert records(walk, 103) == "A0 B0 C0 W1 X1 Y1 Z1"
    world.heal(102, 103)
    walk = walk.onwards()
    walk.shot("told, and cut", log_ends(3, 102))
    walk.shot("copied", log_ends(7, 102))
    walk.shot("confirmed", high_watermarks(7, 103))
    assert walk.said == [
        "healed: 102 – 103",
        "102 → 103  Fetch in epoch 1: offset 5, last epoch 0",
        "103 → 102  diverging: epoch 0 ends at 3",
        "102 → 103  Fetch in epoch 1: offset 3, last epoch 0",
        "103 → 102  HW 3, records 3 (epoch 1), 4 (epoch 1), 5 (epoch 1), 6 (epoch 1)",
        "102 → 103  Fetch in epoch 1: offset 7, last epoch 1",
    ]
    world.heal()
    world.start(101)
    walk.shot("101 cuts", log_ends(3, 101))
    assert not any(line.startswith("101 → 102") for line in walk.said), "sent before it died"
    walk.shot("101 is in sync", in_sync(101, 102, 103))
    assert records(walk, 101) == records(walk, 102) == records(walk, 103)
    assert walk.frames[0].title == "told, and cut"


def test_a_broker_that_was_gone_before_anybody_looked_is_shown_as_it_was() -> None:
    world, walk = three_committed()
    world.cut(101, 102)
    walk.send("D")
    walk.quietly(log_ends(4, 103))
    world.kill(101)
    world.stop(103)
    world.run(until=lambda w: 103 not in w.cluster.nodes, for_s=10)
    late = Walkthrough(world).shot("late").frames[0].replicas
    assert [(row.does, len(row.log), row.alive) for row in (late[0], late[2])] == [
        ("dead", 4, False),
        ("stopped", 4, False),
    ]
    assert world.events == walk.world.events


def test_a_frame_that_never_comes_is_an_error() -> None:
    world = runs.settled(101, 102)
    with pytest.raises(AssertionError, match="a wonder: this did not happen"):
        Walkthrough(world).shot("a wonder", log_ends(1, 101))


def test_two_deaths_lose_an_acknowledged_record_under_the_oldest_rule_only() -> None:
    panel = TimePanel(runs.two_deaths(), "orders")
    assert panel.jump("parted")
    assert "101 holds what its leader 103 does not: E" in panel.caption
    panel.fork("to-high-watermark")
    assert panel.jump("truncation")
    assert "102 **cuts** its log from 4 to 3: D is gone" in panel.caption
    assert panel.jump("lost")
    assert "D was acknowledged under acks=all, and 102 does not have it" in panel.caption
    panel.position = len(panel) - 1
    assert "**lost** in timeline 2, **kept** in timeline 1" in panel.differs.sentence


def test_without_the_rule_a_reader_has_seen_what_is_gone() -> None:
    with_rule, without = runs.a_reader_and_a_dying_leader().rows
    assert with_rule[1:] == ("A B C D E", "A B C D E", "nothing")
    assert without[1:] == ("A B C D E F G H", "A B C D E", "F G H")


def test_a_zombie_misleads_clients_that_name_no_epoch_or_its_own() -> None:
    world, _ = three_committed()
    world.isolate(101)
    world.run(until=led_by(103), for_s=30)
    assert runs.read(world, 101) == runs.read(world, 101, epoch=0) == "A B C"
    assert runs.read(world, 101, epoch=1) == "UNKNOWN_LEADER_EPOCH"
    assert runs.read(world, 103, epoch=0) == "FENCED_LEADER_EPOCH"
    assert runs.write(world, 101, "E", "all") == "REQUEST_TIMED_OUT"
    assert runs.write(world, 101, "F", "1").startswith("acknowledged")
    assert runs.log_text(world, 101) == "A·0 B·0 C·0 E·0 F·0"
    assert runs.watermarks(world)[101] == 3
    world.heal()
    world.run(for_s=6)
    assert runs.cuts(world, 101) == [3]
    assert runs.holders(world, "F") == []


def test_a_broker_that_starts_again_is_not_drawn_with_the_high_watermark_it_had() -> None:
    panel = TimePanel(runs.two_deaths("to-high-watermark"), "orders")
    marks = {}
    for place in range(len(panel)):
        panel.position = place
        row = next(row for row in panel.scene().rows if row.id == 103)
        marks[panel.caption.split(",")[0]] = row.high_watermark
    assert marks["The links between 101"] == 3, "the last one, while it is dead"
    assert marks["103 starts"] == -1, "not known before it has read its checkpoint"
