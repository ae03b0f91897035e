"""A crash must be a crash, and every effect must count: two mutants of the tool show it."""

from __future__ import annotations

import sys

import pytest

from kit.clusters.interface import Cluster
from kit.crashes import stage
from kit.crashes.crash_test import crash_test
from tests.kit.crashes import loops

LATE = {
    "enable.auto.commit": True,
    "enable.auto.offset.store": False,
    "auto.commit.interval.ms": 60_000,
}
"""The client commits on close, and not before."""

CLOSES = """
import os, signal
from kit.crashes import application, watched
made = []
begin = watched.WatchedConsumer.__init__
def keep(self, *arguments):
    begin(self, *arguments)
    made.append(self)
def crash(journal, line, stall_s):
    journal.note("crash", line)
    made[-1]._consumer.close()
    os.kill(os.getpid(), signal.SIGKILL)
watched.WatchedConsumer.__init__ = keep
application.crash = crash
"""
IGNORES_REPEATS = """
from kit.crashes import journal
note = journal.Journal.note
def once(self, kind, *details):
    known = {tuple(n.details[:2]) for n in journal.read(self.path) if n.kind == "done"}
    if kind != "done" or details[:2] not in known:
        note(self, kind, *details)
journal.Journal.note = once
"""


def nothing_is_committed_by_a_crash(cluster: Cluster) -> None:
    result = crash_test(loops.stored_offsets, cluster, settings=LATE, situations=())
    worst = max(len(each.repeated) for each in result.trials)
    assert worst >= 10, f"a crash repeats only {worst} records"
    assert all(each.committed_after(each.crash) == {0: 0} for each in result.trials if each.crash)


def every_repetition_counts(cluster: Cluster) -> None:
    result = crash_test(loops.at_least_once, cluster, situations=())
    assert not result.problem
    worst = max(each.repeated for each in result.lines)
    assert worst == 1, f"a crash repeats {worst} records"


CHECKS = [
    (nothing_is_committed_by_a_crash, CLOSES, "a crash repeats only [01] records"),
    (every_repetition_counts, IGNORES_REPEATS, "a crash repeats 0 records"),
]


@pytest.mark.parametrize(("check", "mutant", "says"), CHECKS, ids=["crash", "journal"])
def test_the_tool_is_honest_and_its_mutant_is_caught(
    one_engine, monkeypatch, check, mutant, says
) -> None:
    check(one_engine)
    code = f"{mutant}\nfrom kit.crashes import stage\nstage.main()"
    monkeypatch.setattr(stage, "COMMAND", [sys.executable, "-c", code])
    with pytest.raises(AssertionError, match=says):
        check(one_engine)
