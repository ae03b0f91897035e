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

All that a submission can write to (its work folder, /tmp, /dev/shm) is in its room: one small
file system in memory, mounted on the stage and gone with it.  kit.grading.limits has the limits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kit import places
from kit.course import PROJECT, modules_for_kernels
from kit.grading import inside as inside_module
from kit.grading.limits import Limits

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
UNTOLD = Limits()


class NoSandbox(RuntimeError):
    """This machine cannot fence learners' code in; the text says what to do."""


def require() -> None:
    """Raises NoSandbox unless bubblewrap is installed and permitted to work."""
    trust = "or pass --no-sandbox if you trust every file that you mark"
    if shutil.which("bwrap") is None:
        raise NoSandbox(
            "Submissions run in a sandbox, and bubblewrap is not installed: "
            f"sudo apt install bubblewrap (Linux only), {trust}."
        )
    with tempfile.TemporaryDirectory(prefix="kafkalab-probe-") as folder:
        room = Path(folder)
        furnish(room)
        hand_over(room)
        probe = in_sandbox([sys.executable, "-c", "import kit.places, nbval"], room)
        done = subprocess.run(
            on_stage(probe), env=environment(room), capture_output=True, text=True
        )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        advice = "Ask the admin"
        if _is_root():
            advice = (
                "As root, submissions run as the user nobody: let it read the course and Python "
                f"(chmod -R a+rX {PROJECT} {sys.prefix} {sys.base_prefix}), mark as another user"
            )
        raise NoSandbox(f"A submission cannot run in a sandbox here ({reason}). {advice}, {trust}.")


def on_stage(command: list[str], room: Path | None = None, limits: Limits = UNTOLD) -> list[str]:
    """The command in a network of its own; it still sees every file.

    The room, a folder, becomes an empty file system in memory, which only the stage sees.
    """
    stage = ["bwrap", "--unshare-net", "--die-with-parent", "--dev-bind", "/", "/"]
    if room is not None:
        stage += ["--size", str(limits.file_system_bytes), "--tmpfs", str(room)]
    return [*stage, "--", *command]


def in_sandbox(command: list[str], room: Path, limits: Limits = UNTOLD) -> list[str]:
    """The command with only the files that it needs, and the room to write in."""
    inside = ["--new-session", "--cap-drop", "ALL", "--disable-userns"]
    inside += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    inside += ["--unshare-cgroup-try", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    inside += ["--hostname", "localhost", "--dev", "/dev"]
    shared_memory = "/dev/shm" if _is_root() else str(room / "shm")
    inside += ["--bind", shared_memory, "/dev/shm", "--remount-ro", "/dev"]
    inside += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--remount-ro", "/"]
    inside += ["--chdir", str(room / "work"), "--", sys.executable, "-I", "-S", "-c"]
    inside += [Path(inside_module.__file__).read_text(), str(limits.tasks), *command]
    bwrap = ["bwrap", "--die-with-parent"]
    files = _files(room)
    if not _is_root():
        return [*bwrap, *files, *inside]
    as_root = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    as_root += ["--dev", "/dev", "--bind", str(room / "shm"), "/dev/shm"]
    as_root += ["--dev-bind", "/proc", "/proc"]  # the second step needs /dev and /proc
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    return [*bwrap, *files, *as_root, "--", *drop, *bwrap, "--dev-bind", "/", "/", *inside]


def _files(room: Path) -> list[str]:
    """bubblewrap's options for all files that the sandbox sees."""
    options = ["--bind", str(room / "tmp"), "/tmp"]
    for folder in SYSTEM:
        if Path(folder).is_symlink():
            options += ["--symlink", os.readlink(folder), folder]
        elif Path(folder).exists():
            options += ["--ro-bind", folder, folder]
    readable = [path for name in SETTINGS for path in sorted(Path("/etc").glob(name))]
    readable += [Path(folder) for folder in sorted({sys.base_prefix, sys.prefix})]
    readable += [PROJECT / "engine", PROJECT / "kit", PROJECT / "docs" / "glossary.md"]
    readable += modules_for_kernels()
    readable += [places.cache_dir() / "jars", room / "judge"]
    for path in readable:
        # bubblewrap makes missing parents for their owner alone, unless they are asked for
        options += ["--dir", str(path.parent), "--ro-bind-try", str(path), str(path)]
    for secret in NOT_FOR_LEARNERS:
        if (PROJECT / secret).exists():
            hidden = str(PROJECT / secret)
            options += ["--tmpfs", hidden, "--remount-ro", hidden]
    for prefix in sorted({sys.base_prefix, sys.prefix}):
        if (credentials := Path(prefix) / "pip.conf").exists():
            options += ["--ro-bind", "/dev/null", str(credentials)]
    work = str(room / "work")
    return [*options, "--dir", str(room), "--bind", work, work]


def furnish(room: Path) -> None:
    """Makes the folders of a room: of these, the sandbox may write to work, tmp and shm."""
    for folder in ("work/home", "tmp", "shm", "judge"):
        (room / folder).mkdir(parents=True, exist_ok=True)
    for folder in ("tmp", "shm"):
        (room / folder).chmod(0o1777)
    (room / "judge").chmod(0o755)


def hand_over(room: Path) -> None:
    """Gives what the sandbox may write to, with all that is in it, to the sandbox's user."""
    if _is_root():
        work = room / "work"
        for path in (room / "tmp", room / "shm", work, *work.rglob("*")):
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def _is_root() -> bool:
    return os.geteuid() == 0


def environment(room: Path) -> dict[str, str]:
    """All that learners' code finds in its environment."""
    home = room / "work" / "home"
    return {
        "HOME": str(home),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "KAFKALAB_JUDGE": str(room / "judge" / "socket"),
        "KAFKALAB_PROGRESS": str(home / "progress.json"),
        "KAFKALAB_REAL": "off",
        "LANG": "C.UTF-8",
        "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(PROJECT),
        "TMPDIR": "/tmp",
        "XDG_CACHE_HOME": str(places.cache_dir().parent),
    }
