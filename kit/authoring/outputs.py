"""Makes a notebook's outputs fit to be committed.

A widget's view needs a kernel, and the reader of a file has none.  So the widget's static
form (SVG, HTML or text) stays and the view goes.  What was shown only while a cell ran goes, too.
Paths of the author's machine are replaced, timings and run counts are dropped, so that a diff shows
what changed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from kit.both.waiting import NOTHING
from kit.course import PROJECT

WIDGET = "application/vnd.jupyter.widget-view+json"
SCRATCH = re.compile(r"[^\s'\"<>]*/kafkalab-build-\w+")
"""Where a build keeps its progress.  Outputs show the place of a learner's file instead."""
NAME_GOES_ON = r"[\w-]|\.\w"
LARGEST_NOTEBOOK = 300_000
"""Bytes; up to this size a code-hosting site shows a notebook at once."""


def clean(cell: Any, run_count: int) -> None:
    """Cleans one executed code cell in place."""
    cell.metadata.pop("execution", None)
    cell.execution_count = run_count
    kept = [output for output in cell.outputs if output.get("data") != NOTHING]
    cell.outputs = _joined_streams([_cleaned(output) for output in kept])
    for output in cell.outputs:
        if "execution_count" in output:
            output["execution_count"] = run_count


def shows_only_a_widget(cell: Any) -> bool:
    """True if nothing but a widget's bare text would be left for a reader of the file.

    The static form may be an output of its own, before the live one.
    """
    forms = [set(output["data"]) for output in cell.outputs if "data" in output]
    return any(WIDGET in each for each in forms) and all(
        each <= {WIDGET, "text/plain"} for each in forms
    )


def _cleaned(output: Any) -> Any:
    if "data" in output:
        output["data"].pop(WIDGET, None)
    return _without_folders(output)


def _joined_streams(outputs: list[Any]) -> list[Any]:
    """Joins text that came in pieces, because the number of pieces depends on timing."""
    joined: list[Any] = []
    for output in outputs:
        before = joined[-1] if joined else None
        if (
            before is not None
            and output["output_type"] == "stream"
            and before["output_type"] == "stream"
            and before["name"] == output["name"]
        ):
            before["text"] += output["text"]
        else:
            joined.append(output)
    return joined


def _without_folders(value: Any) -> Any:
    if isinstance(value, str):
        for folder, shown in _folders():
            if folder in value:  # the search alone is slow in a long output
                end = "" if folder.endswith("/") else f"(?!{NAME_GOES_ON})"
                value = re.sub(re.escape(folder) + end, shown, value)
        if "/kafkalab-build-" in value:
            value = SCRATCH.sub("~/.local/share/kafka-inside-out", value)
        return value
    if isinstance(value, dict):
        for key in value:
            value[key] = _without_folders(value[key])
        return value
    if isinstance(value, list):
        return [_without_folders(item) for item in value]
    return value


def _folders() -> list[tuple[str, str]]:
    return [
        (str(PROJECT) + "/", ""),
        (sys.prefix, ".venv"),
        (str(PROJECT), "."),
        (str(Path.home()), "~"),
    ]
