"""Writes a steady stream of records in the background, and keeps what a check needs.

    with BackgroundLoad(cluster, "orders") as load:
        cluster.kill(101)
        load.wait_for(100)          # a hundred new records, acknowledged
    load.acknowledged               # value -> offset

A thread of its own sends one small record every few milliseconds through confluent-kafka
with acks=all and idempotence (other `acks` do without), and keeps each acknowledgement with
its time, and the records whose delivery failed.  `settings` are more of the client's.  Nothing
is printed.  `close` flushes: a record that is not acknowledged by then never will be.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Producer

from kit.clusters.interface import Cluster, WaitTimeout

SAFE: dict[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    "topic.metadata.refresh.fast.interval.ms": 100,
    "retry.backoff.ms": 50,
    "reconnect.backoff.max.ms": 200,
    "log_level": 0,
}
FLUSH_S = 20.0
LISTEN_S = 0.05


def letters(number: int) -> str:
    """A, B, … Z, AA, AB, …: short names that never repeat."""
    name = ""
    number += 1
    while number:
        number, place = divmod(number - 1, 26)
        name = chr(ord("A") + place) + name
    return name


class BackgroundLoad:
    """Sends A, B, … Z, AA, AB, … to partition 0 of a topic until it is closed."""

    def __init__(
        self, cluster: Cluster, topic: str, period_s: float = 0.004, acks: str = "all",
        settings: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.acknowledged: dict[str, int] = {}
        self.failed: dict[str, str] = {}
        self.moments: list[float] = []
        self.events: list[tuple[float, str]] = []
        self._sent = 0
        self._started = time.monotonic()
        self._topic = topic
        self._period_s = period_s
        chosen = {"acks": acks, "enable.idempotence": acks == "all"}
        where = {"bootstrap.servers": cluster.bootstrap}
        self._producer = Producer({**where, **SAFE, **chosen, **(settings or {})})
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        self._thread.start()

    def __enter__(self) -> BackgroundLoad:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "ended" if self._end.is_set() else "running"
        return f"<load on {self._topic}, {state}: {len(self.acknowledged)} acknowledged>"

    def wait_for(self, more: int, timeout_s: float = 30.0) -> None:
        """Returns when `more` records that are sent from now on are acknowledged."""
        wanted = letters(self._sent + more - 1)
        deadline = time.monotonic() + timeout_s
        while wanted not in self.acknowledged:
            if time.monotonic() > deadline:
                raise WaitTimeout(
                    f"{self!r} gave up after waiting {timeout_s:g} s for {more} more: "
                    "is there a leader, and are enough replicas in sync?"
                )
            self._end.wait(min(self._period_s, LISTEN_S))

    def mark(self, what: str) -> None:
        """Marks an event that happens now, for the chart."""
        self.events.append((time.monotonic() - self._started, what))

    def close(self) -> None:
        """Stops sending, and waits for the outstanding answers."""
        self._end.set()
        self._thread.join()
        self._producer.flush(FLUSH_S)

    @property
    def longest_pause_s(self) -> float:
        """The longest time between two acknowledgements."""
        pairs = zip(self.moments, self.moments[1:], strict=False)
        return max((later - earlier for earlier, later in pairs), default=0.0)

    def _run(self) -> None:
        while not self._end.is_set():
            value = letters(self._sent)
            try:
                self._producer.produce(self._topic, value, partition=0, on_delivery=self._note)
                self._sent += 1
            except BufferError:  # the queue is full while there is no leader
                pass
            self._listen(time.monotonic() + self._period_s)

    def _listen(self, until: float) -> None:
        """Takes in acknowledgements as they come, until it is time for the next record."""
        while (left_s := until - time.monotonic()) > 0 and not self._end.is_set():
            self._producer.poll(min(left_s, LISTEN_S))

    def _note(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed[message.value().decode()] = error.name()
            return
        self.acknowledged[message.value().decode()] = message.offset()
        self.moments.append(time.monotonic() - self._started)
