"""Finds the submissions in files, folders and zip archives.

Learners choose the names and the contents, so each file is looked at by itself: what is
odd about it becomes one sentence about this file, and the search goes on.

* Only regular files are read.  A link earns nothing: it may lead to someone else's file, or
  to a device that never ends.
* Nothing is unpacked to disk: an archive's path has no effect, and a file that grows when it
  is unpacked is read up to the limit.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from kit.grading.messages import natural, printable

LARGEST_SUBMISSION = 20_000_000
LARGEST_INNER_ARCHIVE = 100_000_000
DEEPEST = 12
"""Levels of folders below the one that was named."""
MOST_FILES = 10_000
"""Of one folder or archive that the command line names."""
MOST_IN_INNER_ARCHIVE = 200
OTHER_ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")
LINK = "This is a link, not a file; hand in the file itself."


class Unreadable(Exception):
    """The file is not a notebook of this course; one sentence says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """One file that was handed in."""

    file: str
    """As the command line reaches it: `class.zip/anna/06.ipynb`."""
    trail: tuple[str, ...]
    """Names from the place that the command line named down to the file."""
    holder: str
    """The name of that place: the folder or the archive."""
    content: Callable[[], bytes]
    """Raises Unreadable with a sentence."""
    inside: bool = True
    """Whether it came out of a folder or an archive; else the command line named the file."""

    @property
    def is_notebook(self) -> bool:
        return self.trail[-1].casefold().endswith(".ipynb")


def search(paths: list[Path]) -> list[Found]:
    """What the command line named, each file once.  Never raises because of a file."""
    found: dict[str, Found] = {}
    for path in paths:
        for each in _named(path):
            found.setdefault(os.path.normpath(each.file), each)
    return list(found.values())


def read_file(path: Path | str) -> bytes:
    """The bytes of a regular file.  Raises Unreadable.

    A pipe or a device is not opened: a pipe may never end, and opening a device may act on it.
    If one replaces the file after the check, opening it does not block.
    """
    with _opened(path) as file:
        return _limited(file)


def _named(path: Path) -> Iterator[Found]:
    holder = printable(_parent_name(path))
    try:
        status = os.lstat(path)
        _no_link(status)
        if stat.S_ISDIR(status.st_mode):
            yield from _in_folder(path)
        elif path.name.casefold().endswith(".zip") and stat.S_ISREG(status.st_mode):
            found = list(_in_archive(_opened(path), str(path), (), path.stem, depth=0))
            yield from _without_common_folder(found)
        else:
            _no_other_archive(path.name)
            yield Found(str(path), (path.name,), holder, lambda: read_file(path), inside=False)
    except OSError as error:
        problem = f"The file cannot be read ({error.strerror})."
        yield _odd(str(path), (path.name,), holder, problem)
    except ValueError:
        problem = "The file cannot be read (no file can have this name)."
        yield _odd(str(path), (path.name,), holder, problem)
    except Unreadable as reason:
        yield _odd(str(path), (path.name,), holder, str(reason))


def _parent_name(path: Path) -> str:
    return os.path.basename(os.path.dirname(os.path.abspath(os.fspath(path).replace("\0", "_"))))


def _in_folder(top: Path) -> Iterator[Found]:
    """A walk that does not recurse, so that no nesting ends it."""
    holder = top.name or _parent_name(top / "x")
    waiting: list[tuple[str, tuple[str, ...]]] = [(str(top), ())]
    count = 0
    while waiting:
        folder, trail = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: natural(entry.name))
        except OSError as error:
            problem = f"The folder cannot be read ({error.strerror})."
            yield _odd(folder, trail or (holder,), holder, problem)
            continue
        folders = []
        entries = [entry for entry in entries if not _is_clutter(entry.name)]
        if not entries:
            yield _odd(folder, trail or (holder,), holder, "The folder is empty.")
        for entry in entries:
            here = (*trail, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if len(here) > DEEPEST:
                    problem = f"Folders below {DEEPEST} levels were not looked into."
                    yield _odd(entry.path, here, holder, problem)
                else:
                    folders.append((entry.path, here))
                continue
            count += 1
            if count > MOST_FILES:
                problem = f"The folder has more than {MOST_FILES} files; the others were left out."
                yield _odd(str(top), (holder,), holder, problem)
                return
            yield from _entry(entry, here, holder)
        waiting += reversed(folders)


def _entry(entry: os.DirEntry, trail: tuple[str, ...], holder: str) -> Iterator[Found]:
    path = entry.path
    try:
        status = entry.stat(follow_symlinks=False)
        _no_link(status)
        if entry.name.casefold().endswith(".zip") and stat.S_ISREG(status.st_mode):
            yield from _in_archive(_opened(path), path, trail, holder, depth=1)
        else:
            _no_other_archive(entry.name)
            yield Found(path, trail, holder, lambda: read_file(path))
    except OSError as error:
        yield _odd(path, trail, holder, f"The file cannot be read ({error.strerror}).")
    except Unreadable as reason:
        yield _odd(path, trail, holder, str(reason))


def _in_archive(
    file: IO[bytes], shown: str, trail: tuple[str, ...], holder: str, *, depth: int
) -> Iterator[Found]:
    """The files of a zip archive; an archive inside counts as a folder.  Raises Unreadable."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RecursionError):
        raise Unreadable("The file is not a zip archive, or it is damaged.") from None
    members = sorted(archive.infolist(), key=lambda member: natural(member.filename))
    most = MOST_IN_INNER_ARCHIVE if depth else MOST_FILES
    if len(members) > most:
        raise Unreadable(f"The archive has more than {most} files.")
    seen: Counter[str] = Counter()
    for member in members:
        parts = [p for p in member.filename.replace("\\", "/").split("/") if p not in ("", ".")]
        parts = ["_" if part == ".." else part for part in parts]
        if member.is_dir() or not parts or any(_is_clutter(part) for part in parts):
            continue
        here = (*trail, *parts)
        name = "/".join([shown, *parts])
        seen[name] += 1
        if seen[name] > 1:  # an archive may hold two files of one name
            name = f"{name}#{seen[name]}"
        if stat.S_ISLNK(member.external_attr >> 16):
            yield _odd(name, here, holder, LINK)
        elif parts[-1].casefold().endswith(".zip"):
            yield from _inner_archive(archive, member, name, here, holder, depth)
        else:
            yield Found(name, here, holder, _reader(archive, member))
    if not seen:
        raise Unreadable("The archive is empty.")


def _inner_archive(
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    name: str,
    trail: tuple[str, ...],
    holder: str,
    depth: int,
) -> Iterator[Found]:
    try:
        if depth >= 2:
            raise Unreadable("The archive is in an archive in an archive; hand in one archive.")
        content = _unpacked(archive, member, LARGEST_INNER_ARCHIVE)
        yield from _in_archive(io.BytesIO(content), name, trail, holder, depth=depth + 1)
    except Unreadable as reason:
        yield _odd(name, trail, holder, str(reason))


def _without_common_folder(found: list[Found]) -> list[Found]:
    """Many archives hold one folder, and that holds the learners' folders or files."""
    deep = [each for each in found if len(each.trail) > 1]
    learners = {each.trail[1].casefold() for each in deep}
    if len({each.trail[0] for each in found}) != 1 or deep != found or len(learners) < 2:
        return found
    return [Found(f.file, f.trail[1:], f.holder, f.content) for f in found]


def _reader(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Callable[[], bytes]:
    return lambda: _unpacked(archive, member, LARGEST_SUBMISSION)


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes:
    """A member's bytes.  What the archive says about its size is not believed."""
    try:
        with archive.open(member) as file:
            return _limited(file, limit)
    except NotImplementedError:
        raise Unreadable("The archive packs this file in a way that cannot be read.") from None
    except RuntimeError:
        raise Unreadable("The file is encrypted in the archive.") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise Unreadable("The file is damaged in the archive.") from error


def _limited(file: IO[bytes], limit: int = LARGEST_SUBMISSION) -> bytes:
    content = file.read(limit + 1) or b""
    if len(content) > limit:
        raise Unreadable(f"The file is larger than {limit // 1_000_000} MB; clear its outputs.")
    return content


def _opened(path: Path | str) -> IO[bytes]:
    try:
        _must_be_regular(os.lstat(path))
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW
        file = open(os.open(path, flags), "rb")  # noqa: SIM115 (the caller closes it)
        try:
            _must_be_regular(os.fstat(file.fileno()))
        except Unreadable:
            file.close()
            raise
        return file
    except OSError as error:
        raise Unreadable(f"The file cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise Unreadable("The file cannot be read (no file can have this name).") from error


def _must_be_regular(status: os.stat_result) -> None:
    _no_link(status)
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("This is not a regular file but a folder, a pipe, a socket or a device.")


def _no_link(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise Unreadable(LINK)


def _no_other_archive(name: str) -> None:
    ending = PurePosixPath(name.casefold()).suffix
    if ending in OTHER_ARCHIVES:
        raise Unreadable(f"Archives of the kind {ending} are not read; pack the files as .zip.")


def _is_clutter(name: str) -> bool:
    """What editors and operating systems leave behind; a notebook is never clutter."""
    hidden = name.startswith(".") and not name.casefold().endswith(".ipynb")
    return hidden or name.startswith("._") or name in ("__MACOSX", "__pycache__", "Thumbs.db")


def _odd(file: str, trail: tuple[str, ...], holder: str, problem: str) -> Found:
    def content() -> bytes:
        raise Unreadable(problem)

    return Found(file, trail, holder, content)


def stem(name: str) -> str:
    """A file's name without its ending: `anna.ipynb` -> "anna"."""
    return PurePosixPath(name).stem if "/" not in name else name
