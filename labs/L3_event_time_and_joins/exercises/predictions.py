"""The predictions of lab L3: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def explain_counted(answer: str, seen: Observed) -> str:
    """L3-1."""
    gone = ", ".join(seen["dropped"]) or "none"
    if answer == str(seen["at most ten minutes late"]):
        return (
            f"So many are at most ten minutes late, but {seen['counted']} count: Spark compares "
            f"the end of a position's window with the watermark. Dropped: {gone}."
        )
    if answer == "0":
        return (
            f"{seen['counted']} count: they are late, and most of their windows are still open. "
            f"Dropped: {gone}."
        )
    return f"{seen['counted']} of {seen['sent from the tunnel']} count. Dropped: {gone}."


def explain_first_out(answer: str, seen: Observed) -> str:
    """L3-2."""
    if answer == "2":
        return (
            "8:12 is past the window's end, but the watermark is ten minutes behind it. The row "
            f"came in micro-batch {seen['micro-batch']}."
        )
    if answer == "3":
        return (
            "8:21 moves the watermark past 8:10, but only when its micro-batch ends. The row came "
            f"in micro-batch {seen['micro-batch']}, with a count of {seen['count']}."
        )
    return f"The row came in micro-batch {seen['micro-batch']}, with a count of {seen['count']}."


def explain_updates(answer: str, seen: Observed) -> str:
    """L3-3."""
    if answer == str(seen["records"]):
        return (
            f"Not one for each record: a micro-batch writes a window once. It wrote "
            f"{seen['rows']} rows, with the counts {seen['values']}."
        )
    if answer == "1":
        return (
            f"That would be append mode. In {seen['mode']} mode the query wrote {seen['rows']} "
            f"rows, with the counts {seen['values']}."
        )
    return f"It wrote {seen['rows']} rows, with the counts {seen['values']}: one per change."


def explain_trips(answer: str, seen: Observed) -> str:
    """L3-4."""
    return (
        f"Append mode wrote {seen['trips']}, from {', '.join(seen['from'])}, with "
        f"{seen['positions']} positions. 8:07 is within five minutes of 8:03 and of 8:11, and the "
        "trip of 8:40 is still open."
    )


def explain_wrong_clock(answer: str, seen: Observed) -> str:
    """L3-5."""
    counted = seen["counted, every clock"]
    if answer == "3":
        return (
            f"{counted} count: those of the same micro-batch, and those of the next one, which "
            "still drops by the watermark before."
        )
    if answer == str(seen["sent"]):
        return (
            f"Only {counted} count. The watermark belongs to the query, not to a truck: one clock "
            f"moved it to {seen['watermark, every clock']} for all."
        )
    return (
        f"{counted} count. The watermark moved to {seen['watermark, every clock']} (hours go on "
        "after 24), and from the second micro-batch after that each window is closed."
    )


def explain_silent(answer: str, seen: Observed) -> str:
    """L3-6."""
    return (
        f"The watermark ended at {seen['watermark']}, by the policy {seen['policy']}: "
        f"{seen['windows written']} windows were written, and {seen['windows in the state']} are "
        "in the state."
    )


def bounded_join(seen: Observed) -> str:
    """L3-7: which of two states stops growing, judged by the records that both have read."""
    grows = {
        name: seen[f"state {name} a range"] >= 0.9 * seen["records"] for name in ("with", "without")
    }
    if not any(grows.values()):
        return "a"
    if grows["without"] and not grows["with"]:
        return "b"
    return "d" if all(grows.values()) else ""


def explain_null_row(answer: str, seen: Observed) -> str:
    """L3-8."""
    number, watermark = seen["micro-batch of the null row"], seen["its watermark"]
    if answer == "2":
        return (
            "Micro-batch 2 has the order itself. Without a payment yet, Spark must wait until none "
            f"can come: micro-batch {number}, at a watermark of {watermark}."
        )
    if answer == "3":
        return (
            "Micro-batch 3 has seen 8:17, and the watermark gets there at its end. The row came in "
            f"micro-batch {number}, at a watermark of {watermark}."
        )
    return f"The row came in micro-batch {number}, at a watermark of {watermark}."


PREDICTIONS = (
    Prediction(
        "L3-1",
        "Twelve positions, measured every two minutes from 8:04 to 8:26, arrive at 8:28. The "
        "watermark is about ten minutes behind. How many of the twelve are counted?",
        form="a number of positions",
        tempting="12",
        settle=lambda seen: seen["counted"],
        explain=explain_counted,
    ),
    Prediction(
        "L3-2",
        "Micro-batches 0 to 5 have a position each, of 8:02, 8:07, 8:12, 8:21, 8:05 and 8:30. In "
        "which micro-batch does append mode write the window from 8:00 to 8:10?",
        form="the number of a micro-batch",
        tempting="2",
        settle=lambda seen: seen["micro-batch"],
        explain=explain_first_out,
    ),
    Prediction(
        "L3-3",
        "The micro-batches are now 8:02 and 8:07, 8:12 and 8:21, 8:05 and 8:30. How many rows does "
        "update mode write about the window from 8:00 to 8:10, in all?",
        form="a number of rows",
        tempting="3",
        settle=lambda seen: seen["rows"],
        explain=explain_updates,
    ),
    Prediction(
        "L3-4",
        "Positions of 8:00, 8:03, 8:11 and 8:13, later one of 8:07, at the end one of 8:40. A "
        "pause of five minutes ends a trip. How many trips does append mode write?",
        form="a number of trips",
        tempting="2",
        settle=lambda seen: seen["trips"],
        explain=explain_trips,
    ),
    Prediction(
        "L3-5",
        "Micro-batch 0 has 8:00, 8:01 and 8:02 of truck-01, and the position of truck-13, a day "
        "ahead. Then truck-01 goes on to 8:15, four positions in a micro-batch. How many of its 16 "
        "positions are counted?",
        form="a number of positions",
        tempting="16",
        settle=lambda seen: seen["counted, every clock"],
        explain=explain_wrong_clock,
    ),
    Prediction(
        "L3-6",
        "Positions go on to 8:40, orders stop at 8:05. How many windows of ten minutes does append "
        "mode write?",
        form="a number of windows",
        tempting="5",
        settle=lambda seen: seen["windows written"],
        explain=explain_silent,
    ),
    Prediction(
        "L3-7",
        "40 orders and 32 payments go through both joins. Whose state stops growing?",
        (
            "that of both joins: both inputs have a watermark",
            "only that of the join with a time range",
            "that of both joins: a pair that was found is not needed any longer",
            "that of neither: a join must remember each record",
        ),
        tempting="a",
        settle=bounded_join,
        because={
            "a": "Without a range {state without a range} of {records} records are in the state: a "
            "watermark says how late records may be, not how long an order waits.",
            "b": "{state without a range} rows without a range, {state with a range} with one.",
            "c": "{pairs without a range} pairs were found, and {state without a range} of "
            "{records} records are still in the state: the same id may come once more.",
            "d": "With a range the state has {state with a range} rows at the end, and never had "
            "more than {most with a range}.",
        },
    ),
    Prediction(
        "L3-8",
        "The delay is two minutes, the range five. The order of 8:10 is never paid. In which "
        "micro-batch does its null row come out?",
        form="the number of a micro-batch",
        tempting="3",
        settle=lambda seen: seen["micro-batch of the null row"],
        explain=explain_null_row,
    ),
)
