"""A named case: a scenario that goes wrong under an old rule, and does not under a new one.

    played = play_case("kip-101-1")
    played.old.shown, played.new.shown        True, False
    played.old.world.goto(3.2)                each ending is a world: rewind it, fork it
    print(played)                             both sides, the story of every replica

The scenario is a file beside this module, in the notation of trace scripts; lines that
begin with `old:` or `new:` count on that side only.  The file also holds its outcome: a test
compares it, and you can read it without running anything.
"""

from __future__ import annotations

import asyncio
import textwrap
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import zip_longest

from engine.sim.cases import judges
from engine.sim.cases.judges import Judge, Verdict
from engine.sim.cases.player import CasePlayer
from engine.sim.cases.producer_story import producer_story
from engine.sim.cases.stage import CaseStage
from engine.sim.history import Findings, History, check
from engine.sim.scripts.player import ScriptError
from engine.sim.scripts.scripts import DIVIDER, Script, parse
from engine.sim.scripts.story import stories
from engine.sim.world.world import World

SIDES = ("old", "new")


@dataclass(frozen=True)
class Case:
    """`old` and `new` name the rules in a few words; `judge` sees whether it went wrong."""

    name: str
    title: str
    old: str
    new: str
    judge: Judge

    @property
    def text(self) -> str:
        """The scenario file."""
        name = self.name.replace("-", "_") + ".txt"
        return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")

    @property
    def story(self) -> str:
        """What the scenario is about: the comment that it begins with."""
        lines = self.text.splitlines()
        head = lines[: next(n for n, line in enumerate(lines) if not line.startswith("#"))]
        return " ".join(line.removeprefix("#").strip() for line in head)

    def script(self, side: str) -> Script:
        """The scenario as one side plays it; line numbers are those of the file."""
        head = self.text.partition(f"\n{DIVIDER}")[0]
        return parse("\n".join(_for_side(line, side) for line in head.splitlines()))

    def words(self, side: str) -> str:
        return self.old if side == "old" else self.new


def _for_side(line: str, side: str) -> str:
    mark, colon, rest = line.partition(":")
    if colon and mark.strip() in SIDES:
        return rest.strip() if mark.strip() == side else ""
    return line


@dataclass
class Ending:
    """How one side ended: `answers` to the clients, `findings` of the history checker."""

    case: Case
    side: str
    world: World
    answers: list[str]
    history: History
    findings: Findings
    verdict: Verdict
    producers: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The rule of this side, in a few words."""
        return self.case.words(self.side)

    @property
    def shown(self) -> bool:
        """Whether it went wrong here."""
        return self.verdict.shown

    @property
    def sentence(self) -> str:
        return self.verdict.sentence

    @cached_property
    def story(self) -> str:
        """What every replica and producer did, without the moments (sim/scripts/story.py)."""
        return "\n".join(
            "\n".join([place, *(f"  {line}" for line in lines)])
            for place, lines in self.stories.items()
        )

    @cached_property
    def stories(self) -> dict[str, list[str]]:
        """By producer, and by partition and broker."""
        trace = self.world.cluster.trace
        by_name = {name: producer_story(trace, name) for name in self.producers}
        for (partition, node), lines in stories(trace).items():
            by_name[f"{partition} on {node}"] = lines
        return by_name

    @property
    def trace(self) -> list[str]:
        """Everything that happened, line by line, with its moment and its rule."""
        return self.world.trace_lines()

    @property
    def outcome(self) -> str:
        """What the scenario file holds of this side."""
        return "\n".join([f"verdict: {self.sentence}", *self.answers, self.story])

    def __str__(self) -> str:
        return f"{self.case.name}, {self.side} ({self.words})\n{self.outcome}"


@dataclass
class Played:
    """A case after both sides were played."""

    case: Case
    old: Ending
    new: Ending

    @property
    def text(self) -> str:
        """The scenario file with this outcome."""
        head = self.case.text.partition(f"\n{DIVIDER}")[0].rstrip()
        parts = [f"{DIVIDER} {e.side}\n{e.outcome.rstrip()}\n" for e in (self.old, self.new)]
        return f"{head}\n{''.join(parts)}"

    def side_by_side(self, width: int = 130) -> str:
        """Both stories in two columns, `width` characters wide in all."""
        half = (width - 3) // 2
        rows = [(f"OLD: {self.case.old}", f"NEW: {self.case.new}"), ("", "")]
        rows += zip_longest(self.old.answers, self.new.answers, fillvalue="")
        for place in dict.fromkeys((*self.old.stories, *self.new.stories)):
            rows += [("", ""), (place, place)]
            both = (side.stories.get(place, []) for side in (self.old, self.new))
            left, right = ([f"  {line}" for line in lines] for lines in both)
            rows += zip_longest(left, right, fillvalue="")
        columns = [line for row in rows for line in _row(*row, half)]
        return "\n".join([
            self.case.title, "", *_wrap(self.case.story, width), "", *columns, "",
            *_wrap(f"old: {self.old.sentence}", width), *_wrap(f"new: {self.new.sentence}", width),
        ])  # fmt: skip

    def __str__(self) -> str:
        return self.side_by_side()

    __repr__ = __str__


def _row(left: str, right: str, half: int) -> list[str]:
    pairs = zip_longest(_wrap(left, half, 2), _wrap(right, half, 2), fillvalue="")
    return [f"{a:{half}} | {b}".rstrip() for a, b in pairs]


def _wrap(text: str, width: int, hanging: int = 0) -> list[str]:
    """At least one line; what does not fit on it is indented by `hanging` more."""
    indent = " " * (len(text) - len(text.lstrip()))
    return textwrap.wrap(text.strip(), width, initial_indent=indent,
                         subsequent_indent=indent + " " * hanging) or [""]  # fmt: skip


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("offset-not-available", "OFFSET_NOT_AVAILABLE, right after an election",
             "before KIP-207 (Kafka 2.2)", "KIP-207", judges.latest_goes_back),
        Case("kip-101-1", "KIP-101, scenario 1: cut at the high watermark, then elected",
             "cut at the own high watermark", "KIP-101: ask the leader", judges.lost),
        Case("kip-101-2", "KIP-101, scenario 2: both lose power, and the logs diverge",
             "cut at the own high watermark", "KIP-101: ask the leader", judges.diverged),
        Case("kip-279", "KIP-279: fast leader changes, unclean",
             "KIP-101: the answer names no epoch", "KIP-279: the answer names its epoch",
             judges.diverged),
        Case("kip-320-zombie", "KIP-320: a zombie leader answers a stale fetch",
             "a consumer that knows no epochs", "KIP-320: a consumer that names its epoch",
             judges.passed_over),
        Case("kip-320-truncation", "KIP-320: a consumer whose records were cut away",
             "a consumer that knows no epochs", "KIP-320: a consumer that checks its position",
             judges.passed_over),
        Case("kip-966", "KIP-966: the last replica standing loses power",
             "the last ISR member alone may lead (before KIP-966)",
             "KIP-966: eligible leader replicas", judges.lost),
        Case("kip-360", "KIP-360: the leader has forgotten an idle producer",
             "the record fails, and the id is given up",
             "KIP-360: a new epoch", judges.refused_for_nothing),
        Case("dedup-window", "Six batches in flight, and five that are remembered",
             "a client that allows six in flight", "the Java client: five at most",
             judges.stored_twice),
        Case("kafka-17754", "KAFKA-17754: a late EndTxn ends the next transaction",
             "transaction.version 0: the epoch stays",
             "KIP-890, transaction.version 2: a new epoch for each transaction", judges.torn),
        Case("hanging-transaction", "A late record opens a transaction that no client ends",
             "no verification (before KIP-890)", "KIP-890: the leader asks the coordinator",
             judges.stalled),
        Case("kip-447", "KIP-447: a worker that hung commits what another has counted",
             "one producer for each process, no generation", "KIP-447: offsets name the generation",
             judges.counted_twice),
        Case("stale-topic-id", "KIP-516: a topic is deleted and made again under its name",
             "requests name the topic (Fetch 12)", "KIP-516: requests name the topic's id",
             judges.taken_for_another),
    )
}  # fmt: skip


def play_case(name: str, seed: int = 0) -> Played:
    """Plays both sides; ValueError if there is no such case."""
    if name not in CASES:
        raise ValueError(f"There is no case {name!r}; there are {', '.join(CASES)}.")
    case = CASES[name]
    old, new = (play_side(case, side, case.script(side), seed) for side in SIDES)
    return Played(case, old, new)


def play_side(case: Case, side: str, script: Script, seed: int = 0) -> Ending:
    """Plays one side by a script that may be the case's own, or a variation of it."""
    player = CasePlayer(CaseStage(script, seed))
    asyncio.run(_play(player, script))
    history = player.history()
    findings = check(history)
    verdict = case.judge(player, findings)
    return Ending(case, side, player.case_stage.world, player.answers, history, findings, verdict,
                  tuple(player.producers))  # fmt: skip


async def _play(player: CasePlayer, script: Script) -> None:
    await player.settle()
    for command in script.commands:
        try:
            await player.carry_out(command)
        except (IndexError, KeyError, ValueError) as error:
            raise ScriptError(f"line {command.line}, {command.verb}: {error}") from error
    await player.read_to_the_end()
