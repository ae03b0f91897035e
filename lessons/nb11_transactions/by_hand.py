"""A transactional producer whose requests are made by hand, under either transaction protocol.

    with ByHand(cluster, "till") as till:
        till.start()                              InitProducerId: `till.id`, `till.epoch`
        till.write("accounts", "Alice -10")       Produce; under protocol 1 AddPartitionsToTxn first
        till.end(True)                            EndTxn: commit

Client libraries retry, hide, and refuse to do what is wrong.  A lesson about late and forbidden
requests needs a producer that sends what the lesson asks for.  Only answers that say "ask again"
are not shown.

    protocol 1   the client adds partitions; EndTxn leaves the epoch as it is
    protocol 2   the leader adds the partition of a record; each EndTxn brings an epoch (KIP-890)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from engine.records import batch
from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.clusters.interface import Cluster
from kit.probes import requests
from kit.probes.raw_client import RawClient

PATIENCE_S = 60.0
AGAIN = frozenset({
    Errors.CONCURRENT_TRANSACTIONS, Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.COORDINATOR_NOT_AVAILABLE, Errors.NOT_COORDINATOR, Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
})  # fmt: skip
TRANSACTIONS = 1
"""FindCoordinator's number for coordinators of transactions."""
ADD, FIND, DESCRIBE, START = 3, 4, 0, 4
PRODUCE = {1: 11, 2: 12}
END = {1: 4, 2: 5}
"""The highest version that a client of each protocol sends."""


class ByHand:
    """One producer with a transactional.id."""

    def __init__(
        self, cluster: Cluster, name: str, *, protocol: int = 2, timeout_ms: int = 60_000
    ) -> None:
        self.cluster, self.name = cluster, name
        self.protocol, self.timeout_ms = protocol, timeout_ms
        self.id, self.epoch = -1, -1
        self.sequences: dict[tuple[str, int], int] = {}
        self._connections: dict[int, RawClient] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._connections.values():
            each.close()

    # -- what a producer does

    def start(self) -> str:
        """InitProducerId; the error's name, or NONE."""
        answer = self._coordinator(m.InitProducerIdRequest(self.name, self.timeout_ms), START)
        if not answer.error_code:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return Errors(answer.error_code).name

    def add(self, topic: str, partition: int = 0) -> str:
        """AddPartitionsToTxn, as a client of protocol 1 sends it."""
        request = m.AddPartitionsToTxnRequest
        body = request(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[request.AddPartitionsToTxnTopic(topic, [partition])],
        )
        return Errors(_added(self._coordinator(body, ADD))).name

    def write(self, topic: str, value: str, partition: int = 0) -> str:
        """One record in the open transaction; under protocol 1 its partition is added first."""
        if self.protocol == 1 and (failed := self.add(topic, partition)) != "NONE":
            return failed
        return self.produce(topic, value, partition)

    def produce(self, topic: str, value: str, partition: int = 0, age_ms: int = 0) -> str:
        """One record; its sequence number follows the last one that was taken."""
        sequence = self.sequences.get((topic, partition), 0)
        records = batch.encode(
            [batch.Record(0, requests.now_ms() - age_ms, None, value.encode(), ())],
            producer_id=self.id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        body = requests.producing(topic, acks=-1, records=records, partition=partition)
        body.transactional_id = self.name

        def ask() -> Any:
            leader = self.cluster.leader(topic, partition)
            return self._at(leader).ask(body, PRODUCE[self.protocol])

        answer = self._again(ask, lambda given: requests.first_partition(given).error_code)
        code = requests.first_partition(answer).error_code
        if not code:
            self.sequences[topic, partition] = sequence + 1
        return Errors(code).name

    def end(self, committed: bool) -> str:
        """EndTxn; under protocol 2 the answer brings the epoch of the next transaction."""
        body = m.EndTxnRequest(self.name, self.id, self.epoch, committed)
        answer = self._coordinator(body, END[self.protocol])
        if not answer.error_code and self.protocol == 2:
            self.id, self.epoch = answer.producer_id, answer.producer_epoch
            self.sequences.clear()
        return Errors(answer.error_code).name

    def state(self) -> str:
        """What the coordinator says of the id: its state, or an error's name."""
        answer = self._coordinator(m.DescribeTransactionsRequest([self.name]), DESCRIBE)
        (row,) = answer.transaction_states
        return row.transaction_state or Errors(row.error_code).name

    # -- requests

    def _coordinator(self, body: Any, version: int) -> Any:
        """The answer of this id's coordinator; it is looked for each time."""

        def ask() -> Any:
            wanted = m.FindCoordinatorRequest(key_type=TRANSACTIONS, coordinator_keys=[self.name])
            (row,) = self._at(self.cluster.brokers[0]).ask(wanted, FIND).coordinators
            return row if row.error_code else self._at(row.node_id).ask(body, version)

        return self._again(ask, _code)

    def _again(self, ask: Callable[[], Any], code: Callable[[Any], int]) -> Any:
        """The first answer that does not say "ask again"."""
        answers: list[Any] = []

        def is_final(_: Cluster) -> bool:
            answers.append(ask())
            found = answers[-1]
            return (found.error_code if _is_missing(found) else code(found)) not in AGAIN

        self.cluster.wait_until(is_final, PATIENCE_S, f"an answer for {self.name}")
        return answers[-1]

    def _at(self, broker: int) -> RawClient:
        if broker not in self._connections:
            self._connections[broker] = RawClient(self.cluster, broker, self.name)
        return self._connections[broker]


def _is_missing(answer: Any) -> bool:
    """Whether there is no coordinator yet: the answer is FindCoordinator's row."""
    return isinstance(answer, m.FindCoordinatorResponse.Coordinator)


def _code(answer: Any) -> int:
    match answer:
        case m.DescribeTransactionsResponse():
            return int(answer.transaction_states[0].error_code)
        case m.AddPartitionsToTxnResponse():
            return _added(answer)
        case _:
            return int(answer.error_code)


def _added(answer: Any) -> int:
    (topic,) = answer.results_by_topic_v3_and_below
    return int(topic.results_by_partition[0].partition_error_code)
