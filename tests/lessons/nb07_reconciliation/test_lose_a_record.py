"""07-7: right scripts pass, and a wrong one hears its line, its rule, what was so, and a remedy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Verdict
from lessons.nb07_reconciliation.exercises import accident, lose_a_record, notation, standstill

SOLUTION = (
    "produce orders D / cut 102 103 / kill 101 / until leader orders 103 / kill 103 / "
    "until leader orders 102"
)


def script(lines: str) -> str:
    return "\n" + lines.replace(" / ", "\n") + "\n"


def judged(lines: str) -> Verdict:
    return lose_a_record.judge(script(lines), Context())


@pytest.mark.parametrize(
    "lines",
    [
        SOLUTION,
        f"{SOLUTION} / read orders",
        f"{SOLUTION} / start 103 / start 101",
        # The cut first, and `quiet` for the second wait: 102 is still in the ISR when 103 dies.
        "cut 102 103 / produce orders D / kill 101 / until leader orders 103 / kill 103 / quiet",
        "produce orders D / cut 102 103 / kill 101 / until leader orders 103 / kill 103",
        # Two records of one value: one of them is lost.
        f"produce orders D / {SOLUTION}",
        f"{SOLUTION} / produce orders D",
    ],
)
def test_a_script_that_loses_a_promised_record_under_the_oldest_rule_alone_passes(lines) -> None:
    verdict = judged(lines)
    assert verdict.passed, verdict.message


def test_a_follower_that_was_long_without_a_fetch_is_not_elected() -> None:
    verdict = judged(SOLUTION.replace("/ kill 103", "/ quiet / kill 103"))
    assert not verdict.passed
    assert verdict.message.startswith("Line 7, “until leader orders 102”, under both rules: ")
    assert "leader none, ISR none, up 102." in verdict.message
    assert "102 is up, but it left the ISR in line 5, “quiet”" in verdict.message
    assert "cut off from its leader 103, it did not fetch for 2 s" in verdict.message
    assert "Let the leader die while 102 is still in the ISR." in verdict.message
    shown = verdict.seen.splitlines()
    assert len(shown) == 1 + 7, "a rule, and a row for each line"
    assert shown[4].startswith("4  until leader orders 103 → leader 103, ISR 103 102, up 102 103; ")
    assert shown[4].endswith("102 cuts its log at 3")
    assert shown[5].startswith("5  quiet → leader 103, ISR 103, up 102 103; ")


def test_a_read_before_the_next_leader_is_there_asks_a_dead_broker() -> None:
    verdict = judged("produce orders D / cut 102 103 / kill 101 / read orders")
    assert verdict.message.startswith(
        "Line 4, “read orders”, under both rules: broker 101 was asked and did not answer. At "
        "that moment: leader 101, ISR 101 103 102, up 102 103. 101 still counts as the leader"
    )
    assert verdict.message.endswith("wait until another broker leads.")


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        ("produce orders D / shoot 101",
         ("Line 2, “shoot 101”, was not played: there is no “shoot”", "Use produce, kill")),
        ("\n\nproduce order D", ("Line 1, “produce order D”", "Write it like “produce orders D”")),
        ("kill", ("Line 1, “kill”", "Write it like “kill 101”")),
        ("quiet / kill 104", ("Line 2, “kill 104”", "the brokers are 101, 102 and 103")),
        ("until leader 103", ("Write it like “until leader orders 103”",)),
        ("produce orders D acks=0", ("acks=0 promises nothing", "Use acks=all")),
        ("cluster brokers=2", ("there is no “cluster”",)),
        ("quiet / ---- / quiet", ("Line 2, “----”",)),
        (" / ".join(["quiet"] * 21), ("21 lines, and 20 are the most",)),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_named_before_anything_is_played(lines, parts) -> None:
    verdict = judged(lines)
    assert not verdict.passed
    assert all(part in verdict.message for part in parts), verdict.message


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        ("kill 101 / until leader orders 102",
         ("Line 2", "leader 103, ISR 103 102, up 102 103", "as long as 103 leads",
          "What must happen before it is 102's turn?")),
        ("kill 102 / until leader orders 102", ("102 is not running: start or resume it",)),
        ("isolate 102 / kill 101 / until leader orders 102",
         ("102 is cut off from the controller: heal that",)),
        ("until isr orders 101", ("Line 1", "did not come true", "ISR 101 103 102")),
        # While it waits for an answer 103 is elected: what counts is who led when it asked.
        ("pause 101 / produce orders D",
         ("Line 2", "At that moment: leader 101", "101 still counts as the leader")),
        ("isolate 101 / produce orders D", ("Line 2", "101 is up, but out of reach")),
        ("kill 101 / produce orders D to=101 / quiet", ("Line 2", "up 102 103")),
        ("kill 101 / until leader orders 103 / read orders on=101",
         ("Line 3", "leader 103", "101 is not running: ask the leader")),
        ("produce orders D / kill 101 / kill 102 / kill 103",
         ("After your last line, at the judge's own “read orders”", "there is no leader to ask",
          "none of the last ISR (101, 103, 102) is there", "Keep one of the ISR alive")),
        ("kill 100 / until leader orders 103",
         ("Line 2", "the controller is down, up 101 102 103", "start 100 again")),
        ("cut 101 102 / quiet", ("Line 2, “quiet”", "still something going on", "heal first")),
    ],
)  # fmt: skip
def test_a_script_that_stops_hears_where_why_and_what_helps(lines, parts) -> None:
    verdict = judged(lines)
    assert not verdict.passed
    assert "under both rules" in verdict.message
    assert all(part in verdict.message for part in parts), verdict.message
    assert verdict.seen.startswith("under to-high-watermark:\n1  ")


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        ("kill 101 / quiet", ("nothing was acknowledged with acks=all: no line produces",)),
        ("quiet / produce orders D acks=1",
         ("line 2, “produce orders D acks=1” was acknowledged by the leader alone",)),
        ("produce orders D to=102", ("was answered NOT_LEADER_OR_FOLLOWER", "leader 101")),
        ("produce orders D / kill 102",
         ("Under to-high-watermark A B C D are all there", "No broker cut a record")),
        ("produce orders D / kill 101 / until leader orders 103",
         ("In line 3, “until leader orders 103”, 102 cut its log at 3, but 103 leads at the end",)),
        ("produce orders D / kill 101 / until leader orders 103 / quiet / kill 103 / quiet",
         ("102 cut its log at 3, and in line 4, “quiet”, it fetched offset 3 again.",
          "Then: leader 103, ISR 103 102, up 102 103. What could keep it from fetching?")),
        # It leads in the end, but had fetched the record before, in the same line.
        ("produce orders D / kill 101 / until leader orders 103 / cut 103 100 / "
         "until leader orders 102", ("in line 5, “until leader orders 102”, it fetched offset 3",)),
        # What it takes at that offset as the leader, it did not fetch.
        ("produce orders D / produce orders F acks=1 / cut 102 103 / kill 101 / "
         "until leader orders 103 / kill 103 / until leader orders 102 / produce orders G",
         ("102 cut its log at 4, and leads at the end; but what it cut was not promised",)),
        ("kill 102 / kill 103 / quiet / produce orders D / kill 101 / quiet / start 102 / quiet / "
         "start 101 / until leader orders 101",
         ("In line 10, “until leader orders 101”, 101 was elected, and not cleanly",)),
    ],
)  # fmt: skip
def test_a_script_that_loses_nothing_hears_what_happened_to_the_record(lines, parts) -> None:
    verdict = judged(lines)
    assert not verdict.passed
    assert all(part in verdict.message for part in parts), verdict.message
    assert "left under to-high-watermark: " in verdict.seen
    assert "under fetch-divergence: " in verdict.seen


def test_a_stop_under_one_rule_only_says_under_which() -> None:
    stopped = accident.play(notation.read("until leader orders 102"), accident.OLDEST)
    went_on = replace(stopped, rule=accident.KAFKAS, stop=None)
    assert stopped.stop
    told = standstill.told(stopped, went_on)
    assert "under to-high-watermark (not under today's rule, fetch-divergence): " in told


def test_no_hint_is_the_solution() -> None:
    commands = SOLUTION.split(" / ")
    for hint in lose_a_record.EXERCISE.hints:
        assert not any(command in hint for command in commands), hint
