"""Set-up: what it says when it cannot, and that a second run does nothing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kit import install

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of what set-up reads, without a virtual environment."""
    copy = tmp_path / "course"
    (copy / "kit").mkdir(parents=True)
    for name in ("pyproject.toml", "requirements.lock", "requirements-spark.lock"):
        shutil.copy(ROOT / name, copy / name)
    shutil.copy(ROOT / "kit" / "install.py", copy / "kit")
    return copy


def set_up(
    checkout: Path, *, inside: tuple[str, ...] = (), path: str
) -> subprocess.CompletedProcess:
    return subprocess.run(
        [*inside, sys.executable, str(checkout / "kit" / "install.py")],
        env={"PATH": path, "HOME": str(checkout)},
        capture_output=True,
        text=True,
    )


def fake_java(folder: Path, says: str, status: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {status}\n")
    java.chmod(0o755)
    return java


@pytest.mark.parametrize(
    ("says", "release"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_292"', 1),
        ("The operation could not be completed.", 0),
    ],
)
def test_javas_release_is_what_it_says(tmp_path, monkeypatch, says, release) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    fake_java(tmp_path, says)
    assert install.java_version() == release


def test_java_home_comes_before_the_path(tmp_path, monkeypatch) -> None:
    fake_java(tmp_path / "home" / "bin", 'openjdk version "25.0.1"')
    fake_java(tmp_path / "path", 'openjdk version "17.0.1"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin:/usr/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert install.java_version() == 25
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert install.java_version() == 17


def test_an_old_python_gets_a_message_which_one_to_use(monkeypatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(install.SetupFailed, match=r"3\.11 or newer.*make setup PYTHON=python3\.12"):
        install.setup()


def test_a_second_run_does_nothing_and_says_nothing(checkout, tmp_path) -> None:
    stamp = checkout / ".venv" / "kafkalab-setup"
    stamp.parent.mkdir()
    stamp.write_text(install.fingerprint(checkout / "requirements.lock"))
    again = set_up(checkout, path=str(tmp_path))
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert sorted(path.name for path in stamp.parent.iterdir()) == ["kafkalab-setup"]


def test_a_changed_lock_sets_up_again(checkout) -> None:
    before = install.fingerprint(checkout / "requirements.lock")
    (checkout / "requirements.lock").write_text("a==1\n")
    assert install.fingerprint(checkout / "requirements.lock") != before


def test_a_read_only_folder_gets_one_sentence(checkout, tmp_path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    read_only = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", str(checkout), str(checkout))
    done = set_up(
        checkout, inside=(shutil.which("bwrap") or "", *read_only[1:]), path=str(tmp_path)
    )
    assert done.returncode == 1
    message = done.stderr.strip()
    assert message.startswith("setup: No virtual environment could be made in")
    assert "check that the folder is writable" in message
    assert "\n" not in message


def test_system_packages_are_asked_for_on_a_build_machine_only(checkout, tmp_path) -> None:
    """The stand-ins for apt-get and env write down what they were called with."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("apt-get", "env", "sudo"):
        tool = tools / name
        tool.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nexit 1\n')
        tool.chmod(0o755)
    command = [sys.executable, str(checkout / "kit" / "install.py")]
    environment = {"PATH": f"{tools}:/bin/nowhere", "HOME": str(tmp_path), "CI": "true"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "apt-get update failed" in done.stderr
    assert "bubblewrap" in done.stdout
    assert "apt-get update" in (tmp_path / "asked").read_text()
