"""What the history checker found: each anomaly with the few operations that prove it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.sim.history.operations import Operation, Place, tell

KINDS: dict[str, str] = {
    "lost": "acknowledged or read, and not there any more",
    "unseen": "acknowledged, and no reader has looked where it should be",
    "duplicate": "more often in the log than it was sent",
    "reordered": "in the log before a record that its producer had sent earlier",
    "skipped": "passed over by a consumer, though it is there",
    "non-monotonic": "read by a consumer that had been further already",
    "phantom": "read, though it was not sent, or though it was refused",
    "aborted-read": "read under read_committed, though its transaction was aborted",
    "unprocessed": "below the committed offset, and no client has processed it",
    "reprocessed": "processed more than once",
    "disordered": "first processed after a later record of its partition",
}


@dataclass(frozen=True)
class Finding:
    """One anomaly.  `operations` is its counter-example: take one away and nothing is proven.

    Polls in it are cut down to the records that matter.
    """

    kind: str
    topic: str
    partition: int
    offset: int
    value: str
    sentence: str
    operations: tuple[Operation, ...]

    @property
    def place(self) -> Place:
        return self.topic, self.partition

    @property
    def timeline(self) -> str:
        """The counter-example as text: when, who, what."""
        width = max(len(each.client) for each in self.operations)
        return "\n".join(
            f"{each.at_us / 1e6:10.3f} s  {each.client:{width}}  {tell(each)}"
            for each in sorted(self.operations, key=lambda each: each.at_us)
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.sentence}"


def finding(kind: str, place: Place, offset: int, value: str, sentence: str,
            *operations: Operation) -> Finding:  # fmt: skip
    """An anomaly, with its counter-example in order of time and each operation once."""
    proof = tuple(sorted(dict.fromkeys(operations), key=lambda each: each.at_us))
    return Finding(kind, *place, offset, value, f"{sentence}.", proof)


def name_of(place: Place) -> str:
    return f"{place[0]}-{place[1]}" if place[1] >= 0 else place[0]


def offset_of(place: Place, offset: int) -> str:
    return f"offset {offset} of {name_of(place)}"


@dataclass(frozen=True)
class Findings:
    """All anomalies of a history, in the order of KINDS; false if there are none.

    `summary` says how much was looked at.
    """

    items: tuple[Finding, ...]
    summary: str

    def __bool__(self) -> bool:
        return bool(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.items)

    @property
    def kinds(self) -> dict[str, int]:
        """How many there are of each kind that there is."""
        count: dict[str, int] = {}
        for finding in self.items:
            count[finding.kind] = count.get(finding.kind, 0) + 1
        return count

    def of(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one kind."""
        if kind not in KINDS:
            raise ValueError(f"No anomaly is called {kind!r}; there are {', '.join(KINDS)}.")
        return tuple(finding for finding in self.items if finding.kind == kind)

    @property
    def text(self) -> str:
        """The summary, then the first finding of each kind with its timeline."""
        if not self.items:
            return f"{self.summary}: no anomaly"
        lines = [f"{self.summary}: " + ", ".join(f"{n} {kind}" for kind, n in self.kinds.items())]
        for kind in self.kinds:
            first = self.of(kind)[0]
            lines += ["", str(first), first.timeline]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__
