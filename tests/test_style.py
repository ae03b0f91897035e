"""The formatter, the linter and the type checker, as `make check` runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "command", ["ruff format --check .", "ruff check .", "mypy"], ids=["format", "lint", "types"]
)
def test_the_code_passes(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
