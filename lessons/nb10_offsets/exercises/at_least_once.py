"""10-9: a loop that loses nothing, repeats nothing without a fault, and commits rarely."""

from __future__ import annotations

from typing import Any

from kit.crashes.judging import fresh_records, loop_that
from kit.crashes.tape import PLAIN, RECORDS
from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, wrong

EVERY = 4
MOST_COMMITS = RECORDS // EVERY


def judge(answer: Any, context: Context) -> Verdict:
    """The loop's promise first; then how often it committed in the run without a fault."""
    verdict = loop_that("at least once")(answer, context)
    if not verdict.passed:
        return verdict
    commits = _commits(answer[0]["trials"])
    if commits > MOST_COMMITS:
        return wrong(
            f"At least once holds. But the loop committed {commits} times for {RECORDS} records: "
            "each commit waits for the coordinator, and this loop may pay that once for every "
            f"{EVERY} records.",
            expected=f"at most {MOST_COMMITS} commits outside of rebalances",
            seen=commits,
        )
    return verdict


def _commits(trials: Any) -> int:
    """Commits outside of listeners, in the run that nothing disturbed."""
    for name, where, notes in trials:
        if name == PLAIN.name and not where:
            return sum(note[2] == "commit" and not note[5] for note in notes)
    return 0


def loop(*body: str, before: str = "") -> str:
    """A loop with this body for each record."""
    lines = "".join(f"        {line}\n" for line in body)
    return (
        "def careful(consumer, topic, process):\n"
        f"{before}"
        "    consumer.subscribe([topic])\n"
        "    while True:\n"
        "        message = consumer.poll(1.0)\n"
        "        if message is None or message.error():\n"
        "            continue\n"
        f"{lines}"
    )


EXERCISE = Exercise(
    "10-9",
    "At least once, and few commits",
    (
        "Two places need a commit. One is in the loop. When else does your progress matter to "
        "another member?",
        "Keep, for each partition, the offset behind the last record that is done. Commit these "
        "in the loop after every fourth record, and commit those of the partitions that leave, in "
        "the listener that is called before they leave.",
        "Process first, then note the next offset for the record's partition, then count; at "
        "every fourth record commit what you have noted, synchronously. In on_revoke take the "
        "noted offsets of the given partitions out of your notes and commit them, if there are "
        "any. In on_lost only forget them. Let exceptions of process leave the loop: the restart "
        "begins at the committed offset.",
    ),
    judge,
    {
        "goes on after a failure": loop(
            "try:",
            "    process(message)",
            "except Exception as failure:",
            "    print(failure)",
            "if message.offset() % 4 == 3:",
            "    consumer.commit(message, asynchronous=False)",
        ),
        "commits each record": loop(
            "process(message)", "consumer.commit(message, asynchronous=False)"
        ),
        "forgets the rebalance": loop(
            "process(message)",
            "if message.offset() % 12 == 11:",
            "    consumer.commit(message, asynchronous=False)",
        ),
    },
    fresh_records,
    minutes=15,
)
