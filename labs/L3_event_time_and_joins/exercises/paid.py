"""L3-12: each order once, with its payment or without one."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Inputs, Verdict, compare_results
from labs.L3_event_time_and_joins.exercises.shapes import are_rows

RANGE, DELAY = 30, 10


def streams(source: Random) -> Inputs:
    """One order that is paid in time, and longer streams."""
    one, minute = f"order-{source.randrange(100, 999)}", source.randrange(10)
    return [([[[one, minute]]], [[[one, minute + 5]]]), some_orders(source)]


def some_orders(source: Random) -> tuple:
    """Orders and payments, in micro-batches.  A pair two hours on ends the wait for all others."""
    first, *others = source.sample(range(100, 999), k=7)
    edge, over, never, same, early, usual = (f"order-{n}" for n in others)
    last = f"order-{first}"
    took = source.randrange(5, 25)
    return (
        [
            [[edge, 0], [over, 1], [never, 5], [same, 6], [early, 8]],
            [[usual, 20], [last, 31]],
            [[f"{last}b", 120]],
        ],
        [
            [[same, 6], [early, 7]],
            [[edge, 30], [over, 32], [last, 33]],
            [[usual, 20 + took], [f"{last}b", 120]],
        ],
    )


def paid(orders: Any, payments: Any) -> list[list]:
    """For streams in which nothing is late, up to the last watermark."""
    minutes = {order: minute for batch in payments for order, minute in batch}
    newest = min(max(m for batch in each for _, m in batch) for each in (orders, payments))
    rows = []
    for order, minute in (each for batch in orders for each in batch):
        payment = minutes.get(order)
        if payment is not None and minute <= payment <= minute + RANGE:
            rows.append([order, minute, payment])
        elif minute + RANGE < newest - DELAY:
            rows.append([order, minute, None])
    return sorted(rows)


def explain(arguments: tuple, expected: Any, seen: Any) -> str:
    _, payments = arguments
    if not are_rows(seen, 3):
        return "Give a frame with order_id, ordered_at and paid_at."
    times = Counter(row[0] for row in seen)
    if twice := sorted(order for order, n in times.items() if n > 1):
        return f"{twice[0]} came out {times[twice[0]]} times; each order comes out once."
    found = {row[0]: row for row in seen}
    minutes = {order: minute for batch in payments for order, minute in batch}
    for order, minute, payment in expected:
        if order not in found:
            return (
                f"{order} never came out: an order without a payment in time comes out with null."
                if payment is None
                else f"{order} is missing, and it was paid in time."
            )
        given = found[order][2]
        if payment is None and given is not None:
            early = minutes[order] < minute
            when = "before it was placed" if early else f"after {given - minute} minutes"
            return f"{order} was paid {when}: that is no payment in time."
        if payment is not None and given is None:
            return (
                f"{order} was paid after {payment - minute} minutes and has null here: 0 and "
                f"{RANGE} minutes are both in time."
            )
    return "A row has another time than its order or its payment."


def judge(answer: Any, context: Context) -> Verdict:
    return compare_results(context.inputs, answer, paid, explain)


def _answer(condition: str, how: str = "leftOuter") -> str:
    return (
        "def paid(orders, payments):\n"
        "    o = orders.withWatermark('ordered_at', '10 minutes').alias('o')\n"
        "    p = payments.withWatermark('paid_at', '10 minutes').alias('p')\n"
        f"    pairs = o.join(p, F.expr('o.order_id = p.order_id AND {condition}'), '{how}')\n"
        "    return pairs.select('o.order_id', 'ordered_at', 'paid_at')"
    )


_IN_TIME = "paid_at BETWEEN ordered_at AND ordered_at + INTERVAL 30 MINUTES"

EXERCISE = Exercise(
    "L3-12",
    "Paid in time, or not",
    (
        "When can Spark know that no payment in time will come any more? What must it know for "
        "that?",
        "It must be a join that keeps orders without a payment. Its condition has two parts: the "
        "same order, and a range of time with two ends. Both streams need a watermark.",
        "Give each stream a watermark of ten minutes. Join orders with payments, left outer, "
        "where the ids are equal and paid_at is between ordered_at and thirty minutes after "
        "it. Select the order's id and the two times.",
    ),
    judge,
    {
        "inner": _answer(_IN_TIME, "inner"),
        "one end": _answer("paid_at <= ordered_at + INTERVAL 30 MINUTES"),
        "a shorter range": _answer(_IN_TIME.replace("30", "15")),
    },
    streams,
    minutes=10,
)
