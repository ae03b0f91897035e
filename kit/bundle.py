"""Everything that a set-up needs, in one folder, for a room without a network.

    install              sets the course up from this folder: `sh install [TARGET]`
    README.txt           what the folder is, and what it cannot bring
    PLATFORM             the Python and the machine that the wheels are for
    kafka-inside-out-….zip   the release; the student edition is what `install` unpacks
    requirements*.lock   the locked versions, with the hashes of these wheels
    wheels/              a wheel for each package, PySpark's too, which comes without one
    jars/                a folder for each set of jars, named like the one in the cache
    image.tar            Kafka's Docker image, if it is here

pip and Maven fetch what is not in their caches, so the folder is made with a network.
`kit/install.py --bundle` uses it; Java and Docker themselves have to be there.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kit import install, jars
from kit.course import PROJECT
from kit.release import archive

INSTALL = """#!/bin/sh
# Sets Kafka Inside Out up in the folder that you name, from the folder that this file is in.
# No network is needed. Python 3.11 is; PYTHON=… names one that is not python3.
set -eu
bundle=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
target=${1:-"$HOME/kafka-inside-out"}
python=${PYTHON:-python3}
"$python" - "$bundle" "$target" <<'UNPACK'
import io, sys, zipfile
from pathlib import Path

bundle, target = map(Path, sys.argv[1:])
if target.exists() and any(target.iterdir()):
    sys.exit(f"install: {target} is not empty; name another folder: sh install FOLDER")
with zipfile.ZipFile(next(bundle.glob("kafka-inside-out-*.zip"))) as release:
    name = next(each for each in release.namelist() if each.endswith("-student.zip"))
    with zipfile.ZipFile(io.BytesIO(release.read(name))) as edition:
        for member in edition.infolist():
            member.filename = member.filename.partition("/")[2]
            edition.extract(member, target)
UNPACK
"$python" "$target/kit/install.py" --bundle "$bundle"
echo "install: the course is in $target; go there and run: make lab"
"""
README = """Kafka Inside Out for a room without a network

Copy this folder to each laptop, or mount it, and run there:

    sh install FOLDER

It is for {platform}. {spark} Java 17 is not in it: install it before, if the laptops are to
run {java}. Without Java every notebook still runs, on the engine.

In a clone of the course, the same is done by: make setup BUNDLE=FOLDER
"""


class NoBundle(RuntimeError):
    """One sentence: what is missing for a bundle, and the remedy."""


@dataclass(frozen=True, slots=True)
class Bundled:
    """What the folder holds, in numbers."""

    wheels: int
    jar_sets: tuple[str, ...]
    has_image: bool
    bytes: int


def write(folder: Path, *, spark: bool = True, image: bool = True) -> Bundled:
    """Makes or completes a bundle.  Raises NoBundle, archive.NoRelease."""
    folder.mkdir(parents=True, exist_ok=True)
    locks = [install.BASE_LOCK, *([install.SPARK_LOCK] if spark else [])]
    wheels = _wheels(folder / "wheels", locks[-1])
    for lock in locks:
        wanted = packages_in(lock.read_text())
        (folder / lock.name).write_text(lock_of(w for w in wheels if package_of(w)[0] in wanted))
    wanted_jars = [e for e in jars.all_sets() if spark or e not in (jars.SPARK, jars.DELTA)]
    sets = tuple(each.name for each in wanted_jars if _jars(each, folder / "jars"))
    has_image = image and save_image(folder / install.IMAGE)
    for old in folder.glob("kafka-inside-out-*.zip"):
        old.unlink()
    archive.write(archive.read_commit(PROJECT), folder)
    (folder / install.PLATFORM).write_text(install.platform_tag() + "\n")
    (folder / "install").write_text(INSTALL)
    (folder / "install").chmod(0o755)
    (folder / "README.txt").write_text(_readme(spark))
    total = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return Bundled(len(wheels), sets, has_image, total)


def _readme(spark: bool) -> str:
    return README.format(
        platform=install.platform_tag(),
        spark="PySpark is in it." if spark else "PySpark is not in it.",
        java="a real Kafka and the PySpark labs" if spark else "a real Kafka",
    )


def _wheels(folder: Path, lock: Path) -> list[Path]:
    """A wheel for each package of a lock; other versions' wheels go."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    command += ["--no-deps", "--require-hashes", "--requirement", str(lock)]
    if subprocess.run([*command, "--wheel-dir", str(folder)]).returncode != 0:
        raise NoBundle("The wheels could not be fetched; check the network and run it again.")
    wanted = locked_versions(lock.read_text())
    found = sorted(folder.glob("*.whl"))
    for wheel in found:
        if package_of(wheel) not in wanted:
            wheel.unlink()
    return [wheel for wheel in found if wheel.exists()]


def package_of(wheel: Path) -> tuple[str, str]:
    """`Foo_bar-1.2-py3-none-any.whl` -> ("foo-bar", "1.2")."""
    name, version = wheel.name.split("-")[:2]
    return canonical(name), version


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_versions(lock: str) -> set[tuple[str, str]]:
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock, re.MULTILINE)
    return {(canonical(name), version) for name, version in found}


def packages_in(lock: str) -> set[str]:
    return {name for name, _ in locked_versions(lock)}


def lock_of(wheels: Iterable[Path]) -> str:
    """A lock file for exactly these wheels: PySpark's has another hash than its source."""
    lines = []
    for wheel in wheels:
        name, version = package_of(wheel)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines.append(f"{name}=={version} --hash=sha256:{digest}\n")
    return "".join(lines)


def _jars(each: jars.JarSet, folder: Path) -> bool:
    """Adds a set of jars that is in the cache; False if it is not."""
    if not each.installed():
        return False
    target = folder / each.directory().name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(each.directory(), target, copy_function=_linked)
    return True


def _linked(source: str, target: str) -> None:
    """A hard link where that is possible: the same jars are in the cache."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def save_image(path: Path) -> bool:
    """Saves the composed cluster's image; False without Docker or without the image."""
    named = re.search(r"^\s*image: (\S+)$", (PROJECT / "docker-compose.yml").read_text(), re.M)
    if named is None or shutil.which("docker") is None:
        return False
    command = ["docker", "save", "--output", str(path), named.group(1)]
    done = subprocess.run(command, capture_output=True)
    return done.returncode == 0
