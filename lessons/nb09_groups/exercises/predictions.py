"""The predictions of notebook 09: what each key run observes, and what it makes right."""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction

PROTOCOLS = ("range", "cooperative-sticky", "consumer")
RESTARTS = ("static-long", "static-short", "dynamic")
SHARES = "range › partitions of each worker"


def number(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def assigned_by(seen: Observed) -> str:
    by = seen["the assignment was worked out by"].split()
    if by == ["coordinator"]:
        return "a"
    return "b" if len(by) == 1 else "c" if len(by) == seen["members"] else ""


def two_topics(answer: str, seen: Observed) -> str:
    shares = seen[SHARES]
    if idle := shares.split().count("0"):
        return (
            f"The shares are {shares}: a partition has one reader, and each topic is dealt out "
            f"by itself, so {number(idle, 'worker has', 'workers have')} none."
        )
    return (
        f"The shares are {shares}. An assignor that deals out each topic by itself gives the "
        "first worker one partition more in each topic that does not divide evenly."
    )


def needless(answer: str, seen: Observed) -> str:
    return (
        f"{seen['needed moves']} partitions had lost their owner. Of the others, "
        f"{seen['needless moves']} changed their owner although it was still there."
    )


def seconds(seen: Observed, protocol: str) -> float:
    return float(seen[f"{protocol} › seconds without a reader"])


def stopped(seen: Observed, protocol: str) -> int:
    return int(seen[f"{protocol} › partitions that stopped"])


def shortest(seen: Observed) -> str:
    eager, cooperative, consumer = (seconds(seen, each) for each in PROTOCOLS)
    if stopped(seen, "range") <= stopped(seen, "cooperative-sticky"):
        return "a"
    if not eager > max(cooperative, consumer):
        return ""
    if max(cooperative, consumer) < 1:
        return "b"
    if consumer < 0.75 * cooperative:
        return "c"
    return "d" if cooperative < 0.75 * consumer else "b"


def in_figures(seen: Observed) -> str:
    return "; ".join(
        f"{each}: {number(stopped(seen, each), 'partition', 'partitions')} stopped, "
        f"{seconds(seen, each):.1f} s added up"
        for each in PROTOCOLS
    )


def between_rebalances(seen: Observed) -> str:
    is_quiet = seen["all heartbeats say"] == ["NONE"]
    match seen["partitions without a reader"]:
        case 0:
            return "a" if not is_quiet else "b"
        case 2:
            return "d" if is_quiet else "c"
    return ""


def restarted(seen: Observed) -> list[int]:
    return [seen[f"{kind} › rebalances that A took part in"] for kind in RESTARTS]


def after_the_restart(answer: str, seen: Observed) -> str:
    counts = ", ".join(
        f"{kind} {count}" for kind, count in zip(RESTARTS, restarted(seen), strict=True)
    )
    waits = number(seen[f"{RESTARTS[0]} › records that wait"], "record", "records")
    return (
        f"A took part in this many rebalances: {counts}. Leaving is one and coming back is "
        f"another; only a member that keeps its place causes neither. In {RESTARTS[0]}, {waits} "
        "waited for B."
    )


def slow(seen: Observed) -> str:
    if seen["sessions that ran out"]:
        return "c"
    if seen["times B left by itself"]:
        return "a" if seen["records processed twice"] else "d"
    return "b"


def storm(seen: Observed) -> str:
    share = seen["committed"] / max(1, seen["processed"])
    return "b" if share < 0.1 else "c" if share < 0.7 else "a"


def kept(seen: Observed) -> str:
    return (
        f"The workers processed {seen['processed']} records, and {seen['committed']} are below a "
        f"committed offset. The group is in generation {seen['generation']}, and a worker that has "
        "left it cannot commit."
    )


PREDICTIONS = (
    Prediction(
        "09-1",
        "Three workers join a new group, in the protocol that clients use by default. Which "
        "process works out who reads which partition?",
        (
            "the coordinator, a broker",
            "one of the workers",
            "each worker for itself, by the same rule",
            "the controller, with the leaders of the partitions",
        ),
        tempting="a",
        settle=assigned_by,
        because={
            "a": "The coordinator only collected and distributed: the assignment came from "
            "{the assignment was worked out by}.",
            "b": "Worked out by {the assignment was worked out by}: in this protocol the broker "
            "does it.",
            "c": "Only {the assignment was worked out by} sent an assignment; the others asked "
            "for their part.",
            "d": "No message went to the controller. The assignment came from "
            "{the assignment was worked out by}.",
        },
    ),
    Prediction(
        "09-2",
        "Two workers in one group subscribe to two topics with three partitions each. The "
        "assignor is range. How many partitions does each worker get, the larger share first?",
        form="two numbers, such as 5 1",
        tempting="3 3",
        settle=lambda seen: seen[SHARES],
        explain=two_topics,
    ),
    Prediction(
        "09-3",
        "Nine partitions are dealt out to A, B and C by round robin: A has 0, 3, 6. A leaves. How "
        "many of the partitions of B and C change their reader?",
        form="a number",
        tempting="0",
        settle=lambda seen: seen["needless moves"],
        explain=needless,
    ),
    Prediction(
        "09-4",
        "A worker is busy with one record for six seconds; none of its partitions has to move. "
        "Meanwhile D joins. Which partitions stop, and for how long?",
        (
            "all three stop all partitions for seconds: they need the agreement of the worker",
            "eager stops all partitions for seconds; cooperative and the consumer protocol stop "
            "one, for about a heartbeat",
            "eager stops all partitions for seconds; cooperative stops one, for seconds; the "
            "consumer protocol stops one, for about a heartbeat",
            "eager stops all partitions for seconds; cooperative stops one, for about a heartbeat; "
            "the consumer protocol stops one, for seconds, since it asks the coordinator",
        ),
        tempting="a",
        settle=shortest,
        because=dict.fromkeys(("", *"abcd"), in_figures),
    ),
    Prediction(
        "09-5",
        "B closes its consumer and comes back after 4 s. In how many rebalances does A take part: "
        "where B is static with a session timeout of 30 s, where it is static with 3 s, and where "
        "it is dynamic?",
        form="three numbers, as in 1 2 3",
        tempting="0 1 2",
        settle=restarted,
        explain=after_the_restart,
    ),
    Prediction(
        "09-14",
        "`worker`, a static member, gave partitions 2 and 3 back, so that `new` can have them. It "
        "died before the rebalance that would hand them over. Its replacement has joined under the "
        "same group.instance.id. What do you find three seconds later?",
        (
            "all four partitions have a reader: the join of the replacement began the rebalance",
            "all four partitions have a reader: the replacement got what the dead worker once had",
            "two partitions have no reader, and heartbeats ask the members to join again",
            "two partitions have no reader, and no request reports an error",
        ),
        tempting="b",
        settle=between_rebalances,
        because={
            "": "{partitions without a reader} have no reader; heartbeats: {all heartbeats say}. "
            "None of the choices says that.",
            "a": "{partitions without a reader} have no reader. A static member that comes back "
            "gets its last assignment, and the coordinator sees no reason for a rebalance.",
            "b": "It got {the replacement gets}: the last assignment, which was already the "
            "smaller one.",
            "c": "Heartbeats: {all heartbeats say}. Only the dead worker knew that a second "
            "rebalance was due.",
            "d": "{partitions without a reader} have no reader; heartbeats: {all heartbeats say}.",
        },
    ),
    Prediction(
        "09-6",
        "B's loop needs 150 ms for each record. max.poll.records is 100, max.poll.interval.ms is "
        "10 s, and the session timeout 6 s. There is a backlog of several hundred records. What "
        "happens to B?",
        (
            "it leaves the group by itself, works on, and another worker handles the same records",
            "nothing: its heartbeats arrive in time",
            "the coordinator removes it when its session is over",
            "it leaves the group by itself and stops at once, so no record is handled twice",
        ),
        tempting="b",
        settle=slow,
        because=dict.fromkeys(
            "abcd",
            "A full batch takes {seconds for a full batch} s. B left by itself "
            "{times B left by itself} times, {sessions that ran out} sessions ran out, and "
            "{records processed twice} records were processed twice. Heartbeats do not stop the "
            "clock of max.poll.interval.ms.",
        ),
    ),
    Prediction(
        "09-7",
        "Each of four workers needs 150 ms for a record, with 100 records in a poll and a "
        "max.poll.interval.ms of 10 s. After a minute two more join. After two minutes: how many "
        "of the records that they have processed are below a committed offset?",
        ("nearly all", "nearly none", "about half", "all, and the lag is gone"),
        tempting="a",
        settle=storm,
        because=dict.fromkeys("abcd", kept),
    ),
)
