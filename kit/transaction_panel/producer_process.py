"""A transactional producer as a process of its own: confluent-kafka, with its calls on a line.

    python -m kit.transaction_panel.producer_process '{"name": "app", "port": 40123, …}'

It connects to the panel's port and calls init_transactions.  Then each line that it reads is a
call, such as {"number": 3, "call": "send", "topic": "accounts", "value": "A", "partition": 0}.  It
makes them in their order and writes what happened: `called` and `returned`, each with the state
that a producer has then.  librdkafka does not say its state; it follows from the calls and their
errors, as in the engine's client.  SIGKILL and SIGSTOP need no code here.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from engine.client.transaction_states import State

HOST = "127.0.0.1"
POLL_S = 0.05
WAIT_S = 60.0
INIT, SEND, OFFSETS = "init_transactions", "send", "send_offsets_to_transaction"
DURING = {
    INIT: State.INITIALIZING,
    "commit_transaction": State.COMMITTING_TRANSACTION,
    "abort_transaction": State.ABORTING_TRANSACTION,
}
AFTER = {
    INIT: State.READY,
    "begin_transaction": State.IN_TRANSACTION,
    "commit_transaction": State.READY,
    "abort_transaction": State.READY,
}


class Application:
    """The producer, and the state that it must be in."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.panel = socket.create_connection((HOST, order["port"]))
        self.panel.settimeout(POLL_S)
        self.state = State.UNINITIALIZED
        self.error = ""
        self.producer = Producer(order["settings"])

    def run(self) -> None:
        self._tell("started")
        self._carry_out({"number": 0, "call": INIT})
        for asked in self._asked():
            self._carry_out(asked)

    def _asked(self) -> Iterator[dict[str, Any]]:
        """The panel's calls; the producer is served in between."""
        rest = b""
        while True:
            self.producer.poll(0)
            try:
                data = self.panel.recv(1 << 16)
            except TimeoutError:
                continue
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from map(json.loads, lines)

    def _carry_out(self, asked: dict[str, Any]) -> None:
        call, before = asked["call"], self.state
        self.state = DURING.get(call, before)
        self._tell("called", call)
        error = ""
        try:
            self._call(call, asked)
            self.state = AFTER.get(call, before)
        except KafkaException as failed:
            error = self._failed(failed.args[0], before)
        self._tell("returned", call, error, asked["number"])

    def _call(self, call: str, asked: dict[str, Any]) -> None:
        match call:
            case "send":
                self.producer.produce(
                    asked["topic"],
                    asked["value"].encode(),
                    partition=asked["partition"],
                    on_delivery=self._delivered,
                )
                self.producer.poll(0)
            case "send_offsets_to_transaction":
                consumer = Consumer(
                    {
                        "bootstrap.servers": self.order["settings"]["bootstrap.servers"],
                        "group.id": asked["group"],
                    }
                )
                place = TopicPartition(asked["topic"], asked["partition"], asked["offset"])
                group = consumer.consumer_group_metadata()
                self.producer.send_offsets_to_transaction([place], group, WAIT_S)
                consumer.close()
            case "begin_transaction":
                self.producer.begin_transaction()
            case _:
                getattr(self.producer, call)(WAIT_S)

    def _delivered(self, error: KafkaError | None, message: Any) -> None:
        if error is not None and self.state is State.IN_TRANSACTION:
            self._failed(error, State.ABORTABLE_ERROR)
            self._tell("failed", SEND, self.error)

    def _failed(self, error: KafkaError, before: State) -> str:
        """What an error makes of the state; a call that was not possible leaves it as it was."""
        self.error = f"{error.name()}: {error.str()}"
        if error.fatal():
            self.state = State.FATAL_ERROR
        elif error.txn_requires_abort():
            self.state = State.ABORTABLE_ERROR
        else:
            self.state = before
        return self.error

    def _tell(self, kind: str, call: str = "", error: str = "", number: int = -1) -> None:
        line = {
            "name": self.order["name"],
            "time_us": time.time_ns() // 1000,
            "kind": kind,
            "call": call,
            "number": number,
            "error": error,
            "state": self.state.value,
        }
        self.panel.sendall(json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    Application(json.loads(sys.argv[1])).run()
