"""The predictions of lab L1: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def explain_rows(answer: str, seen: Observed) -> str:
    """L1-5."""
    if _number(answer) > seen["rows after"]:
        return (
            f"The query read {seen['records read again']} records again, and all files together "
            f"have {seen['rows in all files']} rows. The table has {seen['rows after']}: its log "
            "names each micro-batch once, with the files of the last attempt."
        )
    return (
        f"The table has {seen['rows after']} rows. The query read the micro-batch again, as "
        f"`offsets` had noted it: {seen['records read again']} records."
    )


def explain_refused(answer: str, seen: Observed) -> str:
    """L1-6: which of the learner's numbers are wrong, and which are missing."""
    given = {int(word) for word in answer.split() if word.isdigit()}
    refused = set(seen["refused"])
    sentences = []
    if missed := sorted(refused - given):
        sentences.append(
            f"Refused as well: {_listed(missed)}. INT takes no quotes and no fraction, not even .0."
        )
    if accepted := sorted(given - refused):
        sentences.append(
            f"Accepted: {_listed(accepted)}. STRING takes any value, a range is not a type, and "
            "fields that are not required may be missing or new."
        )
    return " ".join(sentences)


def explain_repeats(answer: str, seen: Observed) -> str:
    """L1-7."""
    return (
        f"{seen['sent again']} records came again and {seen['new rows']} of them became rows. The "
        f"query keeps {seen['event ids that the query keeps']} event ids, across micro-batches and "
        "restarts, and drops an id that it knows."
    )


def explain_minute(answer: str, seen: Observed) -> str:
    """L1-1."""
    return (
        f"Gold has the position in minute {seen['minute']}: it groups by {seen['clock']}, and "
        "without a watermark no position is too late."
    )


def rows_of_the_shift(seen: Observed) -> str:
    """L1-8."""
    missing = seen["acknowledged"] - seen["bronze"]
    if missing == 0:
        return "d" if seen["equations that hold"] == 3 else ""
    if missing < 0:
        return "b"
    return "a" if seen["leader changed"] else "c"


def a_slow_batch(seen: Observed) -> str:
    """L1-9."""
    if seen["micro-batch ms"] <= seen["interval ms"]:
        return ""  # not slow enough to show anything
    if seen["records read"] == seen["records"]:
        return "b" if seen["groups of that name"] else "a"
    return "c" if seen["records read"] > seen["records"] else "d"


def _number(answer: str) -> float:
    try:
        return float(answer.replace(" ", ""))
    except ValueError:
        return 0.0


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


PREDICTIONS = (
    Prediction(
        "L1-5",
        "Bronze has 2,000 rows, from two micro-batches. The files of the second are written; the "
        "table's log and the folder commits do not name it. The query starts again. How many rows "
        "does bronze have then?",
        form="a number of rows",
        settle=lambda seen: seen["rows after"],
        explain=explain_rows,
    ),
    Prediction(
        "L1-6",
        'Six records differ from a good one in one field: 1 has "speed_kmh": "83" in quotes; '
        '2 has "speed_kmh": -5; 3 has "truck": 99, a number; 4 has "speed_kmh": 83.0; 5 has '
        '"lat": null; 6 has a further field, "driver". Which does the schema refuse?',
        form="the numbers of the refused records",
        settle=lambda seen: seen["refused"],
        explain=explain_refused,
    ),
    Prediction(
        "L1-7",
        "A hundred positions that silver has already arrive once more, hours later. How many new "
        "rows does silver get?",
        form="a number of rows",
        settle=lambda seen: seen["new rows"],
        explain=explain_repeats,
    ),
    Prediction(
        "L1-1",
        "A truck measured its position at 8:02, by its own clock, and sent it at 8:16. In which "
        "minute past eight does gold count it?",
        form="a minute",
        settle=lambda seen: seen["minute"],
        explain=explain_minute,
    ),
    Prediction(
        "L1-8",
        "2,000 positions are written by an idempotent producer with acks=all; after 1,000 the "
        "leader of partition 0 is killed. Spark reads the topic while that broker is down. What "
        "does bronze hold at the end?",
        (
            "fewer than 2,000 rows: what was in flight to the dead broker is lost",
            "more than 2,000 rows: what was sent again is there twice",
            "only the rows of the other partitions, until the broker is back",
            "2,000 rows, each record once",
        ),
        settle=rows_of_the_shift,
        because={
            "a": "{acknowledged} records were acknowledged, and bronze has {bronze} rows. What got "
            "no answer was sent again, to the next leader.",
            "b": "{acknowledged} records were acknowledged, and bronze has {bronze} rows. The new "
            "leader knew the sequence numbers of what it had.",
            "c": "Bronze has {bronze} rows. Another in-sync replica led partition 0 after some "
            "seconds, and Spark asked it.",
            "d": "{acknowledged} records were acknowledged, and bronze has {bronze} rows.",
        },
    ),
    Prediction(
        "L1-9",
        "A streaming query works for a millisecond on each record of a topic, in one micro-batch. "
        "Its max.poll.interval.ms is one second, and the micro-batch takes longer. What do you "
        "find afterwards?",
        (
            "each record read once, and no group of the query's name",
            "each record read once, and the query's group with a lag of 0",
            "records read twice: the partitions were assigned again in the middle",
            "fewer records read: the query lost its partitions",
        ),
        settle=a_slow_batch,
        because={
            "a": "{records read} of {records} records were read, and {groups of that name} groups "
            "have that name.",
            "b": "{groups of that name} groups have that name. Spark's tasks join no group: they "
            "are given their partitions by the query.",
            "c": "{records read} of {records} records were read, in {micro-batch ms} ms. The "
            "interval of {interval ms} ms is for members of a group.",
            "d": "{records read} of {records} records were read, in {micro-batch ms} ms. The "
            "interval of {interval ms} ms is for members of a group.",
        },
    ),
)
