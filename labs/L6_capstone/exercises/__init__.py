"""The judge's side of lab L6, the capstone: predictions and quiz here, an exercise a module."""

from __future__ import annotations

from kit.exercises.exercise import Question
from labs.L6_capstone.exercises import budget, page, predictions, survivor

QUIZ = Question(
    "L6-7",
    "A pipeline keeps its freshness objective of 99 % in every week of the quarter. Every Monday "
    "at eight, when most users look, gold is an hour old. What does the objective miss?",
    (
        "the error budget: it should be 0",
        "the pipeline: it needs exactly-once sinks",
        "the samples: they are taken at all hours alike, and users are not there at all hours",
        "the window: a week is too short to see it",
    ),
    right=frozenset("c"),
    explanation="An objective is about what users meet. Weigh samples by reads, or state the "
    "objective for the hours that matter.",
    because={
        "a": "With a budget of 0 each deployment breaks the objective, and Monday stays one of "
        "many samples.",
        "b": "No row is wrong here: gold is late.",
        "d": "The longer the window, the less an hour in it weighs.",
    },
)

EXERCISES = (
    *predictions.PREDICTIONS,
    budget.EXERCISE,
    page.EXERCISE,
    survivor.EXERCISE,
    QUIZ,
)
