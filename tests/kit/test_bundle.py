"""A set-up from a bundle, in a room without a network: a namespace that has loopback alone.

The set-up with all packages takes minutes, so the suite does one with few.  The whole form, which
ends with notebook 00 and the doctor, runs with KAFKALAB_BUNDLE=base, and with PySpark and Java
with KAFKALAB_BUNDLE=full.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit import bundle, install, jars
from tests.real_clusters import missing

LONG = os.environ.get("KAFKALAB_BUNDLE", "")
NEEDED = ("sh", "dirname", "python3", "git")
"""The programs that a laptop without Java has."""


def small_lock(folder: Path) -> Path:
    """The lock's entry of setuptools, which installs the course itself."""
    text = install.BASE_LOCK.read_text()
    found = re.search(r"^setuptools==.*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    lock = folder / install.BASE_LOCK.name
    lock.write_text(found.group())
    return lock


class Laptop:
    """A home folder and programs, behind a cut network."""

    def __init__(self, folder: Path, *, java: bool) -> None:
        self.home = folder / "home"
        programs = folder / "programs"
        self.home.mkdir()
        programs.mkdir()
        for name in NEEDED:
            found = sys.executable if name == "python3" else shutil.which(name)
            # venv asks where its Python is, so this must be the real one.
            (programs / name).symlink_to(Path(found or "/bin/false").resolve())
        self.path = f"{programs}:{os.environ['PATH']}" if java else str(programs)

    def run(self, *command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess:
        inside = ["bwrap", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/"]
        environment = {"HOME": str(self.home), "PATH": self.path}
        environment |= {"TMPDIR": os.environ.get("TMPDIR", "/tmp")}
        return subprocess.run(
            [shutil.which(inside[0]) or "", *inside[1:], *map(str, command)],
            env=environment,
            cwd=cwd or self.home,
            capture_output=True,
            text=True,
        )


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        missing("bubblewrap", "run: sudo apt install bubblewrap")


@pytest.fixture
def no_way_out(tmp_path) -> Laptop:
    laptop = Laptop(tmp_path, java=False)
    seen = laptop.run("/bin/cat", "/proc/net/dev").stdout
    assert re.findall(r"^ *(\w+):", seen, re.MULTILINE) == ["lo"]
    return laptop


@pytest.mark.full
def test_a_laptop_without_a_network_is_set_up_from_a_folder(
    no_way_out, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(install, "BASE_LOCK", small_lock(tmp_path))
    stick = tmp_path / "stick"
    done = bundle.write(stick, spark=False, image=False)
    assert done.wheels == 1
    target = no_way_out.home / "course"
    said = no_way_out.run("sh", stick / "install", target)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "the course is in" in said.stdout
    python = target / ".venv" / "bin" / "python"
    where = no_way_out.run(python, "-c", "import kit, engine; print(kit.__file__)", cwd=tmp_path)
    assert where.stdout.strip() == str(target / "kit" / "__init__.py")
    doctor = no_way_out.run(target / ".venv" / "bin" / "kafkalab", "doctor")
    assert "What is installed" in doctor.stdout, doctor.stderr
    if jars.installed():
        assert "Kafka's jars" in done.jar_sets
        cached = no_way_out.home / ".cache" / "kafka-inside-out" / "jars"
        assert (cached / jars.directory().name).is_dir()
    again = no_way_out.run("python3", target / "kit" / "install.py")
    assert (again.returncode, again.stdout) == (0, ""), "the second set-up asked the network"
    full = no_way_out.run("sh", stick / "install", target)
    assert (full.returncode, full.stderr.count("\n")) == (1, 1)
    assert "is not empty; name another folder" in full.stderr


def test_a_bundle_for_another_machine_and_a_folder_that_is_none_get_a_sentence(tmp_path) -> None:
    with pytest.raises(install.SetupFailed, match="not a bundle of the course; make one with"):
        install.checked_bundle(tmp_path)
    (tmp_path / install.PLATFORM).write_text("Python 3.12, Darwin arm64\n")
    with pytest.raises(install.SetupFailed, match=r"for Python 3\.12, Darwin arm64, and this is"):
        install.checked_bundle(tmp_path)


def test_jars_of_another_version_are_not_taken(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KAFKA_JARS", raising=False)
    wrong = tmp_path / "stick" / jars.directory().name
    assert jars.kafka().take(tmp_path / "stick") is False
    wrong.mkdir(parents=True)
    (wrong / "kafka-clients-9.jar").write_bytes(b"")
    with pytest.raises(jars.JarsMissing, match="are not the recorded ones"):
        jars.kafka().take(tmp_path / "stick")
    assert not jars.installed()


def test_locks_name_the_wheels_that_are_there(tmp_path) -> None:
    wheel = tmp_path / "Foo_Bar-1.2.post1-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    assert bundle.package_of(wheel) == ("foo-bar", "1.2.post1")
    assert bundle.lock_of([wheel]).startswith("foo-bar==1.2.post1 --hash=sha256:")
    lock = "a==1 \\\n    --hash=sha256:00\nB.c==2.0 ; python_version < '3.12' \\\n"
    assert bundle.locked_versions(lock) == {("a", "1"), ("b-c", "2.0")}


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not LONG, reason="not a missing part: long; run with KAFKALAB_BUNDLE=base")
def test_notebook_00_and_the_doctor_are_green_without_a_network(tmp_path) -> None:
    laptop = Laptop(tmp_path, java=LONG == "full")
    stick = tmp_path / "stick"
    done = bundle.write(stick, spark=LONG == "full", image=False)
    print(done)
    target = laptop.home / "course"
    said = laptop.run("sh", stick / "install", target)
    assert said.returncode == 0, said.stdout + said.stderr
    doctor = laptop.run(target / ".venv" / "bin" / "kafkalab", "doctor")
    print(doctor.stdout)
    assert doctor.returncode == 0
    run = (
        "import nbformat, nbclient; n = nbformat.read('00-start-here.ipynb', 4); "
        "nbclient.NotebookClient(n, timeout=180).execute(); print('green')"
    )
    green = laptop.run(target / ".venv" / "bin" / "python", "-c", run, cwd=target / "notebooks")
    assert green.stdout == "green\n", green.stderr
    again = laptop.run("python3", target / "kit" / "install.py")
    assert (again.returncode, again.stdout) == (0, ""), again.stderr
