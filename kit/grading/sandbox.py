"""Fences learners' code in: limits what it sees, reaches and uses.

Linux's bubblewrap builds two rooms, one inside the other:

* the stage: a network of its own with loopback only.  The judge runs here, so that it can
  look at a cluster that the learner's code starts.
* the sandbox: besides that, processes, users and files of its own.  It sees the operating
  system, Python and the cached jars (all read-only), `engine`, `kit` without grading, the
  modules that notebooks of lessons and labs import, its own folder, the judge's socket, and
  an environment that we wrote.

A user namespace renames root and takes nothing away: the kernel still sees user 0, who owns
/proc/sys and every private key.  So a sandbox that root starts is made in two steps.  The
first, as root, arranges the files.  The second becomes the user nobody, and only then makes
the namespaces.  Any other user makes the same sandbox in one step.

The kernel does not limit a group of processes in memory, number and bytes written together.
A watch outside the sandbox keeps these limits and ends the sandbox as a whole.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from kit import places
from kit.course import PROJECT, modules_for_kernels

SCRATCH_BYTES = 512_000_000
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
SETTINGS = [
    "alternatives",
    "group",
    "hosts",
    "java-*",
    "ld.so.cache",
    "localtime",
    "nsswitch.conf",
    "passwd",
    "ssl/certs/ca-certificates.crt",
    "ssl/certs/java/cacerts",
    "ssl/openssl.cnf",
]
"""Of /etc: what Python and Java look at when they start."""
NOT_FOR_LEARNERS = ("kit/grading",)
NOBODY = 65534
"""The user and group that learners' code runs as where root marks."""


class NoSandbox(RuntimeError):
    """This machine cannot fence learners' code in; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Limits:
    """For everything that one submission starts, together."""

    time_s: int = 300
    memory_bytes: int = 3_000_000_000
    processes: int = 100
    file_bytes: int = 64_000_000
    written_bytes: int = 256_000_000


def require() -> None:
    """Raises NoSandbox unless bubblewrap is installed and permitted to work."""
    trust = "or pass --no-sandbox if you trust every file that you mark"
    if shutil.which("bwrap") is None:
        raise NoSandbox(
            "Submissions run in a sandbox, and bubblewrap is not installed: "
            f"sudo apt install bubblewrap (Linux only), {trust}."
        )
    nowhere = Path("/tmp")
    probe = in_sandbox([sys.executable, "-c", "import kit, nbval"], nowhere, nowhere)
    variables = environment(nowhere, nowhere)
    done = subprocess.run(on_stage(probe), env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        advice = "Ask the admin"
        if _is_root():
            advice = (
                "As root, submissions run as the user nobody: let it read the course and Python "
                f"(chmod -R a+rX {PROJECT} {sys.prefix} {sys.base_prefix}), mark as another user"
            )
        raise NoSandbox(f"A submission cannot run in a sandbox here ({reason}). {advice}, {trust}.")


def on_stage(command: list[str]) -> list[str]:
    """The command in a network of its own; it still sees every file."""
    return ["bwrap", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/", "--", *command]


def in_sandbox(command: list[str], work: Path, socket_folder: Path) -> list[str]:
    """The command with only the files that it needs; `work` is its own folder."""
    room = ["--new-session", "--cap-drop", "ALL", "--disable-userns"]
    room += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    room += ["--unshare-cgroup-try", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    room += ["--hostname", "localhost", "--dev", "/dev"]
    room += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--remount-ro", "/"]
    room += ["--chdir", str(work), "--", *command]
    bwrap = ["bwrap", "--die-with-parent"]
    files = _files(work, socket_folder)
    if not _is_root():
        return [*bwrap, *files, *room]
    as_root = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    as_root += ["--dev", "/dev", "--dev-bind", "/proc", "/proc"]  # the second step needs both
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    return [*bwrap, *files, *as_root, "--", *drop, *bwrap, "--dev-bind", "/", "/", *room]


def _files(work: Path, socket_folder: Path) -> list[str]:
    """bubblewrap's options for all files that the sandbox sees."""
    options = ["--perms", "1777", "--size", str(SCRATCH_BYTES), "--tmpfs", "/tmp"]
    for folder in SYSTEM:
        if Path(folder).is_symlink():
            options += ["--symlink", os.readlink(folder), folder]
        elif Path(folder).exists():
            options += ["--ro-bind", folder, folder]
    readable = [path for name in SETTINGS for path in sorted(Path("/etc").glob(name))]
    readable += [Path(folder) for folder in sorted({sys.base_prefix, sys.prefix})]
    readable += [PROJECT / "engine", PROJECT / "kit", PROJECT / "docs" / "glossary.md"]
    readable += modules_for_kernels()
    readable += [places.cache_dir() / "jars", socket_folder]
    for path in readable:
        # bubblewrap makes missing parents for their owner alone, unless they are asked for
        options += ["--dir", str(path.parent), "--ro-bind-try", str(path), str(path)]
    for secret in NOT_FOR_LEARNERS:
        if (PROJECT / secret).exists():
            options += ["--tmpfs", str(PROJECT / secret)]
    for prefix in sorted({sys.base_prefix, sys.prefix}):
        if (credentials := Path(prefix) / "pip.conf").exists():
            options += ["--ro-bind", "/dev/null", str(credentials)]
    return [*options, "--dir", str(work.parent), "--bind", str(work), str(work)]


def hand_over(work: Path, socket_folder: Path) -> None:
    """Gives `work` to the user in the sandbox, and lets that user reach the judge's socket."""
    socket_folder.chmod(0o755)
    if _is_root():
        for path in (work, *work.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def _is_root() -> bool:
    return os.geteuid() == 0


def environment(work: Path, judge: Path) -> dict[str, str]:
    """All that learners' code finds in its environment."""
    return {
        "HOME": str(work / "home"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "KAFKALAB_JUDGE": str(judge),
        "KAFKALAB_PROGRESS": str(work / "home" / "progress.json"),
        "KAFKALAB_REAL": "off",
        "LANG": "C.UTF-8",
        "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(PROJECT),
        "TMPDIR": "/tmp",
        "XDG_CACHE_HOME": str(places.cache_dir().parent),
    }


def run(command: list[str], env: dict[str, str], work: Path, limits: Limits, log: Path) -> str:
    """Runs a fenced command to its end; returns the limit that ended it, or an empty text.

    Its output goes to `log`, up to the limit of a file.
    """

    def limit_each_process() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (2 * limits.time_s, 2 * limits.time_s))
        files = min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=env,
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=limit_each_process,
        )
    try:
        return _watch(process, work, limits)
    finally:
        _end(process)


def _watch(process: subprocess.Popen, work: Path, limits: Limits) -> str:
    deadline = time.monotonic() + limits.time_s
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
            return ""
        if time.monotonic() > deadline:
            return f"It ran longer than {limits.time_s} s."
        processes, memory = _usage(process.pid)
        if processes > limits.processes:
            return f"It started more than {limits.processes} processes."
        if memory > limits.memory_bytes:
            return f"It used more than {limits.memory_bytes // 1_000_000} MB of memory."
        if _written(work) > limits.written_bytes:
            return f"It wrote more than {limits.written_bytes // 1_000_000} MB."


def _usage(pid: int) -> tuple[int, int]:
    """Processes below `pid`, and their resident memory in bytes."""
    import psutil

    count = memory = 0
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                memory += child.memory_info().rss
                count += 1
    return count, memory


def _written(work: Path) -> int:
    total = 0
    for folder, _, files in os.walk(work):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def _end(process: subprocess.Popen) -> None:
    """Ends the whole tree: without a sandbox, children may have left the process group."""
    import psutil

    children = []
    with contextlib.suppress(psutil.Error):
        children = psutil.Process(process.pid).children(recursive=True)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for child in children:
        with contextlib.suppress(psutil.Error):
            child.kill()
    process.wait()
