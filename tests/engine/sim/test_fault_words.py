"""Faults as data: what can be written, read and refused."""

from __future__ import annotations

import pytest

from engine.cluster.clock import Clock
from engine.sim.world.faults import KINDS, Fault, fault, parse
from engine.sim.world.world import World


@pytest.mark.parametrize(
    "text",
    ["kill 101", "slow 101 102 ms=50", "drop producer-1 101 count=3 api=Produce", "heal",
     "jump_clock 102 ms=-5000", "lose_power 103 torn=1", "flip_bit 101 topic=orders offset=7",
     "flip_bit 101 topic=2024 offset=7"],
)  # fmt: skip
def test_a_fault_reads_what_it_wrote(text: str) -> None:
    assert str(parse(text)) == text


def test_a_topic_may_be_called_as_a_number_is() -> None:
    given = fault("flip_bit", 101, topic="2024")
    assert parse(str(given)) == given


@pytest.mark.parametrize(
    ("text", "says"),
    [("explode 101", "no fault 'explode'; there are kill"), ("cut 101", "names 2 nodes, not 1"),
     ("kill 101 ms=3", "kill has no option 'ms'"), ("drop 101 102 api=Fitch", "no API 'Fitch'"),
     ("skew_clock 101 ppm=-1000000", "ppm is a whole number from -999999 to 1000000, not -1000000"),
     ("skew_clock 101 ppm=-2000000", "ppm is a whole number from -999999"),
     ("drop 101 102 count=0", "count is a whole number from 1"),
     ("slow 101 102 ms=fast", "ms is a whole number from 0 to .*, not 'fast'"),
     ("slow 101 102 ms=-500", "ms is a whole number from 0"),
     ("delay 101 102 ms=1.5", "ms is a whole number from 0"),
     ("jump_clock 101 ms=--5", "jump_clock: ms is a whole number"),
     ("lose_power 101 torn=yes", "torn is a whole number from 0 to 1"),
     ("flip_bit 101 topic=a/b", "topic is a name of letters"),
     ("flip_bit 101 partition=-1", "partition is a whole number from 0"),
     ("flip_bit 101 offset=-2", "offset is a whole number from -1")],
)  # fmt: skip
def test_what_is_no_fault_is_refused_with_a_sentence(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse(text)


@pytest.mark.parametrize("name", ["7", "shop 1", "a=b", "a#b", ""])
def test_a_node_whose_name_would_come_back_as_another_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be written as a node's name"):
        fault("drop", name, 101)


def test_a_topic_that_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="topic is a name of letters"):
        fault("flip_bit", 101, topic=2024)


def test_a_fault_out_of_range_leaves_the_world_as_it_was() -> None:
    world = World(1)
    events = world.events
    with pytest.raises(ValueError, match="ppm is a whole number"):
        world.skew_clock(101, ppm=-1_000_000)
    assert (world.events, world.tape) == (events, [])


def test_a_clock_that_stands_still_is_refused() -> None:
    with pytest.raises(ValueError, match="never reaches a timer's time"):
        Clock(since_us=0).change(1, ppm=-1_000_000)


def test_yes_and_no_are_written_as_numbers() -> None:
    assert str(fault("lose_power", 101, torn=True)) == "lose_power 101 torn=1"
    assert str(fault("lose_power", 101, torn=False)) == "lose_power 101"


def test_options_with_their_usual_value_are_not_written() -> None:
    assert fault("slow", 101, 102, ms=200) == Fault("slow", (101, 102))
    assert Fault("slow", (101, 102)).amounts == {"ms": 200}


def test_a_node_that_is_not_there_is_named() -> None:
    world = World(1)
    events = world.events
    with pytest.raises(ValueError, match="there is no node 109; there are 100, 101"):
        world.kill(109)
    with pytest.raises(ValueError, match="there is no node admin"):
        world.apply(fault("kill", "admin"))
    assert (world.events, world.tape) == (events, [])


def test_every_fault_has_a_method_of_its_own() -> None:
    assert all(callable(getattr(World, kind)) for kind in KINDS)
