"""The judge's side of notebook 02: offsets, batches, indexes and segments.

The predictions are in `predictions`, and the quiz is here.  Each exercise has its own module, with
its judge.
"""

from __future__ import annotations

from kit.exercises.exercise import Question
from lessons.nb02_log.exercises import file_of, predictions, scan_from, varint

QUIZ = (
    Question(
        "02-11",
        "A partition has one segment; its last record has offset 99. Which of these change the "
        "offset that the next record gets?",
        ("a consumer reads the whole partition",
         "another producer appends a record",
         "a transaction that wrote to this partition ends",
         "the records below offset 50 are deleted",
         "the topic gets a second partition"),
        right=frozenset("bc"),
        explanation="The next offset is the end of this log. Every append moves it, and the marker "
        "of a transaction is an append, too.",
        because={
            "a": "Reading changes nothing in a log.",
            "d": "The start moves to 50; the end stays where it is.",
            "e": "The new partition has a log of its own, from offset 0 on.",
        },
    ),
    Question(
        "02-12",
        "Which of these does a broker do without decompressing a gzip batch that it has stored?",
        ("find the batch that holds an offset",
         "find the record that holds an offset, and send it alone",
         "find the first record with a given timestamp",
         "send the batch to a follower and to a consumer",
         "change one of its records"),
        right=frozenset("ad"),
        explanation="The header is never compressed, and it has the offsets. The batch travels as "
        "it is in the file; only the client opens it.",
        because={
            "b": "No record has a place of its own in the file: the whole batch is sent.",
            "c": "The header has the first and the largest timestamp; for the record itself the "
            "broker decodes the batch.",
            "e": "Nothing changes a record that is in a log.",
        },
    ),
)  # fmt: skip

EXERCISES = (
    *predictions.PREDICTIONS,
    varint.EXERCISE,
    scan_from.EXERCISE,
    file_of.EXERCISE,
    *QUIZ,
)
