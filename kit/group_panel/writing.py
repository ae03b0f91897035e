"""Writes a steady stream of records to all partitions of a topic, so that there is lag to see."""

from __future__ import annotations

import threading
import time

from confluent_kafka import KafkaException, Producer

QUIET = {"log_level": 0, "linger.ms": 5, "message.timeout.ms": 5000}
TURN_S = 0.05


class Writing:
    """`per_s` records a second, one partition after the other, until it is closed."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, per_s: float) -> None:
        self.per_s = per_s
        self._topic, self._partitions = topic, partitions
        self._producer = Producer({"bootstrap.servers": bootstrap, **QUIET})
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="group-panel-writes", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._end.set()
        self._thread.join()
        self._producer.flush(5)

    def _run(self) -> None:
        began, sent = time.monotonic(), 0
        while not self._end.wait(TURN_S):
            due = int((time.monotonic() - began) * self.per_s)
            while sent < due:
                try:
                    self._producer.produce(
                        self._topic, str(sent).encode(), partition=sent % self._partitions
                    )
                except (BufferError, KafkaException):
                    break  # no leader for a while: what was due is written later
                sent += 1
            self._producer.poll(0)
