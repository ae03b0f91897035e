"""Both disks: what holds for one must hold for the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.storage.disk import Disk
from engine.storage.memory_disk import MemoryDisk
from engine.storage.real_disk import RealDisk


@pytest.fixture(params=["memory", "real"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    if request.param == "memory":
        return MemoryDisk()
    return RealDisk(tmp_path / "data", open_files_max=4)
