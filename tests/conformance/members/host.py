"""A process whose threads are members of groups, by one of Python's three client libraries.

    python -m tests.conformance.members.host confluent

It reads a line and answers with one: fields separated by tabs, as `MemberHost.java` does.

    open NAME TOPIC KEY=VALUE...    a member joins, on a thread of its own
    commit NAME 0:7,1:7             offsets by partition; `committed` or `refused` follows as news
    hold NAME, release NAME         in between, its rebalance callbacks do not return
    close NAME                      it hands on no further record, and leaves
    news                            what happened since the last question, a field for each event

An event is NAME|microseconds|kind|partitions|detail.  `given`, `taken` and `lost` are noted in the
callback, before the client tells the coordinator anything.  `read` is the first record of a
partition after it was given.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable

from tests.conformance.members.clients import CLIENTS, Client

EVENTS: queue.SimpleQueue[str] = queue.SimpleQueue()


class Member:
    """One member: its thread polls and commits; its callbacks note what it owns."""

    def __init__(self, library: str, name: str, topic: str, settings: dict[str, str]) -> None:
        self.name = name
        self.held = threading.Event()
        self.closing = threading.Event()
        self.muted = False
        self.to_commit: queue.SimpleQueue[dict[int, int]] = queue.SimpleQueue()
        self.owned: set[int] = set()
        self.unread: set[int] = set()
        self.make: Callable[[], Client] = lambda: CLIENTS[library](topic, settings, self)
        self.client: Client | None = None
        self.thread = threading.Thread(target=self._live, daemon=True)
        self.thread.start()

    # -- what a client library tells

    def given(self, partitions: Iterable[int]) -> None:
        fresh = set(partitions)
        self.owned |= fresh
        self.unread |= fresh
        self._note("given", fresh)

    def taken(self, partitions: Iterable[int], kind: str = "taken") -> None:
        gone = set(partitions)
        self.owned -= gone
        self.unread -= gone
        self._note(kind, gone)

    def read(self, partition: int, offset: int) -> None:
        if partition in self.unread:
            self.unread.discard(partition)
            self._note("read", [partition], str(offset))

    def skip(self, partition: int) -> None:
        """A record that may be from before the last rebalance says nothing."""
        self.unread.discard(partition)

    def stay_held(self) -> None:
        """A callback on the member's own thread waits here; commits go on."""
        while self.held.is_set():
            self.commit_what_waits()
            time.sleep(0.02)

    def commit_what_waits(self) -> None:
        while self.client is not None and not self.to_commit.empty():
            try:
                self.client.commit(self.to_commit.get())
                self._note("committed")
            except Exception as error:
                self._note("refused", detail=f"{type(error).__name__}: {error}")

    # -- inside

    def _live(self) -> None:
        try:
            self.client = self.make()
            while not self.closing.is_set():
                self.commit_what_waits()
                self.client.turn()
            self.taken(list(self.owned))
            self.muted = True  # what a client calls back while it closes: all was handed back
            self.client.close()
            put(self.name, "left", [], "")
        except Exception as error:
            put(self.name, "error", [], f"{type(error).__name__}: {error}")

    def _note(self, kind: str, partitions: Iterable[int] = (), detail: str = "") -> None:
        if not self.muted:
            put(self.name, kind, partitions, detail)


def put(name: str, kind: str, partitions: Iterable[int], detail: str) -> None:
    plain = "".join(" " if each in "\t\n|" else each for each in detail)
    numbers = ",".join(map(str, sorted(partitions)))
    EVENTS.put(f"{name}|{time.time_ns() // 1000}|{kind}|{numbers}|{plain}")


def main(library: str) -> None:
    members: dict[str, Member] = {}
    for line in sys.stdin:
        command, *words = line.rstrip("\n").split("\t")
        answer = "ok"
        if command == "open":
            name, topic, *pairs = words
            settings = dict(pair.split("=", 1) for pair in pairs)
            members[name] = Member(library, name, topic, settings)
        elif command == "news":
            news = []
            while not EVENTS.empty():
                news.append(EVENTS.get())
            answer = "\t".join(["news", *news])
        elif command == "commit":
            pairs = [each.split(":") for each in words[1].split(",")]
            members[words[0]].to_commit.put({int(p): int(offset) for p, offset in pairs})
        elif command == "hold":
            members[words[0]].held.set()
        elif command == "release":
            members[words[0]].held.clear()
        elif command == "close":
            members[words[0]].closing.set()
        print(answer, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
