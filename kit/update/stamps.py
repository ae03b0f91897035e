"""What a notebook's cells were when the course wrote them.

A learner's notebook carries, in its metadata, the digest of each cell's text:

    "kafkalab": {"notebook": "06", "cells": {"doorway": "4c1d…", "exercise-06-4": "91be…", …}}

So the file alone says whose a cell is: text that fits its digest is the course's, and other
text is the learner's.  It makes no difference whether the file is in a clone or came
out of a zip archive, and which version it is of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

KEY = "kafkalab"
UNNAMED = "c-"
"""How the id of a cell without a name of its own begins; a digest of its text follows."""


def stamp(group: str, cells: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The metadata for notebook "06" with these cells."""
    return {"notebook": group, "cells": {cell["id"]: digest(text_of(cell)) for cell in cells}}


def group_of(notebook: Mapping[str, Any]) -> str:
    """ "06", or nothing where the file has no stamp."""
    found = _stamp(notebook).get("notebook", "")
    return found if isinstance(found, str) else ""


def digests_of(notebook: Mapping[str, Any]) -> dict[str, str]:
    """Cell id -> digest of the course's text; empty where the file has no stamp."""
    found = _stamp(notebook).get("cells", {})
    return dict(found) if isinstance(found, dict) else {}


def text_of(cell: Mapping[str, Any]) -> str:
    """A cell's text, which the format allows to be a list of lines."""
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def digest(text: str) -> str:
    """Spaces at the ends of lines and empty lines around make no difference."""
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:12]


def _stamp(notebook: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = notebook.get("metadata")
    found = metadata.get(KEY) if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}
