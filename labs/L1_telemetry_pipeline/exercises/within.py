"""L1-11: copies dropped, in a state that does not grow forever."""

from __future__ import annotations

from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, cases, compare_results

LATE_MIN, COPY_MIN = 30, 10
"""An event comes at most that late, and its copy is stamped at most that much after it; minutes."""
STEP_MIN, NIGHT_MIN, START_MIN = 10, 600, 480
"""Between two micro-batches; before the last one; and the first one's minute."""

Batch = list[tuple[str, int]]


def some_batches(source: Random) -> tuple:
    """Four micro-batches of (id, minute), a night, and one more: copies, and events that are late.

    Spark compares an event with the watermark that it had one micro-batch before.  So a late event
    is behind the newest of the last micro-batch but one by 6 minutes or more.
    """
    ids = [f"e-{number}" for number in source.sample(range(100, 1000), k=12)]
    newest = [START_MIN + STEP_MIN * number for number in range(4)]
    newest.append(newest[-1] + NIGHT_MIN)
    batches: list[Batch] = []
    for number, minute in enumerate(newest):
        mine = [(ids.pop(), minute), (ids.pop(), minute - source.randrange(1, 5))]
        if number in (2, 3):
            late = newest[number - 1] - source.randrange(STEP_MIN + 6, LATE_MIN)
            mine.append((ids.pop(), late))
        if number in (1, 2, 3):
            again = newest[number - 1] + source.randrange(1, COPY_MIN)
            mine.append((batches[-1][0][0], again))
        batches.append(mine)
    return (batches,)


def within(batches: list[Batch]) -> dict[str, Any]:
    ids = {event for batch in batches for event, _ in batch}
    return {"kept": sorted(ids), "state": "old ids are forgotten"}


def explain_within(arguments: tuple, expected: Any, seen: Any) -> str:
    (batches,) = arguments
    if not isinstance(seen, dict) or seen.keys() != expected.keys():
        return "Return the stream of events, without starting it."
    kept = seen["kept"] if isinstance(seen["kept"], list) else []
    if lost := sorted(set(expected["kept"]) - set(kept)):
        late = next(minute for batch in batches for event, minute in batch if event == lost[0])
        return (
            f"{lost[0]} of minute {late} is lost. It came late, and the watermark had passed it: "
            f"an event may come {LATE_MIN} minutes late here."
        )
    if twice := sorted({event for event in kept if kept.count(event) > 1}):
        return (
            f"{twice[0]} is there twice. Its copy has another event_time: compare the event_id "
            "alone."
        )
    return (
        f"The query keeps: {seen['state']}. Without a watermark, or with one that the operator "
        "does not use, no id is ever old enough to forget. dropDuplicates uses a watermark only if "
        "event_time is one of its columns; another operator uses it by itself."
    )


def judge_within(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, within, explain_within)


_ONCE = 'def once(events):\n    return events.withWatermark("event_time", "{minutes} minutes").{op}'
_WITHIN = "dropDuplicatesWithinWatermark({})"

EXERCISE = Exercise(
    "L1-11",
    "Each event once, in bounded state",
    (
        "When may a query forget an event id? Which clock tells it?",
        "A watermark says how late an event may be. One operator drops copies and keeps an id "
        "only as long as the watermark's delay.",
        "Declare the watermark on the events' own time, with a delay that suits the latest "
        "event and the latest copy. Then drop duplicates within it, by the id alone.",
    ),
    judge_within,
    {
        "every id forever": _ONCE.format(minutes=30, op='dropDuplicates(["event_id"])'),
        "a watermark too short": _ONCE.format(minutes=5, op=_WITHIN.format('["event_id"]')),
        "the time is compared": _ONCE.format(
            minutes=30, op=_WITHIN.format('["event_id", "event_time"]')
        ),
    },
    cases((), some_batches, count=2),
    minutes=8,
)
