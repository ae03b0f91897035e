"""11-12: a loop from topic to topic that counts each input once, with few transactions."""

from __future__ import annotations

from typing import Any

from kit.crashes.judging import fresh_records, loop_that
from kit.crashes.tape import PLAIN, RECORDS
from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, wrong

MOST = 4


def judge(answer: Any, context: Context) -> Verdict:
    """The loop's promise first; then how many transactions the run without a fault had."""
    verdict = loop_that("exactly once", writes=True)(answer, context)
    if not verdict.passed:
        return verdict
    ended = _ended(answer[0]["trials"])
    if ended > MOST:
        return wrong(
            f"Each transfer counts once. But the loop ended {ended} transactions for {RECORDS} "
            "transfers, and each of them costs requests to the coordinator and a marker in every "
            "partition.",
            expected=f"at most {MOST} transactions",
            seen=ended,
        )
    return verdict


def _ended(trials: Any) -> int:
    """Commits in the run that nothing disturbed."""
    for name, where, notes in trials:
        if name == PLAIN.name and not where:
            return sum(note[2] == "commit" for note in notes)
    return 0


def loop(*body: str, begins: str = "producer.init_transactions()", some: int = 4) -> str:
    """A loop with this body for each handful of transfers."""
    lines = "".join(f"            {line}\n" for line in body)
    return (
        "def several(consumer, producer, topic, results):\n"
        f"    {begins}\n"
        "    consumer.subscribe([topic])\n"
        "    while True:\n"
        f"        transfers = consumer.consume({some}, 1.0)\n"
        "        if transfers:\n"
        f"{lines}"
    )


WRITE = (
    "producer.begin_transaction()",
    "for transfer in transfers:",
    "    producer.produce(results, transfer.value())",
)
PLACES = "places = consumer.position(consumer.assignment())"
SEND = "producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata())"
COMMIT = "producer.commit_transaction()"

EXERCISE = Exercise(
    "11-12",
    "Several transfers in a transaction",
    (
        "Which three things must be true together or not at all?",
        "The results and the group's offset belong to one transaction. A consumer can give you "
        "several records with one call.",
        "Call init_transactions once, before you subscribe. Take a handful of transfers, begin, "
        "write a result for each, send the positions of the assigned partitions with the group's "
        "metadata to the transaction, and commit it. The consumer itself never commits. Let "
        "exceptions leave the loop: the next start aborts what is open.",
    ),
    judge,
    {
        "the consumer commits": loop(*WRITE, COMMIT, "consumer.commit(asynchronous=False)"),
        "no transaction is begun": loop(*WRITE[1:], PLACES, SEND, COMMIT),
        "one transaction each": loop(*WRITE, PLACES, SEND, COMMIT, some=1),
    },
    fresh_records,
    minutes=15,
)
