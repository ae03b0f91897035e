"""Hostile answers in two submissions: each gets its mark and a sentence, and harms no other.

The limits are small, so that what escapes a fence does no harm here either.  The answers of the
first submission let its run go on to the end.  In the second the first answer ends the run, and
each of the others gets an attempt of its own.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from kit.grading import attempts
from kit.grading.limits import Limits
from kit.grading.submission import Submission

LIMITS = Limits(
    time_s=900,
    memory_bytes=700_000_000,
    processes=40,
    tasks=150,
    file_bytes=20_000_000,
    written_bytes=64_000_000,
    entries=2_000,
    open_files=5_000,
)
LEFT_BEHIND = "7654321"
"""Seconds that a process sleeps which an answer leaves behind: its mark in lists of processes."""
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(1000)]


@dataclass(frozen=True)
class Attack:
    code: str
    says: str
    """A part of the sentence beside the mark."""
    state: str = "failed"


SHARED_MEMORY = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if libc.shmget(0, 100_000_000, 0o1600) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
answer = 42
"""
THREADS = """
import threading
release = threading.Event()
try:
    for _ in range(500):
        threading.Thread(target=release.wait, daemon=True).start()
    answer = 42
finally:
    release.set()
"""
LEAVES_A_PROCESS = f"""
import os, subprocess
if os.fork() == 0:
    os.setsid()
    subprocess.Popen(["sleep", "{LEFT_BEHIND}"], start_new_session=True)
    os._exit(0)
answer = 41
"""
EQUAL_TO_ALL = """
class Chameleon(int):
    __eq__ = lambda self, other: True
    __hash__ = int.__hash__
answer = Chameleon(7)
"""
WRITES_OUTSIDE = """
import kit, os, pathlib, sys
judge = pathlib.Path(os.environ["KAFKALAB_JUDGE"])
places = [judge.parent, "/dev", "/usr", "/etc", "/", sys.prefix, pathlib.Path(kit.__file__).parent]
written = []
for place in places:
    try:
        (pathlib.Path(place) / "mine").write_text("x")
        written.append(str(place))
    except OSError:
        pass
answer = written or "nothing"
"""
LOOKS_FOR_SOLUTIONS = """
import pathlib, kit
project = pathlib.Path(kit.__file__).parents[1]
found = [str(f) for pattern in ("exercises/*", "source/*", "solutions/*")
         for folder in ("lessons", "labs", "notebooks") for f in (project / folder).rglob(pattern)]
found += [str(f) for f in (project / "kit" / "grading").rglob("*")]
answer = found or "nothing"
"""
FLOODS_THE_JUDGE = """
for _ in range(100):
    lab.check("97-NUMBER", "x" * 1_000_000)
answer = 42
"""
DELETED_FILES = """
import tempfile, time
held = []
try:
    for n in range(30):
        held.append(tempfile.TemporaryFile(dir=("/tmp", "/dev/shm", ".")[n % 3]))
        held[-1].write(b"x" * 5_000_000)
        held[-1].flush()
except OSError:  # the disk is full
    time.sleep(60)
"""
MANY_FILES = """
import pathlib, time
for n in range(5_000):
    pathlib.Path(f"empty-{n}").touch()
time.sleep(60)
"""
FORK_BOMB = """
import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(1)
"""
MEMORY_OF_MANY = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        hog = b"x" * 150_000_000
        time.sleep(60)
        os._exit(0)
time.sleep(60)
"""
SOCKET_BUFFERS = """
import socket, time
pairs = []
for _ in range(1_900):
    pairs.append(socket.socketpair())
    for end in pairs[-1]:
        end.setblocking(False)
        try:
            while True:
                end.send(b"x" * 10_000)
        except BlockingIOError:
            pass
time.sleep(60)
"""

REFUSED = {
    "memory": Attack("answer = bytearray(900_000_000)", "MemoryError"),
    "memfd": Attack("import os\nos.write(os.memfd_create('m'), b'x')", "Function not implemented"),
    "system-v": Attack(SHARED_MEMORY, "Function not implemented"),
    "threads": Attack(THREADS, "can't start new thread"),
    "large-file": Attack("open('f', 'wb').write(b'x' * 30_000_000)", "File too large"),
    "leaves-a-process": Attack(LEAVES_A_PROCESS, "41", "wrong"),
    "equal-to-all": Attack(EQUAL_TO_ALL, "7", "wrong"),
    "writes-outside": Attack(WRITES_OUTSIDE, "nothing", "wrong"),
    "looks-for-solutions": Attack(LOOKS_FOR_SOLUTIONS, "nothing", "wrong"),
    "prints": Attack("for _ in range(50):\n    print('x' * 1_000_000)\nanswer = 42", "42", "right"),
    "patches-check": Attack("lab.check = lambda *a, **k: print('✓ right')", "no verdict"),
    "flood": Attack(FLOODS_THE_JUDGE, "xxx", "wrong"),
    "honest": Attack("answer = 42", "42", "right"),
}
STOPPED = {
    "deleted-files": Attack(DELETED_FILES, "It wrote more than 64 MB."),
    "many-files": Attack(MANY_FILES, "It made more than 2,000 files and folders."),
    "fork-bomb": Attack(FORK_BOMB, "It started more than 40 processes."),
    "memory-of-many": Attack(MEMORY_OF_MANY, "It used more than 700 MB of memory."),
    "socket-buffers": Attack(SOCKET_BUFFERS, "It used more than 700 MB of memory."),
    "exits": Attack("import os\nos._exit(0)", "It ended its own kernel."),
    "kills-nbval": Attack("import os\nos.kill(os.getppid(), 9)", "did not start or was ended"),
    "last": Attack("answer = 42", "42", "right"),
}
ATTACKS = REFUSED | STOPPED


DEFINITION = """
from kit.exercises.exercise import Exercise, right, wrong


def judge(answer, context):
    if answer == 42:
        return right("It is 42.")
    return wrong(f"Not {answer}.", expected=42, seen=answer)


EXERCISES = tuple(
    Exercise(f"97-{n}", f"Number {n}", ("a", "b", "c"), judge) for n in range(HOW_MANY)
)
"""


def course(folder: Path, attacks: dict[str, Attack]) -> None:
    """A course of one notebook: each exercise wants the number 42."""
    lesson = folder / "lessons" / "nb97_hostile"
    for part in ("source", "exercises"):
        (lesson / part).mkdir(parents=True)
    cells = ['# %% doorway tags=["setup"]\nfrom kit import exercises as lab\n']
    for number in range(len(attacks)):
        cells += [
            f'# %% 97-{number} tags=["stub"]\nanswer = None\n',
            f'# %% 97-{number} tags=["solution"]\nanswer = 42\n',
            f'# %% 97-{number} tags=["check"]\nlab.check("97-{number}", answer)\n',
        ]
    (lesson / "source" / "97_hostile.py").write_text("\n".join(cells))
    definition = DEFINITION.replace("HOW_MANY", str(len(attacks)))
    (lesson / "exercises" / "__init__.py").write_text(definition)


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, tuple[str, str]]:
    """The name of an attack -> the state of its mark, and the sentence."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed; run: sudo apt install bubblewrap")
    said = {}
    for attacks in (REFUSED, STOPPED):
        folder = tmp_path_factory.mktemp("course")
        course(folder, attacks)
        answers = {
            f"97-{number}": attack.code.replace("NUMBER", str(number))
            for number, attack in enumerate(attacks.values())
        }
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KAFKALAB_COURSE", str(folder))
            outcome = attempts.run(Submission("97", answers), LIMITS, sandboxed=True)
        for number, name in enumerate(attacks):
            verdict = outcome.verdicts.get(f"97-{number}")
            if verdict is None:
                said[name] = "failed", outcome.errors.get(1 + 2 * number, "no verdict")
            else:
                said[name] = "right" if verdict.passed else "wrong", verdict.message
    return said


@pytest.mark.parametrize(("name", "attack"), ATTACKS.items(), ids=ATTACKS.keys())
def test_every_attack_gets_its_own_mark_and_a_sentence(said, name, attack) -> None:
    state, sentence = said[name]
    assert state == attack.state, sentence
    assert attack.says in sentence


def test_nothing_stays_behind(said) -> None:
    """What an answer has started ends with its run, also in a session of its own."""
    lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not [line for line in lines if LEFT_BEHIND in line]
    assert said["leaves-a-process"][0] == "wrong", "it was started"
