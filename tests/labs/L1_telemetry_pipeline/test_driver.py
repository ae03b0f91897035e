"""A notebook's query in a process of its own: it can be killed, and it does not outlive us."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from labs.L1_telemetry_pipeline import driver

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def seconds_to(session, table: str, checkpoint: str):
    """A stream that never ends."""
    ticks = session.readStream.format("rate").load()
    writer = ticks.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    return writer.trigger(processingTime="200 milliseconds").start(table)


def alive(group: int) -> bool:
    """Whether a process of the group runs; one that waits for its parent does not."""
    states = subprocess.run(
        ["ps", "-o", "stat=", "-g", str(group)], capture_output=True, text=True, check=False
    ).stdout.split()
    return any(not state.startswith("Z") for state in states)


def test_a_killed_job_leaves_its_checkpoint_and_no_process(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    job = driver.start(seconds_to, str(tmp_path / "table"), str(checkpoint))
    try:
        job.wait_for(checkpoint / "offsets" / "0")
        assert alive(job.process.pid)
    finally:
        job.kill()
    assert job.process.returncode == -9
    end = time.monotonic() + 10
    while alive(job.process.pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(job.process.pid), "the JVM outlives its driver"
    assert (checkpoint / "metadata").exists()


@pytest.mark.full
def test_a_job_ends_with_the_kernel_that_started_it(tmp_path: Path) -> None:
    job = driver.start(seconds_to, str(tmp_path / "table"), str(tmp_path / "checkpoint"))
    assert job.process.stdin is not None
    job.process.stdin.close()  # as the operating system does when the kernel dies
    assert job.process.wait(60) == -9


@pytest.mark.full
def test_a_job_that_fails_says_why(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", "echo no such topic >&2; exit 1"], stdin=subprocess.PIPE,
            stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
    job = driver.Job(process, log)
    with pytest.raises(driver.JobEnded, match="ended by itself: no such topic"):
        job.wait_for(tmp_path / "never", timeout_s=30)
