"""`kafkalab update [FROM]`: a new version of the course, under your work."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kit.update.folders import Line


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "source",
        nargs="?",
        type=Path,
        metavar="FROM",
        help="another folder of the course, whose work comes into this one; "
        "without it, this git clone goes to the newest version",
    )
    command.add_argument(
        "--anyway", action="store_true", help="also while JupyterLab is open on the notebooks"
    )


def run(chosen: argparse.Namespace) -> int:
    from kit.course import notebooks_folder
    from kit.update import clone, folders

    root = notebooks_folder().parent
    if not chosen.anyway and (address := _open_lab(root)):
        raise clone.CannotUpdate(
            f"JupyterLab is open on these notebooks ({address}). Save them and stop it, or "
            "say --anyway."
        )
    if chosen.source is None:
        done = clone.update_clone(root)
        commits = f"{done.commits} commit{'s' if done.commits != 1 else ''}"
        print(f"{commits} came." if done.commits else "This is the newest version.")
        _tell(done.lines, done.backup)
        if done.commits:
            print("Go on with: make lab")
        return 0
    old = chosen.source.resolve()
    if old == root:
        raise clone.CannotUpdate("This is the folder itself: name another folder of the course.")
    backup = folders.new_backup()
    try:
        lines = folders.carry_folder(old, root, backup)
    finally:
        if is_empty := not any(backup.iterdir()):
            backup.rmdir()
    _tell(lines, None if is_empty else backup)
    if not lines:
        print(f"Nothing in {chosen.source} is missing here.")
    return 0


def _tell(lines: Sequence[Line], backup: Path | None) -> None:
    for line in lines:
        print(line)
    if backup is not None:
        print(f"The notebooks as they were are in {backup}")


def _open_lab(root: Path) -> str:
    """The address of a JupyterLab on this folder; empty if there is none."""
    from jupyter_server.serverapp import list_running_servers

    for server in list_running_servers():
        place = Path(server.get("root_dir", "/nowhere"))
        if place == root or root.is_relative_to(place) or place.is_relative_to(root):
            return str(server.get("url", ""))
    return ""
