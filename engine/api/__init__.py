"""The APIs a broker offers, one file each, and the way from a request to its file.

`VERSIONS` is what ApiVersions advertises: the APIs that the engine implements, in the versions in
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
from functools import cache
from importlib import import_module
from types import ModuleType

from engine.broker.broker import Broker
from engine.events import AnyRequest
from engine.wire.codec import MalformedMessage
from engine.wire.errors import Errors, KafkaError
from engine.wire.framing import RequestFrame, response_class
from engine.wire.structures import Message

VERSIONS: dict[str, tuple[int, int, int]] = {
    # name: key, first and last version
    "Produce": (0, 0, 13),
    "Fetch": (1, 4, 18),
    "ListOffsets": (2, 1, 11),
    "Metadata": (3, 0, 13),
    "OffsetCommit": (8, 2, 10),
    "OffsetFetch": (9, 1, 10),
    "FindCoordinator": (10, 0, 6),
    "JoinGroup": (11, 0, 9),
    "Heartbeat": (12, 0, 4),
    "LeaveGroup": (13, 0, 5),
    "SyncGroup": (14, 0, 5),
    "DescribeGroups": (15, 0, 6),
    "ListGroups": (16, 0, 5),
    "ApiVersions": (18, 0, 4),
    "CreateTopics": (19, 2, 7),
    "DeleteTopics": (20, 1, 6),
    "DeleteRecords": (21, 0, 2),
    "InitProducerId": (22, 0, 5),
    "OffsetForLeaderEpoch": (23, 2, 4),
    "AddPartitionsToTxn": (24, 0, 5),
    "AddOffsetsToTxn": (25, 0, 4),
    "EndTxn": (26, 0, 5),
    "WriteTxnMarkers": (27, 1, 2),
    "TxnOffsetCommit": (28, 0, 5),
    "DescribeConfigs": (32, 1, 4),
    "AlterConfigs": (33, 0, 2),
    "AlterReplicaLogDirs": (34, 1, 2),
    "DescribeLogDirs": (35, 1, 5),
    "CreatePartitions": (37, 0, 3),
    "DeleteGroups": (42, 0, 2),
    "ElectLeaders": (43, 0, 2),
    "IncrementalAlterConfigs": (44, 0, 1),
    "ListPartitionReassignments": (46, 0, 0),
    "OffsetDelete": (47, 0, 0),
    "DescribeClientQuotas": (48, 0, 1),
    "AlterClientQuotas": (49, 0, 1),
    "DescribeQuorum": (55, 0, 2),
    "UpdateFeatures": (57, 0, 2),
    "DescribeCluster": (60, 0, 2),
    "DescribeProducers": (61, 0, 0),
    "UnregisterBroker": (64, 0, 0),
    "DescribeTransactions": (65, 0, 0),
    "ListTransactions": (66, 0, 2),
    "ConsumerGroupHeartbeat": (68, 0, 1),
    "ConsumerGroupDescribe": (69, 0, 1),
    "ListConfigResources": (74, 0, 1),
    "DescribeTopicPartitions": (75, 0, 0),
}

_BY_KEY = {key: (name, low, high) for name, (key, low, high) in VERSIONS.items()}


def check_version(header: RequestFrame) -> tuple[int, Message] | None:
    """Whether a request may be decoded: None if so, else the version and body of the answer.

    Only ApiVersions is answered in a version that is not offered, in version 0, which every
    client can read (KIP-511).  Anything else raises MalformedMessage: the driver closes the
    connection, as Kafka does.
    """
    known = _BY_KEY.get(header.api_key)
    if known is None:
        raise MalformedMessage(f"API key {header.api_key} is not offered here")
    name, low, high = known
    if low <= header.api_version <= high:
        return None
    if name == "ApiVersions":
        answer: Message = _module(header.api_key).unsupported()
        return 0, answer
    raise MalformedMessage(
        f"{name} is offered in versions {low} to {high}, not in {header.api_version}"
    )


def dispatch(broker: Broker, now: int, request: AnyRequest) -> None:
    """Hands a request to its API's module."""
    module = _module(type(request.body).API_KEY)
    try:
        module.handle(broker, now, request)
    except KafkaError as error:
        broker.outbox.reply(request, refusal(request, error.code, error.text))


def refusal(request: AnyRequest, code: Errors, message: str | None = None) -> Message:
    """The answer that refuses a whole request.

    An API that has no error of its own, only one per topic or group, says in its module's
    `refuse(request, code, message)` where the error goes.
    """
    key = type(request.body).API_KEY
    refuse = getattr(_module(key), "refuse", None) if key in _BY_KEY else None
    if refuse is not None:
        refused: Message = refuse(request, code, message)
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
    cut = getattr(_module(type(request.body).API_KEY), "fit", None)
    if cut is None:
        return answer
    fitting: Message = cut(request, answer, refused)
    return fitting


@cache
def _module(api_key: int) -> ModuleType:
    return import_module(f"{__name__}.{module_name(_BY_KEY[api_key][0])}")


def module_name(name: str) -> str:
    """`DescribeConfigs` is in `describe_configs`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
