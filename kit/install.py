"""Sets the course up: `python3 kit/install.py`, what `make setup` runs.

Runs before anything is installed, so it uses the standard library alone and is started as
a file.  The steps are: a virtual environment in `.venv`; the packages of the lock file,
each checked against its hash; this project itself, editable; PySpark where Java is found;
Kafka's jars where Java and Maven are found.  A stamp in `.venv` keeps the hash of the
inputs, so a second run takes no time and needs no network.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "kafkalab-setup"
BASE_LOCK = ROOT / "requirements.lock"
SPARK_LOCK = ROOT / "requirements-spark.lock"
OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17
JAR_MODULES = ("kit.jars",)
SYSTEM_PACKAGES = {
    "java": "default-jdk-headless",
    "mvn": "maven",
    "chromium": "chromium",
    "dockerd": "docker.io",
    "docker-compose": "docker-compose",
    "debootstrap": "debootstrap",
    "kcat": "kcat",
    "bwrap": "bubblewrap",
}
"""Command -> Debian package: what the whole test suite uses beyond Python."""


class SetupFailed(Exception):
    """One sentence: what went wrong and the command that mends it."""


def java_version() -> int:
    """Major version of the Java in JAVA_HOME or on the path; 0 if none runs."""
    home = os.environ.get("JAVA_HOME")
    java = (shutil.which("java", path=f"{home}/bin") if home else None) or shutil.which("java")
    if java is None:
        return 0
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', answer.stderr)
    return int(found.group(1)) if found else 0


def fingerprint(lock: Path) -> str:
    """Hash of everything that decides what `.venv` holds."""
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for path in (lock, ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run(command: list[str], sentence: str) -> None:
    """Runs one step from the project's root; `sentence` is the message if it fails."""
    try:
        done = subprocess.run(command, cwd=ROOT)
    except OSError as error:
        raise SetupFailed(f"{sentence} ({error})") from error
    if done.returncode != 0:
        raise SetupFailed(sentence)


def install_system_packages() -> None:
    """On a build machine (CI=true), installs with apt the packages that the tests lack."""
    missing = {p for command, p in SYSTEM_PACKAGES.items() if shutil.which(command) is None}
    if shutil.which("java") and java_version() < OLDEST_JAVA:
        missing.add("openjdk-17-jdk-headless")
    if not missing or shutil.which("apt-get") is None:
        return
    admin = [] if os.geteuid() == 0 else ["sudo"]
    command = [*admin, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    print("setup: system packages", *sorted(missing), flush=True)
    run([*command, "update", "-qq"], "apt-get update failed; look at the line above.")
    run(
        [*command, "install", "-y", "-qq", "--no-install-recommends", *sorted(missing)],
        f"apt-get could not install {' '.join(sorted(missing))}; look at the line above.",
    )


def create_environment() -> None:
    if (VENV / "bin" / "python").exists():
        return
    print("setup: virtual environment in .venv", flush=True)
    try:
        venv.create(VENV, with_pip=True, symlinks=True)
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(VENV, ignore_errors=True)
        raise SetupFailed(
            f"No virtual environment could be made in {VENV} ({error}); check that the folder "
            "is writable and, on Debian, run: sudo apt-get install python3-venv"
        ) from error


def install_packages(lock: Path) -> None:
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    print(f"setup: packages of {lock.name}", flush=True)
    run(
        [*pip, "install", "--quiet", "--require-hashes", "--requirement", str(lock)],
        "The packages could not be installed; check the network and run: make setup",
    )
    run(
        [*pip, "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", "."],
        "The project itself could not be installed; run: make clean setup",
    )


def fetch_jars() -> None:
    """Runs each module that fetches jars; they skip jars that the cache has already."""
    for module in JAR_MODULES:
        command = [str(VENV / "bin" / "python"), "-m", module]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            raise SetupFailed(done.stderr.strip() or f"The jars of {module} could not be fetched.")


def setup() -> None:
    if sys.version_info < OLDEST_PYTHON:
        raise SetupFailed(
            f"Python 3.11 or newer is needed and this is {sys.version.split()[0]}; "
            "run: make setup PYTHON=python3.12"
        )
    if os.environ.get("CI") == "true":
        install_system_packages()
    has_java = java_version() >= OLDEST_JAVA
    has_maven = shutil.which("mvn") is not None
    lock = SPARK_LOCK if has_java else BASE_LOCK
    wanted = fingerprint(lock)
    is_new = not STAMP.exists() or STAMP.read_text() != wanted
    if is_new:
        create_environment()
        install_packages(lock)
        STAMP.write_text(wanted)
    if has_java and has_maven:
        if is_new:
            print("setup: Kafka's jars", flush=True)
        fetch_jars()
    if not is_new:
        return
    print("setup: done.", end=" ")
    if not has_java:
        print("No Java 17, so PySpark and the real Kafka are left out.", end=" ")
    elif not has_maven:
        print("No Maven, so the local real Kafka is left out.", end=" ")
    print("See what is there with: .venv/bin/kafkalab doctor")


def lock() -> None:
    """Resolves pyproject.toml into both lock files, for Linux and macOS at once."""
    resolver = shutil.which("uv")
    if resolver is None:
        raise SetupFailed("The locks are resolved by uv; run: python3 -m pip install uv")
    options = "--universal --python-version 3.11 --generate-hashes --no-header --no-annotate "
    options += "--no-emit-index-url --no-emit-find-links --quiet --extra docker --extra test"
    compile_lock = [resolver, "pip", "compile", *options.split(), "pyproject.toml"]
    failed = "pyproject.toml could not be resolved; read uv's message above."
    run([*compile_lock, "-o", str(BASE_LOCK)], failed)
    spark = ["--extra", "spark", "--constraints", str(BASE_LOCK), "-o", str(SPARK_LOCK)]
    run([*compile_lock, *spark], failed)


def main() -> int:
    parser = argparse.ArgumentParser(description="Set the course up.")
    parser.add_argument("--lock", action="store_true", help="resolve the lock files again")
    arguments = parser.parse_args()
    try:
        lock() if arguments.lock else setup()
    except SetupFailed as failure:
        print(f"setup: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
