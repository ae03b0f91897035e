"""Children end with the kernel, however it dies, and not with a cell's interrupt."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from kit.clusters.reaper import LABEL_VARIABLE, Reaper, ReaperGone

ROOT = Path(__file__).parents[3]
SLEEPER = [sys.executable, "-S", "-I", "-c", "import time; time.sleep(600)"]
STUBBORN = [
    *(sys.executable, "-S", "-I", "-u", "-c"),
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf'); time.sleep(600)",
]
KERNEL = textwrap.dedent("""
    import sys, time
    from kit.clusters.reaper import Reaper
    log, owned, *sleeper = sys.argv[1:]
    reaper = Reaper.start()
    reaper.own(owned)
    pids = [reaper.spawn(sleeper, name=n, label="t", log_path=log).pid for n in ("a", "b")]
    try:
        print(*pids, flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    time.sleep(600)
""")


def eventually(condition: Callable[[], object], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def reaper() -> Iterator[Reaper]:
    reaper = Reaper.start()
    yield reaper
    reaper.end()


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(tmp_path / "log")


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the place of a Jupyter kernel, with two sleepers and a directory."""
    (tmp_path / "owned").mkdir()
    arguments = [str(tmp_path / "log"), str(tmp_path / "owned"), *SLEEPER]
    process = subprocess.Popen(
        [sys.executable, "-c", KERNEL, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        process_group=0,
    )
    yield process
    process.kill()
    process.wait()


def sleepers_of(kernel: subprocess.Popen[str]) -> list[int]:
    assert kernel.stdout is not None
    return [int(pid) for pid in kernel.stdout.readline().split()]


def test_a_killed_kernel_takes_its_children_and_directories_along(
    kernel: subprocess.Popen[str], tmp_path: Path
) -> None:
    pids = sleepers_of(kernel)
    assert not any(map(gone, pids))
    kernel.kill()
    eventually(lambda: all(map(gone, pids)))
    eventually(lambda: not (tmp_path / "owned").exists())


def test_an_interrupt_to_the_kernels_group_leaves_the_children_running(
    kernel: subprocess.Popen[str],
) -> None:
    pids = sleepers_of(kernel)
    os.killpg(kernel.pid, signal.SIGINT)
    assert kernel.stdout is not None
    assert kernel.stdout.readline() == "interrupted\n"
    assert not any(map(gone, pids))


def test_states_are_what_the_operating_system_reports(reaper: Reaper, log: str) -> None:
    child = reaper.spawn(SLEEPER, name="n", label="t", log_path=log)
    assert child.state() == "running"
    os.kill(child.pid, signal.SIGSTOP)  # not through the reaper
    eventually(lambda: child.state() == "paused")
    child.signal(signal.SIGCONT)
    eventually(lambda: child.state() == "running")
    child.signal(signal.SIGKILL)
    assert child.wait(60) == -signal.SIGKILL
    assert child.state() == "killed"
    again = reaper.spawn(SLEEPER, name="n", label="t", log_path=log)
    again.signal(signal.SIGTERM)
    assert again.wait(60) == -signal.SIGTERM
    assert again.state() == "stopped"


def test_a_paused_and_a_stubborn_child_end_too(reaper: Reaper, log: str) -> None:
    paused = reaper.spawn(SLEEPER, name="paused", label="t", log_path=log, grace_s=0.2)
    deaf = reaper.spawn(STUBBORN, name="deaf", label="t", log_path=log, grace_s=0.2)
    eventually(lambda: "deaf" in Path(log).read_text())
    paused.signal(signal.SIGSTOP)
    reaper.end()
    assert gone(paused.pid)
    assert gone(deaf.pid)


def test_a_child_carries_its_label_and_has_a_session_of_its_own(reaper: Reaper, log: str) -> None:
    child = reaper.spawn(SLEEPER, name="n", label="mine", log_path=log, env={"EXTRA": "1"})
    process = psutil.Process(child.pid)
    eventually(lambda: "EXTRA" in process.environ())  # the kernel fills it in during exec
    environment = process.environ()
    assert environment[LABEL_VARIABLE] == "mine"
    assert environment["EXTRA"] == "1"
    assert os.getsid(child.pid) == child.pid


def test_a_name_is_used_by_one_living_child(reaper: Reaper, log: str) -> None:
    reaper.spawn(SLEEPER, name="n", label="t", log_path=log)
    with pytest.raises(OSError, match="n is running already"):
        reaper.spawn(SLEEPER, name="n", label="t", log_path=log)


def test_a_program_that_is_not_there_is_an_error_not_a_child(reaper: Reaper, log: str) -> None:
    with pytest.raises(OSError, match="no-such-program"):
        reaper.spawn(["no-such-program"], name="n", label="t", log_path=log)
    assert reaper.children() == {}


def test_a_shared_reaper_stays_until_it_is_asked_to_end(tmp_path: Path, log: str) -> None:
    address = str(tmp_path / "s")
    first = Reaper.start_shared(address)
    child = first.spawn(SLEEPER, name="n", label="t", log_path=log)
    first.disconnect()
    second = Reaper.connect(address)
    assert second.children()["n"]["state"] == "running"
    second.end()
    assert gone(child.pid)
    with pytest.raises(ReaperGone):
        Reaper.connect(address)


def test_an_interrupted_request_does_not_mix_up_later_answers(reaper: Reaper, log: str) -> None:
    reaper._lines.write(b'{"ask": "children", "id": 999}\n')  # its answer is never fetched
    child = reaper.spawn(SLEEPER, name="n", label="t", log_path=log)
    assert isinstance(child.pid, int)
    assert list(reaper.children()) == ["n"]


def test_letting_go_of_a_private_reaper_ends_its_children(log: str) -> None:
    reaper = Reaper.start()
    child = reaper.spawn(SLEEPER, name="n", label="t", log_path=log)
    reaper.disconnect()
    eventually(lambda: gone(child.pid))
