"""A part that is missing skips its tests here and fails them on a build machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

TESTS = """
import pytest

@pytest.mark.docker
def test_needs_docker():
    pass

def test_skips_by_itself():
    pytest.skip("kcat is not installed")

def test_skips_for_an_allowed_reason():
    pytest.skip("not a missing part: nothing to do")
"""


@pytest.mark.parametrize(
    ("ci", "closing"), [("", "3 skipped"), ("true", "1 failed, 1 skipped, 1 error")]
)
def test_skips_fail_on_a_build_machine(tmp_path, ci, closing) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_parts.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), str(tmp_path)]
    command += [f"--rootdir={tmp_path}", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command,
        env=os.environ | {"CI": ci, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert closing in done.stdout.splitlines()[-1], done.stdout + done.stderr
