"""Where the kit keeps files outside the working tree, by the XDG base directory rules.

Caches can be fetched again, state cannot, and temporary data goes with its cluster.
Each function makes its directory and returns it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

NAME = "kafka-inside-out"
LONGEST_SOCKET_PATH = 103 if sys.platform == "darwin" else 107
"""Bytes that the operating system allows for the address of a Unix socket."""


class Unwritable(RuntimeError):
    """A directory that the kit needs cannot be written; the message says which, and the remedy."""


class PathTooLong(RuntimeError):
    """A socket cannot be made where the kit would put it; the message says why, and the remedy."""


def cache_dir() -> Path:
    """Downloads: jars, root file systems.  `XDG_CACHE_HOME` moves it."""
    return _made(_base("XDG_CACHE_HOME", ".cache") / NAME, "XDG_CACHE_HOME")


def state_dir() -> Path:
    """State that outlives a kernel: running clusters, topics that the kit made."""
    return _made(_base("XDG_STATE_HOME", ".local/state") / NAME, "XDG_STATE_HOME")


def temporary_area() -> Path:
    """Parent of all data directories of clusters; short, because sockets live there too."""
    return _made(Path(tempfile.gettempdir()) / f"{NAME}-{os.getuid()}", "TMPDIR")


def socket_path(path: Path) -> str:
    """The path as text, if a Unix socket can be made there; else PathTooLong."""
    longer = len(os.fsencode(path)) - LONGEST_SOCKET_PATH
    if longer > 0:
        raise PathTooLong(
            f"The temporary folder {tempfile.gettempdir()} has too long a name for the sockets "
            f"in it, by {longer}: set TMPDIR to a shorter one, such as /tmp."
        )
    return str(path)


def _base(variable: str, fallback: str) -> Path:
    # The standard says that a relative path in the variable counts as not set.
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else Path.home() / fallback


def _made(directory: Path, variable: str) -> Path:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unwritable(
            f"Cannot write to {directory} ({error.strerror}): "
            f"set {variable} to a directory that you can write to."
        ) from None
    return directory
