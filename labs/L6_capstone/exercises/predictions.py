"""The predictions of lab L6: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def explain_extra(answer: str, seen: Observed) -> str:
    """L6-1."""
    wave = seen["readable in that wave"]
    text = (
        f"`minutes` counts {seen['counted']}, and {seen['readable']} can be read: "
        f"{seen['counted'] - seen['readable']} too many. Wave {seen['killed in wave']} has "
        f"{wave} readable positions; its rows were written, and no note said so."
    )
    if answer.strip() == "0":
        text += " A checkpoint remembers offsets; it does not take rows back."
    return text


def after_the_weekend(seen: Observed) -> str:
    """L6-2."""
    if seen["error"]:
        return "a"
    if seen["counted"] == seen["sent"]:
        return "c"
    return "b" if seen["counted"] == seen["sent"] - seen["deleted unread"] else "d"


def explain_bad_samples(answer: str, seen: Observed) -> str:
    """L6-3."""
    lag = seen["backlog when it is back"]
    return (
        f"The driver was down for {seen['waves without a driver']} waves, and {seen['bad']} "
        f"samples are bad. When it came back, {lag:,} records waited, the newest wave among them. "
        f"A micro-batch takes {seen['records in a micro-batch']} and a wave brings "
        f"{seen['records in a wave']}, so only the difference of the two drains the backlog."
    )


PREDICTIONS = (
    Prediction(
        "L6-1",
        "The driver dies by SIGKILL in wave 2: its sink has written the rows, and Spark has not "
        "noted the micro-batch as done. It is started again with its checkpoint. How many "
        "positions more than the readable ones does `minutes` count after wave 4?",
        form="a number",
        tempting="0",
        settle=lambda seen: seen["counted"] - seen["readable"],
        explain=explain_extra,
    ),
    Prediction(
        "L6-2",
        "The pipeline is stopped over a weekend. Meanwhile retention deletes records that it has "
        "not read. It is started again with its checkpoint and the options of the cell. What "
        "happens?",
        (
            "the query fails and says that records are gone",
            "it reads on from the oldest record that is there, without a word",
            "it reads them all: a record that a checkpoint waits for is not deleted",
            "it begins again at the topic's end",
        ),
        tempting="b",
        settle=after_the_weekend,
        because={
            "a": "It said: {error}. {counted} of {sent} positions are in the table.",
            "b": "It counts {counted} of {sent} positions, and {deleted unread} were deleted "
            "before it came. Its error: {error}",
            "c": "The broker deletes by age and size and knows no checkpoint. {deleted unread} of "
            "{sent} positions were gone, and the table has {counted}. The query's error: {error}",
            "d": "startingOffsets counts only for a query without a checkpoint, and this one has "
            "one. The table has {counted} of {sent} positions. The query's error: {error}",
        },
    ),
    Prediction(
        "L6-3",
        "Ten waves of 300 records come in. A micro-batch takes at most 450, and there is one for "
        "each wave. In waves 3 and 4 there is no driver. A sample is bad if a record is unread "
        "after its wave. How many of the ten samples are bad?",
        form="a number",
        tempting="2",
        settle=lambda seen: seen["bad"],
        explain=explain_bad_samples,
    ),
)
