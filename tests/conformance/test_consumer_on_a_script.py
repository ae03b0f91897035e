"""Three consumers on the same tape of broker answers: the engine's own, Java's, librdkafka's.

A broker (group_tape.py) plays a group of one member and answers as the script says.  The engine's
consumer must ask for what Kafka's own asks for, in the same order, and its application must
see the same: records, callbacks, errors.  librdkafka is another implementation, and differs where
`DIFFERS` says; there its outcome must be the declared one, so that a stale declaration is noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kit.probes.java_client import JavaProgram
from tests.conformance.consumer_scripts import (
    SCRIPTS,
    Outcome,
    from_java,
    java_line,
    outcome,
    run_librdkafka,
    run_ours,
    tape_for,
    without_lookups,
)
from tests.real_clusters import require_local_kafka

Change = Callable[[Outcome], Outcome]


def earliest_is_known(found: Outcome) -> Outcome:
    """Without the last question for the earliest offset."""
    seen = list(found.seen)
    seen.reverse()
    seen.remove("list earliest -> ok")
    return Outcome(tuple(reversed(seen)), found.application)


def error_is(theirs: str) -> Change:
    """Another name for the one error that the application sees."""

    def renamed(found: Outcome) -> Outcome:
        lines = [
            f"{line.split()[0]} {theirs}"
            if line.startswith("error ") or line == "commit COMMIT_FAILED"
            else line
            for line in found.application
        ]
        return Outcome(found.seen, tuple(lines))

    return renamed


def both(*changes: Change) -> Change:
    def changed(found: Outcome) -> Outcome:
        for change in changes:
            found = change(found)
        return found

    return changed


def ends_with(last_seen: str, error: str) -> Change:
    """Nothing more after this answer but the error."""

    def cut(found: Outcome) -> Outcome:
        read = [line for line in found.application if line in ("read A", "read B", "read C")]
        end = found.seen.index(last_seen) + 1
        first = ["assigned 1", *read[:3]] if "generation 1" in last_seen else []
        return Outcome(found.seen[:end], (*first, f"error {error}"))

    return cut


KNOWN = "librdkafka takes the earliest offset from the log start in its last Fetch answer"
ONE_NAME = "librdkafka has one error for every missing or impossible position"
PLAIN = "librdkafka hands the broker's error on, where the Java client says CommitFailedException"
DIFFERS: dict[str, tuple[str, Change]] = {
    "the group is full": (
        "librdkafka waits before it joins again; the Java client does so with the next poll",
        ends_with("join as nobody yet, owns 0 -> GROUP_MAX_SIZE_REACHED", "GROUP_MAX_SIZE_REACHED"),
    ),
    "a fenced instance": (
        "for librdkafka this is fatal; the Java client joins again if the application polls on",
        ends_with("heartbeat generation 1 -> FENCED_INSTANCE_ID", "_FATAL"),
    ),
    "a rebalance begins": (KNOWN, earliest_is_known),
    "an illegal generation": (KNOWN, earliest_is_known),
    "an unknown member": (KNOWN, earliest_is_known),
    "an unknown member in a cooperative group": (KNOWN, earliest_is_known),
    "the committed offset is out of range": (KNOWN, earliest_is_known),
    "the committed offset is deleted": (KNOWN, earliest_is_known),
    "out of range, and no policy": (ONE_NAME, error_is("_AUTO_OFFSET_RESET")),
    "nothing committed, and no policy": (ONE_NAME, error_is("_AUTO_OFFSET_RESET")),
    "truncated, and no policy": (ONE_NAME, error_is("_AUTO_OFFSET_RESET")),
    "a commit in an old generation": (
        PLAIN, both(earliest_is_known, error_is("ILLEGAL_GENERATION"))
    ),
    "a commit of an unknown member": (
        PLAIN, both(earliest_is_known, error_is("UNKNOWN_MEMBER_ID"))
    ),
}  # fmt: skip
JAVA_ONLY = ("a commit in a rebalance",)
"""librdkafka does not take the refusal of a commit for a sign to join again; it waits for a
heartbeat to say so, and on this tape none does."""


@cache
def ours(name: str) -> Outcome:
    return run_ours(SCRIPTS[name])


@pytest.fixture(scope="module")
def java() -> Iterator[Callable[[str], Outcome]]:
    """Kafka's own consumer, in one JVM for all scripts."""
    require_local_kafka()
    with JavaProgram(Path(__file__).with_name("ScriptConsumer.java")) as program:

        def play(name: str) -> Outcome:
            tape = tape_for(SCRIPTS[name])
            (line,) = program.ask(java_line(SCRIPTS[name], tape.port))
            tape.close()
            return outcome(tape, from_java(line))

        yield play


@pytest.mark.real
@pytest.mark.parametrize("name", SCRIPTS)
def test_ours_does_what_kafkas_own_consumer_does(name: str, java: Callable[[str], Outcome]) -> None:
    assert ours(name) == java(name)


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in JAVA_ONLY])
def test_librdkafka_does_the_same_or_differs_as_declared(name: str) -> None:
    expected = without_lookups(ours(name))
    if name in DIFFERS:
        expected = DIFFERS[name][1](expected)
        assert expected != without_lookups(ours(name))
    theirs = without_lookups(run_librdkafka(SCRIPTS[name]))
    if name == "the group is full":  # its pause is about as long as the script
        theirs = replace(theirs, seen=tuple(dict.fromkeys(theirs.seen)))
    assert theirs == expected
