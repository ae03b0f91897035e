"""07-7: the learner writes a trace script in which the oldest rule loses a record.

The judge plays it twice in virtual time, with the oldest rule and with Kafka's own, heals
everything at the end, and reads what a consumer gets.  If the script is wrong, `seen` shows
it line by line, with the state after each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, right, wrong

if TYPE_CHECKING:
    from lessons.nb07_reconciliation.exercises.accident import Outcome, Step

LOSS = "a record acknowledged with acks=all, lost with the oldest rule, kept with Kafka's"
SHORT_S = 0.1
UNCLEAN = ("unclean", "last known")


def judge(answer: Any, context: Context) -> Verdict:
    if not isinstance(answer, str) or not answer.strip():
        return wrong(
            "There is no script yet: write the accident, a command a line.",
            expected="a text of commands",
            seen=answer,
        )
    # Only here: the other exercises of the notebook need no cluster.
    from engine.sim.scripts.player import ScriptError
    from lessons.nb07_reconciliation.exercises import accident, notation, standstill

    try:
        lines = notation.read(answer)
    except ScriptError as error:
        return wrong(f"{error}", expected="a script that can be read", seen=answer.strip())
    old, new = (accident.play(lines, rule) for rule in (accident.OLDEST, accident.KAFKAS))
    for one, other in ((old, new), (new, old)):
        if one.stop:
            return wrong(
                standstill.told(one, other),
                expected="a script that comes to its end under both rules",
                seen=line_by_line(one),
            )
    both = f"left under {old.rule}: {_all(old.left)}; under {new.rule}: {_all(new.left)}"
    problem = (
        _nothing_promised(old) or _unclean(old) or _nothing_lost(old) or _lost_anyway(new)
    )  # fmt: skip
    if problem:
        shown = new if old.lost else old
        return wrong(problem, expected=LOSS, seen=f"{both}\n{line_by_line(shown)}")
    return right(
        f"The oldest rule loses {' '.join(old.lost)}, which was acknowledged by all in-sync "
        f"replicas; today's keeps it. You have found KIP-101. {both[0].upper()}{both[1:]}."
    )


def line_by_line(outcome: Outcome) -> str:
    """The learner's lines, with the state after each."""
    return "\n".join([f"under {outcome.rule}:", *map(_shown, _own(outcome))])


def _shown(step: Step) -> str:
    notes = [str(step.standing)]
    if step.line.command.verb in ("produce", "read", "latest"):
        notes.insert(0, ", ".join(step.answers) or "no answer")
    if step.took_s >= SHORT_S:
        notes.append(f"{step.took_s:.1f} s")
    notes += [f"{node} cuts its log at {what['to']}" for node, what in step.told("truncate")]
    return f"{step.line.number}  {step.line.text} → {'; '.join(notes)}"


def _own(outcome: Outcome) -> list[Step]:
    return [step for step in outcome.steps if step.line.number]


def _nothing_promised(old: Outcome) -> str:
    if set(old.promised) - {"A", "B", "C"}:
        return ""
    nothing = "After A, B and C nothing was acknowledged with acks=all"
    produced = [step for step in _own(old) if step.line.command.verb == "produce"]
    if not produced:
        return f"{nothing}: no line produces. Begin with a record that is promised."
    last = produced[-1]
    if last.answers[-1].startswith("offset"):
        return (
            f"{nothing}; {last.line} was acknowledged by the leader alone. Such a record may be "
            "lost under any rule. Leave acks out, and it is acks=all."
        )
    return (
        f"{nothing}: {last.line} was answered {last.answers[-1]}. At that moment: "
        f"{last.standing}. Wait until the leader is there and knows it, and produce then."
    )


def _unclean(old: Outcome) -> str:
    for step in old.steps:
        for _, what in step.told("elected"):
            if what["reason"] in UNCLEAN:
                return (
                    f"In {step.line}, {what['leader']} was elected, and not cleanly: the ISR was "
                    f"empty. Such elections lose records under any rule. Now: {step.standing}. "
                    "Let the last leader be one that was in the ISR."
                )
    return ""


def _nothing_lost(old: Outcome) -> str:
    if old.lost:
        return ""
    end = old.steps[-1].standing
    kept = f"Under {old.rule} {' '.join(old.promised)} are all there at the end ({end})."
    where, again = _last_cut(old)
    if where is None:
        return (
            f"{kept} No broker cut a record: which one has a record above its own high watermark?"
        )
    cut = f"{kept} In {where[0].line}, {where[1]} cut its log at {where[2]}"
    if again and again.line.number:
        when = "in the same line" if again is where[0] else f"in {again.line},"
        return (
            f"{cut}, and {when} it fetched offset {where[2]} again. "
            f"Then: {again.standing}. What could keep it from fetching?"
        )
    if end.leader == where[1]:
        return (
            f"{cut}, and leads at the end; but what it cut was not promised with acks=all. Which "
            "promised record could it hold above its own high watermark?"
        )
    return (
        f"{cut}, but {end.leader} leads at the end, and what the leader holds counts. Which broker "
        "has to lead?"
    )


def _last_cut(old: Outcome) -> tuple[tuple[Step, Any, int] | None, Step | None]:
    """The step, the broker and the offset; and the step in which it had that offset again."""
    where, again, leads = None, None, {}
    for step in old.steps:
        for node, line in step.happened:
            fields = dict(line.fields)
            if line.kind == "leader":
                leads[node] = fields["leader"] == node
            elif line.kind == "truncate":
                where, again = (step, node, fields["to"]), None
            elif line.kind == "append" and where and not again and node == where[1]:
                # A record that it appends as a leader is another record.
                there = fields["base"] <= where[2] <= fields["last"] and not leads[node]
                again = step if there else None
    return where, again


def _lost_anyway(new: Outcome) -> str:
    if not new.lost:
        return ""
    return (
        f"{' '.join(new.lost)} is lost under today's rule, {new.rule}, as well. At the end: "
        f"{new.steps[-1].standing}. This is more than a cut at the wrong place: leave out the "
        "lines that the loss under the oldest rule does not need."
    )


def _all(values: tuple[str, ...]) -> str:
    return " ".join(values)


EXERCISE = Exercise(
    "07-7",
    "Lose a record",
    (
        "The victim is a follower that has the record, does not know that it is committed, and "
        "meets a new leader. The frames above show that very moment.",
        "Meeting the new leader, that follower cuts the record. That alone loses nothing: it "
        "fetches it again. The cut counts only if, before that, the follower itself becomes the "
        "leader. Of 103 and 102, which can it be?",
        "Three faults, and a wait where one must be over before the next: one that keeps 102 from "
        "fetching from 103, and two that take the leaders away, one after the other. 102 may be "
        "without a fetch for 2 s; then it is out of the ISR, and the controller cannot elect it.",
    ),
    judge,
    {
        "only the leader dies": 'script = """\nproduce orders D\nkill 101\n'
        'until leader orders 103\n"""',
        "acks=1": 'script = """\ncut 101 102\ncut 101 103\nproduce orders D acks=1\nkill 101\n'
        'until leader orders 103\n"""',
        "it fetches again": 'script = """\nproduce orders D\nkill 101\nuntil leader orders 103\n'
        'quiet\nkill 103\nuntil leader orders 102\n"""',
        "a misspelt command": 'script = """\nproduce orders D\nshoot 101\n"""',
        "quiet, and the ISR has shrunk": 'script = """\nproduce orders D\ncut 102 103\nkill 101\n'
        'until leader orders 103\nquiet\nkill 103\nuntil leader orders 102\n"""',
        "no wait before a read": 'script = """\nproduce orders D\ncut 102 103\nkill 101\n'
        'read orders\n"""',
        "no broker is left": 'script = """\nproduce orders D\nkill 101\nkill 102\nkill 103\n"""',
        "acks=0": 'script = """\nproduce orders D acks=0\nkill 101\nuntil leader orders 103\n"""',
    },
    minutes=15,
)
