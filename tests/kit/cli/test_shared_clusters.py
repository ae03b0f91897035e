"""`up`, `status` and `down`, in a process table of their own.

`down` ends every cluster of the kit on the machine; here it must not see those of other
tests, so the commands run where no process but theirs exists.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

SESSION = """
kafkalab() { "$PYTHON" -m kit.cli "$@"; }
kafkalab status
kafkalab up engine
kafkalab up engine
kafkalab status
kafkalab down
kafkalab down
ps -e -o args= | grep -c '[-]m engine' || true
"""


@pytest.fixture
def short_folder() -> Iterator[str]:
    """Sockets live in it, and their paths must stay under 108 bytes."""
    with tempfile.TemporaryDirectory(prefix="kl") as folder:
        yield folder


def test_a_shared_engine_stays_until_down_and_leaves_nothing(short_folder) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    apart = ["bwrap", "--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/"]
    done = subprocess.run(
        [*apart, "--proc", "/proc", "bash", "-c", SESSION],
        env=os.environ
        | {"TMPDIR": short_folder, "XDG_STATE_HOME": f"{short_folder}/state"}
        | {"PYTHON": sys.executable},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "No cluster is up. Start one with: kafkalab up engine", done.stderr
    stays_up = "It stays up until you run: kafkalab down. bootstrap.servers=127.0.0.1:"
    assert lines[1].startswith(stays_up), done.stderr
    address = lines[1].split("=")[1]
    assert lines[2] == f"It is up already. bootstrap.servers={address}"
    assert "engine    shared  " + address in done.stdout
    assert lines[-3:] == [
        "Nothing of the kit is running now.",
        "Nothing of the kit was running.",
        "0",
    ]
