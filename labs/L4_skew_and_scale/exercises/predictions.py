"""The predictions of lab L4: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def where_the_rows_went(seen: Observed) -> str:
    """L4-3 and L4-4: by the rows of the largest task that reads the shuffle."""
    largest, even = seen["rows of its largest task"], seen["positions"] / seen["reading tasks"]
    if largest >= seen["positions of the hot truck"]:
        return "b"
    if largest < even / 10:
        return "c"
    return "a" if largest < 1.2 * even else ""


def what_was_split(seen: Observed) -> str:
    """L4-6: a partition that was split has more tasks than the shuffle has partitions."""
    split = [name for name in ("join", "steps") if seen[f"tasks of the {name}"] > 4]
    return {("join",): "a", ("steps",): "b", ("join", "steps"): "c", (): "d"}[tuple(split)]


def how_the_query_went_on(seen: Observed) -> str:
    """L4-7."""
    if not seen["leader changed"]:
        return ""
    if not seen["the query ended by itself"]:
        return "a"
    if seen["offsets"] < seen["produced"]:
        return "b"
    return "d" if seen["rows"] == seen["produced"] else "c"


def what_is_right(seen: Observed) -> str:
    """L4-5."""
    letters = {
        "maximum": "a",
        "mean of means": "b",
        "median of medians": "c",
        "sum of distinct counts": "d",
    }
    return letters[seen["right"][0]] if len(seen["right"]) == 1 else ""


ROWS = {
    "a": "The largest of {reading tasks} tasks got {rows of its largest task} rows of {positions}.",
    "b": "The hot truck has {positions of the hot truck} positions, and the largest task got "
    "{rows of its largest task} rows.",
    "c": "The largest task got {rows of its largest task} rows, of {positions} positions.",
}
CHOICES = (
    "about a quarter of the positions",
    "all positions of the hot truck, and more",
    "a handful of rows",
)

PREDICTIONS = (
    Prediction(
        "L4-1",
        "You read the topic with minPartitions = 6. How many of the tasks read partition 0, which "
        "has 1,200 of the 2,000 records?",
        form="a number of tasks",
        tempting="1",
        settle=lambda seen: seen["tasks of partition 0"],
        explain=lambda answer, seen: (
            f"There are {seen['tasks']} tasks, and {seen['tasks of partition 0']} of them read "
            f"partition 0. The largest has {seen['records of the largest task']} records."
        ),
    ),
    Prediction(
        "L4-2",
        "A query begins with the oldest record and has maxOffsetsPerTrigger = 300. The partitions "
        "hold 1,200, 600 and 200 records. How many records of the last one are in the first "
        "micro-batch?",
        form="a number of records",
        tempting="100",
        settle=lambda seen: seen["of partition 2"],
        explain=lambda answer, seen: (
            f"The first micro-batch has {seen['records of the first micro-batch']} records: "
            f"{seen['of partition 2']} of partition 2 and {seen['of partition 0']} of partition 0, "
            "as their backlogs are."
        ),
    ),
    Prediction(
        "L4-3",
        "You count positions by truck. What does the largest of the four tasks behind the shuffle "
        "read?",
        CHOICES,
        tempting="b",
        settle=where_the_rows_went,
        because=ROWS,
    ),
    Prediction(
        "L4-4",
        "For each position you subtract the truck's speed before from its speed. What does the "
        "largest of the four tasks behind the shuffle read?",
        CHOICES,
        tempting="a",
        settle=where_the_rows_went,
        because=ROWS,
    ),
    Prediction(
        "L4-5",
        "By truck, in three parts: which of these gives the same number as without parts?",
        (
            "the maximum of the parts' maxima",
            "the mean of the parts' means",
            "the median of the parts' medians",
            "the sum of the parts' distinct counts",
        ),
        tempting="b",
        settle=what_is_right,
        because=dict.fromkeys(
            "abcd", "Compared for {trucks} trucks. Right: {right}. Wrong: {wrong}."
        ),
    ),
    Prediction(
        "L4-6",
        "In which of the two does Spark split the hot truck's partition into more tasks?",
        ("in the join alone", "in the steps alone", "in both", "in neither"),
        tempting="c",
        settle=what_was_split,
        because=dict.fromkeys(
            "abcd",
            "The shuffle has four partitions; the join ran {tasks of the join} tasks and the steps "
            "{tasks of the steps}. Their largest had {rows of its largest task, join} and "
            "{rows of its largest task, steps} rows.",
        ),
    ),
    Prediction(
        "L4-7",
        "2,000 records are in the topic. The leader of partition 0 dies after the query's first "
        "micro-batch of 500. What happens to the query?",
        (
            "it waits until that broker is back",
            "it goes on, and records of partition 0 are missing",
            "it goes on, and some records are in the table twice",
            "it goes on, and each record is in the table once",
        ),
        tempting="b",
        settle=how_the_query_went_on,
        because={
            "a": "The query ended by itself: {the query ended by itself}, with {rows} rows.",
            "b": "{offsets} different offsets of {produced} are in the table.",
            "c": "{rows} rows for {offsets} different offsets.",
            "d": "{produced} records were produced, and {rows} rows are in the table.",
        },
    ),
)
