"""The predictions of notebook 11: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def without(answer: str, seen: Observed) -> str:
    debits, credits = seen["debits"], seen["credits"]
    if debits > credits:
        return (
            f"{debits} debits, {credits} credit(s): the first debit stayed in the log. Idempotence "
            "removes what a producer's own retries repeat, and the second debit is a new record "
            "from another producer."
        )
    return f"{debits} debits and {credits} credits are in the log."


def first_offset(seen: Observed) -> object:
    got = seen["offset and value, read_committed"]
    return got[0][0] if got else "none"


def second_debit(answer: str, seen: Observed) -> str:
    log, at = seen["the log of partition 0"], first_offset(seen)
    entries = ", ".join(f"{offset} {entry}" for offset, entry in enumerate(log))
    if answer == "0" and at != 0:
        return f"{at}: offset 0 has the lost debit, which was aborted. The log is {entries}."
    if answer == "1" and at == 2:
        return f"{at}: the abort marker has an offset too. The log is {entries}."
    return f"{at}. The log is {entries}."


def stable(answer: str, seen: Observed) -> str:
    lso, high = seen["last stable offset"], seen["high watermark"]
    given = answer.split()
    if given[:1] == ["4"] and lso == 1:
        return (
            f"{lso} and {high}: the last stable offset is the offset of the open transaction's "
            "first record, and not behind the last finished one."
        )
    if given[1:] == ["4"]:
        return f"{lso} and {high}: the marker takes an offset too, so the five entries are 0 to 4."
    return (
        f"{lso} and {high}: the high watermark knows nothing of transactions; the last stable "
        "offset is where the oldest open one begins."
    )


def fenced(seen: Observed) -> str:
    firsts, seconds = seen["the first teller's commit"], seen["the second teller's commit"]
    if firsts == seconds == "NONE":
        return "a"
    if firsts == "NONE":
        return "b"
    return "c" if seconds == "NONE" else ""


def crashes(seen: Observed) -> str:
    again = seen["together, transfers polled again"] > 0
    match seen["together, each transfer counts"]:
        case "exactly once":
            return "b" if again else "a"
        case "at least once":
            return "c"
        case "at most once":
            return "" if again else "d"
    return ""


PREDICTIONS = (
    Prediction(
        "11-1",
        "Without a transaction; both producers are idempotent. The first teller takes the "
        "transfer, books Alice -10 and crashes. The second one starts at the committed offset and "
        "does the whole transfer. How many debits of Alice and how many credits of Bob does a "
        "reader downstream get?",
        form="two numbers, such as 3 4",
        tempting="1 1",
        settle=lambda seen: [seen["debits"], seen["credits"]],
        explain=without,
    ),
    Prediction(
        "11-2",
        "The first teller began a transaction, booked Alice -10 in the empty partition 0, and "
        "died. The second one, with the same transactional.id, did the whole transfer and "
        "committed. At which offset of partition 0 does a reader with read_committed get its "
        "first record?",
        form="an offset",
        tempting="1",
        settle=first_offset,
        explain=second_debit,
    ),
    Prediction(
        "11-3",
        "Partition 0 has five entries: before, held (its transaction is open), paid, the commit "
        "marker of paid's transaction, behind. All are replicated. What are the last stable offset "
        "and the high watermark?",
        form="two offsets, such as 2 3",
        tempting="4 5",
        settle=lambda seen: [seen["last stable offset"], seen["high watermark"]],
        explain=stable,
    ),
    Prediction(
        "11-4",
        "The second teller has the same transactional.id, and has committed the transfer. Now the "
        "first one goes on: it books Bob +10 in its old transaction and commits. What comes of it?",
        ("both commits succeed, and Alice pays twice: the broker cannot know that the two are one",
         "the first teller's commit succeeds: its transaction began first",
         "the first teller's commit fails, and it can never write again under this name and epoch",
         "the first teller's commit waits until its transaction.timeout.ms is over"),
        tempting="d",
        settle=fenced,
        because={
            "a": "The first teller's commit: {the first teller's commit}; the second one's: "
            "{the second teller's commit}. Debits that count: {debits}.",
            "b": "The first teller's commit: {the first teller's commit}. Its transaction was "
            "aborted when the second one called init_transactions, if they share a name.",
            "c": "The first teller's commit: {the first teller's commit}; debits that count: "
            "{debits}.",
            "d": "It came back at once with {the first teller's commit}: the coordinator and "
            "each partition check the epoch of every request.",
        },
    ),
    Prediction(
        "11-5",
        "together is killed after each of its lines, and started again each time. How often "
        "is a transfer processed, and how often does it count?",
        ("each is processed once, and counts once",
         "some are processed more than once, and each counts once",
         "some are processed more than once, and those count twice",
         "each is processed once, and some do not count: their transaction was aborted"),
        tempting="a",
        settle=crashes,
        because={
            "a": lambda seen: (
                f"poll handed out {seen['together, transfers polled again']:g} transfers a second "
                "time. What counts once is the result."
            ),
            "b": "together, {together, each transfer counts}.",
            "c": "together, {together, each transfer counts}: the first result of such a transfer "
            "belongs to an aborted transaction.",
            "d": "together, {together, each transfer counts}: with the abort the offset stays "
            "where it was, so the next start processes the transfer again.",
        },
    ),
)  # fmt: skip
