"""Asks a live cluster for what client libraries hide.

`send` writes one record with retries off, so that the broker's own error is seen.  `ask`
sends a raw request to a broker of your choice, which no client does.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from confluent_kafka import (
    Consumer,
    ElectionType,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors
from kit.clusters.connections import Connections
from kit.clusters.interface import Cluster, ClusterError
from kit.clusters.kafka_cluster import KafkaCluster
from kit.clusters.snapshot import order_of_trust
from kit.probes import requests

ANSWER_S = 20.0
DAMAGED = frozenset({
    KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION, KafkaError.INVALID_MSG,
    KafkaError.MSG_SIZE_TOO_LARGE,
})  # fmt: skip
"""Errors of a read that stay when it is attempted again."""
READER = {
    "group.id": "lesson",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 20,
    "log_level": 0,
}


def send(
    cluster: Cluster, topic: str, value: str, acks: str = "all", timeout_ms: int = 30_000
) -> str:
    """One record, no retries: NONE or Kafka's name of the error.

    `timeout_ms` is the client's `request.timeout.ms`: how long the broker may take to answer.
    """
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": acks, "retries": 0, "log_level": 0}
    limits = {"message.timeout.ms": int(ANSWER_S * 1000), "request.timeout.ms": timeout_ms}
    producer = Producer({**settings, **limits})
    outcomes: list[str] = []
    producer.produce(topic, value, partition=0, on_delivery=lambda e, _: outcomes.append(name(e)))
    producer.flush(ANSWER_S)
    return outcomes[0] if outcomes else "no answer"


def name(error: Any) -> str:
    """Kafka's own spelling of a delivery report's error."""
    if error is None:
        return "NONE"
    return Errors(error.code()).name if error.code() > 0 else str(error.name())


def values(cluster: Cluster, topic: str, index: int = 0) -> list[str]:
    """Every value that a consumer gets from one partition now, in order, as text."""
    return [(each.value() or b"").decode() for each in records(cluster, topic, index)]


def records(cluster: Cluster, topic: str, index: int = 0) -> list[Message]:
    """Every record that a consumer gets from one partition now, in order.

    Raises ClusterError where a consumer would go on forever: bytes that it cannot read, offsets
    that lead it back, no answer for 20 seconds.
    """
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **READER})
    consumer.assign([TopicPartition(topic, index, 0)])
    found: list[Message] = []
    times: Counter[int | None] = Counter()
    waits_until = time.monotonic() + ANSWER_S
    try:
        while True:
            message = consumer.poll(ANSWER_S)
            if message is None or (message.error() and time.monotonic() > waits_until):
                raise ClusterError(
                    f"{topic}-{index} cannot be read now: does it have a leader? If it has, the "
                    "bytes of its log may be damaged; look at another replica."
                )
            error = message.error()
            if error is None:
                times[message.offset()] += 1
                found.append(message)
                waits_until = time.monotonic() + ANSWER_S
            elif error.code() == KafkaError._PARTITION_EOF:
                return found
            elif error.code() in DAMAGED:
                raise ClusterError(
                    f"{topic}-{index} cannot be read to its end: the client says “{error.str()}”. "
                    "The bytes there are damaged; look at another replica."
                )
            if times[message.offset()] > 2:
                raise ClusterError(
                    f"Offset {message.offset()} of {topic}-{index} has come three times: its "
                    "offsets are damaged and lead the client back; look at another replica."
                )
    finally:
        consumer.close()


def partition(cluster: Cluster, topic: str, index: int = 0) -> dict[str, Any]:
    """One partition in a fresh snapshot."""
    found: dict[str, Any] = cluster.snapshot()["topics"][topic]["partitions"][index]
    return found


def whole(topic: str) -> Callable[[Cluster], bool]:
    """A condition for wait_until: every partition of the topic has all replicas in sync."""

    def holds(cluster: Cluster) -> bool:
        partitions = cluster.snapshot()["topics"][topic]["partitions"].values()
        return all(len(p["isr"]) == len(p["replicas"]) for p in partitions)

    return holds


def in_sync(topic: str, *brokers: int) -> Any:
    """A condition for wait_until: partition 0's ISR is exactly this."""
    return lambda c: partition(c, topic)["isr"] == sorted(brokers)


def admin(cluster: Cluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


def elect(cluster: Cluster, topic: str, kind: ElectionType, index: int = 0) -> str:
    """Asks for an election, as an operator does: NONE or the name of the error."""
    wanted = TopicPartition(topic, index)
    client = admin(cluster)  # kept: the request ends with its client
    return name(client.elect_leaders(kind, [wanted]).result(ANSWER_S)[wanted])


def outcome(future: Any) -> str:
    """NONE, or the name of the error that an admin request ended with."""
    try:
        future.result(ANSWER_S)
    except KafkaException as failure:
        return name(failure.args[0])
    return "NONE"


# -- requests that no client sends


def ask(cluster: Cluster, broker: int, request: Any, highest: int | None = None) -> Any:
    """One request to one broker."""
    seen = cluster.snapshot()["brokers"][broker]
    with contextlib.closing(Connections(ANSWER_S)) as connections:
        return connections.ask((seen["host"], seen["port"]), request, highest)


def ask_any(cluster: Cluster, request: Any) -> Any:
    """One request to a running broker, one with a link to the controller if there is one."""
    assert isinstance(cluster, KafkaCluster)
    provider = cluster.provider
    with contextlib.closing(Connections(ANSWER_S)) as connections:
        return connections.ask_first(order_of_trust(provider.nodes(), provider.links()), request)


def metadata_at(cluster: Cluster, broker: int, topic: str) -> Any:
    """What one broker says about a topic: the topic's part of its Metadata answer."""
    named = m.MetadataRequest.MetadataRequestTopic(name=topic)
    return ask(cluster, broker, m.MetadataRequest(topics=[named])).topics[0]


def set_broker_config(cluster: Cluster, broker: str, setting: str, value: str | None) -> str:
    """Sets a broker config while all run; the error's name.

    The broker "" is the cluster-wide default, and the value None removes the config.

    confluent-kafka's admin client refuses the empty name, so this is the request itself.
    """
    request = m.IncrementalAlterConfigsRequest
    operation = 1 if value is None else 0
    entry = request.AlterableConfig(name=setting, config_operation=operation, value=value)
    resource = request.AlterConfigsResource(resource_type=4, resource_name=broker, configs=[entry])
    body = request(resources=[resource], validate_only=False)
    answer = ask(cluster, int(broker or cluster.brokers[0]), body)
    return Errors(answer.responses[0].error_code).name


def produce_at(cluster: Cluster, broker: int, topic: str, value: str) -> str:
    """A Produce request sent to a broker of our choice; the error's name."""
    records = requests.one_batch(value.encode())
    body = requests.producing(topic_id(cluster, topic), acks=-1, records=records, timeout_ms=5_000)
    return requests.refusal(requests.first_partition(ask(cluster, broker, body))) or "NONE"


def fetch_at(cluster: Cluster, broker: int, topic: str) -> str:
    """A consumer's Fetch from offset 0 to a broker of our choice: what it answers."""
    answer = ask(cluster, broker, requests.fetching(topic_id(cluster, topic)))
    return (
        requests.refusal(requests.first_partition(answer))
        or f"{requests.records_in(answer)} record(s)"
    )


def topic_id(cluster: Cluster, topic: str) -> bytes:
    return uuids.from_text(cluster.snapshot()["topics"][topic]["id"])
