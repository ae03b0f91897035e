"""Sets the course up: `python3 kit/install.py`, what `make setup` runs.

Runs before anything is installed, so it uses the standard library alone and is started as
a file.  The steps are: a virtual environment in `.venv`; the packages of the lock file,
each checked against its hash; this project itself, editable; PySpark where Java is found;
Kafka's jars where Java and Maven are found.  A stamp in `.venv` keeps the hash of the
inputs, so a second run takes no time and needs no network.

`--bundle FOLDER` takes packages, jars and the Docker image from a folder that `kafkalab bundle`
has made: then the first run needs no network either.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
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
PLATFORM = "PLATFORM"
"""The file in a bundle that names what its wheels are for."""
IMAGE = "image.tar"
WITHOUT_SPARK = "-without-spark"
"""Ends the stamp of a set-up from a bundle that has no PySpark, though Java is there."""
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


def platform_tag() -> str:
    """What wheels depend on: "Python 3.11, Linux x86_64"."""
    return f"Python {sys.version_info[0]}.{sys.version_info[1]}, " + " ".join(
        (platform.system(), platform.machine())
    )


def checked_bundle(folder: Path) -> Path:
    """Raises SetupFailed unless the folder is a bundle for this Python and this machine."""
    try:
        made_for = (folder / PLATFORM).read_text().strip()
    except OSError:
        raise SetupFailed(
            f"{folder} is not a bundle of the course; make one with: kafkalab bundle FOLDER"
        ) from None
    if made_for != platform_tag():
        raise SetupFailed(
            f"The bundle is for {made_for}, and this is {platform_tag()}; make one on a machine "
            "like this, or name its Python: make setup PYTHON=python3.11"
        )
    return folder.resolve()


def install_packages(lock: Path, bundle: Path | None) -> None:
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    print(f"setup: packages of {lock.name}", flush=True)
    source, remedy = [], "check the network and run: make setup"
    if bundle:
        lock = bundle / lock.name
        source = ["--no-index", "--find-links", str(bundle / "wheels")]
        remedy = f"make the bundle again; {bundle} is not whole"
    run(
        [*pip, "install", "--quiet", *source, "--require-hashes", "--requirement", str(lock)],
        f"The packages could not be installed; {remedy}",
    )
    run(
        [*pip, "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", "."],
        "The project itself could not be installed; run: make clean setup",
    )


def fetch_jars(*arguments: str) -> None:
    """Runs each module that fetches jars; they skip jars that the cache has already."""
    for module in JAR_MODULES:
        command = [str(VENV / "bin" / "python"), "-m", module, *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            raise SetupFailed(done.stderr.strip() or f"The jars of {module} could not be fetched.")


def make_class_archives() -> None:
    """Without them everything works, and JVMs start more slowly; so none of it fails set-up."""
    print("setup: class archives, so that Java starts faster", flush=True)
    subprocess.run([str(VENV / "bin" / "python"), "-m", "kit.archive_runs"], cwd=ROOT)


def load_image(bundle: Path) -> None:
    """Gives Docker the bundle's image.  Without a running Docker the course goes on without."""
    image = bundle / IMAGE
    docker = shutil.which("docker")
    if image.exists() and docker:
        done = subprocess.run([docker, "load", "--quiet", "--input", str(image)])
        if done.returncode != 0:
            print("setup: Docker did not take the image; start Docker and run it again.")


def setup(bundle: Path | None = None) -> None:
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
    without_spark = fingerprint(BASE_LOCK) + WITHOUT_SPARK
    if bundle:
        bundle = checked_bundle(bundle)
        if not (bundle / lock.name).exists():
            lock, wanted = BASE_LOCK, without_spark
    stamp = STAMP.read_text() if STAMP.exists() else ""
    is_new = stamp != wanted and (bundle is not None or stamp != without_spark)
    if is_new:
        create_environment()
        install_packages(lock, bundle)
        STAMP.write_text(wanted)
    if bundle:
        fetch_jars("--from", str(bundle / "jars"))
        load_image(bundle)
    elif has_java and has_maven and stamp != without_spark:
        if is_new:
            print("setup: Kafka's jars", flush=True)
        fetch_jars()
    if not is_new:
        return
    if has_java:
        make_class_archives()
    print("setup: done.", end=" ")
    if bundle and lock == BASE_LOCK and has_java:
        print("The bundle has no PySpark, so its labs are left out.", end=" ")
    elif not has_java:
        print("No Java 17, so PySpark and the real Kafka are left out.", end=" ")
    elif not has_maven and not bundle:
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
    parser.add_argument("--bundle", type=Path, metavar="FOLDER", help="set up without a network")
    arguments = parser.parse_args()
    try:
        lock() if arguments.lock else setup(arguments.bundle)
    except SetupFailed as failure:
        print(f"setup: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
