"""The differences between the engine and a real Kafka that `both()` lets pass.

Each entry names the scenario and the row (a pattern as in file names: `*` matches
anything), and tells the learner the reason.  `both()` fails on a difference that is not
listed.  The table in docs/fidelity.md shows this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Difference:
    """`scenario` is the function's name; `what` the pattern of a row."""

    scenario: str
    what: str
    why: str


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "codecs",
        "gzip sent, the topic says zstd",
        "A real broker compresses the batch again; the engine keeps the codec it came with.",
    ),
    Difference(
        "segment_settings",
        "gzip sent, the topic says zstd",
        "A real broker compresses the batch again; the engine keeps the codec it came with.",
    ),
    Difference(
        "segment_settings",
        "preallocate: bytes of a new log file",
        "A real broker reserves the space of a segment; the engine takes preallocate without "
        "effect.",
    ),
    Difference(
        "what_it_says",
        "feature level › share.version",
        "Share groups (KIP-932) are shown on a real Kafka only.",
    ),
    Difference(
        "who_works",
        "share group › *",
        "Share groups (KIP-932) are shown on a real Kafka only.",
    ),
    Difference(
        "what_it_says",
        "feature level › streams.version",
        "The rebalance protocol of Kafka Streams (KIP-1071) is shown on a real Kafka only.",
    ),
    Difference(
        "cleaner_threads",
        "kafka-log-cleaner-thread: how many in 103's process",
        "The engine is one thread, and its cleaner threads are timers of that one.",
    ),
    Difference(
        "counted",
        "EventQueueTimeMs *",
        "The engine's controller has no queue: an event is a step.",
    ),
)


def declared(scenario: str, row: str) -> Difference | None:
    """The entry that covers a row of a scenario, if there is one."""
    for difference in DIFFERENCES:
        if fnmatchcase(scenario, difference.scenario) and fnmatchcase(row, difference.what):
            return difference
    return None
