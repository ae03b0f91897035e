"""Configs that Kafka had until 4.0, those of the ensemble, and what a request costs.

    zookeeper.session.timeout.ms  18000 since Kafka 2.5, 6000 before.  The ensemble allows 2 ticks
                                  to maxSessionTimeout; what is asked for beyond is cut to that
    tickTime, syncLimit           the ensemble's unit of time in ms; after so many ticks of silence
                                  a member gives its leader up, or a leader itself
    maxSessionTimeout             20 ticks if nothing is said
    cost.read.us, cost.write.us   what one request of a batch adds to the batch's time
    preloaded.partitions          so many are there from the start (preloaded.py)

The costs follow from measurements of Kafka 1.1 that its developers published (Jun Rao, "Apache
Kafka Supports 200K Partitions Per Cluster", 2018), five brokers and five members: a new controller
read the state of 100,000 partitions in 14 s, that is 140 µs each.  A controlled shutdown of a
broker with 10,000 replicas, each read and written once, took 3 s, which leaves 160 µs for a write.
Both count requests in a pipeline, not one alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

NAMES = {
    "zookeeper.session.timeout.ms": "session_timeout_ms",
    "tickTime": "tick_time_ms",
    "syncLimit": "sync_limit",
    "maxSessionTimeout": "max_session_timeout_ms",
    "cost.read.us": "read_us",
    "cost.write.us": "write_us",
    "preloaded.partitions": "preloaded",
}
FEWEST_TICKS, MOST_TICKS = 2, 20
"""Of a session, in ticks, unless maxSessionTimeout says more."""


@dataclass(frozen=True)
class ZooKeeperSettings:
    """Times in milliseconds, costs in microseconds."""

    session_timeout_ms: int = 18_000
    tick_time_ms: int = 2_000
    sync_limit: int = 5
    max_session_timeout_ms: int = 0
    read_us: int = 140
    write_us: int = 160
    preloaded: int = 0

    @property
    def tick_us(self) -> int:
        return self.tick_time_ms * 1000

    @property
    def silence_us(self) -> int:
        """How long a member waits for a sign of its leader, and a leader for a majority."""
        return self.tick_us * self.sync_limit

    def negotiated_ms(self, asked_ms: int) -> int:
        """The session timeout that a client gets."""
        low = FEWEST_TICKS * self.tick_time_ms
        high = self.max_session_timeout_ms or MOST_TICKS * self.tick_time_ms
        return max(low, min(high, asked_ms))


def divide(given: Mapping[str, Any]) -> tuple[ZooKeeperSettings, dict[str, Any]]:
    """The historic configs among `given`, and all others; ValueError for one that is no number."""
    own: dict[str, int] = {}
    for name, value in given.items():
        if name in NAMES:
            least = 0 if name.startswith(("cost.", "preloaded.")) else 1
            if not str(value).isdecimal() or int(value) < least:
                raise ValueError(f"{name} is a whole number from {least} on, not {value!r}.")
            own[NAMES[name]] = int(value)
    others = {name: value for name, value in given.items() if name not in NAMES}
    assert set(NAMES.values()) == {each.name for each in fields(ZooKeeperSettings)}
    return ZooKeeperSettings(**own), others
