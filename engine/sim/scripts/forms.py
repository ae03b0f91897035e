"""Checks the words and options of each script command before it is carried out.

A command refuses options that it does not know: otherwise a misspelt option would quietly make
another scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Command:
    """One line of a script."""

    line: int
    verb: str
    words: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """As it was in the script, without its comment."""
        return " ".join((self.verb, *self.words, *(f"{n}={v}" for n, v in self.options.items())))

    def number(self, index: int = 0) -> int:
        return int(self.words[index])


@dataclass(frozen=True)
class Form:
    """How many words a command takes (`most` None: any number) and which options.

    `options` None stands for any, as with configs, which a broker checks itself.  An option is
    given with its values, or with none where those are checked elsewhere.
    """

    says: str
    least: int
    most: int | None
    options: Mapping[str, tuple[str, ...]] | None = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    def objection(self, command: Command) -> str:
        """What is wrong with a command; empty if nothing is."""
        count = len(command.words)
        if count < self.least or (self.most is not None and count > self.most):
            return f"it is {self.says}"
        for name in self.needs:
            if name not in command.options:
                return f"it needs {name}=, as in {self.says}"
        if self.options is None:
            return ""
        for name, value in command.options.items():
            if name not in self.options:
                return f"there is no option {name}; it is {self.says}"
            if self.options[name] and value not in self.options[name]:
                return f"{name} is {' or '.join(self.options[name])}, not {value}"
        return ""


ON = {"on": ()}
FORMS = {
    "create": Form("create TOPIC replicas=101,102 [CONFIG=VALUE …]", 1, 1, None, ("replicas",)),
    "config": Form("config TOPIC CONFIG=VALUE …", 1, 1, None),
    "produce": Form(
        "produce TOPIC VALUE … [acks=all|1] [to=BROKER] [timeout_ms=N] [producer=ID sequence=N]",
        2, None, {"acks": ("all", "1"), "to": (), "timeout_ms": (), "producer": (),
                  "sequence": ()}),
    "read": Form("read TOPIC [on=BROKER]", 1, 1, ON),
    "latest": Form("latest TOPIC [on=BROKER]", 1, 1, ON),
    "delete-records": Form("delete-records TOPIC OFFSET [on=BROKER]", 2, 2, ON),
    "delete-topic": Form("delete-topic TOPIC", 1, 1),
    "elect": Form("elect preferred|unclean TOPIC", 2, 2),
    "until": Form("until leader|isr|fenced|still …", 2, None),
    "quiet": Form("quiet", 0, 0),
}  # fmt: skip
"""For trace scripts (scripts.py); faults check themselves (engine/sim/world/faults.py)."""
CASE_FORMS = {
    **FORMS,
    "consumer": Form(
        "consumer NAME TOPIC [epochs=yes|no] [ids=yes|no] [isolation=read_committed]", 2, 2,
        {"epochs": ("yes", "no"), "ids": ("yes", "no"), "isolation": ("read_committed",)}),
    "poll": Form("poll NAME [on=BROKER]", 1, 1, ON),
    "producer": Form("producer NAME [checked=yes|no] [SETTING=VALUE …]", 1, 1, None),
    "send": Form("send NAME TOPIC VALUE …", 3, None),
    "settled": Form("settled NAME", 1, 1),
    "begin": Form("begin NAME", 1, 1),
    "commit": Form("commit NAME", 1, 1),
    "abort": Form("abort NAME", 1, 1),
    "join": Form("join MEMBER GROUP TOPIC", 3, 3),
    "offsets": Form("offsets NAME TOPIC OFFSET GROUP [as=MEMBER]", 4, 4, {"as": ()}),
    "wait": Form("wait SECONDS", 1, 1),
}  # fmt: skip
"""For named cases (engine/sim/cases/player.py)."""
