"""Transactional producers of a running cluster that the panel starts and ends: a process each.

    ours = ProducerProcesses(cluster.bootstrap)
    ours.start("transfer")                  -> "app"; a real producer, which calls init_transactions
    ours.ask("app", "begin_transaction").wait()
    ours.ask("app", "send", topic="accounts", value="Alice -10", partition=0).wait()
    ours.kill("app")                        SIGKILL: its transaction stays open

A call is handed over at once and made when the ones before it have returned; `wait` is until it
has returned, and raises the producer's error.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kit.clusters.interface import ClusterError
from kit.film.client_processes import ClientProcesses
from kit.film.source import Line
from kit.transaction_panel.view import GONE, Word

PRODUCERS_MOST = 12
WAIT_S = 90.0
BRISK: Mapping[str, Any] = {
    "transaction.timeout.ms": 60_000,
    "linger.ms": 0,
    "reconnect.backoff.max.ms": 500,
    "log_level": 0,
}


@dataclass
class Call:
    """A call under way."""

    what: str
    returned: threading.Event = field(default_factory=threading.Event)
    error: str = ""

    def wait(self, for_s: float = WAIT_S) -> None:
        """Until it has returned; ClusterError with the producer's own words if it failed."""
        if not self.returned.wait(for_s):
            raise ClusterError(f"{self.what} has not returned after {for_s:.0f} s.")
        if self.error:
            raise ClusterError(f"{self.what}: {self.error}")


class ProducerProcesses:
    """The panel's own producers; every method can be called from any thread."""

    def __init__(self, bootstrap: str, settings: Mapping[str, Any] | None = None) -> None:
        self._bootstrap, self._settings = bootstrap, dict(settings or {})
        self._words: dict[str, Word] = {}
        self._calls: dict[tuple[str, int], Call] = {}
        self._fresh: list[Line] = []
        self._made = 0
        self._turn = threading.RLock()
        self._clients = ClientProcesses(
            "kit.transaction_panel.producer_process", "producers", self._hear
        )

    # -- what a panel reads

    def words(self) -> dict[str, Word]:
        """By name, what each producer says of itself; also of those that are gone."""
        with self._turn:
            return dict(self._words)

    def lines(self) -> list[Line]:
        """What happened to producers since the last call."""
        with self._turn:
            fresh, self._fresh = self._fresh, []
            return fresh

    # -- what a panel's buttons do

    def start(self, transactional_id: str) -> str:
        """Starts a producer with this id, and waits until it has called init_transactions."""
        with self._turn:
            alive = [each for each in self._words.values() if each.process not in GONE]
            if len(alive) >= PRODUCERS_MOST:
                raise ClusterError(f"{PRODUCERS_MOST} producers are enough: kill one first.")
            number = len(self._words) + 1
            name = "app" if number == 1 else f"app-{number}"
            self._words[name] = Word(transactional_id, ours=True)
            call = self._calls[name, 0] = Call(f"init_transactions of {name}")
            settings = {
                "bootstrap.servers": self._bootstrap,
                "client.id": name,
                "transactional.id": transactional_id,
                **BRISK,
                **self._settings,
            }
        self._clients.spawn(name, {"settings": settings})
        call.wait()
        return name

    def ask(self, name: str, call: str, **arguments: Any) -> Call:
        """Hands a call over to a producer."""
        with self._turn:
            self._alive(name)
            self._made += 1
            made = self._calls[name, self._made] = Call(f"{call} of {name}")
            self._clients.tell(name, {"number": self._made, "call": call, **arguments})
            return made

    def kill(self, name: str) -> None:
        """Ends a producer without warning: what it left open stays open."""
        with self._turn:
            self._alive(name)
            self._clients.children[name].signal(signal.SIGKILL)
            self._words[name] = replace(self._words[name], process="killed", call="", error="")
            self._note(name, "killed", time.time_ns() // 1000)
            waiting = [call for (whose, _), call in self._calls.items() if whose == name]
        for call in waiting:
            if not call.returned.is_set():
                call.error = f"{name} was killed."
                call.returned.set()

    def close(self) -> None:
        """Ends every producer."""
        self._clients.close()

    # -- inside

    def _alive(self, name: str) -> Word:
        if name not in self._words:
            raise ClusterError(f"There is no producer {name} of this panel.")
        if self._words[name].process in GONE:
            raise ClusterError(f"{name} is gone: start another producer.")
        return self._words[name]

    def _hear(self, told: Mapping[str, Any]) -> None:
        with self._turn:
            name, kind, call = str(told["name"]), told["kind"], told["call"]
            before = self._words.get(name)
            if before is None or before.process in GONE:
                return
            failed = told["state"] in ("AbortableError", "FatalError")
            self._words[name] = replace(
                before,
                state=told["state"],
                call=call if kind == "called" and call not in ("send", "begin_transaction") else "",
                error=told["error"].partition(":")[0] if failed else "",
            )
            if told["state"] != before.state:
                moved = {"before": before.state, "now": told["state"]}
                self._note(name, "transition", told["time_us"], told["error"], **moved)
            if kind == "returned":
                self._returned(name, told, before)
            if kind in ("called", "returned") and call not in ("send", "begin_transaction"):
                self._note(name, kind, told["time_us"], told["error"], operation=call)
            elif kind == "started":
                self._note(name, kind, told["time_us"])

    def _returned(self, name: str, told: Mapping[str, Any], before: Word) -> None:
        call = self._calls.pop((name, told["number"]), None)
        if told["call"] == "init_transactions" and not told["error"]:
            for other, word in self._words.items():  # the others are zombies from now on
                if other != name and word.id == before.id:
                    self._words[other] = replace(word, is_replaced=True)
        if call is not None:
            call.error = told["error"]
            call.returned.set()

    def _note(self, name: str, kind: str, time_us: int, why: str = "", **fields: Any) -> None:
        self._fresh.append(Line(time_us, -1, kind, "", {"client": name, **fields}, why))
