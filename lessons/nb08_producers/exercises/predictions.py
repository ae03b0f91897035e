"""The predictions of notebook 08: what each key run observes, and what it makes right."""

from __future__ import annotations

from collections.abc import Sequence

from kit.exercises.exercise import Observed, Prediction


def in_words(values: Sequence[str]) -> str:
    return " ".join(values) or "nothing"


def lost_answer(answer: str, seen: Observed) -> str:
    attempts, log = seen["attempts to send the record"], seen["the log"]
    given = answer.upper()
    if given == "A B C" and attempts > 1:
        return (
            f"The producer sent the record {attempts} times, because a lost answer looks like a "
            "lost record. Nothing in the batch says that it is the same one."
        )
    if given == "A C":
        return "A record that is in the log can be read, whether or not its producer hears of it."
    if given == "A B C B":
        return "C was sent only after B had its verdict, so the second B is before C."
    return f"The record was sent {attempts} times, and the log holds {log}."


def ended_connection(answer: str, seen: Observed) -> str:
    log = seen["the log"]
    if log == "A B C D":
        if seen["most requests under way"] == 1:
            return f"The log holds {log}: with one request under way there was nothing to overtake."
        return (
            f"The log holds {log}. Each batch carried a number, so the producer could send them "
            "again in their order."
        )
    if answer.upper() == "A B C D":
        return (
            f"The log holds {log}. The client put A back at the front of its queue, then B in "
            "front of A, and so on. Nothing in a batch says which came first."
        )
    if answer.upper() in ("", "NOTHING"):
        return f"Every batch was sent again by the client itself: {log}."
    return (
        f"The log holds {log}: the client put A back at the front of its queue, "
        "then B in front of A."
    )


def more_than_five(seen: Observed) -> str:
    log, sent = seen["the log"].split(), seen["sent"].split()
    if len(sent) != 6:
        return ""
    if seen["errors that the application saw"]:
        return "b"
    if log == sent:
        return "a"
    if log == sent + sent:
        return "d"
    return "c" if log == [*sent, sent[0]] else ""


def after_the_timeout(seen: Observed) -> str:
    copies = seen["A in the log"]
    if not seen["the callback"]:
        return ""
    return "a" if copies == 0 else "c" if copies == 1 else "b"


def own_retries(answer: str, seen: Observed) -> str:
    copies, calls = seen["pay 10 in the log"], seen["calls of send()"]
    if answer == "1":
        return (
            f"Idempotence recognized each batch that the client repeated: {seen['requests']:.0f} "
            f"requests made {copies} records. But send() was called {calls} times, and each call "
            "is a new record."
        )
    if answer == "2" and copies == 3:
        return "The attempts without an answer were stored as well: only their answers were lost."
    if calls == 1:
        return "send() was called once: the first call had its answer."
    return f"send() was called {calls} times, and each call's record was stored: {copies} copies."


def dying_leader(seen: Observed) -> str:
    if seen["refused"]:
        return "c"
    if seen["acknowledged and missing"]:
        return "b"
    return "d" if seen["acknowledged after the election"] else "a"


def more_in_flight(seen: Observed) -> str:
    gain = seen["gain"]
    if gain < 0.65:
        return "d"
    return "a" if gain < 1.7 else "b" if gain < 3 else "c"


def no_error_is_seen(seen: Observed) -> str:
    errors, answer = seen["errors that the application saw"], seen["first answer to a repeat"]
    if seen["epoch"] == 0:
        return f"{errors} records ended in an error: every repeat was answered with {answer}."
    return (
        f"{errors} records ended in an error. The producer took {answer} for a missing batch, "
        f"began a new epoch of its own ({seen['epoch']}), and sent all batches again."
    )


PREDICTIONS = (
    Prediction(
        "08-1",
        "With acks=all the leader answers when every in-sync replica has the record. Idempotence "
        "is off. The producer sends A, B and C, one after the other. 101 stores "
        "B, both followers copy it, and then the answer cannot get back to the producer until its "
        "request.timeout.ms is over. Which values does a consumer read in the end, in order?",
        form="the values in order, such as A B C",
        tempting="A B C",
        settle=lambda seen: seen["the log"],
        explain=lost_answer,
    ),
    Prediction(
        "08-3",
        "Still without idempotence. A, B, C and D are under way to 101, each in a request of its "
        "own. The connection ends before 101 has read the first. The client sends all four again. "
        "In which order are they in the log?",
        form="the values in order, such as A B C D",
        tempting="A B C D",
        settle=lambda seen: seen["the log"],
        explain=ended_connection,
    ),
    Prediction(
        "08-11",
        "Idempotence is on, and we force six requests in flight, which Kafka's client refuses. All "
        "six batches A to F are stored, all six answers are lost, and the producer sends the six "
        "again. What does the log hold?",
        ("A B C D E F: the leader recognizes all six",
         "A B C D E F, and the application gets an error for A",
         "A B C D E F A: only the oldest is stored again",
         "A B C D E F A B C D E F"),
        tempting="a",
        settle=more_than_five,
        because={
            "": "{sent} were sent. The leader answered the first repeat with "
            "{first answer to a repeat}, and the log holds {the log}.",
            "a": "The leader remembers five batches of a producer. It answered the repeat of the "
            "first with {first answer to a repeat}, and the log holds {the log}.",
            "b": no_error_is_seen,
            "c": "After {first answer to a repeat} the producer began epoch {epoch}, and in a new "
            "epoch every batch has a new number. The log holds {the log}.",
            "d": "The log holds {the log}: the leader answered the first repeat with "
            "{first answer to a repeat}, because it still remembered that batch.",
        },
    ),
    Prediction(
        "08-12",
        "The Java client's defaults: acks=all, idempotence on. delivery.timeout.ms is over, and "
        "the callback of A gets a TimeoutException. The application does nothing about it. A "
        "second later, a consumer reads the topic from the beginning. How often does it find A?",
        ("never: it was not stored",
         "twice: the client had sent it again",
         "once",
         "never: the leader removed it when the time was over"),
        tempting="a",
        settle=after_the_timeout,
        because={
            "a": "The number of copies of A in the log is {A in the log}. The client's clock ended "
            "the client's wait; it does not reach into the leader's log.",
            "b": "Requests that carried A: {requests with A:.0f}; copies in the log: "
            "{A in the log}. The leader recognizes a repeat by its number.",
            "c": "The number of copies of A in the log is {A in the log}, of "
            "{requests with A:.0f} requests that carried it. The exception was the same.",
            "d": "A leader never removes a record because an answer was late: copies of A in the "
            "log, {A in the log}.",
        },
    ),
    Prediction(
        "08-13",
        "Idempotence is on. An application sends `pay 10`. After an error it calls send() again, "
        "up to five times, until it gets an answer. 101 stores everything at once, but all answers "
        "are lost during the first two calls. How many copies of `pay 10` are in the log?",
        form="a number",
        tempting="1",
        settle=lambda seen: seen["pay 10 in the log"],
        explain=own_retries,
    ),
    Prediction(
        "08-14",
        "The topic has min.insync.replicas=2, the producer acks=1. The links between the leader "
        "and both followers are cut, B and C are sent, and a moment later the leader dies. 102, "
        "which is still in the ISR, is elected. Which acknowledged records are gone?",
        ("none: with min.insync.replicas=2 a second broker has them before the answer",
         "B and C",
         "none: B and C were refused with NOT_ENOUGH_REPLICAS",
         "none: B and C were not acknowledged, and the producer sent them to 102"),
        tempting="a",
        settle=dying_leader,
        because={
            "a": "min.insync.replicas applies only to acks=all. {acknowledged before the death} "
            "were acknowledged before the leader died; {acknowledged and missing} of them are "
            "missing.",
            "b": "{acknowledged and missing} acknowledged records are missing: only "
            "{acknowledged before the death} had been acknowledged when the leader died.",
            "c": "{refused} were refused. The ISR still had three members, and acks=1 would not "
            "have asked.",
            "d": "{acknowledged before the death} had been acknowledged by 101 alone, so the "
            "producer had no reason to send them again.",
        },
    ),
    Prediction(
        "08-15",
        "acks=all, a record in each request. The followers are 20 ms away from the leader; the "
        "producer is on the leader's machine. Compare five requests in flight with one: the "
        "records per second are",
        ("about the same",
         "about twice as many",
         "about five times as many",
         "about half as many: the requests wait for each other"),
        tempting="c",
        settle=more_in_flight,
        because={
            "a": "The rate changed by a factor of {gain:.1f}.",
            "b": "The rate changed by a factor of {gain:.1f}. A broker takes a connection's next "
            "request when it has answered the last.",
            "c": "The rate changed by a factor of {gain:.1f}. Five requests travel together, but a "
            "broker takes a connection's next request only when it has answered the last.",
            "d": "The rate changed by a factor of {gain:.1f}: requests wait in the socket, and "
            "that costs the broker nothing.",
        },
    ),
)  # fmt: skip
