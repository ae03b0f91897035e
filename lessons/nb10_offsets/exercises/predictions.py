"""The predictions of notebook 10: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction

LETTER = {"exactly once": "a", "at least once": "b", "at most once": "c", "loses and repeats": "d"}


def verdict(seen: Observed) -> str:
    return LETTER.get(seen["what the loop does"], "")


def in_hand(answer: str, seen: Observed) -> str:
    lost, repeated = (
        seen["most records lost by one crash"],
        seen["most records repeated by one crash"],
    )
    if not lost:
        return (
            f"No crash lost a record; one repeated {repeated:g}: no commit was ahead of the work."
        )
    if answer == "0":
        return (
            f"{lost}: the record in hand. librdkafka notes a record as done when poll returns it, "
            "and its own thread commits what is noted, before the work has ended."
        )
    return (
        f"{lost}: only the record in hand is noted and not processed. All earlier ones were "
        "processed before poll was called again."
    )


def two_positions(answer: str, seen: Observed) -> str:
    following, first = seen["next offset"], seen["first offset after a restart"]
    given = answer.split()
    if len(given) != 2:
        return f"Two offsets are asked for: here {following} and {first}."
    if given[0] != str(following):
        return (
            f"The running consumer went on with {following}. It looks at its position, and no "
            "commit changes that."
        )
    return (
        f"The committed offset was {seen['committed offset']}: the last commit that arrives "
        f"counts, also if it is lower than the one before. So the next consumer began with {first}."
    )


def rebalanced(answer: str, seen: Observed) -> str:
    twice, by_b, by_a = seen["processed twice"], seen["by B"], seen["by A again"]
    if answer == "0":
        return f"{twice}: B started at the committed offset, and what A had done was not committed."
    if answer == str(by_b) and by_a:
        return (
            f"B processed {by_b} again, and A itself {by_a}: with the eager strategy A gave back "
            "both partitions, and got one of them back without its position."
        )
    if twice == 0:
        return "None: on_revoke committed what was done before the partition left."
    return f"{twice} records were processed twice: {by_b} by B, {by_a} by A itself."


def after_absence(answer: str, seen: Observed) -> str:
    first, skipped = seen["first offset processed"], seen["still there, and skipped"]
    if answer == "20" and first != 20:
        return f"Offset 20 was no longer in the log. The reset policy decided: {first}."
    if skipped:
        return (
            f"It began with {first}. latest is the end of the log at that moment: {skipped} "
            "records that could still be read were skipped."
        )
    return f"It began with {first}, and skipped nothing that was still there."


def same_name(answer: str, seen: Observed) -> str:
    count, first = seen["new records processed"], seen["the first of them"]
    if answer == "15":
        return (
            f"{count}: the client kept the position that it had in the old topic, and no error "
            f"made it start again. The first new record that it got was {first}."
        )
    if answer == "0":
        return (
            f"{count}: the client learns the new topic's id with the metadata, and goes on; its "
            f"first record was {first}."
        )
    return f"{count} new records were processed, the first of them {first}."


def by_time(answer: str, seen: Observed) -> str:
    found, minutes = seen["offset"], seen["minutes read"]
    if answer == "9 6 7":
        return f"The client does not filter: from offset {found} on it read {minutes}."
    if answer == "6 7":
        return (
            f"The first record that is not earlier is at offset {found}, before the one of "
            f"minute 1. The consumer read {minutes}."
        )
    return f"offsets_for_times gave {found}, and reading in log order from there gives {minutes}."


def closest(seen: Observed) -> str:
    if seen["errors that it saw"]:
        return "b"
    if "C" in seen["the reader in the rack"]:
        return "a"
    return "d" if "C" in seen["when the link is back"] else ""


PREDICTIONS = (
    Prediction(
        "10-1",
        "The loop processes each record before it polls again, and the client commits every 100 "
        "ms. A crash can come after any line. How many records does one crash lose, at most? "
        "(Lost is what no process ever processes.)",
        form="a number",
        tempting="0",
        settle=lambda seen: seen["most records lost by one crash"],
        explain=in_hand,
    ),
    Prediction(
        "10-2",
        "A consumer has read the offsets 0 to 5 and committed 6. Then a commit of 2 arrives. The "
        "consumer polls again: which offset does it get? It is closed, and another consumer of "
        "the group starts: which offset does that one get first?",
        form="two offsets, such as 3 8",
        tempting="6 6",
        settle=lambda seen: [seen["next offset"], seen["first offset after a restart"]],
        explain=two_positions,
    ),
    Prediction(
        "10-3",
        "Two partitions with six records each. A has processed all twelve and committed nothing. "
        "B joins; both use the eager assignor range, and each gets one partition. Both read to "
        "the end. How many of the twelve records are processed a second time?",
        form="a number",
        tempting="6",
        settle=lambda seen: seen["processed twice"],
        explain=rebalanced,
    ),
    Prediction(
        "10-4",
        "The loop skips an order whose id it has seen, adds the id to a set after the work, and "
        "commits after each record. It is crashed after each line and restarted. Over all "
        "crashes, what does this loop do?",
        ("exactly once: a repeated order is recognized by its id",
         "at least once: some orders are charged twice",
         "at most once: an order whose id is in the set may not have been charged",
         "both: some orders are never charged, others twice"),
        tempting="a",
        settle=verdict,
        because={
            "a": "The set died with the process. This loop: {what the loop does}.",
            "b": "This time no order was charged twice: {what the loop does}.",
            "c": "The id and the offset were noted after the work, and the set did not outlive the "
            "crash. This loop: {what the loop does}.",
            "d": "The commit came after the work in every crash, so nothing was lost. This loop: "
            "{what the loop does}.",
        },
    ),
    Prediction(
        "10-5",
        "100 records, offsets 0 to 99. The group has committed 20 and stopped. Retention removes "
        "everything before offset 50. The group starts again with auto.offset.reset=latest and "
        "reads to the end; then record 100 is written. What is the first offset that it processes?",
        form="an offset",
        tempting="50",
        settle=lambda seen: seen["first offset processed"],
        explain=after_absence,
    ),
    Prediction(
        "10-6",
        "A consumer with auto.offset.reset=earliest has read ten records and committed. Its topic "
        "is deleted and created again, and fifteen new records are written. The consumer "
        "keeps polling. How many of the fifteen does it process?",
        form="a number",
        tempting="15",
        settle=lambda seen: seen["new records processed"],
        explain=same_name,
    ),
    Prediction(
        "10-7",
        "Five records with the timestamps 0, 9, 1, 6, 7 (in log order). You ask for the offset of "
        "minute 5, seek there, and read to the end. Which minutes do you read, in order?",
        form="the minutes in order, such as 0 9 1",
        tempting="6 7",
        settle=lambda seen: seen["minutes read"],
        explain=by_time,
    ),
    Prediction(
        "10-8",
        "C is acknowledged by the leader 101 and by 102. 103 has left the in-sync replicas and "
        "hears nothing of it. The consumer in rack c has been reading from 103. When does it get "
        "C?",
        ("at once: 103 sends it to the leader for what it lacks",
         "after an error: 103 answers that it is out of sync, and the client resets",
         "when 103 leaves the in-sync replicas: then the client drops it",
         "not before the link is back, or some minutes later; and it sees no error"),
        tempting="a",
        settle=closest,
        because={
            "a": "With the link cut it had read {the reader in the rack}: a follower answers from "
            "its own log, up to its own high watermark.",
            "b": "Errors that it saw: {errors that it saw}. To the client 103 is a replica without "
            "new records.",
            "c": "The in-sync replicas were {in-sync replicas}, and it had read "
            "{the reader in the rack}. The client hears of the in-sync replicas, and does not act.",
            "d": "It had C while the link was cut: {the reader in the rack}. It was not reading "
            "from a replica that hears nothing.",
        },
    ),
)  # fmt: skip
