"""Reports which parts are installed, what a missing part costs, and the command that adds it.

Every check is cheap (a file, a version, one question to a local socket) and read-only.  A
missing part is never an error: each notebook still runs from top to bottom without it.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

from kit.course import PROJECT
from kit.install import OLDEST_JAVA, java_version
from kit.tables import Table

DISTRIBUTION = "kafka-inside-out"
DISK_WANTED_GB = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One part.  `cost` and `mend` are empty if the part is there."""

    part: str
    found: str
    cost: str = ""
    mend: str = ""

    @property
    def well(self) -> bool:
        return not self.cost


def examine() -> list[Finding]:
    """All findings, in the order in which the course needs the parts."""
    looks: Iterable[Callable[[], Finding]] = (
        _python,
        _packages,
        _accelerators,
        _java,
        _maven,
        _kafka,
        _spark,
        _docker,
        _compose,
        _chromium,
        _bubblewrap,
        _disk,
        _folders,
        _ports,
    )
    return [look() for look in looks]


def table(findings: list[Finding]) -> Table:
    """The findings as a table for a notebook or a terminal."""
    rows = [
        ("✓" if f.well else "–", f.part, f.found, f.cost, f.mend.replace("\n", " "))
        for f in findings
    ]
    missing = sum(not finding.well for finding in findings)
    closing = "Everything is there." if not missing else f"{missing} of {len(rows)} missing."
    columns = ("", "part", "found", "without it", "fix it with")
    return Table("What is installed", columns, rows, closing)


def doctor() -> Table:
    """What `kafkalab doctor` prints and notebook 00 shows."""
    return table(examine())


def _installer(package: str) -> str:
    return f"brew install {package}" if sys.platform == "darwin" else f"sudo apt install {package}"


def _python() -> Finding:
    return Finding("Python", ".".join(map(str, sys.version_info[:3])))


def _packages() -> Finding:
    try:
        wanted = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return Finding("packages", "not installed", "no notebook runs", "make setup")
    names = [re.split(r"[<>=!~ ;\[]", line)[0] for line in wanted if "extra ==" not in line]
    missing = [name for name in names if not _installed(name)]
    if missing:
        return Finding("packages", f"{', '.join(missing)} missing", "cells fail", "make setup")
    return Finding("packages", f"{len(names)} of {len(names)}")


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _accelerators() -> Finding:
    missing = [name for name in ("crc32c", "cramjam") if find_spec(name) is None]
    if missing:
        cost = "the engine is slower; snappy, lz4 and zstd cannot be read"
        return Finding("accelerators", f"no {' and no '.join(missing)}", cost, "make setup")
    return Finding("accelerators", "CRC-32C in C; snappy, lz4, zstd")


@cache
def _java_release() -> int:
    return java_version()


def _java() -> Finding:
    release = _java_release()
    if release < OLDEST_JAVA:
        found = f"Java {release}" if release else "not found"
        jdk = "openjdk@17" if sys.platform == "darwin" else "openjdk-17-jdk-headless"
        cost = "no real Kafka as processes, no PySpark labs"
        return Finding("Java 17", found, cost, _installer(jdk))
    return Finding("Java 17", f"Java {release}")


def _maven() -> Finding:
    if shutil.which("mvn") is None:
        cost = "Kafka's jars cannot be fetched"
        return Finding("Maven", "not found", cost, _installer("maven") + " && make setup")
    return Finding("Maven", "there")


def _kafka() -> Finding:
    from kit import jars

    found = next(iter(jars.directory().glob("kafka-clients-*.jar")), None)
    if found is None:
        cost = "no real Kafka as processes beside the engine"
        return Finding("Kafka's jars", "not fetched", cost, "make setup")
    release = found.stem.removeprefix("kafka-clients-")
    return Finding("Kafka's jars", f"Kafka {release}")


def _spark() -> Finding:
    release = _installed("pyspark")
    if not release:
        return Finding("PySpark", "not installed", "the labs L1 to L6 do not run", "make setup")
    if _java_release() < OLDEST_JAVA:
        return Finding("PySpark", f"{release}, no Java", "the labs do not run", "see Java 17")
    return Finding("PySpark", release)


def _docker() -> Finding:
    cost = "no composed cluster; the engine and local Kafka serve instead"
    docker = shutil.which("docker")
    if docker is None:
        package = "--cask docker" if sys.platform == "darwin" else "docker.io"
        return Finding("Docker", "not found", cost, _installer(package))
    try:
        command = [docker, "version", "--format", "{{.Server.Version}}"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        answer = None
    if answer is None or answer.returncode != 0:
        mac = sys.platform == "darwin"
        mend = "open -a Docker" if mac else "sudo systemctl start docker"
        return Finding("Docker", "installed, not running", cost, mend)
    return Finding("Docker", answer.stdout.strip())


def _compose() -> Finding:
    if shutil.which("docker-compose"):
        return Finding("Compose", "docker-compose")
    plugins = ("~/.docker", "/usr/libexec/docker", "/usr/lib/docker", "/usr/local/lib/docker")
    if any((Path(p).expanduser() / "cli-plugins/docker-compose").exists() for p in plugins):
        return Finding("Compose", "docker compose")
    mend = _installer("docker-compose")
    return Finding("Compose", "not found", "no composed cluster", mend)


def _chromium() -> Finding:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((name for name in names if shutil.which(name)), None)
    if found is None:
        cost = "the browser tests are skipped; no notebook needs it"
        return Finding("Chromium", "not found", cost, _installer("chromium"))
    return Finding("Chromium", found)


def _bubblewrap() -> Finding:
    if shutil.which("bwrap") is None:
        cost = "kafkalab grade has no sandbox; no notebook needs it"
        return Finding("bubblewrap", "not found", cost, _installer("bubblewrap"))
    return Finding("bubblewrap", "there")


def _disk() -> Finding:
    free_gb = shutil.disk_usage(tempfile.gettempdir()).free / 1e9
    if free_gb < DISK_WANTED_GB:
        cost = "a full disk may stop a cluster"
        mend = "export TMPDIR=/a/larger/folder"
        return Finding("disk", f"{free_gb:.1f} GB free", cost, mend)
    return Finding("disk", f"{free_gb:.0f} GB free")


def _folders() -> Finding:
    from kit.exercises.progress_file import location

    place = next(folder for folder in location().parents if folder.exists())
    if not os.access(place, os.W_OK):
        cost = "your progress is not saved"
        mend = "export XDG_DATA_HOME=/a/folder/of/yours"
        return Finding("progress", f"{place} is read-only", cost, mend)
    return Finding("progress", str(location()).replace(str(Path.home()), "~"))


def _ports() -> Finding:
    """The engine and local Kafka take free ports; only the composed cluster has fixed ones."""
    compose = PROJECT / "docker-compose.yml"
    text = compose.read_text() if compose.exists() else ""
    ports = sorted({int(port) for port in re.findall(r"127\.0\.0\.1:(\d+):\d+", text)})
    taken = [port for port in ports if _is_taken(port)]
    if taken:
        found = f"{', '.join(map(str, taken))} taken"
        cost = "the composed cluster cannot start, or is already up"
        return Finding("ports", found, cost, "kafkalab status")
    return Finding("ports", f"{', '.join(map(str, ports)) or 'loopback'} free")


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
