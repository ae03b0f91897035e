"""Reads a learner's script of 07-7 and names a line that is wrong.

A line that cannot be read is found before the script is played, so that any later error comes
from the cluster.  The notation is that of engine/sim/scripts/scripts.py, with only the
commands that the exercise needs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.sim.scripts import scripts
from engine.sim.scripts.forms import Command
from engine.sim.scripts.player import ScriptError

LINES_MOST = 20
BROKER = "10[0-3]"
SHAPES = {
    "produce": (r"orders( \S+)+", "produce orders D"),
    "kill": (BROKER, "kill 101"),
    "start": (BROKER, "start 101"),
    "stop": (BROKER, "stop 101"),
    "pause": (BROKER, "pause 101"),
    "resume": (BROKER, "resume 101"),
    "cut": (f"{BROKER} {BROKER}", "cut 102 103"),
    "isolate": (BROKER, "isolate 101"),
    "heal": (f"({BROKER}( {BROKER})?)?", "heal"),
    "until": (
        f"leader orders {BROKER}|isr orders {BROKER}(,{BROKER})*|(fenced|still) {BROKER}",
        "until leader orders 103",
    ),
    "quiet": ("", "quiet"),
    "read": ("orders", "read orders"),
    "latest": ("orders", "latest orders"),
}
"""Verb -> what may follow it, and an example."""
THERE_ARE = "the brokers are 101, 102 and 103, and the topic is orders."
OPTIONS = {
    "to": BROKER,
    "on": BROKER,
    "timeout_ms": r"\d+",
    "producer": r"\d+",
    "sequence": r"\d+",
}


@dataclass(frozen=True)
class Line:
    """A line of the script, counted from the first that is not empty; 0 is the judge's own."""

    number: int
    text: str
    command: Command

    def __str__(self) -> str:
        return f"line {self.number}, “{self.text}”" if self.number else self.text


def read(text: str) -> tuple[Line, ...]:
    """The lines that hold a command; ScriptError names the one that is wrong."""
    lines = [
        Line(number, written.partition("#")[0].strip(), command)
        for number, written in enumerate(text.strip().splitlines(), start=1)
        # One at a time: a divider, or a cluster's own line, is just a wrong line here.
        for command in scripts.parse(f"cluster\n{written}").commands
    ]
    if len(lines) > LINES_MOST:
        raise ScriptError(
            f"The script has {len(lines)} lines, and {LINES_MOST} are the most: leave out what "
            "the loss does not need"
        )
    for line in lines:
        wrong = _what_is_wrong(line.command)
        if wrong:
            raise ScriptError(f"L{str(line)[1:]}, was not played: {wrong}")
    return tuple(lines)


def own(text: str) -> tuple[Line, ...]:
    """The judge's own lines, which are in no learner's script."""
    return tuple(
        Line(0, f"the judge's own “{' '.join((command.verb, *command.words))}”", command)
        for command in scripts.parse(f"cluster\n{text}").commands
    )


def _what_is_wrong(command: Command) -> str:
    if command.verb not in SHAPES:
        return f"there is no “{command.verb}” in this exercise. Use {', '.join(SHAPES)}."
    pattern, example = SHAPES[command.verb]
    if not re.fullmatch(pattern, " ".join(command.words)):
        return f"it cannot be read. Write it like “{example}”; {THERE_ARE}"
    options = dict(command.options)
    acks = options.pop("acks", "all")
    if acks not in ("all", "1"):
        return f"acks={acks} promises nothing that could be lost. Use acks=all, or leave it out."
    for name, value in options.items():
        if name not in OPTIONS or not re.fullmatch(OPTIONS[name], value):
            return f"{name}={value} cannot be read. Leave it out."
    return ""
