"""A case of the probe: what is asked, in every version that can carry it.

A case is a generator: it yields requests and is given their answers.  Requests of the API that
the case is about go out in the version under test, others (a topic that must be there first) in
the latest.  Names are the case's own, so that cases do not meet each other, and the same on both
sides.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from engine import api
from engine.wire import messages
from engine.wire.codec import UnsupportedField
from tests.conformance.probe.side import NO_ANSWER, PATIENCE_S, PREFIX, Side, Until, group_name

BRIEFLY_S = 2.0

Script = Callable[["Here"], Generator[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Here:
    """Where a case runs: one side, one version, names of its own."""

    side: Side
    api: str
    version: int
    name: str

    def version_of(self, api: str) -> int:
        """The version under test is of this case's API; others are asked in their latest."""
        latest: int = api_request(api).LATEST
        return self.version if api == self.api else latest

    @property
    def group(self) -> str:
        return group_name(self.name)

    def begin(self) -> tuple[int, int]:
        """Opens a transaction of this name on this side: its producer's id and epoch."""
        return self.side.begin(self.name)

    def id(self, topic: str) -> bytes:
        return self.side.topic_ids[topic]


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the matrix."""

    api: str
    name: str
    script: Script
    everything: bool = False
    """The answer lists all topics or groups: only those that were prepared are compared."""
    ends_only: bool = False
    """Only in the first and the last version."""
    silent: bool = False
    """One side does not answer, so the wait is short."""
    last_only: bool = False
    """Only in the last version: what costs time, or what no version changes."""

    @property
    def versions(self) -> list[int]:
        offered = api.APIS[self.api]
        low, high = max(offered.low, api_request(self.api).VERSIONS.low), offered.high
        if self.last_only:
            return [high]
        return sorted({low, high}) if self.ends_only else list(range(low, high + 1))

    def run(self, side: Side, version: int, number: int) -> list[Any] | None:
        """The answers of this side; None if the version cannot carry the request."""
        script = self.script(Here(side, self.api, version, f"{PREFIX}{number}-v{version}"))
        side.patience_s = BRIEFLY_S if self.silent else PATIENCE_S
        answers: list[Any] = []
        answer = None
        while True:
            try:
                asked = script.send(answer)
            except StopIteration:
                return answers
            except UnsupportedField:
                return None
            if isinstance(asked, Until):
                answer = side.until(asked)
                continue
            about_this = type(asked).__name__ == f"{self.api}Request"
            try:
                answer = side.ask(asked, version if about_this else None)
            except UnsupportedField:
                return None
            if about_this:
                answers.append(answer)
            if answer in NO_ANSWER:
                return answers


def api_request(name: str) -> Any:
    return getattr(messages, f"{name}Request")


def one(api_name: str, name: str, request: Callable[[Here], Any], **more: bool) -> Case:
    """A case of a single request."""

    def script(here: Here) -> Generator[Any, Any, None]:
        yield request(here)

    return Case(api_name, name, script, **more)
