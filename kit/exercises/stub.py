"""Recognizes a value that the learner has not changed yet.  Judge side only.

The stub of such an exercise ends in an assignment, `payments = {"acks": "1", …}`; the check
hands that value over.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from kit.course import source_of

MESSAGE = "The stub is still there: this is the value that the cell began with."


def is_value_of(exercise_id: str, answer: Any) -> bool:
    """Whether the answer is the value that the stub assigns."""
    try:
        last = ast.parse(_code(exercise_id)).body[-1]
        return isinstance(last, ast.Assign) and bool(ast.literal_eval(last.value) == answer)
    except (SyntaxError, ValueError, IndexError):
        return False


def _code(exercise_id: str) -> str:
    """The stub's cell in the notebook's source; empty where there is none."""
    source = source_of(exercise_id.rpartition("-")[0])
    cell = rf'^# %% {re.escape(exercise_id)} tags=\["stub"[^\n]*\n(.*?)(?=^# %% |\Z)'
    found = re.search(cell, source.read_text() if source else "", re.DOTALL | re.MULTILINE)
    return found.group(1) if found else ""
