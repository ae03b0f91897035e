"""Stops a JVM's threads at methods of Spark, so that a kill hits a known step.

A thread that watches the checkpoint and then kills is late by chance: the query is somewhere
else by then.  A debugger is exact.  Each JVM starts with the JDWP agent, which is part of every
Java runtime, connects back to this process and waits:

    java -agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address=127.0.0.1:PORT …

We name methods by class and name.  When the JVM has loaded such a class, its methods get a
breakpoint at their first instruction.  A thread that gets there stands still, and only that
thread; `stop` decides whether it goes on or stays.  Spark, Delta and the connector are as they
were published, and the query has no line for our sake.  A thread that stays has done everything
before that method and nothing in it, and SIGKILL then ends the process there.

The protocol (JDWP, chapter "Protocol details" of Java's documentation) is packets of

    length 4 │ id 4 │ flags 1 │ command set 1, command 1   or, in an answer, error 2 │ data

and this module speaks the dozen commands that it needs.  All ids are 8 bytes on HotSpot.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_HANDSHAKE = b"JDWP-Handshake"
_ANSWER = 0x80
_ALL_THREADS, _THAT_THREAD = 2, 1  # suspend policies
_BREAKPOINT, _CLASS_PREPARE, _VM_START, _VM_DEATH = 2, 8, 90, 99  # kinds of events
_ONLY_CLASS, _ONLY_LOCATION = 5, 7  # kinds of modifiers
_COMPOSITE = (64, 100)
_VERSION_SIZES, _RESUME_VM = (1, 7), (1, 9)
_METHODS = (2, 5)
_LINES = (6, 1)
_NAME, _RESUME = (11, 1), (11, 3)
_SET = (15, 1)


@dataclass(frozen=True, slots=True)
class Method:
    """A method by its class's full name and its own; overloads all count."""

    of: str
    name: str

    def __str__(self) -> str:
        return f"{self.of.rpartition('.')[2].rstrip('$')}.{self.name}"


@dataclass(frozen=True, slots=True)
class Stop:
    """A thread that has stopped at the first instruction of a method."""

    method: Method
    thread: str
    """The thread's name; Spark writes the query or the task into it."""
    line: int
    """Of the Scala source."""


Stay = Callable[[Stop], bool]


class Debugger:
    """Listens for JVMs and stops their threads at `methods`; `stay` says which ones stay there.

    `stay` is called in a thread of the JVM's connection, once for each stop.  An error in it
    would leave the JVM standing, so it is kept in `failure`, and the thread goes on.
    """

    def __init__(self, methods: Iterable[Method], stay: Stay) -> None:
        self._methods = tuple(methods)
        self._stay = stay
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.failure: BaseException | None = None
        threading.Thread(target=self._accept, name="debugger", daemon=True).start()

    @property
    def agent(self) -> str:
        """The JVM's option that makes it connect here."""
        port = self._listener.getsockname()[1]
        return f"-agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address=127.0.0.1:{port}"

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            serve = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            serve.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            _Machine(connection, self._methods, self._stay).run()
        except ConnectionError:
            pass  # the JVM has ended
        except BaseException as problem:  # closing the connection lets the JVM go on
            self.failure = problem
        finally:
            connection.close()


class _Machine:
    """One connected JVM."""

    def __init__(self, connection: socket.socket, methods: tuple[Method, ...], stay: Stay) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self._methods = methods
        self._stay = stay
        self._asked = 0
        self._events: deque[bytes] = deque()
        self._breakpoints: dict[int, tuple[Method, int]] = {}

    def run(self) -> None:
        self._connection.sendall(_HANDSHAKE)
        if self._read(len(_HANDSHAKE)) != _HANDSHAKE:
            raise ConnectionError("this is no JVM")
        if set(struct.unpack(">5i", self._ask(_VERSION_SIZES))) != {8}:
            raise RuntimeError("This JVM's ids are not 8 bytes long: use OpenJDK, 64 bits.")
        for name in sorted({method.of for method in self._methods}):
            self._listen(_CLASS_PREPARE, struct.pack(">B", _ONLY_CLASS) + _text(name))
        while True:
            while not self._events:
                self._events.append(self._packet()[1])
            self._handle(self._events.popleft())

    def _handle(self, data: bytes) -> None:
        (number,) = struct.unpack_from(">i", data, 1)
        at = 5
        for _ in range(number):
            kind, request = struct.unpack_from(">Bi", data, at)
            at += 5
            if kind == _VM_DEATH:
                raise ConnectionError("the JVM has ended")
            (thread,) = struct.unpack_from(">Q", data, at)
            at += 8
            if kind == _VM_START:
                self._ask(_RESUME_VM)
            elif kind == _CLASS_PREPARE:
                tag, loaded = struct.unpack_from(">BQ", data, at)
                signature, at = _text_at(data, at + 9)
                at += 4
                self._set_breakpoints(tag, loaded, signature)
                self._go_on(thread)
            elif kind == _BREAKPOINT:
                at += 25
                method, line = self._breakpoints[request]
                name, _ = _text_at(self._ask(_NAME, struct.pack(">Q", thread)), 0)
                if not self._stay(Stop(method, name, line)):
                    self._go_on(thread)

    def _set_breakpoints(self, tag: int, loaded: int, signature: str) -> None:
        class_name = signature[1:-1].replace("/", ".")
        wanted = {method.name: method for method in self._methods if method.of == class_name}
        answer = self._ask(_METHODS, struct.pack(">Q", loaded))
        (number,) = struct.unpack_from(">i", answer)
        at = 4
        for _ in range(number):
            (method,) = struct.unpack_from(">Q", answer, at)
            name, at = _text_at(answer, at + 8)
            _, at = _text_at(answer, at)
            at += 4
            if name in wanted:
                first, line = self._first_line(loaded, method)
                location = struct.pack(">BBQQQ", _ONLY_LOCATION, tag, loaded, method, first)
                self._breakpoints[self._listen(_BREAKPOINT, location)] = wanted[name], line

    def _first_line(self, loaded: int, method: int) -> tuple[int, int]:
        """Index of the first instruction, and its line in the source (0: not known)."""
        lines = self._ask(_LINES, struct.pack(">QQ", loaded, method))
        start, _, number = struct.unpack_from(">qqi", lines)
        return start, struct.unpack_from(">qi", lines, 20)[1] if number else 0

    def _listen(self, kind: int, modifier: bytes) -> int:
        request = struct.pack(">BBi", kind, _THAT_THREAD, 1) + modifier
        return int(struct.unpack(">i", self._ask(_SET, request))[0])

    def _go_on(self, thread: int) -> None:
        self._ask(_RESUME, struct.pack(">Q", thread))

    def _ask(self, command: tuple[int, int], data: bytes = b"") -> bytes:
        """A command's answer; events that come before it wait for their turn."""
        self._asked += 1
        header = struct.pack(">IIBBB", 11 + len(data), self._asked, 0, *command)
        self._connection.sendall(header + data)
        while True:
            is_answer, answer = self._packet()
            if is_answer:
                return answer
            self._events.append(answer)

    def _packet(self) -> tuple[bool, bytes]:
        length, _, flags, code = struct.unpack(">IIBH", self._read(11))
        data = self._read(length - 11)
        if flags & _ANSWER and code:
            raise RuntimeError(f"The JVM refused a debugger's command with error {code}.")
        return bool(flags & _ANSWER), data

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            received = self._connection.recv(size - len(found))
            if not received:
                raise ConnectionError("the JVM has ended")
            found += received
        return bytes(found)


def _text(text: str) -> bytes:
    return struct.pack(">I", len(text)) + text.encode()


def _text_at(data: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">I", data, at)
    return data[at + 4 : at + 4 + size].decode(), at + 4 + size
