"""Runs a small Java program against a cluster: Kafka's own client, from the jars.

    with JavaProgram(Path("Probe.java"), cluster.bootstrap) as java:
        java.ask("partitions", "orders", "order-7")      # a line in, a line out

The program reads a line from its standard input, and answers it with one line: fields separated by
tabs.  One JVM serves all questions, since each start takes a second.  Where Java or the jars are
missing, `JavaProgram` raises JarsMissing with the remedy.  A `Program` is asked in the same way and
may be any other command.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from kit import jars

JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
QUIET = ("-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-Dorg.apache.logging.log4j.level=OFF")
PATIENCE_S = 60.0
ERROR = "error"
"""The first field of an answer that is an exception; its name and message follow."""


class Program:
    """One process that answers each line with a line, until `end`."""

    def __init__(self, command: Sequence[str], name: str = "The program") -> None:
        pipe = subprocess.PIPE
        self.name = name
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True,
        )  # fmt: skip

    def ask(self, *words: str) -> list[str]:
        """One question; the fields of the answer.  RuntimeError if it is an error, or missing."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        watch = threading.Timer(PATIENCE_S, self.process.kill)
        watch.start()
        try:
            self.process.stdin.write("\t".join(words) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if not line:
            raise RuntimeError(f"{self.name} ended, or gave no answer to {words[0]!r}.")
        fields = line.rstrip("\n").split("\t")
        if fields[0] == ERROR:
            raise RuntimeError(f"{self.name} failed at {words[0]!r}: {': '.join(fields[1:])}")
        return fields

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class JavaProgram:
    """One JVM that runs a source file; it ends with the `with` block."""

    def __init__(self, source: Path, *arguments: str) -> None:
        command = [jars.java(), *JVM, *QUIET, "-cp", jars.classpath(), str(source), *arguments]
        self.program = Program(command, "The Java program")
        self.process, self.ask = self.program.process, self.program.ask

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.program.end()
