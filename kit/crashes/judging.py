"""A crash test as an exercise: the kernel runs the loop, and the judge draws its own conclusions.

    lab.check("10-2", lab.crash_evidence(loop, eng))       # in the notebook

    Exercise("10-2", …, judge=loop_that(promise="at least once"), inputs=fresh_records)

`crash_evidence` makes a function of the loop; the exercise machinery calls it with the judge's
input, the beginning of every record's value.  What leaves the kernel is the journal of each trial,
as plain data: no verdict.  The judge, which knows the records, gives the journals to the history
checker and names the mistake itself.  It refuses evidence of other records, or of too few crashes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from kit.crashes import tape
from kit.crashes.crash_test import WRITING_SITUATIONS, Loop, crash_test
from kit.crashes.evidence import Evidence
from kit.crashes.facts import AT_LEAST_ONCE
from kit.crashes.journal import Note
from kit.crashes.moments import MOST_PER_LINE
from kit.crashes.result import CrashResult, story
from kit.crashes.statements import Source
from kit.crashes.tape import RECORDS, SITUATIONS, Moment, Trial
from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Judge, Verdict, right, wrong

FEWEST_CRASHES = 6
LEFT_OUT = ("line", "printed")


def evidence_of(
    loop: Loop,
    cluster: Any,
    settings: Mapping[str, Any] | None = None,
    producer: Mapping[str, Any] | None = None,
    per_line: int = MOST_PER_LINE,
) -> Callable[[str], dict[str, Any]]:
    """A function that `lab.check` calls with the judge's input; it runs the crash test."""

    def run(source: str) -> dict[str, Any]:
        result = crash_test(
            loop, cluster, settings=settings, source=source, producer=producer, per_line=per_line
        )
        return {
            "problem": result.problem,
            "text": result.source.text,
            "name": result.source.name,
            "first": result.source.first,
            "trials": [_plain(each) for each in result.trials],
        }

    return run


def _plain(evidence: Evidence) -> list[Any]:
    moment = evidence.trial.moment
    notes = [[n.at_us, n.who, n.kind, *n.details] for n in evidence.notes if n.kind not in LEFT_OUT]
    where = [moment.line, moment.got, moment.done, moment.commits] if moment is not None else []
    return [evidence.trial.situation.name, where, notes]


# -- the judge's side


def fresh_records(source: Random) -> list[tuple[str]]:
    """The input of a loop's exercise: how every value begins, another one for each check."""
    return [(f"{source.randrange(16**6):06x}-",)]


def loop_that(promise: str = AT_LEAST_ONCE, *, writes: bool = False) -> Judge:
    """A judge for loops that must keep a promise, without a mistake.

    With `writes` the loop has a producer, and its effects are records.
    """
    wanted = {"plain", *WRITING_SITUATIONS} if writes else set(SITUATIONS)

    def judge(answer: Any, context: Context) -> Verdict:
        try:
            result = _result(answer[0], context.inputs[0][0], promise)
        except (KeyError, IndexError, TypeError, ValueError):
            return _no_evidence(answer)
        if result.problem:
            return wrong(result.problem, expected=f"a loop that works {promise}", seen="no loop")
        if missing := _missing(result, wanted):
            return wrong(missing, expected="every situation, with its crashes", seen=result.tally)
        if result:
            return right(f"{result.tally} {promise.capitalize()} holds in all of them.")
        first = result.mistakes[0]
        return wrong(
            f"{first.name.capitalize()}. {first.sentence}",
            expected=f"{promise}, without a mistake",
            seen=f"{result.verdict}: {first.name}",
            counter_example="\n".join(story(result, first.evidence)),
        )

    return judge


def _no_evidence(answer: Any) -> Verdict:
    raised = answer[0].get("raised", "") if isinstance(answer, list) and answer and isinstance(
        answer[0], dict) else ""  # fmt: skip
    return wrong(
        f"The crash test ended with an exception: {raised}." if raised else
        "This check wants a loop on its cluster: lab.crash_evidence(loop, cluster).",
        expected="the journals of a crash test",
        seen=raised or type(answer).__name__,
    )  # fmt: skip


def _result(answer: Any, source: str, promise: str) -> CrashResult:
    """The result of journals that came from a kernel, about the records that the judge chose."""
    text = str(answer["text"])
    read = Source(str(answer["name"]), text, int(answer["first"]), {})
    trials = [_evidence(number, each, source) for number, each in enumerate(answer["trials"])]
    return CrashResult(read, "the cluster", promise, trials, str(answer["problem"]))


def _evidence(number: int, plain: Any, source: str) -> Evidence:
    name, where, notes = plain
    situation = SITUATIONS[name]
    values = {p: tuple(tape.values(source, p, RECORDS // situation.partitions))
              for p in range(situation.partitions)}  # fmt: skip
    found = tuple(
        Note(int(at_us), str(who), str(kind), tuple(details))
        for at_us, who, kind, *details in notes
    )
    for note in found:
        if note.kind == "done" and values[note.details[0]][note.details[1]] != note.details[2]:
            raise ValueError("these are not the records of this check")
    line, got, done, commits = where or (0, 0, 0, 0)
    moment = Moment(line, got, done, commits, name) if where else None
    return Evidence(Trial(number, situation, moment), found, values)


def _missing(result: CrashResult, wanted: set[str]) -> str:
    """What a crash test has that this evidence lacks; empty if it has all."""
    names = {each.trial.situation.name for each in result.trials if each.trial.moment is None}
    crashes = [each for each in result.trials if each.crash is not None]
    if names >= wanted and len(crashes) >= FEWEST_CRASHES:
        return ""
    return "The evidence is not that of a whole crash test: check the loop itself again."
