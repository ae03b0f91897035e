"""What 07-7 plays: a learner's script between a beginning and an ending, under one rule."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from engine.replication.truncation import DEFAULT_RULE
from engine.sim import scripts
from engine.sim.script_player import Player, ScriptError

OLDEST, KAFKAS = "to-high-watermark", DEFAULT_RULE
BEGINNING = "create orders replicas=101,103,102\nproduce orders A B C\nquiet\n"
ENDING = "\nheal\nquiet\nread orders\n"
VERBS = ("produce", "kill", "start", "stop", "pause", "resume", "cut", "isolate", "heal", "until",
         "quiet", "read", "latest")  # fmt: skip
LINES_MOST = 20


@dataclass(frozen=True)
class Outcome:
    """What became of a script: who was promised what, and what is there at the end."""

    promised: tuple[str, ...]
    left: tuple[str, ...]
    cut: tuple[int, ...]
    """Brokers that cut their log."""
    leader: int
    """The last one that was elected."""
    unclean: bool

    @property
    def lost(self) -> list[str]:
        return [value for value in self.promised if value not in self.left]


def play(text: str, rule: str) -> Outcome:
    """Plays beginning, script and ending; ScriptError says what is wrong with it."""
    script = scripts.parse(f"cluster brokers=3 rule={rule}\n{BEGINNING}{text}{ENDING}")
    own = script.commands[3:-3]
    if len(own) > LINES_MOST:
        raise ScriptError(f"{len(own)} lines are more than the {LINES_MOST} that it may have")
    for command in own:
        if command.verb not in VERBS:
            raise ScriptError(f"{command.verb} is not for this exercise: use {', '.join(VERBS)}")
    stage = scripts.SimulatedStage(script)
    stage.world.invariants = None  # what it shows breaks them
    player = Player(stage)
    safe = {
        value
        for command in script.commands
        if command.verb == "produce" and command.options.get("acks", "all") == "all"
        for value in command.words[1:]
    }

    async def all_of_it() -> None:
        await player.settle()
        for command in script.commands:
            await player.carry_out(command)

    try:
        asyncio.run(all_of_it())
    except (IndexError, KeyError, ValueError, AttributeError) as error:
        raise ScriptError(_plainly(error)) from error
    told = [answer.split(": ", 1) for answer in player.answers]
    promised = [what.split()[-1] for what, said in told
                if what.startswith("produce") and said.startswith("offset")]  # fmt: skip
    cut = [int(node) for _, node, line in stage.cluster.trace if line.kind == "truncate"]
    elected = [dict(line.fields) for _, _, line in stage.cluster.trace if line.kind == "elected"]
    return Outcome(
        tuple(value for value in promised if value in safe),
        tuple(told[-1][1].split()),
        tuple(cut),
        elected[-1]["leader"] if elected else 101,
        any(each["reason"] in ("unclean", "last known") for each in elected),
    )


def _plainly(error: Exception) -> str:
    if isinstance(error, ValueError):
        return str(error)
    return "nobody is there to answer: does anybody lead where it writes, and at its end?"
