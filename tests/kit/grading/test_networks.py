"""An answer calls other computers and other services of this machine, and reaches none.

The test has a network of its own.  In it stand a host that could be anywhere (192.0.2.1, an
address that RFC 5737 keeps for examples), a service on loopback, and one on an abstract socket,
which no folder hides.  The grader runs in this network; the answer must not reach any of them.

It runs there as an ordinary user, also where root runs the tests: other tests mark as root.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[1] / "sample_course"
HOST = "192.0.2.1"
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(300)]

CALLS = """
import socket
reached = []
for kind, family, address in CALLED:
    address = tuple(address) if isinstance(address, list) else address
    try:
        with socket.socket(family, socket.SOCK_STREAM) as caller:
            caller.settimeout(2)
            caller.connect(address)
            reached.append(kind)
    except OSError:
        pass
try:
    socket.getaddrinfo("example.org", 80)
    reached.append("a name server")
except OSError:
    pass
quorum = {"reached": reached}
"""

MACHINE = '''
import ctypes, fcntl, json, select, socket, struct, sys

sys.path.insert(0, sys.argv[1])
from kit.grading import attempts
from kit.grading.limits import Limits
from kit.grading.submission import Submission

HOST, CALLS = sys.argv[2:]


def give_loopback(address):
    """A second address for the loopback device of this network."""
    request = struct.pack("16sH2x4s8x", b"lo:1", socket.AF_INET, socket.inet_aton(address))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8916, request)  # SIOCSIFADDR


def listening(family, address):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    return listener


give_loopback(HOST)
ctypes.CDLL(None).prctl(47, 4, 0, 0, 0)  # PR_CAP_AMBIENT_CLEAR_ALL: no rights for what follows
listeners = {
    "a host": listening(socket.AF_INET, (HOST, 0)),
    "loopback": listening(socket.AF_INET, ("127.0.0.1", 0)),
    "abstract": listening(socket.AF_UNIX, "\\0neighbor"),
}
called = [(kind, int(it.family), it.getsockname()) for kind, it in listeners.items()]
called = [(k, f, a.decode() if isinstance(a, bytes) else list(a)) for k, f, a in called]
code = CALLS.replace("CALLED", repr(called))
here = {}
exec(code, here)
for listener in listeners.values():
    listener.accept()[0].close()
outcome = attempts.run(Submission("99", {"99-3": code}), Limits(time_s=200), sandboxed=True)
callers = select.select(list(listeners.values()), [], [], 0)[0]
verdict = outcome.verdicts.get("99-3")
print(json.dumps([here["quorum"]["reached"], verdict and verdict.seen, len(callers)]))
'''


def test_an_answer_reaches_no_host_and_no_other_service(tmp_path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    network = ["bwrap", "--unshare-user", "--uid", "1234", "--gid", "1234", "--unshare-net"]
    network += ["--cap-add", "ALL", "--dev-bind", "/", "/", "--"]
    project = str(SAMPLE.parents[2])
    done = subprocess.run(
        [*network, sys.executable, "-c", MACHINE, project, HOST, CALLS],
        env=os.environ | {"KAFKALAB_COURSE": str(SAMPLE)},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    from_outside, from_inside, callers = json.loads(done.stdout)
    assert from_outside == ["a host", "loopback", "abstract"], "the services do answer"
    assert from_inside == "{'reached': []}", done.stderr
    assert callers == 0
