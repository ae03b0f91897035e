"""The judge's side of notebook 06: replication and the ISR.

Predictions and quiz stand here; each exercise, with its judge, in a module of its own.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb06_replication.exercises import (
    election,
    high_watermark,
    leaders_home,
    settings,
    under_replicated,
)

EXERCISES = (
    Question(
        "06-1",
        "The leader 101 has records 0 to 6 of a partition. Follower 102 has last asked for "
        "offset 3, follower 103 for offset 5; both are in the ISR. What is the high watermark?",
        ("7: the leader has them all", "3: all three have what is below it", "5: a majority has "
         "what is below it", "6: the last record's offset"),
        right=frozenset("b"),
        explanation="The HW is the smallest log end of the in-sync replicas, as the leader knows "
        "them from their last fetch: min(7, 3, 5). The first diagram below shows it move.",
        because={
            "a": "That is the log end. Written is not committed.",
            "c": "Kafka's replication does not vote: it waits for every member of the ISR.",
            "d": "The HW is the first offset that is not committed, and 6 is on one broker only.",
        },
    ),
    Question(
        "06-2",
        "Three replicas, all in sync, min.insync.replicas=2. One follower is slow but still in "
        "the ISR. How long does a write with acks=all wait?",
        ("until two replicas have it", "until all three have it", "until the leader has it"),
        right=frozenset("b"),
        explanation="acks=all waits for the whole current ISR; the minimum only decides whether "
        "the write is taken at all. The table of slow brokers measures it.",
        because={
            "a": "min.insync.replicas is a lower bound for the ISR, not the number to wait for.",
            "c": "That is acks=1.",
        },
    ),
    Question(
        "06-3",
        "A producer writes with acks=all. You kill the leader with SIGKILL. What happens?",
        ("the records of the last seconds are lost",
         "the producer gets an error for every record in flight",
         "for some seconds nothing is acknowledged, then the producer goes on; no acknowledged "
         "record is missing",
         "the producer notices nothing at all"),
        right=frozenset("c"),
        explanation="The controller waits for broker.session.timeout.ms, then names a leader "
        "from the ISR; the client retries until it finds it. Side by side you count them.",
        because={
            "a": "An acknowledged record was on every in-sync replica, and one of them leads now.",
            "b": "It retries by itself until delivery.timeout.ms (message.timeout.ms here).",
            "d": "Look at the gap in the chart of acknowledgements.",
        },
    ),
    high_watermark.EXERCISE,
    election.EXERCISE,
    under_replicated.EXERCISE,
    settings.EXERCISE,
    leaders_home.EXERCISE,
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
        "month, or 400 elections of 3 s). c and f are resilience.",
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
            "f": "Nobody compares logs at an election.",
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
            "d": "The last one keeps it, and the HW stands still meanwhile.",
            "e": "It leaves the ISR, and that is all.",
        },
    ),
)  # fmt: skip
