"""The predictions of lab L1: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def explain_rows(answer: str, seen: Observed) -> str:
    """L1-5."""
    read = (
        f"The job died in micro-batch {seen['died in micro-batch']}. The second process read "
        f"{seen['read by the second process']} records: it began with the offsets that the "
        "checkpoint had for that micro-batch."
    )
    if _number(answer) > seen["rows after"]:
        return f"{read} What the dead job had written of it is in no version of the table."
    return f"{read} {seen['records in bronze']} records of the topic are in the table."


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
            "fields that are not required may be null or new."
        )
    return " ".join(sentences)


def after_a_month(seen: Observed) -> str:
    """L1-13."""
    whole = seen["without a version"] == seen["in bronze"]
    if seen["from the version"] == "an error":
        return "b" if whole else "d"
    return "a" if seen["from the version"] == seen["in bronze"] else "c"


def ids_kept(seen: Observed) -> str:
    """L1-7: the choice that is nearest to what was kept, in events' minutes."""
    minutes = seen["ids kept within the watermark"] / seen["events"] * seen["minutes of events"]
    delay = seen["watermark minutes"]
    near = {"a": seen["minutes of events"], "b": delay, "c": 2 * delay, "d": 0}
    return min(near, key=lambda letter: abs(near[letter] - minutes))


def tunnel(seen: Observed) -> str:
    """L1-1."""
    shown = seen["minutes late in gold"], seen["dropped by the watermark"]
    sent = list(seen["minutes late"])
    if shown == (sent, 0):
        return "a"
    if shown == (sent[:1], 1):
        return "b"
    return "d" if shown[0] == [] else ""


def rows_of_the_shift(seen: Observed) -> str:
    """L1-8."""
    missing = seen["acknowledged"] - seen["bronze"]
    if missing == 0:
        return "d" if seen["in bronze once"] == seen["bronze"] else ""
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


def times_parsed(seen: Observed) -> str:
    """L1-12."""
    return {0: "", 1: "a", 2: "b"}.get(seen["filtered"], "c")


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
        "The job is killed when its checkpoint has the offsets of micro-batch 1 and not yet its "
        "commit. Another process starts the same query with the same checkpoint, until all 6,000 "
        "records are read. How many rows does bronze have then?",
        form="a number of rows",
        tempting="6500",
        settle=lambda seen: seen["rows after"],
        explain=explain_rows,
    ),
    Prediction(
        "L1-6",
        'Six records differ from a good one in one field: 1 has "speed_kmh": "83" in quotes; '
        '2 has "speed_kmh": -5; 3 has "truck": 99, a number; 4 has "speed_kmh": 83.0; 5 has '
        '"heading": null; 6 has a further field, "driver". Which does the rule refuse?',
        form="the numbers of the refused records",
        tempting="1 2 3",
        settle=lambda seen: seen["refused"],
        explain=explain_refused,
    ),
    Prediction(
        "L1-7",
        "The topic has 100 minutes of events, about one in a second. The watermark's delay is 20 "
        "minutes. How many event ids does dropDuplicatesWithinWatermark keep in its state when "
        "all is read?",
        (
            "all of them, as dropDuplicates does: a copy may come at any time",
            "those of about the last 20 minutes: that is the delay",
            "those of about the last 40 minutes: twice the delay",
            "none: each micro-batch starts with an empty state",
        ),
        tempting="b",
        settle=ids_kept,
        because={
            "a": "It keeps {ids kept within the watermark} ids, and dropDuplicates {ids kept by "
            "dropDuplicates}: the watermark lets it forget.",
            "b": "It keeps {ids kept within the watermark} ids. The watermark itself is the "
            "delay behind the newest event, and an id is kept for the delay after its own time: "
            "that makes twice the delay.",
            "c": "It keeps {ids kept within the watermark} ids: the delay behind the newest event, "
            "and the delay once more.",
            "d": "It keeps {ids kept within the watermark} ids. State is in the checkpoint and "
            "passes from micro-batch to micro-batch.",
        },
    ),
    Prediction(
        "L1-1",
        "A truck leaves two tunnels. One of its positions is 14 minutes behind the "
        "newest event, the other 50 minutes. The watermark's delay is 20 minutes. What happens to "
        "the two positions?",
        (
            "both change gold, each in the minute of its own event time",
            "the first changes gold, in its own minute; the second is in no table",
            "the first changes gold; the second becomes a dead letter with a reason",
            "neither changes gold: their minutes are closed",
        ),
        tempting="c",
        settle=tunnel,
        because={
            "a": "Gold has the positions that are {minutes late in gold} minutes late, and "
            "{dropped by the watermark} was dropped: silver's query refuses what is behind its "
            "watermark.",
            "b": "Gold has the positions that are {minutes late in gold} minutes late, and "
            "{dropped by the watermark} was dropped by the watermark. Of equations, "
            "{equations that hold} hold.",
            "c": "{dropped by the watermark} was dropped by the watermark, after the rule had "
            "accepted it. Dead letters are what the rule refuses.",
            "d": "Gold has the positions that are {minutes late in gold} minutes late. MERGE "
            "changes any minute; the watermark closes none of gold's.",
        },
    ),
    Prediction(
        "L1-8",
        "A streaming query runs, with a trigger every half second, while 2,000 positions are "
        "written. After 1,000 the leader of partition 0 is killed. The query is not restarted. "
        "What does bronze hold at the end?",
        (
            "fewer than 2,000 rows: what was in flight to the dead broker is lost",
            "more than 2,000 rows: what was read before the kill is read again",
            "only the rows of the other partitions, until the broker is back",
            "2,000 rows, each record once",
        ),
        tempting="b",
        settle=rows_of_the_shift,
        because={
            "a": "{acknowledged} records were acknowledged, and bronze has {bronze} rows. What got "
            "no answer was sent again, to the next leader.",
            "b": "{acknowledged} records were acknowledged, and bronze has {bronze} rows. The "
            "query knows its offsets, and asked the next leader from there.",
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
        tempting="c",
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
    Prediction(
        "L1-12",
        "The rule reads a record's text with one from_json, into the column position. Behind it a "
        "filter keeps the rows whose reason is null. How often does the plan that Spark "
        "runs contain from_json?",
        (
            "once: the filter uses the column position",
            "twice: once for the filter, and once for the columns",
            "many times: for each field that the reason asks for",
        ),
        tempting="a",
        settle=times_parsed,
        because={
            "a": "It is there {filtered} times; without the filter {all} times.",
            "b": "It is there {filtered} times; without the filter {all} times. The filter "
            "has one for each use of a field.",
            "c": "It is there {filtered} times; without the filter {all} times.",
        },
    ),
    Prediction(
        "L1-13",
        "The old commits of bronze are deleted from its log. Two new queries read bronze: one with "
        "startingVersion 0, one without a starting version. What do they read?",
        (
            "both read every row",
            "from version 0: an error; without a version: every row",
            "from version 0: the rows of the commits that are left; without a version: every row",
            "from version 0: an error; without a version: only what is written from now on",
        ),
        tempting="c",
        settle=after_a_month,
        because=dict.fromkeys(
            "abcd",
            "From the version: {from the version}. Without one: {without a version} of the "
            "{in bronze} rows.",
        ),
    ),
)
