"""What a broker's process had open is closed when it ends, though the engine goes on."""

from __future__ import annotations

from pathlib import Path

from engine.cluster.processes import KILLED, Processes
from engine.storage.real_disk import RealDisk


def test_files_that_were_replaced_meanwhile_are_read_after_a_restart(tmp_path: Path) -> None:
    disk = RealDisk(tmp_path)
    processes = Processes({101: disk})
    disk.append("0.log", b"before")
    (tmp_path / "0.log").unlink()
    (tmp_path / "0.log").write_bytes(b"after")
    processes.end(101, KILLED)
    assert disk.read("0.log", 0, 9) == b"after"
    disk.close()
