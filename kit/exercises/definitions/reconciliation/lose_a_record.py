"""07-7: the learner writes the accident.  A trace script that the oldest rule does not survive.

The judge plays it twice in virtual time, with the oldest rule and with Kafka's own, heals
everything at the end, and reads what a consumer gets.
"""

from __future__ import annotations

from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, right, wrong


def judge(answer: Any, context: Context) -> Verdict:
    if not isinstance(answer, str) or not answer.strip():
        return wrong(
            "There is no script yet: write the accident, a command a line.",
            expected="a text of commands",
            seen=answer,
        )
    # Only here: the other exercises of the notebook need no cluster.
    from engine.sim.script_player import ScriptError
    from kit.exercises.definitions.reconciliation import accident

    try:
        old = accident.play(answer, accident.OLDEST)
        new = accident.play(answer, accident.KAFKAS)
    except ScriptError as error:
        return wrong(
            f"The script stops: {str(error).rstrip('.?')}.",
            expected="a script that runs",
            seen=answer,
        )
    extra = [value for value in old.promised if value not in ("A", "B", "C")]
    expected = "a record acknowledged with acks=all, lost with the oldest rule, kept with Kafka's"
    seen = f"oldest rule: {' '.join(old.left)}; Kafka's rule: {' '.join(new.left)}"
    if not extra:
        return wrong(
            "After A, B and C nothing was acknowledged with acks=all. A record sent with acks=1 "
            "may be lost under any rule: that is the bargain.",
            expected=expected,
            seen=seen,
        )
    if old.unclean:
        return wrong(
            "An election here was not a clean one, and those lose records under any rule. Let "
            "the last leader be one that was in the ISR.",
            expected=expected,
            seen=seen,
        )
    if not old.lost:
        kept = f"The oldest rule kept all of {' '.join(old.promised)}."
        if old.cut and old.leader not in old.cut:
            told = (
                f"{old.cut[0]} did cut its log, but {old.leader} leads, and what it holds counts."
            )
        elif old.cut:
            told = f"{old.cut[0]} did cut its log, and then had time to fetch the record again."
        else:
            told = "Nobody cut a record: who has one above its own high watermark, and when?"
        return wrong(f"{kept} {told}", expected=expected, seen=seen, counter_example=answer.strip())
    if new.lost:
        return wrong(
            f"{' '.join(new.lost)} is lost with today's rule as well: this is more than a cut at "
            "the wrong place.",
            expected=expected,
            seen=seen,
        )
    return right(
        f"The oldest rule loses {' '.join(old.lost)}, which was acknowledged by all in-sync "
        f"replicas; today's keeps it. You have found KIP-101. {seen}."
    )


EXERCISE = Exercise(
    "07-7",
    "Lose a record",
    (
        "The victim is a follower that has the record, does not know that it is committed, and "
        "meets a new leader. The frames above show that very moment.",
        "D is acknowledged, 101 dies before its next fetch answer, 103 leads: 102 cuts D at once. "
        "Keep 102 from fetching it again, and let 102 be the next leader.",
        "produce orders D / cut 102 103 / kill 101 / until leader orders 103 / kill 103 / "
        "until leader orders 102",
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
    },
)
