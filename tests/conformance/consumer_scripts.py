"""The scripts for consumers, and one way to run each of the three clients on them.

A script is what the application does, what the broker answers otherwise than usual, and settings.

    read 3       polls until three records have come in all
    assigned 2   polls until partitions were assigned for the second time
    commit       commits the positions, and waits
    poll 1500    polls for so many milliseconds
    close        closes; always the last
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka

from engine.client.consumer.consumer import Consumer
from engine.client.consumer.listener import Offsets, Places
from engine.client.sockets import SocketDriver
from engine.wire.errors import Errors
from tests.conformance.group_tape import BROKER, GROUP, TOPIC, GroupTape

PATIENCE_S = 60.0
SETTINGS: dict[str, Any] = {
    "group.id": GROUP,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 300,
    "max.poll.interval.ms": 10000,
    "fetch.max.wait.ms": 50,
    "request.timeout.ms": 5000,
    "retry.backoff.ms": 40,
    "retry.backoff.max.ms": 80,
    "reconnect.backoff.ms": 40,
    "reconnect.backoff.max.ms": 80,
    "partition.assignment.strategy": "range",
}
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
STATIC = {"group.instance.id": "i-1"}


@dataclass(frozen=True)
class Script:
    """`program` has steps separated by commas; `log`, `first` and `committed` are the broker's."""

    program: str
    tape: dict[str, list[str]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    first: int = 0
    committed: int = -1

    @property
    def steps(self) -> list[tuple[str, int]]:
        words = [step.split() for step in self.program.split(", ")]
        return [(word[0], int(word[1]) if len(word) > 1 else 0) for word in words]


ONCE, TWICE = "read 3, close", "read 3, assigned 2, read 6, close"
SCRIPTS: dict[str, Script] = {
    "all is well": Script("read 3, commit, close"),
    "a member id is required": Script(ONCE, {"JoinGroup": ["MEMBER_ID_REQUIRED"]}),
    "the coordinator is not available at first": Script(
        ONCE, {"FindCoordinator": ["COORDINATOR_NOT_AVAILABLE"]}
    ),
    "the coordinator still loads": Script(ONCE, {"JoinGroup": ["COORDINATOR_LOAD_IN_PROGRESS"]}),
    "a join at another broker than the coordinator": Script(
        ONCE, {"JoinGroup": ["NOT_COORDINATOR"]}
    ),
    "the next rebalance begins before the sync": Script(
        ONCE, {"SyncGroup": ["REBALANCE_IN_PROGRESS"]}
    ),
    "the generation is over before the sync": Script(ONCE, {"SyncGroup": ["ILLEGAL_GENERATION"]}),
    "unknown at the sync": Script(ONCE, {"SyncGroup": ["UNKNOWN_MEMBER_ID"]}),
    "the group is full": Script("poll 1000, close", {"JoinGroup": ["GROUP_MAX_SIZE_REACHED"] * 9}),
    "a rebalance begins": Script(TWICE, {"Heartbeat": ["ok", "REBALANCE_IN_PROGRESS"]}),
    "a rebalance begins in a cooperative group": Script(
        "read 3, assigned 2, close", {"Heartbeat": ["ok", "REBALANCE_IN_PROGRESS"]}, COOPERATIVE
    ),
    "an illegal generation": Script(TWICE, {"Heartbeat": ["ok", "ILLEGAL_GENERATION"]}),
    "an unknown member": Script(TWICE, {"Heartbeat": ["ok", "UNKNOWN_MEMBER_ID"]}),
    "an unknown member in a cooperative group": Script(
        TWICE, {"Heartbeat": ["ok", "UNKNOWN_MEMBER_ID"]}, COOPERATIVE
    ),
    "a fenced instance": Script(
        "read 3, poll 1500, close", {"Heartbeat": ["ok", "FENCED_INSTANCE_ID"]}, STATIC
    ),
    "a static member closes": Script(ONCE, {}, STATIC),
    "the coordinator has moved": Script(
        "read 3, poll 1500, close", {"Heartbeat": ["ok", "NOT_COORDINATOR"]}
    ),
    "the connection to the coordinator ends": Script(
        "read 3, poll 1500, close", {"Heartbeat": ["ok", "drop"]}
    ),
    "the committed offset is out of range": Script(ONCE, committed=99),
    "the committed offset is deleted": Script(ONCE, first=50, committed=7),
    "out of range, and no policy": Script(
        "poll 1500, close", {}, {"auto.offset.reset": "none"}, committed=99
    ),
    "nothing committed, and no policy": Script(
        "poll 1500, close", {}, {"auto.offset.reset": "none"}
    ),
    "from a committed offset": Script("read 2, close", committed=1),
    "offsets are still loading": Script(ONCE, {"OffsetFetch": ["COORDINATOR_LOAD_IN_PROGRESS"]}),
    "a commit in a rebalance": Script(
        "read 3, commit, assigned 2, read 6, close", {"OffsetCommit": ["REBALANCE_IN_PROGRESS"]}
    ),
    "a commit in an old generation": Script(
        "read 3, commit, assigned 2, read 6, close", {"OffsetCommit": ["ILLEGAL_GENERATION"]}
    ),
    "a commit of an unknown member": Script(
        "read 3, commit, assigned 2, read 6, close", {"OffsetCommit": ["UNKNOWN_MEMBER_ID"]}
    ),
    "a commit while the coordinator loads": Script(
        "read 3, commit, close", {"OffsetCommit": ["COORDINATOR_LOAD_IN_PROGRESS"]}
    ),
    "a commit at a broker that is not the coordinator": Script(
        "read 3, commit, close", {"OffsetCommit": ["NOT_COORDINATOR"]}
    ),
    "a commit with too long a note": Script(
        "read 3, commit, close", {"OffsetCommit": ["OFFSET_METADATA_TOO_LARGE"]}
    ),
    "a fenced leader epoch": Script(
        "read 3, poll 1000, close", {"Fetch": ["ok", "moved"]}
    ),
    "a fenced leader epoch, and the log was truncated": Script(
        "read 5, close", {"Fetch": ["ok", "moved"], "OffsetForLeaderEpoch": ["truncated"]}
    ),
    "truncated, and no policy": Script(
        "read 2, poll 1500, close",
        {"Fetch": ["ok", "moved"], "OffsetForLeaderEpoch": ["truncated"] * 9},
        {"auto.offset.reset": "none"}, committed=1,
    ),
    "the leader has moved": Script(
        "read 3, poll 500, close", {"Fetch": ["NOT_LEADER_OR_FOLLOWER"]}
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What the broker saw, and what the application did."""

    seen: tuple[str, ...]
    application: tuple[str, ...]


def tape_for(script: Script) -> GroupTape:
    return GroupTape(script.tape, first=script.first, committed=script.committed)


def outcome(tape: GroupTape, lines: list[str]) -> Outcome:
    """Lines of the application without repetitions of one error."""
    kept = [line for i, line in enumerate(lines) if line not in lines[max(0, i - 1) : i]]
    return Outcome(tuple(tape.seen), tuple(kept))


def without_lookups(found: Outcome) -> Outcome:
    """Without the successful questions for the coordinator: librdkafka also asks by the clock."""
    kept = tuple(line for line in found.seen if line != "find coordinator -> ok")
    return Outcome(kept, found.application)


class Noted:
    """A listener that writes down what is called."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def on_assigned(self, now: int, places: Places) -> None:
        self.lines.append(f"assigned {len(places)}")

    def on_revoked(self, now: int, places: Places) -> Offsets | None:
        self.lines.append(f"revoked {len(places)}")
        return None

    def on_lost(self, now: int, places: Places) -> None:
        self.lines.append(f"lost {len(places)}")


def run_ours(script: Script) -> Outcome:
    tape = tape_for(script)
    lines: list[str] = []
    settings = {**SETTINGS, **script.settings}
    consumer = Consumer("tape", (BROKER,), settings, listener=Noted(lines))
    driver = SocketDriver(consumer, {BROKER: ("127.0.0.1", tape.port)})

    def call(method: str, *arguments: object) -> None:
        driver.tell(method, *arguments)
        driver.run(lambda: not consumer.busy, PATIENCE_S)

    def poll() -> list[str]:
        call("poll", 100)
        if consumer.error:
            lines.append(f"error {consumer.error}")
        return [record.text for record in consumer.records]

    def commit() -> None:
        call("commit_sync")
        last = consumer.last_commit
        assert last is not None
        lines.append(f"commit {last.error or 'ok'}")

    try:
        driver.tell("subscribe", (TOPIC,))
        _play(script, lines, poll, commit)
        call("close")
        return outcome(tape, lines)
    finally:
        driver.close()
        tape.close()


def _play(
    script: Script, lines: list[str], poll: Callable[[], list[str]], commit: Callable[[], None]
) -> None:
    read = 0

    def until(holds: Callable[[], bool]) -> None:
        nonlocal read
        deadline = time.monotonic() + PATIENCE_S
        while not holds() and time.monotonic() < deadline:
            for value in poll():
                read += 1
                lines.append(f"read {value}")

    for step, number in script.steps:
        if step == "read":
            until(lambda: read >= number)  # noqa: B023
        elif step == "assigned":
            until(lambda: sum(line.startswith("assigned") for line in lines) >= number)  # noqa: B023
        elif step == "poll":
            end = time.monotonic() + number / 1000
            until(lambda: time.monotonic() >= end)  # noqa: B023
        elif step == "commit":
            commit()


NOT_LIBRDKAFKAS = (
    "fetch.max.wait.ms", "request.timeout.ms", "retry.backoff.max.ms", "auto.offset.reset",
)  # fmt: skip


def run_librdkafka(script: Script) -> Outcome:
    tape = tape_for(script)
    lines: list[str] = []
    given = {**SETTINGS, **script.settings}
    settings = {name: value for name, value in given.items() if name not in NOT_LIBRDKAFKAS}
    reset = given["auto.offset.reset"]
    settings |= {
        "bootstrap.servers": f"127.0.0.1:{tape.port}", "log_level": 0,
        "fetch.wait.max.ms": given["fetch.max.wait.ms"], "socket.timeout.ms": 5000,
        "auto.offset.reset": "error" if reset == "none" else reset,
        "topic.metadata.refresh.fast.interval.ms": 50,
    }  # fmt: skip
    consumer = confluent_kafka.Consumer(settings)
    last: list[Any] = []

    def poll() -> list[str]:
        try:
            message = consumer.poll(0.1)
        except confluent_kafka.KafkaException as fatal:
            lines.append(f"error {_name(fatal.args[0])}")
            return []
        if message is None:
            return []
        if message.error():
            lines.append(f"error {_name(message.error())}")
            return []
        last[:] = [message]
        return [message.value().decode()]

    def commit() -> None:
        try:
            consumer.commit(asynchronous=False)
            lines.append("commit ok")
        except confluent_kafka.KafkaException as refused:
            lines.append(f"commit {_name(refused.args[0])}")

    def noted(word: str) -> Callable[[Any, Any], None]:
        return lambda _, places: lines.append(f"{word} {len(places)}")

    try:
        consumer.subscribe(
            [TOPIC], on_assign=noted("assigned"), on_revoke=noted("revoked"), on_lost=noted("lost")
        )
        _play(script, lines, poll, commit)
        consumer.close()
        return outcome(tape, lines)
    finally:
        tape.close()


def _name(error: Any) -> str:
    return Errors(error.code()).name if error.code() > 0 else str(error.name())


JAVA = {
    "CommitFailed": "COMMIT_FAILED", "RebalanceInProgress": "REBALANCE_IN_PROGRESS",
    "FencedInstanceId": "FENCED_INSTANCE_ID", "OffsetOutOfRange": "OFFSET_OUT_OF_RANGE",
    "NoOffsetForPartition": "NO_OFFSET_FOR_PARTITION", "LogTruncation": "LOG_TRUNCATION",
    "GroupMaxSizeReached": "GROUP_MAX_SIZE_REACHED",
    "OffsetMetadataTooLarge": "OFFSET_METADATA_TOO_LARGE",
}  # fmt: skip
STRATEGIES = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


def java_line(script: Script, port: int) -> str:
    settings = {"bootstrap.servers": f"127.0.0.1:{port}", **SETTINGS, **script.settings}
    name = "partition.assignment.strategy"
    settings[name] = STRATEGIES[settings[name]]
    pairs = " ".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}"
                     for key, value in settings.items())  # fmt: skip
    return f"{script.program}\t{pairs}"


def from_java(line: str) -> list[str]:
    """The lines of the Java application, exceptions by the names of errors."""
    lines = []
    for each in line.split(",") if line else []:
        word, _, what = each.partition(" ")
        lines.append(f"{word} {JAVA.get(what.removesuffix('Exception'), what)}")
    return lines
