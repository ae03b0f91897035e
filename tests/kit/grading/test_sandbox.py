"""A submission tries the doors of the machine that marks it, and finds them shut.

Each attempt runs in the kernel of a submission.  The tests hold for every user: root, as
in containers and on build machines, and anybody else.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from kit.grading import sandbox, submission
from kit.grading.limits import Limits
from kit.grading.stage import Outcome, Task, perform

SAMPLE = Path(__file__).parents[1] / "sample_course"
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(240)]


@pytest.fixture(autouse=True)
def sample_course(monkeypatch) -> None:
    monkeypatch.setenv("KAFKALAB_COURSE", str(SAMPLE))
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")


SECRETS = [
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/pip.conf",
    "/etc/ssl/private",
    "/etc/ssh",
    "/etc/kubernetes",
    "/etc/docker",
    "/run",
    "/var",
    "/srv",
    "/mnt",
    "/boot",
    "/sys",
    "/dev/mem",
    "/dev/kmsg",
    "/proc/kcore",
    "/proc/kpagecount",
    "/proc/kmsg",
    *(f"/proc/1/{link}/etc/shadow" for link in ("root", "cwd", "cwd/../../..")),
]
KNOBS = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sysrq-trigger",
    "/proc/irq/default_smp_affinity",
    "/proc/dynamic_debug/control",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/fs/cgroup/cgroup.procs",
]

BURGLAR = '''
import glob, json, os, pathlib, socket, subprocess

def opens(path, flags):
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK))
        return True
    except OSError:
        return False

def entries(path):
    """What can be listed there, or the file itself where it can be read."""
    if os.path.isdir(path):
        try:
            return [os.path.join(path, name) for name in os.listdir(path)]
        except OSError:
            return []
    return [path] if opens(path, os.O_RDONLY) else []

def connects(path):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        return True
    except OSError:
        return False

def private_keys():
    for folder in ("/etc", "/usr/lib/ssl", "/usr/local/etc"):
        for path in pathlib.Path(folder).rglob("*"):
            try:
                content = path.read_bytes() if path.is_file() else b""
                if content.startswith(b"-----BEGIN") and b"PRIVATE KEY-----" in content:
                    yield str(path)
            except OSError:
                pass

tried = json.loads(TRIED)
found = {
    "secrets": [entry for path in tried["secrets"] for entry in entries(path)],
    "knobs": [path for path in tried["knobs"] if opens(path, os.O_WRONLY)],
    "keys": sorted(private_keys()),
    "sockets": [path for path in tried["sockets"] if connects(path)],
    "environment": [value for value in os.environ.values() if "hush" in value],
    "written outside": [path for path in tried["folders"] if os.access(path, os.W_OK)],
    "user namespace": subprocess.run(["unshare", "-U", "true"]).returncode == 0,
    "processes": [p for p in glob.glob("/proc/[0-9]*/environ")
                  if opens(p, os.O_RDONLY) and b"hush" in open(p, "rb").read()],
    "authority files": [f.name for f in pathlib.Path("/etc/ssl/certs").glob("*")],
}
open("found.json", "w").write(json.dumps(found))
'''


def run_alone(room: Path, code: str) -> Outcome:
    """The outcome of code in an answer; afterwards, what it wrote is in `room`."""
    submitted = submission.Submission("99", {"99-2": code})
    notebook = nbformat.writes(submission.transplant(submitted))
    return perform(Task(notebook, ("99-2",), str(room), True, "a", Limits(time_s=120)))


def test_no_door_of_the_machine_opens_from_inside(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TOKEN", "hush")
    secret = tmp_path / "answers.txt"
    secret.write_text("hush")
    daemon = socket.socket(socket.AF_UNIX)
    daemon.bind(str(tmp_path / "docker.sock"))
    daemon.listen()
    kept_at_home = (".ssh", ".netrc", ".bash_history", ".config", ".aws", ".docker")
    tried = {
        "secrets": [
            *SECRETS,
            *[str(Path.home() / name) for name in kept_at_home],
            str(secret),
        ],
        "knobs": KNOBS,
        "sockets": [
            str(tmp_path / "docker.sock"),
            "/run/docker.sock",
            "/var/run/docker.sock",
            "/run/dbus/system_bus_socket",
        ],
        "folders": ["/etc", "/usr", "/proc/sys", sys.prefix, str(sandbox.PROJECT / "kit")],
    }
    code = BURGLAR.replace("TRIED", repr(json.dumps(tried)))
    work = tmp_path / "work"
    with daemon:
        result = run_alone(tmp_path, code)
    assert (work / "found.json").exists(), result
    found = json.loads((work / "found.json").read_text())
    authorities = set(found.pop("authority files"))
    assert not any(found.values()), {what: open for what, open in found.items() if open}
    assert authorities <= {"ca-certificates.crt", "java"}
    assert (work / "found.json").stat().st_uid != 0, "not even root runs a submission as root"


def test_the_sandbox_has_room_to_work_in(tmp_path) -> None:
    """What the fence must leave: scratch folders, shared memory, an interpreter that starts."""
    code = (
        "import multiprocessing, subprocess, sys, tempfile\n"
        "with tempfile.NamedTemporaryFile() as file, multiprocessing.get_context('spawn').Lock():\n"
        "    file.write(b'x')\n"
        "subprocess.run([sys.executable, '-c', 'import kit.lab, ssl'], check=True)\n"
        "open('done', 'w').close()"
    )
    result = run_alone(tmp_path, code)
    assert (tmp_path / "work" / "done").exists(), result


def test_credentials_for_a_package_index_are_not_in_view(tmp_path, monkeypatch) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pip.conf").write_text("index-url with a password")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setattr(sys, "executable", os.path.realpath(sys.executable))
    sandbox.furnish(tmp_path)
    sandbox.hand_over(tmp_path)
    fenced = sandbox.in_sandbox(["cat", f"{sys.prefix}/pip.conf"], tmp_path)
    done = subprocess.run(fenced, capture_output=True, text=True)
    assert "password" not in done.stdout
    assert "pip.conf" in done.stderr


def test_a_checkout_without_read_permission_is_refused_with_a_remedy(tmp_path, monkeypatch) -> None:
    """Root drops its rights, and so needs a checkout that others may read; a user does not."""
    checkout = tmp_path / "checkout"
    shutil.copytree(
        sandbox.PROJECT / "kit", checkout / "kit", ignore=shutil.ignore_patterns("exercises")
    )
    (checkout / "kit").chmod(0o700)
    monkeypatch.setattr(sandbox, "PROJECT", checkout)
    if os.geteuid() != 0:
        sandbox.require()
        return
    with pytest.raises(sandbox.NoSandbox, match=r"As root, .*chmod -R a\+rX"):
        sandbox.require()
