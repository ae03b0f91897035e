"""A world is recorded: a frame for each step that matters, and every message."""

from __future__ import annotations

import pickle

import pytest

from engine.cluster.snapshot import DAMAGED
from engine.sim.world.world import World
from kit.drawings.walkthrough import Walkthrough
from kit.panel.film import Film
from kit.panel.recording import branch, record
from kit.panel.time_panel import TimePanel
from lessons.nb07_reconciliation.watermark_runs import settled
from tests.kit.panel.panels import at_the_end, captions
from tests.kit.panel.worlds import divergent


def test_the_learners_own_world_stays_as_it_was(lossy: World) -> None:
    events, trace = lossy.events, lossy.trace_lines()
    panel = TimePanel(lossy, "orders")
    panel.press("kill", 103)
    assert (lossy.events, lossy.trace_lines()) == (events, trace)
    assert type(lossy.cluster).__name__ == "Cluster"


def test_a_frame_for_every_step_that_matters_and_none_for_heartbeats(lossy: World) -> None:
    recording = record(lossy, "orders")
    assert 25 < len(recording.frames) < 60 < lossy.events
    assert [frame.number for frame in recording.frames] == list(range(len(recording.frames)))
    times = [frame.time_us for frame in recording.frames]
    assert times == sorted(times)
    reported = [line.kind for frame in recording.frames for line in frame.lines]
    kinds = ("append", "truncate", "high_watermark", "elected", "killed", "cut", "healed")
    for kind in kinds:
        in_trace = sum(f" {kind}" in line for line in lossy.trace_lines((kind,)))
        assert reported.count(kind) == in_trace, kind


def test_messages_say_what_they_carry_and_when_they_arrive() -> None:
    recording = record(divergent(), "orders")
    said = {flight.message.brief for flight in recording.flights}
    assert {
        "produce X1 (acks=1)",
        "X1 is at 2",
        "fetch from 5, after epoch 0",
        "epoch 0 ends at 2",
        "102 leads, ISR 102 103",
        "ISR 101 102 103?",
        "granted: ISR 101 102 103",
    } <= said
    assert any(words.startswith("HW ") and words.endswith(", record 2") for words in said)
    assert all(flight.sent_us < flight.arrives_us for flight in recording.flights)


def test_the_answer_that_ends_an_epoch_arrives_as_the_follower_cuts() -> None:
    recording = record(divergent(), "orders")
    (cut,) = [f for f in recording.frames if any(line.kind == "truncate" for line in f.lines)]
    arriving = [f.message.brief for f in recording.flights if f.arrives_us == cut.time_us]
    assert arriving == ["epoch 0 ends at 2"]


def test_a_message_waits_at_a_cut_until_the_link_is_mended() -> None:
    world = settled(101, 102, 103)
    world.cut(101, 102)
    Walkthrough(world).send("A")
    world.run(for_s=1)
    assert "held at the cut: 101 → 102: HW 0, record 0" in at_the_end(world).text
    world.heal()
    world.run(for_s=1)
    flights = [f for f in record(world, "orders").flights if f.message.brief == "HW 0, record 0"]
    held, sent = [each for each in flights if each.destination == 102]
    assert (held.held, sent.held) == (True, False)
    assert held.sent_us < held.arrives_us == sent.sent_us < sent.arrives_us
    assert [each.held for each in flights if each.destination == 103] == [False]


def test_no_answer_waits_at_a_cut_for_a_broker_that_is_gone() -> None:
    world = settled(101, 102, 103)
    world.cut(101, 102)
    Walkthrough(world).send("A")
    world.run(for_s=1)
    world.kill(102)
    world.run(for_s=1)
    assert "102" in at_the_end(world).text
    assert "held at the cut" not in at_the_end(world).text


def test_a_recorded_world_still_pickles(lossy: World) -> None:
    recording = record(lossy, "orders")
    frame = recording.frames[-3]
    again = branch(recording, frame)
    assert pickle.loads(pickle.dumps(again.world)).events == again.world.events


def test_a_film_of_one_partition_is_made_from_what_concerns_it(lossy: World) -> None:
    recording = record(lossy, "orders")
    film = Film.of("orders", 0, recording)
    assert all("orders" in frame.snapshot["topics"] for frame in film.takes[0].frames)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ([(101, 102)], "The link between 101 and 102 is healed"),
        ([(101, 102), (101, 103)], "The links between 101 and each of 102 and 103 are healed"),
        ([(101, 102), (102, 103)], "The links between 101, 102 and 103 are healed"),
    ],
)
def test_links_that_are_healed_together_are_reported_together(
    ends: list[tuple[int, int]], said: str
) -> None:
    world = settled(101, 102, 103)
    for one, other in ends:
        world.cut(one, other)
    world.heal()
    reported = [each for each in captions(TimePanel(world, "orders")) if "healed" in each]
    assert reported == [f"{said}; the messages that were held back are delivered."]


def test_a_world_with_a_changed_bit_can_be_recorded_and_gone_on_with() -> None:
    world = World(seed=1)
    world.create_topic("orders", config={"min.insync.replicas": 2})
    world.load("orders", period_us=100_000)
    world.run(for_s=0.5)
    leader = world.leader("orders", 0)
    follower = next(b for b in (101, 102, 103) if b != leader)
    world.kill(follower)  # so that it has to fetch later what is damaged by then
    world.run(for_s=3)
    world.tell("producer-1", "finish")
    world.flip_bit(leader, "orders")
    flipped = world.events
    world.start(follower)
    world.run(for_s=2)
    recording = record(world, "orders")
    logs = recording.frames[-1].snapshot["topics"]["orders"]["partitions"][0]["logs"]
    assert DAMAGED in str(logs[leader]["batches"])
    assert DAMAGED not in str(logs[follower]["batches"])
    at_once = next(frame for frame in recording.frames if frame.event == flipped)
    assert DAMAGED in str(at_once.snapshot["topics"]["orders"]["partitions"][0]["logs"][leader])
    assert any(DAMAGED in flight.message.values for flight in recording.flights)
    panel = TimePanel(world, "orders")
    panel.press("kill", leader)
    panel.jump("end")
    assert panel.frame().snapshot["brokers"][leader]["state"] == "killed"
