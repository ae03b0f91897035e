"""The judge's side of notebook 09: assignments, rebalances and the clocks of a member.

The predictions are in `predictions`, and the quiz is here.  Each exercise has its own module, with
its judge.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb09_groups.exercises import needless, predictions, range_by_hand, which_clock

QUIZ = (
    Question(
        "09-12",
        "A group reads one topic of four partitions. Which of these leave all four partitions "
        "with a reader the whole time?",
        ("a fifth member joins a group of four, with cooperative-sticky",
         "a member of four crashes; its session timeout is 45 s",
         "a static member restarts within its session timeout",
         "an idle fifth member leaves, in the consumer protocol",
         "a second member joins, with range"),
        right=frozenset("ad"),
        explanation="Where nothing moves, a cooperative group and the consumer protocol stop "
        "nothing.",
        because={
            "b": "Its partition has no reader until the session is over.",
            "c": "There is no rebalance, and no reader either until it is back.",
            "e": "Range is eager: all partitions are given back before the members join.",
        },
    ),
    Question(
        "09-13",
        "A group is in a rebalance storm. Which of these end it?",
        ("more members, so that each has fewer partitions",
         "a smaller max.poll.records",
         "a longer max.poll.interval.ms",
         "a longer session.timeout.ms",
         "a shorter heartbeat.interval.ms"),
        right=frozenset("bc"),
        explanation="A batch must be finished within the poll interval. Make the batch smaller "
        "or the interval longer.",
        because={
            "a": "A full batch takes as long as before, so the new members fail as the others do.",
            "d": "The heartbeats arrive: no session runs out in a storm.",
            "e": "The heartbeats arrive. They say that the process lives, and no more.",
        },
    ),
)  # fmt: skip

EXERCISES = (
    *predictions.PREDICTIONS,
    range_by_hand.EXERCISE,
    which_clock.EXERCISE,
    needless.EXERCISE,
    *QUIZ,
)
