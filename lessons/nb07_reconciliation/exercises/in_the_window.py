"""07-6: what a new leader answers while its high watermark is behind its epoch's start."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.exercise import Exercise, cases, compare_results

LIST, FETCH = "ListOffsets", "Fetch"
CASES: tuple[tuple, ...] = (
    (LIST, 0, 3, 3, 3),
    (FETCH, 0, 3, 3, 3),
    (LIST, 0, 3, 4, 4),
    (FETCH, 3, 3, 4, 4),
    (FETCH, 1, 3, 4, 4),
    (LIST, 0, 4, 4, 9),
    (FETCH, 6, 4, 4, 9),
    (FETCH, 9, 4, 4, 9),
    (FETCH, 10, 4, 4, 9),
)


def moment(source: Random) -> tuple:
    """A leader in its first moment or later, and one of the two requests."""
    log_end = source.randrange(4, 60)
    epoch_start = source.randrange(1, log_end + 1)
    high_watermark = source.choice([source.randrange(epoch_start + 1), source.randrange(log_end)])
    if source.random() < 0.35:
        return LIST, 0, high_watermark, epoch_start, log_end
    offset = source.choice([log_end, log_end + source.randrange(1, 5), source.randrange(log_end)])
    return FETCH, offset, high_watermark, epoch_start, log_end


def answer(api: str, offset: int, high_watermark: int, epoch_start: int, log_end: int) -> Any:
    if api == LIST:
        return "OFFSET_NOT_AVAILABLE" if high_watermark < epoch_start else high_watermark
    if offset > log_end:
        return "OFFSET_OUT_OF_RANGE"
    return max(0, high_watermark - offset)


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    api, offset, high_watermark, epoch_start, log_end = arguments
    if api == FETCH and seen == "OFFSET_NOT_AVAILABLE":
        return (
            "A Fetch never says that. Between the high watermark and the log's end it answers an "
            "empty batch, and the client just asks again: see the frames of the window."
        )
    if api == LIST and expected == "OFFSET_NOT_AVAILABLE":
        return (
            f"The high watermark {high_watermark} is below {epoch_start}, where this leader's "
            "epoch begins. To name it would send a client back behind what it has read."
        )
    if api == LIST and seen == "OFFSET_NOT_AVAILABLE":
        return (
            f"The high watermark {high_watermark} has come to {epoch_start}, where this leader's "
            "epoch begins: the window is over, and there is no error."
        )
    if api == LIST:
        return f"For a consumer the log ends at the high watermark, {high_watermark}, not {seen}."
    if expected == "OFFSET_OUT_OF_RANGE":
        return f"The log ends at {log_end}, and {offset} is beyond that: this is an error."
    if seen == "OFFSET_OUT_OF_RANGE" and offset == log_end:
        return (
            f"{offset} is the log's end, the offset of the next record. A consumer that has read "
            "everything asks from there: it gets no record, and no error."
        )
    if seen == "OFFSET_OUT_OF_RANGE":
        return f"Offset {offset} is in the log (it ends at {log_end}), only not committed yet."
    if not isinstance(seen, int):
        return "A Fetch gets a number of records, or OFFSET_OUT_OF_RANGE."
    if seen < 0:
        return f"{offset} is above the high watermark {high_watermark}: no record, not {seen}."
    if seen > expected:
        return f"Records from the high watermark {high_watermark} on are not for consumers yet."
    return f"From {offset} up to the high watermark {high_watermark} there are {expected} records."


EXERCISE = Exercise(
    "07-6",
    "In the window",
    (
        "Two requests, two rules. Read the frames of the window again: which of them got an error?",
        "ListOffsets compares the high watermark with the start of the leader's epoch. Fetch "
        "compares the offset with the high watermark, and with the log's end.",
        "ListOffsets: as long as the high watermark is below the start of the epoch, the error for "
        "an offset that is not available; after that, the high watermark. Fetch: beyond the log's "
        "end, the error for an offset out of range; otherwise as many records as there are between "
        "the offset and the high watermark, which may be none.",
    ),
    lambda results, context: compare_results(context.inputs, results, answer, explain),
    {
        "the deck's sentence": "def answer(api, offset, high_watermark, epoch_start, log_end):\n"
        "    if high_watermark < epoch_start:\n        return 'OFFSET_NOT_AVAILABLE'\n"
        "    if api == 'ListOffsets':\n        return high_watermark\n"
        "    return 'OFFSET_OUT_OF_RANGE' if offset > log_end else max(0, high_watermark - offset)",
        "just the high watermark": "def answer(api, offset, high_watermark, epoch_start, "
        "log_end):\n    if api == 'ListOffsets':\n        return high_watermark\n"
        "    return 'OFFSET_OUT_OF_RANGE' if offset > log_end else max(0, high_watermark - offset)",
        "all that is written": "def answer(api, offset, high_watermark, epoch_start, log_end):\n"
        "    if api == 'ListOffsets':\n"
        "        return 'OFFSET_NOT_AVAILABLE' if high_watermark < epoch_start else log_end\n"
        "    return 'OFFSET_OUT_OF_RANGE' if offset > log_end else log_end - offset",
        "beyond the high watermark is out of range": "def answer(api, offset, high_watermark, "
        "epoch_start, log_end):\n    if api == 'ListOffsets':\n"
        "        return 'OFFSET_NOT_AVAILABLE' if high_watermark < epoch_start else "
        "high_watermark\n    return 'OFFSET_OUT_OF_RANGE' if offset >= max(1, high_watermark) "
        "else high_watermark - offset",
        "the log's end is out of range": "def answer(api, offset, high_watermark, epoch_start, "
        "log_end):\n    if api == 'ListOffsets':\n"
        "        return 'OFFSET_NOT_AVAILABLE' if high_watermark < epoch_start else "
        "high_watermark\n    return 'OFFSET_OUT_OF_RANGE' if offset >= log_end else "
        "max(0, high_watermark - offset)",
        "fewer than no records": "def answer(api, offset, high_watermark, epoch_start, log_end):\n"
        "    if api == 'ListOffsets':\n"
        "        return 'OFFSET_NOT_AVAILABLE' if high_watermark < epoch_start else "
        "high_watermark\n    return 'OFFSET_OUT_OF_RANGE' if offset > log_end else "
        "high_watermark - offset",
    },
    cases(CASES, moment, count=40),
    minutes=8,
)
