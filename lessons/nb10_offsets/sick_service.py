"""Failures of a handler, each a real exception, and which of them passes when it tries again.

    sorted_failures()       a table: the exception, the attempts, and the end
    pauses()                a table: the pauses between attempts, and the calls that a service gets

A small HTTP server on this machine is the sick service; a database in memory has the versions.
"""

from __future__ import annotations

import json
import socket
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread
from typing import ClassVar
from urllib.error import HTTPError
from urllib.request import urlopen

from kit.tables import Table

CAP = 4
"""Attempts that one record gets."""
PATIENCE_S, SLOW_S = 0.2, 0.5
LONG_S = 10
"""Where the answer is not late: also on a busy machine."""
PASSING_CODES = (429, 502, 503, 504)
DENIED_CODES = (401, 403)
PASSES, CONCERNS_ALL, FAILS_AGAIN = "may pass", "concerns all records", "will fail again"
FASTER = 100
"""The run's pauses are so many times as short as those in the table."""
Handler = Callable[[], object]


class StaleVersion(Exception):
    """Another writer has changed the row since it was read."""


class BrokenRule(Exception):
    """The record says what cannot be."""


def kind(error: Exception) -> str:
    """Whether another attempt can help; and if not, whether another record can."""
    if isinstance(error, HTTPError):
        if error.code in DENIED_CODES:
            return CONCERNS_ALL
        return PASSES if error.code in PASSING_CODES else FAILS_AGAIN
    return PASSES if isinstance(error, (OSError, StaleVersion)) else FAILS_AGAIN


def sorted_failures() -> Table:
    """Each failure, tried until it passes, cannot pass, or has used its attempts."""
    rows = []
    with _service() as address, closing(sqlite3.connect(":memory:")) as database:
        for failure, handler in _failures(address, database).items():
            seen, outcome = _tried(handler)
            first = seen[0] if seen else None
            attempts = len(seen) + (outcome == "processed")
            sort = PASSES if first is None else kind(first)
            rows.append([failure, _named(first), sort, str(attempts), outcome])
    titles = ("failure", "exception", "kind", "attempts", "outcome")
    return Table("When to retry", titles, rows)


def _tried(handler: Handler) -> tuple[list[Exception], str]:
    seen: list[Exception] = []
    while len(seen) < CAP:
        try:
            handler()
            return seen, "processed"
        except Exception as error:
            seen.append(error)
            if kind(error) == CONCERNS_ALL:
                return seen, "stop"
            if kind(error) == FAILS_AGAIN:
                break
    return seen, "dead letter"


def _failures(address: str, database: sqlite3.Connection) -> dict[str, Handler]:
    def asks(path: str) -> Handler:
        return lambda: urlopen(f"{address}/{path}", timeout=PATIENCE_S).read()

    return {
        "a service that is back after three attempts": asks("back-after-3"),
        "too many requests": asks("busy"),
        "an answer that comes too late, twice": asks("late"),
        "a connection that breaks": asks("breaks"),
        "another writer was first": _raced(database),
        "a service that stays down": asks("down"),
        "a wrong password": asks("private"),
        "a request that the service refuses": asks("malformed"),
        "bytes that do not decode": lambda: json.loads(b'{"amount": \xff}'),
        "an amount below zero": lambda: _checked({"amount": -1}),
    }


def _raced(database: sqlite3.Connection) -> Handler:
    """Reads a row and its version, works, and writes if the version is still the same."""
    database.execute("create table account (balance int, version int)")
    database.execute("insert into account values (100, 1)")
    others = iter(["another writer"])

    def handler() -> None:
        balance, version = database.execute("select balance, version from account").fetchone()
        for _ in others:
            database.execute("update account set balance = 70, version = version + 1")
        changed = database.execute(
            "update account set balance = ?, version = version + 1 where version = ?",
            (balance - 10, version),
        )
        if not changed.rowcount:
            raise StaleVersion(f"version {version} is no longer the newest")

    return handler


def _checked(order: dict[str, int]) -> None:
    if order["amount"] < 0:
        raise BrokenRule("an amount below zero")


def _named(error: Exception | None) -> str:
    if error is None:
        return "none"
    code = f" {error.code}" if isinstance(error, HTTPError) else ""
    return f"{type(error).__name__}{code}"


# -- the pauses between attempts


def pauses() -> Table:
    """No pause, the sample's, an exponential one, and one with jitter; what a service gets."""
    chance = Random(10)
    doubled = [min(2.0**attempt, 10.0) for attempt in range(CAP)]
    ways: Mapping[str, Sequence[float]] = {
        "none": [0.0] * CAP,
        "1000 ms x attempt": [attempt + 1.0 for attempt in range(CAP)],
        "exponential, at most 10 s": doubled,
        "with jitter": [pause * chance.uniform(0.8, 1.2) for pause in doubled],
    }
    rows = [
        [str(attempt + 1), *(f"{pauses[attempt]:.2g} s" for pauses in ways.values())]
        for attempt in range(CAP)
    ]
    with _service() as address:
        _calls_per_second(f"{address}/down", [0.0])  # the first call of a service is slow
        calls = [_calls_per_second(f"{address}/down", pauses) for pauses in ways.values()]
    rows.append(["calls per second", *(f"{each:.0f}" for each in calls)])
    linear = sum(range(1, 4))
    return Table(
        "Pauses between attempts, and what a service that is down gets",
        ("after attempt", *ways),
        rows,
        f"Three attempts of the second kind cost {linear} s for each bad record; "
        f"{300 // linear} bad records in one poll reach max.poll.interval.ms (300 s). "
        f"The calls are measured with pauses that are {FASTER} times as short.",
    )


def _calls_per_second(address: str, pauses: Sequence[float]) -> float:
    """The rate of the calls that fail, each followed by its pause."""
    began = time.perf_counter()
    for pause in pauses:
        try:
            urlopen(address, timeout=LONG_S).read()
        except HTTPError as refusal:
            refusal.close()
        time.sleep(pause / FASTER)
    return len(pauses) / (time.perf_counter() - began)


# -- the service


class _Answers(BaseHTTPRequestHandler):
    """Each path is sick in its own way."""

    calls: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        self.calls[self.path] += 1
        call, code = self.calls[self.path], 200
        match self.path:
            case "/breaks" if call == 1:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            case "/late" if call <= 2:
                time.sleep(SLOW_S)
            case "/back-after-3" if call <= 3:
                code = 503
            case "/busy" if call == 1:
                code = 429
            case "/down":
                code = 502
            case "/private":
                code = 401
            case "/malformed":
                code = 400
        self.send_response(code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the table says what happened."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """A client that did not wait for its answer is part of the lesson."""


@contextmanager
def _service() -> Iterator[str]:
    _Answers.calls.clear()
    with _Server(("127.0.0.1", 0), _Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
