"""The APIs a broker offers, one file each, and the way from a request to its file.

`APIS` is what ApiVersions advertises: the APIs that the engine implements, in the versions in
which a Kafka 4.3.1 broker offers them.  What is not here is not advertised, and a client that asks
for it anyway loses its connection, as with Kafka.  Two ranges differ from the schemas': Produce
starts at 0, which no 4.x broker serves, because some clients based on librdkafka would not talk to
a broker that starts higher (KIP-896); InitProducerId stops before its unstable version.

A handler is `handle(broker, now, request)` in the module named after its API.  It answers with
`broker.outbox.reply`, at once or later.  It may raise KafkaError before it has changed anything;
`dispatch` turns that into the API's own error answer.  Modules load when first needed.

May import: broker, coordinators, coordinators.classic, coordinators.consumer,
coordinators.runtime, coordinators.transactions, events, metadata, past, records, replication,
settings, storage, wire.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

from engine.broker.broker import Broker
from engine.events import AnyRequest
from engine.wire.codec import MalformedMessage
from engine.wire.errors import Errors, KafkaError
from engine.wire.framing import RequestFrame, response_class
from engine.wire.structures import Message


@dataclass(frozen=True, slots=True)
class Api:
    """Its key, the first and last version offered, and what its module has beside `handle`."""

    key: int
    low: int
    high: int
    refuses: bool = False
    """It has no error of its own, only one per topic or group: `refuse` says where that goes."""
    fits: bool = False
    """`fit` makes the controller's answer what the client gets in its version."""

    @property
    def versions(self) -> range:
        return range(self.low, self.high + 1)


APIS: dict[str, Api] = {
    "Produce": Api(0, 0, 13, refuses=True),
    "Fetch": Api(1, 4, 18),
    "ListOffsets": Api(2, 1, 11),
    "Metadata": Api(3, 0, 13, refuses=True),
    "OffsetCommit": Api(8, 2, 10),
    "OffsetFetch": Api(9, 1, 10),
    "FindCoordinator": Api(10, 0, 6),
    "JoinGroup": Api(11, 0, 9),
    "Heartbeat": Api(12, 0, 4),
    "LeaveGroup": Api(13, 0, 5),
    "SyncGroup": Api(14, 0, 5),
    "DescribeGroups": Api(15, 0, 6),
    "ListGroups": Api(16, 0, 5),
    "ApiVersions": Api(18, 0, 4, refuses=True),
    "CreateTopics": Api(19, 2, 7, refuses=True),
    "DeleteTopics": Api(20, 1, 6, refuses=True),
    "DeleteRecords": Api(21, 0, 2),
    "InitProducerId": Api(22, 0, 5),
    "OffsetForLeaderEpoch": Api(23, 2, 4),
    "AddPartitionsToTxn": Api(24, 0, 5, refuses=True),
    "AddOffsetsToTxn": Api(25, 0, 4),
    "EndTxn": Api(26, 0, 5),
    "WriteTxnMarkers": Api(27, 1, 2, refuses=True),
    "TxnOffsetCommit": Api(28, 0, 5, refuses=True),
    "DescribeConfigs": Api(32, 1, 4, refuses=True),
    "AlterConfigs": Api(33, 0, 2, refuses=True, fits=True),
    "AlterReplicaLogDirs": Api(34, 1, 2, refuses=True),
    "DescribeLogDirs": Api(35, 1, 5),
    "CreatePartitions": Api(37, 0, 3, refuses=True),
    "DeleteGroups": Api(42, 0, 2),
    "ElectLeaders": Api(43, 0, 2, refuses=True, fits=True),
    "IncrementalAlterConfigs": Api(44, 0, 1, refuses=True, fits=True),
    "ListPartitionReassignments": Api(46, 0, 0, refuses=True),
    "OffsetDelete": Api(47, 0, 0),
    "DescribeClientQuotas": Api(48, 0, 1, refuses=True),
    "AlterClientQuotas": Api(49, 0, 1, refuses=True),
    "DescribeQuorum": Api(55, 0, 2, refuses=True, fits=True),
    "UpdateFeatures": Api(57, 0, 2),
    "DescribeCluster": Api(60, 0, 2),
    "DescribeProducers": Api(61, 0, 0, refuses=True),
    "UnregisterBroker": Api(64, 0, 0, refuses=True),
    "DescribeTransactions": Api(65, 0, 0, refuses=True),
    "ListTransactions": Api(66, 0, 2),
    "ConsumerGroupHeartbeat": Api(68, 0, 1),
    "ConsumerGroupDescribe": Api(69, 0, 1, refuses=True),
    "ListConfigResources": Api(74, 0, 1),
    "DescribeTopicPartitions": Api(75, 0, 0, refuses=True),
    "AddRaftVoter": Api(80, 0, 1),
    "RemoveRaftVoter": Api(81, 0, 0),
}

ON_CONTROLLERS: dict[str, Api] = {
    name: APIS[name]
    for name in (
        "ApiVersions", "DescribeQuorum", "UpdateFeatures", "DescribeCluster", "UnregisterBroker",
        "AddRaftVoter", "RemoveRaftVoter",
    )
} | {"BrokerRegistration": Api(62, 0, 4)}  # fmt: skip
"""What a controller offers on a listener of its own; the last no broker offers."""

_BY_KEY = {each.key: (name, each) for name, each in (APIS | ON_CONTROLLERS).items()}


def check_version(
    header: RequestFrame, offers: Mapping[str, Api] = APIS
) -> tuple[int, Message] | None:
    """Whether a request may be decoded: None if so, else the version and body of the answer.

    Only ApiVersions is answered in a version that is not offered, in version 0, which every
    client can read (KIP-511).  Anything else raises MalformedMessage: the driver closes the
    connection, as Kafka does.
    """
    known = _BY_KEY.get(header.api_key)
    if known is None or known[0] not in offers:
        raise MalformedMessage(f"API key {header.api_key} is not offered here")
    name, offered = known
    if offered.low <= header.api_version <= offered.high:
        return None
    if name == "ApiVersions":
        answer: Message = _module(header.api_key).unsupported(offers)
        return 0, answer
    raise MalformedMessage(
        f"{name} is offered in versions {offered.low} to {offered.high}, "
        f"not in {header.api_version}"
    )


def dispatch(broker: Broker, now: int, request: AnyRequest) -> None:
    """Hands a request to its API's module."""
    module = _module(type(request.body).API_KEY)
    try:
        module.handle(broker, now, request)
    except KafkaError as error:
        broker.outbox.reply(request, refusal(request, error.code, error.text))


def refusal(request: AnyRequest, code: Errors, message: str | None = None) -> Message:
    """The answer that refuses a whole request, by `refuse(request, code, message)` or here.

    TypeError for an API that has no such answer: its handler must not raise KafkaError.
    """
    key = type(request.body).API_KEY
    if key in _BY_KEY and _BY_KEY[key][1].refuses:
        refused: Message = _module(key).refuse(request, code, message)
        return refused
    answer = response_class(request.body)()
    if not hasattr(answer, "error_code"):
        raise TypeError(f"{type(answer).__name__} has no error_code, and its API no refuse().")
    answer.error_code = code
    if hasattr(answer, "error_message"):
        answer.error_message = message
    return answer


def fit(request: AnyRequest, answer: Message, refused: Message | None = None) -> Message:
    """The controller's answer as the client gets it.

    Requests travel to the controller in their latest version.  Most fields that a version lacks
    are left out by the codec; where Kafka forbids that, or where the broker refused a part
    itself, the API's module has a `fit(request, answer, refused)`.
    """
    key = type(request.body).API_KEY
    if not _BY_KEY[key][1].fits:
        return answer
    fitting: Message = _module(key).fit(request, answer, refused)
    return fitting


@cache
def _module(api_key: int) -> ModuleType:
    return import_module(f"{__name__}.{module_name(_BY_KEY[api_key][0])}")


def module_name(name: str) -> str:
    """`DescribeConfigs` is in `describe_configs`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
