"""Predictions, exercises, hints and progress, as a notebook calls them.

No module of this package that a kernel imports knows an answer.  `check` and `predict` turn
the learner's answer into plain data and send it to a judge.  The judge is a separate process,
and only it reads the lessons' `exercises`.  So a learner cannot find an answer by looking
around in the notebook.  Grading uses the same code, with the judge outside a sandbox.
"""

from kit.exercises.doorway import check, hint, predict, progress, quiz, reset, verdict

__all__ = ["check", "hint", "predict", "progress", "quiz", "reset", "verdict"]
