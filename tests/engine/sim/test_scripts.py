"""Every trace script, in virtual time and free-running over sockets: the same outcome.

What is normalised, and why, is in engine/sim/scripts/story.py.  To rewrite the outcomes and
review them as text:  pytest tests/engine/sim/test_scripts.py --regenerate
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from engine.sim.scripts.player import ScriptError
from engine.sim.scripts.scripts import Script, SimulatedStage, parse, play, play_simulated
from tests.engine.sim.over_sockets import play_free_running

FOLDER = Path(__file__).parents[2] / "scripts"
SCRIPTS = {
    str(path.relative_to(FOLDER).with_suffix("")): path for path in sorted(FOLDER.glob("*/*.txt"))
}
AT_ONCE = 12
"""Scripts that run over sockets side by side: most of their time they wait."""


def read(name: str) -> Script:
    return parse(SCRIPTS[name].read_text())


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_in_virtual_time(name: str, regenerate: bool) -> None:
    script = read(name)
    outcome = play_simulated(script)
    if regenerate:
        SCRIPTS[name].write_text(script.with_outcome(outcome))
    else:
        assert outcome == script.expected


@pytest.mark.parametrize("name", SCRIPTS)
def test_another_seed_gives_the_same_story(name: str) -> None:
    """Other latencies, same outcome: the script says all that matters."""
    script = read(name)
    assert play_simulated(script, seed=1) == script.expected


@pytest.fixture(scope="module")
def over_sockets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | Exception]:
    """The outcome of every script over sockets."""
    root = tmp_path_factory.mktemp("scripts")

    async def play_one(name: str, turn: asyncio.Semaphore) -> str:
        async with turn:
            return await play_free_running(read(name), root / name)

    async def play_all() -> list[str | BaseException]:
        turn = asyncio.Semaphore(AT_ONCE)
        return await asyncio.gather(
            *(play_one(name, turn) for name in SCRIPTS), return_exceptions=True
        )

    return dict(zip(SCRIPTS, asyncio.run(play_all()), strict=True))


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_over_sockets(name: str, over_sockets: dict[str, str | BaseException]) -> None:
    outcome = over_sockets[name]
    if isinstance(outcome, BaseException):
        raise outcome
    assert outcome == read(name).expected


def test_there_are_scripts_enough() -> None:
    assert len(SCRIPTS) >= 15


def test_a_wrong_command_is_named_with_its_line() -> None:
    with pytest.raises(ScriptError, match=r"line 2, explode: there is no such command"):
        play_simulated(parse("# nonsense\nexplode 101\n----\n"))


def test_a_fault_keeps_its_options() -> None:
    script = parse("create orders replicas=101,102,103\nlose_power 103 torn=1\n")
    stage = SimulatedStage(script)
    asyncio.run(play(script, stage))
    assert "lose_power 103 torn=1" in [str(done.action) for done in stage.world.tape]


def test_an_option_that_a_fault_does_not_have_is_named_with_its_line() -> None:
    with pytest.raises(ScriptError, match=r"line 1, kill: kill has no option 'torn'"):
        play_simulated(parse("kill 103 torn=1\n"))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("create other", r"create: it needs replicas=, as in create TOPIC"),
        ("produce orders A ack=1", r"produce: there is no option ack; it is produce TOPIC"),
        ("produce orders A acks=0", r"produce: acks is all or 1, not 0"),
        ("produce orders", r"produce: it is produce TOPIC VALUE"),
        ("produce payments A", r"produce: there is no topic payments; there are orders"),
        ("produce orders A to=104", r"produce: broker 104 does not answer"),
        ("read orders from=101", r"read: there is no option from"),
        ("delete-records orders", r"delete-records: it is delete-records TOPIC OFFSET"),
        ("elect soon orders", r"elect: an election is preferred or unclean, not soon"),
        ("until leader orders", r"until: the conditions are leader TOPIC BROKER, isr"),
        ("until happy orders", r"until: the conditions are leader TOPIC BROKER, isr"),
        ("quiet 101", r"quiet: it is quiet"),
    ],
)
def test_what_a_command_cannot_use_is_refused_with_its_line(line: str, says: str) -> None:
    with pytest.raises(ScriptError, match=f"line 2, {says}"):
        play_simulated(parse(f"create orders replicas=101,102,103\n{line}\n"))
