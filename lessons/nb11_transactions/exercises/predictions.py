"""The predictions of notebook 11: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction


def without(answer: str, seen: Observed) -> str:
    debits, credits = seen["debits"], seen["credits"]
    if debits > credits:
        return (
            f"{debits} debits, {credits} credit(s): the second teller started at the committed "
            "offset, and the first debit stayed in the log."
        )
    return f"{debits} debits and {credits} credits are in the log."


def first_offset(seen: Observed) -> object:
    got = seen["offset and value, read_committed"]
    return got[0][0] if got else "none"


def second_debit(answer: str, seen: Observed) -> str:
    log, at = seen["the log of partition 0"], first_offset(seen)
    stands = ", ".join(f"{offset} {entry}" for offset, entry in enumerate(log))
    if answer == "0" and at != 0:
        return f"{at}: offset 0 has the lost debit, which was aborted. The log is {stands}."
    if answer == "1" and at == 2:
        return f"{at}: the abort marker has an offset too. The log is {stands}."
    return f"{at}. The log is {stands}."


def stable(answer: str, seen: Observed) -> str:
    lso, high = seen["last stable offset"], seen["high watermark"]
    given = answer.split()
    if given[:1] == ["4"] and lso == 1:
        return (
            f"{lso} and {high}: the last stable offset stands before the first record of the open "
            "transaction, not behind the last finished one."
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
    apart, together = (seen[f"{name}, each transfer counts"] for name in ("apart", "together"))
    if together != "exactly once":
        return "d" if apart == together == "at least once" else ""
    return {"at least once": "a", "exactly once": "b", "at most once": "c"}.get(apart, "")


def mails(answer: str, seen: Observed) -> str:
    sent, booked = seen["e-mails"], seen["credits"]
    if answer == "1 1" and sent == 2:
        return f"{sent} and {booked}: the abort took the booking's effect, and not the e-mail."
    if answer == "2 2" and booked == 1:
        return f"{sent} and {booked}: the first credit is in the log and was aborted."
    return f"{sent} e-mail(s) and {booked} credit(s)."


PREDICTIONS = (
    Prediction(
        "11-1",
        "Without a transaction. The first teller takes the transfer, books Alice -10 and crashes. "
        "The second one starts at the committed offset and does the whole transfer. How many "
        "debits of Alice and how many credits of Bob does a reader downstream get?",
        form="two numbers, such as 3 4",
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
        settle=first_offset,
        explain=second_debit,
    ),
    Prediction(
        "11-3",
        "Partition 0 has five entries: before, held (its transaction is open), paid, the commit "
        "marker of paid's transaction, behind. All are replicated. What are the last stable offset "
        "and the high watermark?",
        form="two offsets, such as 2 3",
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
        settle=fenced,
        because={
            "a": "The first teller's commit: {the first teller's commit}; the second one's: "
            "{the second teller's commit}. Debits that count: {debits}.",
            "b": "The first teller's commit: {the first teller's commit}. Its transaction was "
            "aborted when the second one called init_transactions, if they share a name.",
            "c": "The first teller's commit: {the first teller's commit}; debits that count: "
            "{debits}.",
            "d": "It came back at once with {the first teller's commit}: partitions compare epochs "
            "at each write.",
        },
    ),
    Prediction(
        "11-5",
        "Both loops are killed after each of their lines, and started again. What does a reader "
        "with read_committed find in the end?",
        ("apart: some transfers count twice; together: each one counts once",
         "each one counts once in both: no acknowledged result is lost",
         "apart: some transfers are missing; together: each one counts once",
         "some count twice in both: together also reads transfers again after a crash"),
        settle=crashes,
        because={
            "a": "apart, {apart, each transfer counts}; together, "
            "{together, each transfer counts}.",
            "b": "apart, {apart, each transfer counts}: a result that is not lost may still be "
            "there twice.",
            "c": "apart, {apart, each transfer counts}: the result is written before the offset; "
            "a crash between the two repeats.",
            "d": "together, {together, each transfer counts}: it reads transfers again, and the "
            "first results of these belong to an aborted transaction.",
        },
    ),
    Prediction(
        "11-6",
        "Within its transaction the teller books Bob +10 and sends Bob an e-mail. It crashes "
        "before the commit; a second one does all of it and commits. How many e-mails has Bob got, "
        "and how many credits does a reader with read_committed get?",
        form="two numbers, such as 3 4",
        settle=lambda seen: [seen["e-mails"], seen["credits"]],
        explain=mails,
    ),
)  # fmt: skip
