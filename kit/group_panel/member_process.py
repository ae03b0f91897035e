"""A member of a group as a process of its own: a confluent-kafka consumer that tells its story.

    python -m kit.group_panel.member_process '{"name": "A", "port": 40123, …}'

It connects to the panel's port and writes lines of JSON: what happened to it (assigned, revoked,
lost, reads), and a few times a second what it believes.  `reads` comes once per assignment, with
the partition's first record, or with the end of its log.  SIGTERM lets it leave the group
cleanly.  SIGKILL and SIGSTOP are what they are, and need no code here.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

HOST = "127.0.0.1"
POLL_S = 0.1
TELL_EVERY_S = 0.25


class Member:
    """The consumer, and what it believes it owns."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.panel = socket.create_connection((HOST, order["port"]))
        self.owned: set[tuple[str, int]] = set()
        self.fresh: set[tuple[str, int]] = set()
        self.positions: dict[tuple[str, int], int] = {}
        self.ending = False
        self.told_at = 0.0
        self.consumer = Consumer(order["settings"])

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._end)
        self._tell("started")
        self.consumer.subscribe(
            order_topics(self.order),
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._lost,
        )
        while not self.ending:
            self._take(self.consumer.poll(POLL_S))
            if time.monotonic() - self.told_at > TELL_EVERY_S:
                self._tell("")
        self.consumer.close()
        self._tell("left")

    def _take(self, message: Any) -> None:
        if message is None:
            return
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            return
        key = (message.topic(), message.partition())
        if error is None:
            time.sleep(self.order["work_ms"] / 1000)
            self.positions[key] = message.offset() + 1
        if key in self.fresh:
            self.fresh.discard(key)
            self._tell("reads", [key])

    def _assigned(self, consumer: Consumer, given: list[TopicPartition]) -> None:
        keys = [(each.topic, each.partition) for each in given]
        self.owned |= {*keys}
        self.fresh |= {*keys}
        self._tell("assigned", keys)

    def _revoked(self, consumer: Consumer, given: list[TopicPartition]) -> None:
        self._drop("revoked", given)

    def _lost(self, consumer: Consumer, given: list[TopicPartition]) -> None:
        refused = self._commit(given) if self.order["commits_lost"] else ""
        self._drop("lost", given, refused)

    def _commit(self, given: list[TopicPartition]) -> str:
        """Commits its positions in these partitions; the error, by its name."""
        keys = ((each.topic, each.partition) for each in given)
        ends = [TopicPartition(*key, self.positions[key]) for key in keys if key in self.positions]
        try:
            self.consumer.commit(offsets=ends, asynchronous=False)
        except KafkaException as refusal:
            return str(refusal.args[0].name())
        return "NONE"

    def _drop(self, kind: str, given: list[TopicPartition], why: str = "") -> None:
        keys = [(each.topic, each.partition) for each in given]
        self.owned -= {*keys}
        self.fresh -= {*keys}
        for key in keys:
            self.positions.pop(key, None)
        self._tell(kind, keys, why)

    def _end(self, *_: Any) -> None:
        self.ending = True

    def _tell(self, kind: str, keys: list[tuple[str, int]] | None = None, why: str = "") -> None:
        self.told_at = time.monotonic()
        line = {
            "name": self.order["name"],
            "time_us": time.time_ns() // 1000,
            "kind": kind,
            "why": why,
            "partitions": [f"{topic}-{index}" for topic, index in sorted(keys or ())],
            "member_id": self.consumer.memberid() or "" if kind != "left" else "",
            "owned": sorted(self.owned),
            "positions": [[*key, at] for key, at in sorted(self.positions.items())],
        }
        self.panel.sendall(json.dumps(line).encode() + b"\n")


def order_topics(order: dict[str, Any]) -> list[str]:
    return [str(order["topic"])]


if __name__ == "__main__":
    Member(json.loads(sys.argv[1])).run()
