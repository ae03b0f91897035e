"""The judge's side of notebook 06: replication and the ISR.

The predictions and the quiz are here.  Each exercise has its own module, with its judge.
"""

from __future__ import annotations

from kit.exercises.exercise import Observed, Prediction, Question
from lessons.nb06_replication.exercises import (
    election,
    high_watermark,
    leaders_home,
    settings,
    under_replicated,
)

SHORT_S = 0.5
"""A gap below this is one that a producer hardly notices."""
IN_THE_END = "a consumer reads in the end"
FORCED = "careful: a consumer reads"
LEADS = "a leader after the start of"


def one_fetch_late(answer: str, seen: Observed) -> str:
    end, high_watermark = seen["log end"], seen["high watermark"]
    if answer == str(end):
        return (
            f"{end} is where the logs end, and the leader's high watermark is {high_watermark}. "
            "You see all logs at once; the leader knows a follower's log end only from its next "
            "fetch."
        )
    return f"The leader's log ends at {end}, and its high watermark is {high_watermark}."


def slow_follower(seen: Observed) -> str:
    """How many times the delay the wait was; "" where there is no delay to count in."""
    ways = round(seen["wait"] / seen["delay"]) if seen["delay"] else -1
    return {0: "c", 1: "a", 2: "b", 3: "d"}.get(ways, "")


def acks_1_and_a_dead_leader(seen: Observed) -> str:
    missing, for_good = seen["missing"], seen["missing for good"]
    if not missing:
        return "b"
    if not for_good:
        return "d"
    return "c" if for_good == seen["worlds"] else "a"


def below_the_minimum(answer: str, seen: Observed) -> str:
    read = " ".join(seen[IN_THE_END])
    sentence = f"In the end a consumer reads {read}."
    if "B" in seen[IN_THE_END] and "b" not in answer.split():
        sentence += " B timed out, but it was in the leader's log: a timeout does not undo a write."
    if "C" not in seen[IN_THE_END] and "c" in answer.split():
        sentence += " C was refused before the append, so it is in no log."
    if "D" in seen[IN_THE_END] and "d" not in answer.split():
        sentence += " D was taken with acks=1, and became readable when the followers were back."
    return sentence


def killed_under_load(seen: Observed) -> str:
    if seen["acknowledged and missing"]:
        return "b"
    if seen["errors at the producer"]:
        return "c"
    return "a" if seen["longest gap"] < SHORT_S else "d"


def after_an_unclean_election(answer: str, seen: Observed) -> str:
    read = " ".join(seen[FORCED])
    if "b" in answer.split() and "B" not in seen[FORCED]:
        return (
            f"A consumer reads {read}. 101 came back as a follower of 103: it cut its log to what "
            "103 has, and B is gone from its disk, too."
        )
    return f"A consumer reads {read}."


def first_to_lead(answer: str, seen: Observed) -> str:
    leads, started = seen[LEADS], list(map(str, seen["started"]))
    if answer not in started:
        return f"The partition has a leader after the start of {leads}."
    early = started.index(answer) < started.index(str(leads)) if leads else True
    why = (
        "the controller does not let it lead, because it may lack committed records"
        if early
        else "one before it was allowed to lead"
    )
    return f"After the start of {answer}: {why}. The first start that gave a leader was {leads}."


EXERCISES = (
    Prediction(
        "06-1",
        "A, B and C are the first records of the partition. Two followers fetch them, and the run "
        "stops at the moment when the third copy is written: now all three logs end at offset 3. "
        "At which offset is the high watermark of the leader?",
        form="an offset",
        tempting="3",
        settle=lambda seen: seen["high watermark"],
        explain=one_fetch_late,
    ),
    Prediction(
        "06-12",
        "A producer writes B with acks=1. In each of 20 worlds the leader is killed at the moment "
        "when its answer for B arrives, a follower takes over, and later the killed broker is "
        "started again with its log on its disk. Where is B missing?",
        (
            "in some worlds, and it stays missing when the killed broker is back",
            "nowhere: the broker had answered that B is stored",
            "in all 20 worlds: followers copy a record only after the answer",
            "in some worlds, until the killed broker brings it back",
        ),
        tempting="b",
        settle=acks_1_and_a_dead_leader,
        because={
            "a": "B was missing in {missing} of {worlds} worlds, and in {missing for good} when "
            "the killed broker was back.",
            "b": "B was acknowledged, and missing in {missing} of {worlds} worlds. The answer "
            "spoke for one copy, on the broker that died.",
            "c": "B was missing in {missing} of {worlds} worlds, not in all. The followers fetch "
            "all the time; the answer and the copies race each other.",
            "d": "B was missing in {missing for good} of {worlds} worlds even when the killed "
            "broker was back. It follows the new leader now, and cuts its log to match.",
        },
    ),
    Prediction(
        "06-2",
        "Three replicas, all in sync, min.insync.replicas=2. A message between the leader 101 and "
        "103 takes 40 ms; 102 is fast. 103 has a fetch waiting at the leader. A producer writes "
        "one record with acks=all. After how long does the leader answer?",
        (
            "after about 40 ms, when 103 has the record",
            "after about 80 ms",
            "almost at once: 101 and 102 are two copies, and the minimum is 2",
            "after about 120 ms",
        ),
        tempting="c",
        settle=slow_follower,
        because={
            "": "It answered after {wait:.0f} ms, with a delay of {delay} ms.",
            "a": "It answered after {wait:.0f} ms. 103 has the record after {delay} ms, but the "
            "leader learns of it only from 103's next fetch.",
            "b": "It answered after {wait:.0f} ms: {delay} ms for the record, and as much for the "
            "next fetch of 103, which says that 103 has it.",
            "c": "It answered after {wait:.0f} ms, and these brokers had the record: {holders}. "
            "acks={acks} was the producer's choice; the minimum does not end a wait.",
            "d": "It answered after {wait:.0f} ms. 103's fetch was waiting at the leader, so the "
            "record left at once.",
        },
    ),
    Prediction(
        "06-13",
        "min.insync.replicas=2. A is written. Then both followers are cut off from the leader. B "
        "(acks=all) ends in a timeout. The ISR shrinks to the leader. C (acks=all) is refused with "
        "NOT_ENOUGH_REPLICAS; D (acks=1) is acknowledged. Finally, the links heal. Which records "
        "does a consumer read in the end?",
        form="letters in order, as in A C",
        tempting="A D",
        settle=lambda seen: seen[IN_THE_END],
        explain=below_the_minimum,
    ),
    Prediction(
        "06-3",
        "A producer writes with acks=all, a record every few milliseconds. You kill the leader "
        "with SIGKILL. What does the producer see?",
        (
            "hardly anything: a follower takes over within milliseconds",
            "it goes on after a gap, but the last records that were acknowledged are missing",
            "an error for each record that was on its way",
            "a gap of some seconds; then it goes on, and no acknowledged record is missing",
        ),
        tempting="b",
        settle=killed_under_load,
        because={
            "a": "Nothing was acknowledged for {longest gap:.1f} s: the controller waits for the "
            "session timeout before it elects.",
            "b": "{acknowledged and missing} acknowledged records are missing. Each was on every "
            "in-sync replica, and one of those leads now.",
            "c": "The producer saw {errors at the producer} errors: it retries by itself until "
            "delivery.timeout.ms.",
            "d": "{acknowledged and missing} acknowledged records are missing, the producer saw "
            "{errors at the producer} errors, and the longest gap was {longest gap:.1f} s.",
        },
    ),
    Prediction(
        "06-14",
        "Topic careful: 101 has A and B, 103 has only A. 101 is stopped, and the operator forces "
        "an unclean election, so 103 leads. Then 101 starts again with A and B on its disk and "
        "rejoins the ISR. Which records does a consumer read in the end?",
        form="letters in order, as in A C",
        tempting="A B",
        settle=lambda seen: seen[FORCED],
        explain=after_an_unclean_election,
    ),
    Prediction(
        "06-15",
        "min.insync.replicas=2, and 101 leads. 103, 102 and 101 are killed with SIGKILL in this "
        "order; then 103, 102 and 101 are started in this order, some seconds apart. After the "
        "start of which broker does the partition have a leader again?",
        form="a broker id",
        tempting="103",
        settle=lambda seen: seen[LEADS],
        explain=first_to_lead,
    ),
    high_watermark.EXERCISE,
    election.EXERCISE,
    settings.EXERCISE,
    leaders_home.EXERCISE,
    under_replicated.EXERCISE,
    Question(
        "06-9",
        "Fault tolerance is going on with a failed part; high availability is being up most of a "
        "long time; resilience is recovering from load, attack or failure. Which two of these "
        "are fault tolerance?",
        ("one of three replicas is dead and writes go on",
         "over the year a leader was there in 99.95 % of all minutes",
         "after a peak the consumers' lag is back at zero within the hour",
         "the leader dies and a follower takes over in the next epoch",
         "upgrades are planned so that the monthly downtime stays below 20 minutes",
         "a broker that was overrun restarts, cuts its log, catches up and rejoins the ISR"),
        right=frozenset("ad"),
        explanation="b and e are availability: a budget over time (99.95 % is 22 minutes a "
        "month, or 440 elections of 3 s). c and f are resilience.",
    ),
    Question(
        "06-10",
        "Which of these are true of the ISR?",
        ("the leader is always in it",
         "a follower that is two records behind is out",
         "a follower that was caught up at some moment in replica.lag.time.max.ms is in",
         "a broker that the controller fences is dropped",
         "acks=all waits for every member",
         "at an election the member with most records is taken"),
        right=frozenset("acde"),
        explanation="Time decides, not the number of records; and at an election the order of "
        "the replica list decides, because every member holds all committed records.",
        because={
            "b": "Two records do not matter if the follower catches up in time.",
            "f": "No logs are compared at an election.",
        },
    ),
    Question(
        "06-11",
        "Three replicas in sync, min.insync.replicas=2, acks=all. What can lose a record that "
        "was acknowledged?",
        ("the leader is killed",
         "the power fails on all three brokers before anything is flushed",
         "an unclean election",
         "two brokers are killed one after the other, then come back",
         "a follower is paused for a minute"),
        right=frozenset("bc"),
        explanation="Replication survives the loss of copies one by one. It does not survive the "
        "loss of all at once, nor a leader that was elected without the records.",
        because={
            "a": "Another in-sync replica has it.",
            "d": "The last one keeps it, and the HW does not move meanwhile.",
            "e": "It leaves the ISR, and that is all.",
        },
    ),
)  # fmt: skip
