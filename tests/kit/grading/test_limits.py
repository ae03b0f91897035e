"""What the watch counts, it counts as the kernel does."""

from __future__ import annotations

import os
import platform
import signal
import socket
import subprocess
import sys

import pytest

from kit.grading import inside, limits
from kit.grading.socket_memory import unix_socket_bytes


def test_bytes_that_wait_in_a_socket_are_seen_and_gone_when_read() -> None:
    if sys.platform != "linux":
        pytest.skip("not a missing part: sock_diag is Linux's")
    here, there = socket.socketpair()
    before = unix_socket_bytes()
    here.sendall(b"x" * 150_000)
    waiting = unix_socket_bytes() - before
    assert waiting > 100_000 or unix_socket_bytes() == 0
    there.recv(200_000)


def test_a_room_on_a_disk_is_counted_file_by_file(tmp_path) -> None:
    for part in ("work", "tmp", "shm"):
        (tmp_path / part / "deep").mkdir(parents=True)
        (tmp_path / part / "deep" / "file").write_bytes(b"x" * 1000)
    (tmp_path / "log").write_bytes(b"x" * 5000)
    assert limits.stored(tmp_path) == (3000, 6)


def test_processes_below_one_are_counted_with_their_memory() -> None:
    code = "import subprocess; subprocess.run(['sh', '-c', 'echo up; exec sleep 600'])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        try:
            assert parent.stdout.readline() == "up\n"
            found = limits.usage(parent.pid)
            once = limits.usage(parent.pid, shared_once=True)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
    assert found.processes == once.processes == 1
    assert 0 < once.memory_bytes <= found.memory_bytes
    assert not found.kernel


def test_the_filter_refuses_memory_without_an_owner_and_nothing_else() -> None:
    if not inside.program(platform.machine()):
        pytest.skip(f"not a missing part: no filter is written for {platform.machine()}")
    code = (
        "import os, sys, tempfile\n"
        f"sys.path.insert(0, {os.path.dirname(inside.__file__)!r})\n"
        "import inside\n"
        "os.close(os.memfd_create('before'))\n"
        "inside.refuse_calls()\n"
        "try:\n"
        "    os.memfd_create('after')\n"
        "except OSError as error:\n"
        "    print(error.strerror)\n"
        "tempfile.TemporaryFile().write(b'x')\n"
        "print(os.waitstatus_to_exitcode(os.system('true')))\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["Function not implemented", "0"], done.stderr


def test_other_machines_run_without_a_filter() -> None:
    assert inside.program("riscv64") == b""
    assert len(inside.program("x86_64")) == len(inside.program("aarch64")) == 11 * 8
