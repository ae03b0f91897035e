"""What a timed script may say, and that all it says counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.sim.campaign.mutants import IN_FORCE, MUTANTS
from engine.sim.campaign.schedules import Setup
from engine.sim.campaign.timed_scripts import Timed, read, world_of, write
from engine.sim.invariants.invariants import Violation
from engine.sim.scripts.player import ScriptError
from engine.sim.scripts.scripts import parse
from engine.sim.world.faults import fault
from engine.sim.world.tape import Done

TAPES = Path(__file__).parent / "mutant_tapes"
SETUP = Setup(3, brokers=5, partitions=2, min_in_sync=2, period_us=60_000, calm_us=4_000_000)
TAPE = (Done(0, 1_500_000, fault("slow", 101, 102, ms=70)), Done(0, 1_500_000, fault("kill", 103)))
TEXT = write(Timed(SETUP, TAPE), "An example.", "")


def test_what_was_written_is_read() -> None:
    assert read(parse(TEXT)) == Timed(SETUP, TAPE)
    trimmed = Timed(replace(SETUP, trimmed=True), TAPE)
    assert read(parse(write(trimmed, "An example.", ""))) == trimmed


def test_a_tape_without_a_calm_is_calm_at_its_end() -> None:
    text = write(Timed(Setup(3), TAPE), "An example.", "")
    assert read(parse(text)).setup.calm_us == TAPE[-1].at_us


@pytest.mark.parametrize(
    ("said", "instead", "line", "says"),
    [
        ("seed=3", "seed=3 rule=kip-101", 2, "rule has no place in a script with times"),
        ("seed=3", "seed=3 replica.lag.time.max.ms=77", 2, "replica.lag.time.max.ms has no place"),
        ("seed=3", "seed=3 mutant=no-such", 2, "there is no mutant no-such; there are"),
        ("seed=3", "seed=x", 2, "cluster: invalid literal"),
        ("brokers=5", "brokers=0", 2, "at least one broker"),
        ("create orders", "create payments", 3, "create: it is about orders here"),
        ("replication=3", "replication=2", 3, "replication is 3"),
        ("partitions=2", "partitions=2 retention.ms=5", 3, "retention.ms has no place"),
        ("partitions=2", "partitions=0", 3, "partitions is at least 1"),
        ("reader orders", "create orders", 6, "create is there already"),
        ("idempotent=0", "idempotent=yes", 4, "idempotent is 0 or 1, not yes"),
        ("idempotent=0", "acks=all", 4, "acks is 1, or left out for all"),
        ("idempotent=0", "count=9", 4, "count has no place"),
        ("60000 acks=1", "50000 acks=1", 5, "its period_us is that of the first"),
        ("60000 acks=1", "60000 idempotent=1", 5, "load is there already"),
        ("reader orders", "reader payments", 6, "reader: it is about orders here"),
        ("reader orders", "reader orders group=g", 6, "group has no place"),
        ("reader orders", "trim payments", 6, "trim: it is about orders here"),
        ("reader orders", "quiet", 6, "quiet: it has no place"),
        ("kill 103", "kill 103 ms=4", 8, "kill has no option 'ms'"),
        ("1.500000 kill 103", "1.4 kill 103", 8, "never back"),
        ("1.500000 kill 103", "inf kill 103", 8, "line 8, at"),
        ("1.500000 kill 103", "1.5", 8, "say when and what"),
        ("kill 103", "calm", 9, "calm is the end"),
        ("calm", "calm soon=1", 9, "soon has no place"),
    ],
)  # fmt: skip
def test_what_would_not_count_is_refused_with_its_line(
    said: str, instead: str, line: int, says: str
) -> None:
    assert said in TEXT
    with pytest.raises(ScriptError, match=says) as refused:
        read(parse(TEXT.replace(said, instead, 1)))
    assert str(refused.value).startswith(f"line {line}, ")


def test_the_world_of_a_mutant_breaks_again_and_goes_back_to_before() -> None:
    name = "high-watermark-falls"
    script = parse((TAPES / f"{name}.txt").read_text())
    with MUTANTS[name].in_force():
        world = world_of(script)
        broken_at = world.events
        for _ in range(2):
            world.goto(event=broken_at - 5)
            with pytest.raises(Violation) as violation:
                world.run(events=5)
            assert world.events == broken_at
            assert script.expected == f"violation: {violation.value}"
    assert IN_FORCE == []


def test_without_the_mutant_it_is_refused_with_the_line_that_is_missing() -> None:
    script = parse((TAPES / "no-fencing.txt").read_text())
    with pytest.raises(ValueError, match=r'with MUTANTS\["no-fencing"\]\.in_force\(\):'):
        world_of(script)
    with MUTANTS["high-watermark-falls"].in_force(), pytest.raises(ValueError, match="no-fencing"):
        world_of(script)
