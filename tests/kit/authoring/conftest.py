"""A course of one sample lesson, to be built and changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[1] / "sample_course"


@pytest.fixture
def course(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "course"
    shutil.copytree(SAMPLE, folder)
    monkeypatch.setenv("KAFKALAB_COURSE", str(folder))
    return folder
