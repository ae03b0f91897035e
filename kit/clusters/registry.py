"""Which clusters of the kit are there, and how to end them.

Each cluster has a label.  A file under that label in the state directory says where its
data is and how to reach its reaper.  The reaper removes both at the end.  If the reaper was
killed, the label finds what it left behind: directories carry it in a file named `LABEL`,
processes in their environment.  Nothing without the label is ever removed.
Containers carry a label of their own; `docker.down` removes those.

A shared cluster (started by `kafkalab up`) serves several notebooks.  To break it, a
notebook needs its lease, a file lock that the operating system frees when the holder dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import psutil

from kit import places
from kit.clusters.interface import LeaseTaken
from kit.clusters.reaper import LABEL_VARIABLE, Reaper, ReaperGone

LABEL_FILE = "LABEL"
REAPER = "reaper"
"""The socket of a shared cluster's reaper, in its directory."""


@dataclass(frozen=True)
class Registration:
    """One cluster of the kit on this machine."""

    label: str
    provider: str
    directory: str
    shared: bool
    bootstrap: str
    owner_pid: int
    cluster_id: str = ""

    @property
    def file(self) -> Path:
        return _folder() / f"{self.label}.json"

    @property
    def reaper_socket(self) -> str:
        """Where a shared cluster's reaper listens."""
        return f"{self.directory}/{REAPER}"

    def save(self) -> None:
        """Writes the file, whole or not at all."""
        scratch = self.file.with_suffix(".tmp")
        scratch.write_text(json.dumps(asdict(self)))
        scratch.rename(self.file)


def registrations(provider: str | None = None) -> list[Registration]:
    """All registered clusters, or those of one provider if named."""
    found = []
    for file in sorted(_folder().glob("*.json")):
        with contextlib.suppress(OSError, ValueError, TypeError):
            found.append(Registration(**json.loads(file.read_text())))
    return [r for r in found if provider is None or r.provider == provider]


def shared(provider: str) -> Registration | None:
    """The shared cluster of a provider, if its reaper answers."""
    for registration in registrations(provider):
        if registration.shared and is_up(registration):
            return registration
    return None


def is_up(registration: Registration) -> bool:
    """Whether what watches the cluster is there: its reaper, or the program that owns it."""
    if not registration.shared:
        return psutil.pid_exists(registration.owner_pid)
    try:
        Reaper.connect(registration.reaper_socket).disconnect()
    except ReaperGone:
        return False
    return True


def labelled_directory(label: str) -> Path:
    """Makes the data directory of a new cluster."""
    directory = places.temporary_area() / label
    places.socket_path(directory / REAPER)
    directory.mkdir(mode=0o700)
    (directory / LABEL_FILE).write_text(f"{label}\n")
    return directory


def down(everything: bool = False) -> list[str]:
    """Ends the shared clusters, and removes what clusters of ended programs left behind.

    With `everything` it ends the clusters of open notebooks, too.  Returns what was removed, in
    words.
    """
    kept = set() if everything else {each.label for each in of_open_programs()}
    ending = [each for each in registrations() if each.label not in kept]
    removed = []
    for registration in ending:
        if registration.shared:
            with contextlib.suppress(ReaperGone):
                Reaper.connect(registration.reaper_socket).end()
                removed.append(f"cluster {registration.label}")
        elif is_up(registration):
            removed.append(f"cluster {described(registration)}")
    known = {each.label for each in ending}
    marks = {
        label: mark
        for mark in sorted(places.temporary_area().glob(f"*/{LABEL_FILE}"))
        if (label := mark.read_text().strip()) in known or everything
    }
    for process in labelled_processes(set(marks)):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
            process.wait(10)
            removed.append(f"process {process.pid}")
    for mark in marks.values():
        shutil.rmtree(mark.parent, ignore_errors=True)
        removed.append(f"directory {mark.parent}")
    for file in [*_folder().glob("*.json"), *_folder().glob("*.lease")]:
        if file.stem not in kept:
            file.unlink(missing_ok=True)
    return removed


def of_open_programs() -> list[Registration]:
    """The clusters that belong to notebooks and programs which are running."""
    return [each for each in registrations() if not each.shared and is_up(each)]


def described(registration: Registration) -> str:
    """A cluster's label, and whose it is."""
    if registration.shared:
        return registration.label
    return f"{registration.label}, which belongs to the open notebook or program " + str(
        registration.owner_pid
    )


def labelled_processes(labels: set[str]) -> list[psutil.Process]:
    """Processes of this user that carry one of the labels."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if (
                process.uids().real == os.getuid()
                and process.environ().get(LABEL_VARIABLE) in labels
            ):
                found.append(process)
    return found


class Lease:
    """The right to break a shared cluster, for one holder at a time."""

    def __init__(self, label: str) -> None:
        self._path = _folder() / f"{label}.lease"
        self._held: IO[str] | None = None

    def take(self) -> None:
        """Takes the lease, even twice; LeaseTaken when another process has it."""
        if self._held is not None:
            return
        file = self._path.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise LeaseTaken(
                "Another notebook is breaking this shared cluster now: "
                "wait until it is closed, or take a cluster of your own with "
                "lab.local(private=True)."
            ) from None
        self._held = file

    def release(self) -> None:
        """Gives it back."""
        if self._held is not None:
            self._held.close()
            self._held = None


def _folder() -> Path:
    folder = places.state_dir() / "clusters"
    folder.mkdir(exist_ok=True)
    return folder
