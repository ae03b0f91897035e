"""The last step into the sandbox: it drops what no process inside may use, and starts the command.

    python -I -S -c TEXT_OF_THIS_FILE TASKS COMMAND…

* Processes and threads together: at most TASKS.  Linux 5.14 and later count them in the
  sandbox's own user namespace, so no other process of the same user matters.
* Memory that belongs to no process and no file system: memfd_create, memfd_secret, System V
  shared memory and message queues, and the rings of io_uring.  These calls fail with ENOSYS, as
  on a kernel that has none; callers know what to do then.  Python's shared memory and locks
  live in /dev/shm, whose size is limited.

Standard library only: it runs without the course and without installed packages.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
import sys

CALLS = {  # audit's name of the machine; memfd_create memfd_secret shmget msgget io_uring_setup
    "x86_64": (0xC000003E, (319, 447, 29, 68, 425)),
    "aarch64": (0xC00000B7, (279, 447, 194, 186, 425)),
}
X32_CALLS = 0x40000000
"""On x86-64, numbers from here on are the same calls by another name."""
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, ENOSYS = 0x7FFF0000, 0x00050000 | 38


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def program(machine: str) -> bytes:
    """The filter for seccomp, in the kernel's packet-filter code; empty on other machines."""
    if machine not in CALLS:
        return b""
    architecture, calls = CALLS[machine]
    tests = [(EQUAL, number) for number in calls] + [(AT_LEAST, X32_CALLS)]
    steps = [(LOAD, 0, 0, 4), (EQUAL, 0, len(tests) + 2, architecture), (LOAD, 0, 0, 0)]
    steps += [(code, len(tests) - i, 0, number) for i, (code, number) in enumerate(tests)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ENOSYS)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def refuse_calls() -> None:
    """Holds for this process and all its children, for good.  Raises OSError."""
    code = program(platform.machine())
    if not code:
        return
    kernel = ctypes.CDLL(None, use_errno=True)
    filled = Program(len(code) // 8, code)
    none = ctypes.c_ulong(0)
    if kernel.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), none, none, none) or kernel.prctl(
        PR_SET_SECCOMP, ctypes.c_ulong(MODE_FILTER), ctypes.byref(filled), none, none
    ):
        raise OSError(ctypes.get_errno(), "the kernel took no system-call filter")


def main() -> None:
    tasks, command = int(sys.argv[1]), sys.argv[2:]
    resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))
    refuse_calls()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
