"""What a Java broker knows about itself: its metrics (JMX) and its threads.

A JVM can be asked by the user who owns it, through a socket file that it makes on demand
(the attach mechanism behind `jcmd`).  Through it we ask for the list of threads, and for
a management agent, which runs only while one reading takes place:

    socket file ──▶ start an agent on 127.0.0.1, with a password, read-only
    JmxTool (in Kafka's jars) ──▶ reads the beans
    socket file ──▶ stop the agent

So no port is open between readings, and none is ever open beyond loopback or without a
password.  A reading takes half a second, because it starts another JVM.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kit import class_archives, jars
from kit.clusters.interface import ClusterError
from kit.clusters.local_plan import HOST, free_ports

Beans = dict[str, dict[str, float]]
"""By the bean's name: its attributes."""

_PATIENCE_S = 10.0
_READING_S = 60.0
_USER = "reader"
_PIECE = 1 << 16


def threads(pid: int) -> list[str]:
    """The names of a JVM's threads."""
    dump = _ask(pid, "threaddump")
    return [line.split('"')[1] for line in dump.splitlines() if line.startswith('"')]


def beans(pid: int, patterns: Sequence[str], attributes: Sequence[str] = ()) -> Beans:
    """The numbers in all beans that match, such as `kafka.network:type=RequestMetrics,*`."""
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory(prefix="kafka-inside-out-") as place:
        password = secrets.token_hex(16)
        words = (f"{_USER} {password}\n", f"{_USER} readonly\n")
        files = [Path(place) / "password", Path(place) / "access"]
        for file, text in zip(files, words, strict=True):
            file.touch(0o600)
            file.write_text(text)
        agent = {
            "jmxremote.host": HOST,
            "jmxremote.port": port,
            "jmxremote.rmi.port": port,
            "jmxremote.ssl": "false",
            "jmxremote.authenticate": "true",
            "jmxremote.password.file": files[0],
            "jmxremote.access.file": files[1],
        }
        options = " ".join(f"{name}={value}" for name, value in agent.items())
        _ask(pid, "jcmd", f"ManagementAgent.start {options}")
        try:
            return _read(port, f"{_USER}={password}", patterns, attributes)
        finally:
            _ask(pid, "jcmd", "ManagementAgent.stop")


def _read(port: int, login: str, patterns: Sequence[str], attributes: Sequence[str]) -> Beans:
    command = [
        *(jars.java(), "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *class_archives.TOOL.flags(),
        *("-cp", jars.classpath(), "org.apache.kafka.tools.JmxTool", "--one-time"),
        *("--jmx-url", f"service:jmx:rmi:///jndi/rmi://{HOST}:{port}/jmxrmi"),
        *("--jmx-auth-prop", login, "--report-format", "properties"),
    ]
    for pattern in patterns:
        command += ["--object-name", pattern]
    if attributes:
        command += ["--attributes", ",".join(attributes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_READING_S, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise ClusterError(f"The broker's metrics could not be read ({last[:200]}): try once more.")
    found: Beans = {}
    for line in done.stdout.splitlines():
        name, _, value = line.rpartition("=")
        bean, colon, attribute = name.rpartition(":")
        with contextlib.suppress(ValueError):
            if colon and ":" in bean:
                found.setdefault(bean, {})[attribute] = float(value)
    return found


def _ask(pid: int, *words: str) -> str:
    """One question through the JVM's socket file; the answer without its result code."""
    path = _socket_file(pid)
    padded = [*words, *[""] * (4 - len(words))]
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(_PATIENCE_S)
        door.connect(path)
        door.sendall(b"1\0" + b"".join(word.encode() + b"\0" for word in padded))
        answer = b""
        while piece := door.recv(_PIECE):
            answer += piece
    code, _, text = answer.decode(errors="replace").partition("\n")
    if code.strip() != "0":
        raise ClusterError(f"The broker's JVM refused {words[0]} ({text.strip()[:200]}).")
    return text


def _socket_file(pid: int) -> str:
    """The JVM's socket; a JVM makes one when it finds a marker file and gets a SIGQUIT."""
    # On Linux a JVM uses /tmp and ignores TMPDIR; on macOS it uses the user's own place.
    place = "/tmp" if os.path.exists("/proc") else tempfile.gettempdir()
    path, mark = f"{place}/.java_pid{pid}", Path(f"{place}/.attach_pid{pid}")
    if os.path.exists(path):
        return path
    mark.touch(0o600)
    try:
        os.kill(pid, signal.SIGQUIT)
        deadline = time.monotonic() + _PATIENCE_S
        while not os.path.exists(path):
            if time.monotonic() > deadline:
                raise ClusterError(f"The JVM {pid} does not answer: is it paused?")
            time.sleep(0.01)
    except ProcessLookupError:
        raise ClusterError(f"There is no process {pid}: start its broker.") from None
    finally:
        mark.unlink(missing_ok=True)
    return path
