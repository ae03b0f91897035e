"""The predictions of lab L2: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction

APPEND = "foreachBatch, append"
ONCE = "foreachBatch, append with txnAppId, txnVersion"
NOTED = "foreachBatch, number noted first"
FILES, TABLE = "Parquet file sink, every file read", "Parquet file sink, read as a table"
KAFKA = "Kafka sink"
COMMITTED = "transactional producer, read_committed"


def notes_of_a_crash(seen: Observed) -> str:
    """L2-1."""
    begun, done = seen["offsets"], seen["commits"]
    if begun == done:
        return "d" if begun == [0, 1] else "c"
    if begun[: len(done)] != done or len(begun) != len(done) + 1:
        return ""
    return {2: "b", 3: "a"}.get(len(begun), "")


def explain_rows(answer: str, seen: Observed) -> str:
    """L2-2."""
    return (
        f"The table has {seen[APPEND]} rows. Micro-batch 1 ran again, and an append does not ask "
        f"what is there. The one that names itself has {seen[ONCE]}."
    )


def who_misses(seen: Observed) -> str:
    """L2-3: the reader that has fewer rows than the topic has payments."""
    letters = {KAFKA: "a", FILES: "b", COMMITTED: "c", NOTED: "d"}
    missing = [letter for reader, letter in letters.items() if seen[reader] < 120]
    return missing[0] if len(missing) == 1 else ""


def explain_evening(answer: str, seen: Observed) -> str:
    """L2-4."""
    return (
        f"The morning has {seen['morning']} rows and the evening {seen['evening']}. A new "
        "checkpoint counts its micro-batches from 0, and so does the version that Delta compares."
    )


def explain_repeats(answer: str, seen: Observed) -> str:
    """L2-5."""
    points = ", ".join(seen["repeats at"]) or "no point"
    return f"{seen['reader']}: rows come twice at {points}."


def who_repeats(seen: Observed) -> str:
    """L2-12: the change that gives rows, and is not refused."""
    gives = [isinstance(rows, int) and rows > 0 for rows in seen.values()]
    return "abcd"[gives.index(True)] if gives.count(True) == 1 else ""


def explain_own(answer: str, seen: Observed) -> str:
    """L2-6."""
    return (
        f"{seen['sink']}: {seen['rows']} rows, {seen['lost']} lost and {seen['repeated']} repeated."
    )


PREDICTIONS = (
    Prediction(
        "L2-1",
        "The driver is killed in micro-batch 1, when the sink has its rows, before Spark notes "
        "that it is done. Which numbers do the checkpoint's folders hold?",
        (
            "offsets 0, 1 and 2; commits 0 and 1",
            "offsets 0 and 1; commits 0",
            "offsets 0; commits 0",
            "offsets 0 and 1; commits 0 and 1",
        ),
        tempting="c",
        settle=notes_of_a_crash,
        because={
            "a": "The checkpoint has offsets {offsets}: those of the next micro-batch are noted "
            "when this one is done.",
            "b": "The checkpoint has offsets {offsets} and commits {commits}.",
            "c": "The checkpoint has offsets {offsets}: they are noted before the micro-batch "
            "reads anything.",
            "d": "The checkpoint has commits {commits}: that note comes last, after the sink.",
            "": "The checkpoint has offsets {offsets} and commits {commits}.",
        },
    ),
    Prediction(
        "L2-2",
        "The queries have had micro-batches 0 and 1 in their sinks, 40 payments each. They start "
        "again and read all 120 payments to the end. How many rows does the table of foreachBatch "
        "with a plain append have?",
        form="a number of rows",
        tempting="120",
        settle=lambda seen: seen[APPEND],
        explain=explain_rows,
    ),
    Prediction(
        "L2-3",
        "Four queries are killed in the middle of their sinks and go on. One reader then finds "
        "fewer payments than the topic has. Which?",
        (
            "a consumer of the Kafka sink's topic",
            "a tool that reads every Parquet file in the folder",
            "a read_committed consumer behind the transactional producer",
            "the table of the foreachBatch that notes its number first",
        ),
        tempting="c",
        settle=who_misses,
        because={
            "a": "It finds {Kafka sink} records: those of the first attempt are there as well.",
            "b": "It finds {Parquet file sink, every file read} rows: the files of the first "
            "attempt are beside those of the second.",
            "c": "It finds {transactional producer, read_committed}: the first attempt was "
            "aborted, and the second had everything.",
            "d": "It has {foreachBatch, number noted first} rows.",
        },
    ),
    Prediction(
        "L2-4",
        "A query with the fixed txnAppId “payments” has written micro-batches 0, 1 and 2. Its "
        "checkpoint is deleted. It starts again on a topic with 120 other payments. How many of "
        "these come into the table?",
        form="a number of rows",
        tempting="120",
        settle=lambda seen: seen["evening"],
        explain=explain_evening,
    ),
    Prediction(
        "L2-5",
        "Five points at which a driver can be killed, and an executor that dies when its tasks "
        "have written: at how many of these six does the Kafka sink's topic have records twice?",
        form="a number of points",
        tempting="6",
        settle=lambda seen: len(seen["repeats at"]),
        explain=explain_repeats,
    ),
    Prediction(
        "L2-6",
        "Your sink, your point, your micro-batch, as they are in the next cell. 120 payments are "
        "in the topic. How many rows are there when the query has gone on?",
        form="a number of rows",
        tempting="160",
        settle=lambda seen: seen["rows"],
        explain=explain_own,
    ),
    Prediction(
        "L2-12",
        "The same payments come again, and four changed queries start on the checkpoint of the old "
        "one. Which of them runs without an error, and lets payments through a second time?",
        (
            "the one with a filter before dropDuplicates",
            "the one that drops by event_id and order_id",
            "the one that drops by order_id in place of event_id",
            "the one that drops by event_id within a watermark",
        ),
        tempting="d",
        settle=who_repeats,
        because={
            "a": "It gives {a filter} rows: the state holds every event id.",
            "b": "Spark refuses it: {one column more}.",
            "c": "It gives {another column} rows: none of these order ids is among the event ids "
            "that the state holds.",
            "d": "Spark refuses it: {a watermark}.",
        },
    ),
)
