"""A notebook on disk: read with a sentence where it is broken, written as a whole."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]
CHECKPOINTS = ".ipynb_checkpoints"


class Unreadable(RuntimeError):
    """The file is no notebook that can be carried over; the text says why."""


def read(path: Path) -> Notebook:
    """Raises Unreadable with a sentence."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        notebook = json.loads(text)
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read ({error.strerror}).") from error
    except (ValueError, RecursionError):
        raise Unreadable(f"{path.name} is not a notebook: its JSON is broken.") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise Unreadable(f"{path.name} is not a notebook: it has no list of cells.")
    return notebook


def checkpoint_of(path: Path) -> Path | None:
    """JupyterLab's own copy of the file from when it was last saved by hand, if there is one."""
    found = path.parent / CHECKPOINTS / f"{path.stem}-checkpoint.ipynb"
    return found if found.is_file() else None


def write(path: Path, notebook: Notebook) -> None:
    """Replaces the file at once, in the form in which Jupyter writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, suffix=".new", delete=False) as file:
        file.write(text.encode("utf-8", "replace"))
    if path.exists():
        shutil.copymode(path, file.name)
    else:
        os.chmod(file.name, 0o644)
    os.replace(file.name, path)
