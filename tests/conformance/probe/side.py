"""One side of the probe: a broker at the end of a socket, and what it was prepared with.

Requests go out exactly as the cases say, in the version they say: there is no client in
between that would refuse a wrong field, ask again, or choose another broker.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.coordinators.offsets_topic import OFFSETS_TOPIC, partition_for
from engine.records import batch
from engine.wire import framing
from engine.wire import messages as m
from engine.wire.errors import Errors

Address = tuple[str, int]

PREFIX = "probe-"
TOPIC, COMPACT, GROUP = f"{PREFIX}topic", f"{PREFIX}compact", f"{PREFIX}group-3"
MARKED, TRANSACTION = f"{PREFIX}marked", f"{PREFIX}transaction"
SETTINGS = f"{PREFIX}settings"
"""The topic whose settings the cases change; it has no records that retention could take."""
UNKNOWN_ID = b"\x07" * 16
OFFSETS_PARTITIONS = 5
CLOSED, SILENT = "the connection is closed", "there is no answer"
ADD_PARTITIONS_TO_TXN = 24
NO_ANSWER = (CLOSED, SILENT)
PATIENCE_S = 60.0
LONG_MS = 900_000
"""A transaction's timeout: no coordinator aborts one while the cases run."""
_SIZE = struct.Struct(">i")

GROUP_APIS = {
    "OffsetCommit", "OffsetFetch", "JoinGroup", "Heartbeat", "LeaveGroup", "SyncGroup",
    "DescribeGroups", "ListGroups", "DeleteGroups", "OffsetDelete",
    "ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "TxnOffsetCommit",
}  # fmt: skip
"""What goes to the coordinator of the probe's groups; the rest goes to broker 101."""


@dataclass(frozen=True, slots=True)
class Until:
    """A step that asks again until the answer holds; the answer is not compared."""

    request: Any
    holds: Callable[[Any], bool]


class Side:
    """One cluster, whose broker 101 is asked."""

    def __init__(self, name: str, brokers: dict[int, Address]) -> None:
        self.name = name
        self.brokers = brokers
        self.topic_ids: dict[str, bytes] = {}
        self.coordinator = 101
        self.log_dir = ""
        self.patience_s = PATIENCE_S
        """After so long an answer is not coming."""
        self._open: dict[int, socket.socket] = {}

    # -- asking

    def ask(self, request: Any, version: int | None = None, broker: int = 101) -> Any:
        """The answer, CLOSED, or SILENT; UnsupportedField if the version cannot carry it.

        `broker` is asked unless the request is one for the coordinator.
        """
        version = type(request).LATEST if version is None else version
        frame = framing.write_request(version, 7, "probe", request)
        api = framing.API_NAMES[request.API_KEY]
        broker = self.coordinator if api in GROUP_APIS else broker
        if api not in GROUP_APIS and (transactional_id := _transactional_id(request)):
            broker = self._coordinator_of(transactional_id)
        answer = self.raw(bytes(frame), broker)
        if answer in NO_ANSWER:
            return answer
        return framing.read_response(request.API_KEY, version, answer)[1]

    def begin(self, transactional_id: str) -> tuple[int, int]:
        """Opens a transaction with the partition of MARKED; its producer's id and epoch."""
        start = m.InitProducerIdRequest(transactional_id, LONG_MS)
        given = self.until(Until(start, lambda answer: not answer.error_code))
        producer = given.producer_id, given.producer_epoch
        add = m.AddPartitionsToTxnRequest
        wanted = add.AddPartitionsToTxnTopic(MARKED, [0])
        whole = add.AddPartitionsToTxnTransaction(transactional_id, *producer, False, [wanted])
        self.until(Until(add([whole]), added))
        return producer

    def _coordinator_of(self, transactional_id: str) -> int:
        find = m.FindCoordinatorRequest("", 1, [transactional_id])
        answer: int = self.until(Until(find, found)).coordinators[0].node_id
        return answer

    def raw(self, frame: bytes, broker: int = 101) -> Any:
        """The bytes of the answer to any bytes, or CLOSED or SILENT."""
        if broker not in self._open:
            self._open[broker] = socket.create_connection(self.brokers[broker], 5.0)
            self._open[broker].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = self._open[broker]
        connection.settimeout(self.patience_s)
        try:
            connection.sendall(frame)
            (size,) = _SIZE.unpack(_receive(connection, 4))
            return _receive(connection, size)
        except ConnectionError:
            self._drop(broker)
            return CLOSED
        except TimeoutError:
            self._drop(broker)
            return SILENT
        except BaseException:
            self._drop(broker)
            raise

    def until(self, step: Until, broker: int = 101) -> Any:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.ask(step.request, broker=broker)
            if answer not in NO_ANSWER and step.holds(answer):
                return answer
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name} never came to it: {step.request} {answer}")
            time.sleep(0.02)

    def forget(self, broker: int) -> None:
        """Its connections are dead."""
        if broker in self._open:
            self._drop(broker)

    def _drop(self, broker: int) -> None:
        self._open.pop(broker).close()

    def close(self) -> None:
        for broker in list(self._open):
            with contextlib.suppress(OSError):
                self._drop(broker)

    # -- what all cases find there

    def prepare(self) -> None:
        """Topics led by broker 101, one of them with ten records; a group with an offset."""
        self.clean()
        self._spread_coordinators()
        # The records are old: no retention takes them away while we ask.
        kept = creation(TOPIC, [[101, 102, 103], [101, 103, 102]], {"retention.ms": "-1"})
        assert self.ask(kept).topics[0].error_code == 0
        compact = creation(COMPACT, [[101, 102, 103]], {"cleanup.policy": "compact"})
        assert self.ask(compact).topics[0].error_code == 0
        for topic in (MARKED, SETTINGS):
            assert self.ask(creation(topic, [[101, 102, 103]])).topics[0].error_code == 0
        offered = {each.api_key for each in self.ask(m.ApiVersionsRequest("probe", "1")).api_keys}
        if ADD_PARTITIONS_TO_TXN in offered:
            self.until(Until(m.FindCoordinatorRequest("", 1, ["t"]), found))
        for broker in self.brokers:  # each fetches a block of ids when it first needs one
            given = Until(m.InitProducerIdRequest(None, 0), lambda each: not each.error_code)
            self.until(given, broker)
        for topic in (TOPIC, COMPACT, MARKED, SETTINGS):
            known = self.until(led(topic)).topics[0]
            self.topic_ids[topic] = known.topic_id
        records = [batch.Record(0, 1_700_000_000_000 + i, b"k%d" % i, b"v%d" % i) for i in range(5)]
        for _ in range(2):
            part = m.ProduceRequest.PartitionProduceData(0, batch.encode(records))
            data = m.ProduceRequest.TopicProduceData(TOPIC, self.topic_ids[TOPIC], [part])
            self.until(Until(m.ProduceRequest(None, -1, 10_000, [data]), produced))
        self.begin(TRANSACTION)
        self.until(Until(m.FindCoordinatorRequest(coordinator_keys=[GROUP]), self._coordinated))
        self.log_dir = self.ask(m.DescribeLogDirsRequest([])).results[0].log_dir
        commit = m.OffsetCommitRequest(
            GROUP, topics=[offset_of(TOPIC, self.topic_ids[TOPIC], 0, 3, "note")]
        )

        def committed(answer: Any) -> bool:
            return answer.topics[0].partitions[0].error_code == 0

        self.until(Until(commit, committed))

    def _spread_coordinators(self) -> None:
        """Preferred replicas lead the offsets topic again: brokers may have died before."""
        elect = m.ElectLeadersRequest
        wanted = elect.TopicPartitions(OFFSETS_TOPIC, list(range(OFFSETS_PARTITIONS)))
        self.until(Until(elect(0, [wanted], 10_000), elected))
        topic = m.MetadataRequest.MetadataRequestTopic(name=OFFSETS_TOPIC)

        def led_by_preferred(answer: Any) -> bool:
            partitions = answer.topics[0].partitions
            return all(each.leader_id == each.replica_nodes[0] for each in partitions)

        self.until(Until(m.MetadataRequest([topic], False), led_by_preferred))

    def _coordinated(self, answer: Any) -> bool:
        found = answer.coordinators[0]
        if found.error_code == 0:
            self.coordinator = found.node_id
        return found.error_code == 0

    def clean(self) -> None:
        """Deletes what the cases made."""
        listed = self.ask(m.MetadataRequest(None, False)).topics
        names = [topic.name for topic in listed if topic.name.startswith(PREFIX)]
        if names:
            states = [m.DeleteTopicsRequest.DeleteTopicState(name) for name in names]
            self.ask(m.DeleteTopicsRequest(states, timeout_ms=30_000))
            self.until(
                Until(
                    m.MetadataRequest(None, False),
                    lambda answer: (
                        not any(topic.name.startswith(PREFIX) for topic in answer.topics)
                    ),
                )
            )
        self.until(Until(m.FindCoordinatorRequest(coordinator_keys=[GROUP]), self._coordinated))
        listed = self.ask(m.ListGroupsRequest()).groups
        groups = [each.group_id for each in listed if each.group_id.startswith(PREFIX)]
        for group in self.ask(m.DescribeGroupsRequest(groups)).groups:
            leaving = [m.LeaveGroupRequest.MemberIdentity(each.member_id) for each in group.members]
            if leaving:
                self.ask(m.LeaveGroupRequest(group.group_id, members=leaving))
        self.ask(m.DeleteGroupsRequest(groups))
        quotas = self.ask(m.DescribeClientQuotasRequest()).entries
        for entry in quotas or ():
            alter = m.AlterClientQuotasRequest
            entity = [alter.EntityData(e.entity_type, e.entity_name) for e in entry.entity]
            gone = [alter.OpData(value.key, 0.0, True) for value in entry.values]
            self.ask(alter([alter.EntryData(entity, gone)]))


def found(answer: Any) -> bool:
    return bool(answer.coordinators[0].error_code == 0)


def added(answer: Any) -> bool:
    (row,) = answer.results_by_transaction[0].topic_results[0].results_by_partition
    return bool(row.partition_error_code == 0)


def _transactional_id(request: Any) -> str:
    """Whose coordinator is asked; empty if it is not the request's business."""
    if isinstance(request, m.ListTransactionsRequest):
        return TRANSACTION
    if isinstance(request, m.DescribeTransactionsRequest):
        return (request.transactional_ids or [""])[0]
    if isinstance(request, m.AddPartitionsToTxnRequest):
        several = [each.transactional_id for each in request.transactions or ()]
        return (several or [request.v3_and_below_transactional_id])[0]
    named: str | None = getattr(request, "transactional_id", None)
    return "" if named is None or isinstance(request, m.ProduceRequest) else named


def elected(answer: Any) -> bool:
    done = (Errors.NONE, Errors.ELECTION_NOT_NEEDED)
    rows = [row for each in answer.replica_election_results for row in each.partition_result]
    return all(row.error_code in done for row in rows)


def produced(answer: Any) -> bool:
    return bool(answer.responses[0].partition_responses[0].error_code == 0)


def _receive(connection: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size:
        chunk = connection.recv(size - len(received))
        if not chunk:
            raise ConnectionResetError
        received += chunk
    return bytes(received)


def creation(name: str, replicas: list[list[int]], configs: dict[str, str] | None = None) -> Any:
    """CreateTopics with the replicas given."""
    c = m.CreateTopicsRequest
    rows = [c.CreatableReplicaAssignment(i, each) for i, each in enumerate(replicas)]
    made = [c.CreatableTopicConfig(*each) for each in (configs or {}).items()]
    return c([c.CreatableTopic(name, -1, -1, rows, made)])


def led(topic: str) -> Until:
    """Waits until broker 101 knows the topic and a leader of every partition."""

    def holds(answer: Any) -> bool:
        found = answer.topics[0]
        return not found.error_code and all(p.leader_id >= 0 for p in found.partitions)

    wanted = m.MetadataRequest.MetadataRequestTopic(name=topic)
    return Until(m.MetadataRequest([wanted], False), holds)


def serving(topic: str) -> Until:
    """Waits until broker 101 acts as the leader: it learns of a topic before it has a log."""
    part = m.ListOffsetsRequest.ListOffsetsPartition(0, -1, -1)
    asked = [m.ListOffsetsRequest.ListOffsetsTopic(topic, [part])]

    def holds(answer: Any) -> bool:
        return bool(answer.topics[0].partitions[0].error_code == 0)

    return Until(m.ListOffsetsRequest(-1, 0, asked), holds)


def offset_of(topic: str, topic_id: bytes, index: int, offset: int, note: str | None = None) -> Any:
    c = m.OffsetCommitRequest
    part = c.OffsetCommitRequestPartition(index, offset, -1, note)
    return c.OffsetCommitRequestTopic(topic, topic_id, [part])


def group_name(base: str) -> str:
    """A group on the same partition of the offsets topic as GROUP: one coordinator has all."""
    wanted = partition_for(GROUP, OFFSETS_PARTITIONS)
    names = (f"{base}-{number}" for number in range(1000))
    return next(each for each in names if partition_for(each, OFFSETS_PARTITIONS) == wanted)
