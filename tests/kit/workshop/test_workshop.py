"""The teacher's command, several learners' kernels, and garbage, over loopback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kit import page_server
from kit.course import PROJECT
from kit.exercises import progress_file
from kit.workshop import member, server
from kit.workshop.room import Room

SAMPLE = Path(__file__).parents[1] / "sample_course"
RIGHT = "lambda ends, isr: min(ends[b] for b in isr)"


class Teacher:
    """The command in a process of its own."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "kit.cli", "workshop", "--port", "0", *options]
        self.process = subprocess.Popen(
            command, env=environment(), stdout=subprocess.PIPE, text=True, cwd=PROJECT
        )
        assert self.process.stdout is not None
        self.said = [self.process.stdout.readline() for _ in range(3)]
        self.page = re.search(r"http\S+", self.said[0]).group()
        self.room = re.search(r"http\S+", self.said[1]).group()

    def view(self) -> dict:
        with urllib.request.urlopen(f"{self.page}/view", timeout=10) as answer:
            return json.load(answer)

    def cells(self) -> dict[str, dict]:
        return {each["alias"]: each["exercises"] for each in self.view()["participants"]}

    def wait_for(self, test) -> dict[str, dict]:
        limit = time.monotonic() + 30
        while not test(seen := self.cells()):
            assert time.monotonic() < limit, seen
            time.sleep(0.1)
        return seen


def environment(home: Path | None = None) -> dict[str, str]:
    own = {"KAFKALAB_COURSE": str(SAMPLE), "PYTHONPATH": str(PROJECT)}
    if home:
        own |= {"XDG_STATE_HOME": str(home), "KAFKALAB_PROGRESS": str(home / "progress.json")}
    return os.environ | own


@pytest.fixture
def teacher() -> Iterator[Teacher]:
    found = Teacher()
    yield found
    found.process.send_signal(signal.SIGINT)
    assert found.process.wait(20) == 130
    assert found.process.stdout is not None
    found.process.stdout.close()


def kernel(home: Path, code: str) -> subprocess.Popen:
    """A learner's kernel: it checks, then lives on, as kernels do."""
    return subprocess.Popen(
        [sys.executable, "-c", f"from kit import exercises as lab\n{code}\ninput()"],
        env=environment(home),
        stdin=subprocess.PIPE,
        text=True,
        stdout=subprocess.DEVNULL,
    )


def joins(home: Path, url: str) -> str:
    home.mkdir()
    command = [sys.executable, "-m", "kit.cli", "join", url]
    done = subprocess.run(command, env=environment(home), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no name and no answer" in done.stdout
    return re.search("“(.*)”", done.stdout).group(1)


def test_four_kernels_report_what_they_check(teacher, tmp_path) -> None:
    assert "Only this machine can reach it" in teacher.said[2]
    homes = [tmp_path / str(number) for number in range(4)]
    names = [joins(home, teacher.room) for home in homes]
    answers = (
        f"lab.check('99-2', {RIGHT})",
        "[lab.check('99-2', max) for _ in range(4)]",
        "lab.check('99-2', max); lab.hint('99-2'); lab.check('99-3', None)",
        "lab.predict('99-1', 'b')",
    )
    kernels = [kernel(*each) for each in zip(homes, answers, strict=True)]
    try:
        seen = teacher.wait_for(
            lambda cells: (
                cells[names[0]].get("99-2", {}).get("solved")
                and cells[names[1]].get("99-2", {}).get("attempts") == 4
                and "99-3" in cells[names[2]]
            )
        )
    finally:
        for each in kernels:
            each.communicate("\n", timeout=30)
    assert seen[names[1]]["99-2"]["stuck"]
    assert (seen[names[2]]["99-2"]["attempts"], seen[names[2]]["99-2"]["hints"]) == (1, 1)
    assert seen[names[3]] == {}, "a prediction stays with the learner"
    files = [(home / "progress.json").read_text() for home in homes]
    assert len(files) == 4
    left = [sys.executable, "-m", "kit.cli", "join", "--leave"]
    done = subprocess.run(left, env=environment(homes[0]), capture_output=True, text=True)
    assert done.stdout == "You have left the room.\n"
    assert names[0] not in teacher.cells()


def test_without_joining_nothing_is_sent(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(member, "_post", lambda *_: pytest.fail("something was sent"))
    progress_file.attempt("99-2", passed=True)
    assert member.current() is None


def test_a_room_that_is_gone_holds_up_no_check_and_an_old_one_is_forgotten(
    monkeypatch, tmp_path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("KAFKALAB_PROGRESS", str(tmp_path / "progress.json"))
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and answers nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/room/x"
        known = {"url": url, "alias": "jade owl", "key": "k", "until": time.time() + 60}
        member._file().write_text(json.dumps(known))
        started = time.monotonic()
        assert progress_file.attempt("99-2", passed=True)[1]
        assert time.monotonic() - started < member.WAIT_S / 2
    member._file().write_text(json.dumps(known | {"until": time.time() - 1}))
    assert member.current() is None
    assert not member._file().exists()


@pytest.mark.parametrize("address", ["", "ftp://x/room/y", "http://127.0.0.1:9/", "06"])
def test_an_address_that_is_none_gets_a_sentence(monkeypatch, tmp_path, address) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(member.CannotJoin, match=r"not the address of a room\. Your teacher has it"):
        member.join(address)


def test_a_room_that_does_not_answer_and_a_wrong_code_get_a_sentence(
    teacher, monkeypatch, tmp_path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    there = member.join(teacher.room)
    with pytest.raises(member.CannotJoin, match="There is no such room, or it has ended"):
        member.join(teacher.room + "x")
    assert member.current() == there, "a typo has thrown the learner out of the room"
    with pytest.raises(member.CannotJoin, match=r"does not answer .* in the same network"):
        member.join("http://127.0.0.1:1/room/code")


def sent(address: tuple[str, int], content: bytes) -> bytes:
    with contextlib.suppress(OSError), socket.create_connection(address, timeout=10) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(4_000)
    return b""


def test_garbage_gets_an_answer_or_none_and_the_room_goes_on(teacher, tmp_path) -> None:
    parts = urlsplit(teacher.room)
    address = (parts.hostname, parts.port)
    path = parts.path.encode()
    for content in (
        os.urandom(5_000),
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET " + b"a" * 100_000,
        b"X: y\r\n" * 10_000,
        b"POST " + path + b"/join HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n{}",
        b"POST " + path + b"/join HTTP/1.1\r\nContent-Length: -5\r\n\r\n{}",
        b"POST " + path + b"/join HTTP/1.1\r\n\r\n{}",
        b"POST " + path + b"/report HTTP/1.1\r\nContent-Length: 9\r\n\r\n" + b"[" * 9,
        b"POST " + path + b"/report HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        b'POST ' + path + b'/report HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"key":1}',
        b"POST /room/other/join HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    ):  # fmt: skip
        answer = sent(address, content)
        assert not answer.startswith(b"HTTP/1.1 200")
        assert b" 200 " not in answer.partition(b"\r\n")[0], content[:60]
    slow = [socket.create_connection(address) for _ in range(page_server.MOST_AT_ONCE + 10)]
    try:
        time.sleep(page_server.LONGEST_WAIT_S + 1)
        assert teacher.cells() == {}, "slow connections have been closed, and the page answers"
    finally:
        for each in slow:
            each.close()
    joins(tmp_path / "learner", teacher.room)
    assert len(teacher.cells()) == 1


def test_the_page_is_only_at_its_key_and_asks_no_other_server(teacher) -> None:
    with urllib.request.urlopen(teacher.page) as answer:
        policy = answer.headers["Content-Security-Policy"]
        text = answer.read().decode()
    assert "default-src 'none'" in policy
    assert "http" not in text.replace("http-equiv", "")
    for wrong in (teacher.page[:-1], teacher.page + "x", teacher.room):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(wrong)
        assert refused.value.code == 404


def test_it_binds_to_loopback_and_a_strange_address_gets_a_sentence() -> None:
    with server.Server(Room({}, 60), page_server.LOOPBACK[0], 0) as opened:
        assert opened.address.startswith("http://127.0.0.1:")
    with pytest.raises(page_server.CannotOpen, match="name an address of this machine with --host"):
        server.Server(Room({}, 60), "203.0.113.7", 0)
    with pytest.raises(page_server.CannotOpen):
        server.Server(Room({}, 60), page_server.LOOPBACK[0], 99_999)
    with pytest.raises(page_server.CannotOpen, match=r"such as 192\.168\.1\.20: others type it"):
        server.Server(Room({}, 60), "0.0.0.0", 0)


def test_the_room_ends_by_itself() -> None:
    brief = Teacher("--hours", str(2 / 3600))
    assert brief.process.wait(30) == 0
    assert brief.process.stdout is not None
    assert brief.process.stdout.read() == "The room has ended, and nothing of it is kept.\n"
    brief.process.stdout.close()
