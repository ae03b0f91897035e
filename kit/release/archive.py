"""The files of a commit in, zip archives out.

The archives depend on the commit alone: its files, its time, in the order of their names.
One archive holds the three editions, each an archive of its own, ready to hand out.
"""

from __future__ import annotations

import io
import subprocess
import tarfile
import time
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from kit.release.editions import CLEAN, GRADED, SOLUTION, STUDENT, File, Files, files_of

NAME = "kafka-inside-out"
OLDEST = (1980, 1, 1, 0, 0, 0)
"""The first time that the zip format can say."""


class NoRelease(RuntimeError):
    """One sentence: why there is no release, and the remedy."""


@dataclass(frozen=True, slots=True)
class Commit:
    files: Files
    version: str
    """Of the package: "0.1.0"."""
    id: str
    made_at: float
    """Seconds since 1970."""

    @property
    def line(self) -> str:
        """What is in VERSION."""
        day = time.strftime("%Y-%m-%d", time.gmtime(self.made_at))
        return f"{self.version}, commit {self.id[:12]} of {day}"

    @property
    def zip_time(self) -> tuple[int, ...]:
        return max(time.gmtime(self.made_at)[:6], OLDEST)


def read_commit(root: Path, name: str = "HEAD") -> Commit:
    """Raises NoRelease where this is no git clone."""
    packed = io.BytesIO(_git(root, "archive", "--format=tar", name))
    files = {}
    with tarfile.open(fileobj=packed) as members:
        for member in members:
            content = members.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name] = File(content.read(), bool(member.mode & 0o100))
    version = tomllib.loads(files["pyproject.toml"].content.decode())["project"]["version"]
    identity, made_at = _git(root, "log", "-1", "--format=%H %ct", name).decode().split()
    return Commit(files, version, identity, float(made_at))


def changed_files(root: Path) -> int:
    """How many tracked files differ from the commit; they are not in a release of it."""
    listed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return len(listed.splitlines())


def write(commit: Commit, folder: Path, *, without_solutions: bool = False) -> Path:
    """Writes the release of a commit into a folder; gives its path."""
    whole: Files = {name: commit.files[name] for name in ("LICENSE", "NOTICE")}
    whole["VERSION"] = File(f"{commit.line}\n".encode())
    lines = []
    first = GRADED if without_solutions else STUDENT
    for edition in (first, SOLUTION, CLEAN):
        stem = f"{NAME}-{commit.version}-{edition.name}"
        files = files_of(edition, commit.files, commit.line)
        placed = {f"{stem}/{path}": file for path, file in files.items()}
        whole[f"{stem}.zip"] = File(zipped(placed, commit.zip_time))
        lines.append(f"{stem}.zip\n    {edition.about}\n")
    whole["README.txt"] = File(
        f"Kafka Inside Out {commit.line}\n\n{''.join(lines)}\n"
        f"Hand out the {first.name} edition as it is, and keep the other two.\n".encode()
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{NAME}-{commit.version}{'-graded' if without_solutions else ''}.zip"
    path.write_bytes(zipped(whole, commit.zip_time))
    return path


def zipped(files: Files, when: tuple[int, ...]) -> bytes:
    """The bytes of an archive with these files, all of one time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, when)  # type: ignore[arg-type]
            entry.create_system = 3  # Unix, also where this runs elsewhere
            entry.external_attr = (0o100755 if files[name].is_program else 0o100644) << 16
            entry.compress_type = (
                zipfile.ZIP_STORED if name.endswith((".zip", ".png")) else zipfile.ZIP_DEFLATED
            )
            archive.writestr(entry, files[name].content, compresslevel=9)
    return out.getvalue()


def _git(root: Path, *arguments: str) -> bytes:
    if not (root / ".git").exists():
        raise NoRelease("A release is made from a git clone of the course, and this is none.")
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True)
    if done.returncode != 0:
        reason = (done.stderr.decode().strip().splitlines() or ["no reason given"])[-1]
        raise NoRelease(f"git could not read the commit ({reason}).")
    return done.stdout
