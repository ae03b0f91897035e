"""What the panel shows of a moment, taken out of a snapshot, the logs and the clients' own word.

    time_us
    transactions    by transactional id, as in engine/cluster/snapshot.py
    brokers         by id: state
    partitions      by name: topic, index, leader, start, end, high_watermark, last_stable_offset,
                    and the batches of the leader's log
    records         of `__transaction_state`, oldest first: partition, offset, id, state,
                    producer_id, epoch, timeout_ms, partitions; `is_replicated` once the high
                    watermark is behind it
    clients         by name: what a producer says of itself, as in `Word`

A partition without a leader keeps the log that it had: nothing can be written to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kit.film.source import Snapshot
from kit.transaction_panel import logs

RECORDS_MOST = 40
GONE = ("killed", "left")
NO_LEADER, NOT_KNOWN = -1, -2
"""In place of a broker's id."""


@dataclass(frozen=True)
class Word:
    """What a transactional producer says of itself.

    `process` is running, killed, frozen or left; `state` the client's (engine/client/
    transaction_states.py); `call` the one that has not returned; `error` why it cannot go on;
    `ours` whether the panel started it and can end it.
    """

    id: str
    process: str = "running"
    state: str = ""
    call: str = ""
    error: str = ""
    producer_id: int = -1
    epoch: int = -1
    ours: bool = False
    is_replaced: bool = False
    """Another producer with its id has become ready since: for a client that tells no epoch."""

    def to_plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class LeadersLog:
    """A partition as its leader has it."""

    topic: str
    index: int
    leader: int
    start: int
    end: int
    high_watermark: int
    batches: Sequence[logs.Stored]
    last_stable_offset: int | None = None

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    def to_plain(self) -> dict[str, Any]:
        stable = self.last_stable_offset
        if stable is None:
            found = logs.transactions(self.batches)
            stable = logs.last_stable_offset(found, self.high_watermark)
        return {
            "topic": self.topic,
            "index": self.index,
            "leader": self.leader,
            "start": self.start,
            "end": self.end,
            "high_watermark": self.high_watermark,
            "last_stable_offset": stable,
            "batches": list(self.batches),
        }


def of_transactions(
    whole: Snapshot,
    partitions: Sequence[LeadersLog],
    records: Sequence[Mapping[str, Any]],
    clients: Mapping[str, Word],
    before: Snapshot | None = None,
) -> dict[str, Any]:
    """A moment of the panel; `before` is the one before it."""
    old = before["partitions"] if before else {}
    found = {each.name: each.to_plain() for each in partitions}
    leaderless = {
        name: {**each, "leader": NO_LEADER} for name, each in old.items() if name not in found
    }
    return {
        "time_us": whole.get("time_us", 0),
        "transactions": dict(whole.get("transactions", {})),
        "brokers": {id: broker.get("state") for id, broker in whole.get("brokers", {}).items()},
        "partitions": dict(
            sorted({**leaderless, **found}.items(), key=lambda each: _order(each[1]))
        ),
        "records": list(records)[-RECORDS_MOST:],
        "clients": {name: each.to_plain() for name, each in clients.items()},
    }


def _order(partition: Mapping[str, Any]) -> tuple[bool, str, int]:
    """Users' topics first."""
    topic = str(partition["topic"])
    return is_internal(topic), topic, int(partition["index"])


def is_internal(topic: str) -> bool:
    """Whether no application reads it as data."""
    return topic.startswith("__")
