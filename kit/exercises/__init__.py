"""Predictions, exercises, hints and progress, as a notebook calls them.

Nothing in this package that a kernel imports knows an answer.  `check` and `predict` turn
what the learner has into plain data and ask a judge, a process of its own, which alone
reads the lessons' `exercises`.  So an answer cannot be found by looking around in the
notebook, and the same code carries grading, where the judge sits outside a sandbox.
"""

from kit.exercises.doorway import check, hint, predict, progress, reset

__all__ = ["check", "hint", "predict", "progress", "reset"]
