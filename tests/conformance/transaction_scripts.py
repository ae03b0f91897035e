"""The scripts of transactions, and one way to run each of the two clients on them.

`calls` are words: the calls of a transactional producer; `A` or `1:A` is a record for partition 0
or 1; `!` waits for the verdicts so far; `EndTxn?` waits until the brokers have seen that request.
`answers` are a ScriptedCoordinators' script.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from engine.client.producer import Producer
from engine.client.sockets import SocketDriver
from engine.client.transaction_requests import GroupMetadata, Offset
from engine.wire.errors import KafkaError
from kit.probes.scripted_broker import TOPIC
from tests.conformance.producer_scripts import addressed
from tests.conformance.scripted_coordinators import ScriptedCoordinators

PATIENCE_S = 60.0
SETTINGS: dict[str, Any] = {
    "transactional.id": "till",
    "linger.ms": 0,
    "batch.size": 1,
    "request.timeout.ms": 5000,
    "delivery.timeout.ms": 15000,
    "max.block.ms": 15000,
    "retry.backoff.ms": 40,
    "retry.backoff.max.ms": 80,
    "reconnect.backoff.ms": 40,
    "reconnect.backoff.max.ms": 80,
}
GROUP = GroupMetadata("billing", 4, "member-1")
CALLS = ("init", "begin", "commit", "abort", "offsets")
Wait = Callable[[Callable[[], bool]], None]
Answers = dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Script:
    calls: str
    answers: Answers = field(default_factory=dict)
    version: int = 2
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Every request, how each call ended, and each record's verdict."""

    seen: tuple[str, ...]
    calls: tuple[str, ...]
    verdicts: str


TWO = "init begin A ! commit begin B ! commit"
ABORT_AND_GO_ON = "init begin A ! abort begin B ! commit"
LINGERS = {"linger.ms": 60_000, "batch.size": 1000, "delivery.timeout.ms": 120_000}
SCRIPTS: dict[str, Script] = {}


def both(name: str, calls: str, answers: Answers | None = None, **more: Any) -> None:
    """The same script in both protocols."""
    for version in (1, 2):
        SCRIPTS[f"{name}, protocol {version}"] = Script(calls, answers or {}, version, **more)


both("two commits", TWO)
both("a commit to two partitions", "init begin A ! 1:B ! C ! commit")
both("an abort, then a commit", ABORT_AND_GO_ON)
both("a batch that still lingers is committed", "init begin A commit", settings=LINGERS)
both("an empty transaction", "init begin commit begin abort begin A ! commit")
both(
    "the coordinator is loading",
    "init",
    {
        "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE",) * 2,
        "InitProducerId": ("COORDINATOR_LOAD_IN_PROGRESS",),
    },
)
both("the coordinator moves before the commit", TWO, {"EndTxn": ("move",)})
both(
    "the last transaction is still being completed",
    TWO,
    {
        "InitProducerId": ("CONCURRENT_TRANSACTIONS",),
        "AddPartitionsToTxn": ("CONCURRENT_TRANSACTIONS",) * 3,
        "Produce": ("ok", "CONCURRENT_TRANSACTIONS", "CONCURRENT_TRANSACTIONS"),
    },
)
both("the answer to a commit is lost", TWO, {"EndTxn": ("drop",)})
both("the answer to an abort is lost", ABORT_AND_GO_ON, {"EndTxn": ("drop",)})
both("the answer to a batch is lost", TWO, {"Produce": ("drop",)})
both("the answer to the first request is lost", TWO, {"InitProducerId": ("drop",)})
for each in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"):
    both(f"{each} for a new producer", "init init", {"InitProducerId": (each,)})
    both(f"{each} for a batch", "init begin A ! commit abort", {"Produce": (each,)})
    both(f"{each} for a commit", "init begin A ! commit abort begin", {"EndTxn": (each,)})
    both(f"{each} for an abort", "init begin A ! abort begin", {"EndTxn": (each,)})
    both(f"{each} for offsets", "init begin offsets abort", {"TxnOffsetCommit": (each,)})
    SCRIPTS[f"{each} for a partition, protocol 1"] = Script(
        "init begin A ! commit abort", {"AddPartitionsToTxn": (each,)}, 1
    )
    SCRIPTS[f"{each} for a group, protocol 1"] = Script(
        "init begin offsets abort", {"AddOffsetsToTxn": (each,)}, 1
    )
both(
    "TRANSACTION_ABORTABLE for a batch",
    "init begin A ! commit abort begin B ! commit",
    {"Produce": ("TRANSACTION_ABORTABLE",)},
)
both(
    "TRANSACTION_ABORTABLE for a commit",
    "init begin A ! commit abort begin B ! commit",
    {"EndTxn": ("TRANSACTION_ABORTABLE",)},
)
both(
    "TRANSACTION_ABORTABLE for an abort",
    "init begin A ! abort begin",
    {"EndTxn": ("TRANSACTION_ABORTABLE",)},
)
both(
    "a gap in the numbers",
    "init begin A ! B ! commit abort begin C ! commit",
    {"Produce": ("ok", "OUT_OF_ORDER_SEQUENCE_NUMBER")},
)
both(
    "the partition has forgotten the producer",
    "init begin A ! B ! commit",
    {"Produce": ("ok", "UNKNOWN_PRODUCER_ID")},
)
both(
    "a record is refused",
    "init begin A ! B ! commit abort begin C ! commit",
    {"Produce": ("ok", "INVALID_RECORD")},
)
both(
    "the coordinator does not know the transaction",
    "init begin A ! commit abort",
    {"EndTxn": ("INVALID_TXN_STATE",)},
)
both(
    "the coordinator has forgotten the producer",
    "init begin A ! commit abort begin B ! commit",
    {"EndTxn": ("UNKNOWN_PRODUCER_ID",)},
)
both("offsets", "init begin A ! offsets commit begin offsets abort")
both("the group's coordinator moves", "init begin offsets commit", {"TxnOffsetCommit": ("move",)})
both(
    "the topic of an offset is not known yet",
    "init begin offsets commit",
    {"TxnOffsetCommit": ("UNKNOWN_TOPIC_OR_PARTITION",)},
)
for each in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID"):
    both(
        f"{each} for offsets",
        "init begin A ! offsets commit abort begin B ! commit",
        {"TxnOffsetCommit": (each,)},
    )
both(
    "access to the name is granted later",
    "init init begin A ! commit",
    {"InitProducerId": ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED",)},
)
SCRIPTS["a start that is to be aborted, protocol 1"] = Script(
    "init abort init begin abort", {"InitProducerId": ("TRANSACTION_ABORTABLE",)}, 1
)
both(
    "the coordinator has forgotten the producer before an abort",
    "init begin A ! abort abort",
    {"EndTxn": ("UNKNOWN_PRODUCER_ID",)},
)
both("misuse", "begin init init begin begin commit commit abort")
SCRIPTS["batches that never left are dropped, protocol 1"] = Script(
    "init begin A AddPartitionsToTxn? abort begin B commit", {}, 1, LINGERS
)
SCRIPTS["batches that never left are dropped, protocol 2"] = Script(
    "init begin A abort begin B commit", {}, 2, LINGERS
)
SCRIPTS["the topic may not be written to, protocol 1"] = Script(
    "init begin A ! commit abort", {"AddPartitionsToTxn": ("TOPIC_AUTHORIZATION_FAILED",)}, 1
)
SCRIPTS["the producer is unknown when a partition joins, protocol 1"] = Script(
    "init begin A ! abort begin B ! commit", {"AddPartitionsToTxn": ("UNKNOWN_PRODUCER_ID",)}, 1
)
SCRIPTS["no answer is ever heard while the transaction is aborted, protocol 1"] = Script(
    "init begin A Produce? abort begin commit abort",
    {"Produce": ("drop",) * 2},
    1,
    {"retry.backoff.ms": 2000, "retry.backoff.max.ms": 2000, "delivery.timeout.ms": 3000,
     "request.timeout.ms": 1000},
)  # fmt: skip
# No batch expires while the request is repeated; only another error ends that.
SCRIPTS["a partition is gone for longer than delivery.timeout.ms, protocol 1"] = Script(
    "init begin A commit abort",
    {"AddPartitionsToTxn": (*("UNKNOWN_TOPIC_OR_PARTITION",) * 5, "PRODUCER_FENCED")},
    1,
    {"retry.backoff.ms": 600, "retry.backoff.max.ms": 600, "delivery.timeout.ms": 1200,
     "request.timeout.ms": 1000},
)  # fmt: skip


def settings_of(script: Script) -> dict[str, Any]:
    return {**SETTINGS, **script.settings}


def play(
    script: Script, brokers: ScriptedCoordinators, ask: Callable[..., str], wait: Wait
) -> Outcome:
    """Makes the calls one after the other; `ask` makes one and gives how it ended, and `wait`
    lets the client go on until a condition holds."""
    ended = []
    for word in script.calls.split():
        if word == "!":
            ask("verdicts")
        elif word.endswith("?"):
            wait(partial(brokers.has_seen, word[:-1]))
        elif word in CALLS:
            ended.append(f"{word}: {ask(word)}")
        else:
            partition, value = addressed(word)
            answer = ask("send", value, str(partition))
            assert answer == "ok", f"{word}: {answer}"
    verdicts = ask("verdicts")
    return Outcome(tuple(brokers.seen), tuple(ended), verdicts)


class Ours:
    """Makes calls of the engine's own producer over sockets."""

    def __init__(self, script: Script, brokers: ScriptedCoordinators) -> None:
        self.producer = Producer("script", tuple(brokers.addresses), settings_of(script))
        self.driver = SocketDriver(self.producer, brokers.addresses)

    def ask(self, word: str, *arguments: str) -> str:
        try:
            return self._ask(word, *arguments)
        except RuntimeError:
            return "misuse"
        except KafkaError as error:
            return named(error.code.name)

    def _ask(self, word: str, *arguments: str) -> str:
        match word:
            case "verdicts":
                self.wait(lambda: self.producer.idle)
                return ",".join(_verdict(each) for each in self.producer.sends)
            case "send":
                value, partition = arguments
                self.driver.send(TOPIC, value.encode(), partition=int(partition))
                return "ok"
            case "begin":
                self.driver.tell("begin_transaction")
            case "offsets":
                offsets = {(TOPIC, 0): Offset(7)}
                self.driver.tell("send_offsets_to_transaction", offsets, GROUP)
            case _:
                operation = "init_transactions" if word == "init" else f"{word}_transaction"
                self.driver.tell(operation)
        self.wait(lambda: not self.producer.busy)
        return named(self.producer.error) or "ok"

    def wait(self, until: Callable[[], bool]) -> None:
        assert self.driver.run(until, PATIENCE_S), "it never ended"


OTHER_NAMES = {
    "the transaction was aborted": "aborted",
    "max.block.ms": "REQUEST_TIMED_OUT",
    "delivery.timeout.ms": "REQUEST_TIMED_OUT",
}


def named(error: str) -> str:
    """An error as the Java program names it; its consumer errors become one exception."""
    if error in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"):
        return "commit failed"
    return OTHER_NAMES.get(error, error)


def _verdict(sent: Any) -> str:
    kept = sent.verdict == "acknowledged"
    return f"{sent.text} acknowledged {sent.offset}" if kept else f"{sent.text} {named(sent.error)}"


def run_ours(script: Script) -> Outcome:
    brokers = ScriptedCoordinators(script.answers, script.version)
    client = Ours(script, brokers)
    try:
        return play(script, brokers, client.ask, client.wait)
    finally:
        client.driver.close()
        brokers.close()
