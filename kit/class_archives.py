"""Class archives: a JVM maps its classes from a file, where they are parsed and checked already.

A JVM of Kafka's or Spark's reads thousands of classes from jars before it does anything.  With an
archive (class data sharing, JEP 350) a Spark session starts, and does its first work, in two
thirds of the time, and a local Kafka needs about half of the processor time to start.

`make setup` makes the archives (kit/archive_runs.py).  Each fits one Java and one class path, and
its name has a hash of both.  A JVM that cannot use its archive starts without it: a missing archive
costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from kit import jars, places

_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
"""A JVM that does without its archive warns on its output, where tools print their answers."""


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """The classes of one kind of JVM."""

    name: str
    class_path: Callable[[], str]
    home: Callable[[], Path]
    """The directory that it is in, which goes when the class path's jars go."""

    def file(self) -> Path:
        """Where the archive is or would be; JarsMissing without Java or the jars."""
        java = Path(jars.java()).resolve()
        stat = java.stat()
        fits = (str(java), stat.st_size, stat.st_mtime_ns, self.class_path())
        digest = hashlib.sha256(repr(fits).encode()).hexdigest()[:16]
        return self.home() / f"{self.name}-{digest}.jsa"

    def flags(self) -> list[str]:
        """For the command line of a JVM: nothing if the archive is not there."""
        if self.name in _recording:
            return [f"-XX:ArchiveClassesAtExit={_recording[self.name]}", *_QUIET]
        try:
            file = self.file()
        except jars.JarsMissing:
            return []
        return [f"-XX:SharedArchiveFile={file}", *_QUIET] if file.exists() else []

    def make(self, run: Callable[[], None]) -> None:
        """Fills the archive, unless it is there: `run` starts such a JVM, and waits for its end."""
        file = self.file()
        if file.exists():
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        scratch = file.with_suffix(f".{os.getpid()}")
        try:
            with _recorded(self.name, scratch):
                run()
            scratch.replace(file)
        finally:
            scratch.unlink(missing_ok=True)


_recording: dict[str, Path] = {}
"""The archive that is being made -> the file that its JVM writes."""


@contextmanager
def _recorded(name: str, file: Path) -> Iterator[None]:
    _recording[name] = file
    try:
        yield
    finally:
        del _recording[name]


def _spark_home() -> Path:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise jars.JarsMissing("PySpark is not installed, and this needs it: run: make setup")
    return Path(found.origin).parent


def _with_the_cache() -> Path:
    return places.cache_dir() / "class-archives"


def _with_the_environment() -> Path:
    return Path(sys.prefix) / "share" / places.NAME


BROKER = ClassArchive("kafka-broker", jars.classpath, _with_the_cache)
TOOL = ClassArchive("kafka-tool", jars.classpath, _with_the_cache)
SPARK = ClassArchive("spark", lambda: str(_spark_home()), _with_the_environment)
