"""The predictions of notebook 01: each is settled by what its run has shown."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction

SLOW_MS = 1_000
CHANNELS = ("queue", "pub/sub", "log")
LAG, FIXED = "lag after the deletion", "orders that the fixed payment service processes"
FIRST, SECOND, THERE = "first run read", "second run read", "orders in the topic"
GROUP, SHARED = "consumer group › workers that got orders", "share group › workers that got orders"


def who_suffers(seen: Observed) -> str:
    pages = seen["page, by calls"] > SLOW_MS
    checkouts = seen["checkout, by calls"] > SLOW_MS
    if seen["checkout, by events"] > SLOW_MS:
        return "b"
    if pages:
        return "c"
    return "a" if checkouts else "d"


def columns(seen: Observed) -> dict[str, list[int]]:
    return {name: seen[f"{name}: stock, mail, report"] for name in CHANNELS}


def three_ways(answer: str, seen: Observed) -> str:
    found = columns(seen)
    parts = [f"{name}: stock {b}, mail {m}, report {r}" for name, (b, m, r) in found.items()]
    why = (
        "One message of the queue goes to one reader, so stock and mail shared them; the other "
        "two gave each of them every order."
    )
    return f"{'; '.join(parts)}. {why}"


def late_reader(answer: str, seen: Observed) -> str:
    read = seen[FIRST] + seen[SECOND]
    start = f"Of {seen[THERE]} orders in the topic, the two runs read {seen[FIRST]} and "
    start += f"{seen[SECOND]}. "
    if read == seen[THERE]:
        return start + "The group began at the earliest record, and went on where it stopped."
    if seen[SECOND]:
        return start + "The second run went on from an offset that the first had committed."
    return (
        start + "A new group begins at the end of the log. It read nothing, so it committed "
        "nothing, and at its second start it was a new group again."
    )


def workers(answer: str, seen: Observed) -> str:
    text = f"{seen[GROUP]} of the workers got orders: a partition has one reader in a group"
    shared = seen.get(SHARED)
    if shared is not None and answer == str(shared):
        return f"{text}. {shared} of them worked in the share group, which hands out records."
    return f"{text}, and the others wait until that one leaves."


def lag_of_the_trimmed(answer: str, seen: Observed) -> str:
    left, lost = len(seen["then it read"]), len(seen["never read"])
    text = f"It shows {seen[LAG]}: the end of the log minus the committed offset."
    if lost and answer == str(left):
        text += f" {left} records are left to read; the {lost} that are gone count, too."
    return text


def payload(answer: str, seen: Observed) -> str:
    read = seen["schema 1 reads the amount"]
    if answer in ("error", "none"):
        return f"No error: the reader found {read}. The body holds no names, so any number will do."
    return (
        f"Schema 1 takes the second number of the body for the amount: {read}. "
        f"With the schema that the id names, the event is {seen['by the id']}."
    )


def fixed(answer: str, seen: Observed) -> str:
    text = f"The new version processes {seen[FIXED]}."
    if answer == "6":
        text += " The first three orders are in the log as they were written, with the old name."
    return text


PREDICTIONS = (
    Prediction(
        "01-1",
        "Mail answers in 2 s instead of 20 ms, for 20 s. The shop has 8 threads; 15 of 20 requests "
        "a second are pages, which call no service. Which requests take longer than one second?",
        (
            "checkouts in the shop that calls its services, and no others",
            "checkouts in both shops: mail is slow in both",
            "checkouts and pages in the shop that calls its services, none in the other",
            "none: 8 threads are enough for 20 requests a second",
        ),
        tempting="a",
        settle=who_suffers,
        because={
            "a": "The slowest checkout took {checkout, by calls} ms, the slowest page "
            "{page, by calls} ms. A page calls no service, but it needs a thread.",
            "b": "With events the slowest checkout took {checkout, by events} ms: it writes its "
            "event and answers. By calls the slowest page took {page, by calls} ms.",
            "c": "The slowest page took {page, by calls} ms: here a thread was always free.",
            "d": "The slowest checkout took {checkout, by calls} ms, the slowest page "
            "{page, by calls} ms. Five checkouts a second, each for as long as mail takes: that "
            "product says how many threads are busy.",
        },
    ),
    Prediction(
        "01-2",
        "Six orders are published. stock and mail are there from the start and take turns, one "
        "order at a time, until neither gets any more. How many orders does stock get by the "
        "queue, by the pub/sub topic, and by the log?",
        form="three numbers, as in 1 2 3",
        tempting="6 6 6",
        settle=lambda seen: [first for first, _, _ in columns(seen).values()],
        explain=three_ways,
    ),
    Prediction(
        "01-3",
        "Six orders are in the topic. report, a new group with default settings, reads to the end "
        "and stops; four more are written; report starts again and reads to the end. How many of "
        "the ten orders has it read in both runs together?",
        form="a number",
        tempting="10",
        settle=lambda seen: seen[FIRST] + seen[SECOND],
        explain=late_reader,
    ),
    Prediction(
        "01-4",
        "Three workers in one consumer group, a topic with one partition, twelve orders of 100 ms "
        "work each. How many of the workers get orders in the consumer group?",
        form="a number",
        tempting="3",
        settle=lambda seen: seen[GROUP],
        explain=workers,
    ),
    Prediction(
        "01-5",
        "mail has committed offset 4 and is down; the log ends at 10. An operator deletes the "
        "records below offset 8. Which lag does kafka-consumer-groups show for mail now?",
        form="a number",
        tempting="2",
        settle=lambda seen: seen[LAG],
        explain=lag_of_the_trimmed,
    ),
    Prediction(
        "01-6",
        "The order is 7, the customer 4711, the amount 1999 cents. The writer puts order, customer "
        "and amount into the body; the reader's schema has order and amount. Which amount does "
        "it find?",
        form="a number, or error",
        tempting="error",
        settle=lambda seen: seen["schema 1 reads the amount"],
        explain=payload,
    ),
    Prediction(
        "01-7",
        "total is called amount from the fourth of six orders on, and payment, which reads total, "
        "fails there. A new version reads amount, skips an order without that field, and starts "
        "again at the first order. How many of the six does it process?",
        form="a number",
        tempting="6",
        settle=lambda seen: seen[FIXED],
        explain=fixed,
    ),
)
