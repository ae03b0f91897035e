"""Scenarios of notebook 04 for `lab.both`: what a broker does with single requests.

Each takes a cluster, names its topic, and returns what must be the same on the engine and on
Kafka; times and sizes go through `measured`.  Requests are sent raw, so that no client
library retries, batches or waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit.both.outcomes import measured
from kit.clusters import broker_metrics
from kit.clusters.interface import Cluster, NotOffered
from kit.probes.clients import partition
from kit.probes.raw_client import RawClient, addresses
from kit.probes.requests import fetching, first_partition, one_batch, producing, records_in
from lessons.nb04_broker.request_bytes import api_key, captured

ALL = (101, 102, 103)
TOPIC = "orders"
PATIENCE_S = 30.0
SHORT_S = 0.15
Seen = Mapping[str, Any]


def placed(cluster: Cluster, topic: str = TOPIC) -> None:
    """A topic of one partition, led by 101."""
    cluster.create_topic(topic, assignment={0: ALL})


def error(code: int) -> str:
    return Errors(code).name


def led(cluster: Cluster, client: RawClient, topic: str, replicas: list[int]) -> None:
    """Creates a topic of one partition; returns when `client` has written a record to it."""
    cluster.create_topic(topic, assignment={0: replicas})

    def is_led(_: Cluster) -> bool:
        answer = first_partition(client.ask(producing(topic, acks=-1)))
        return bool(answer.error_code == Errors.NONE)

    cluster.wait_until(is_led, PATIENCE_S, "its leader")


def as_replica(broker: int, fetch: Any) -> Any:
    """The same Fetch with a follower's replica id; a consumer's is -1."""
    fetch.replica_id = broker
    return fetch


def in_sync(cluster: Cluster, topic: str) -> list[int]:
    """The ISR of partition 0."""
    return sorted(partition(cluster, topic)["isr"])


def in_log_file(cluster: Cluster, records: bytes, topic: str = TOPIC) -> Any:
    """Where these bytes begin in a segment file of 101; -1: in none, nan: no file can be read."""
    data = cluster.provider.nodes()[101].data_dir  # type: ignore[attr-defined]
    segments = sorted(Path(data).glob(f"{topic}-0/*.log")) if data else []
    begins = max((each.read_bytes().find(records) for each in segments), default=float("nan"))
    return measured(begins, "bytes from its start")


# -- brokers and their requests


def three_brokers(cluster: Cluster) -> Seen:
    """The brokers of the cluster, and the requests that one of them has had so far."""
    placed(cluster)
    with RawClient(cluster, 101, "lesson") as client:
        base = first_partition(client.ask(producing(TOPIC, 100, acks=-1))).base_offset
        answer = client.ask(fetching(TOPIC, max_wait_ms=5_000))
        described = client.ask(m.DescribeClusterRequest(), 0)
        quorum = client.ask(_metadata_quorum(), 0)
    nodes = cluster.snapshot()["brokers"]
    stored = len(answer.responses[0].partitions[0].records)
    return {
        "brokers": sorted(each.broker_id for each in described.brokers),
        "the controller": quorum.topics[0].partitions[0].leader_id,
        "addresses of their own": len(set(addresses(cluster).values())) == len(nodes),
        **places(cluster),
        "the record got the offset": base,
        "bytes of the batch, sent and fetched": [len(one_batch(bytes(100))), stored],
        **counted(cluster),
    }


def places(cluster: Cluster) -> Seen:
    """Directories and processes of the three brokers; nan where this machine does not see them."""
    provider: Any = cluster.provider  # type: ignore[attr-defined]
    nodes = provider.nodes()
    directories = {nodes[broker].data_dir for broker in ALL} - {None}
    processes: set[int] = set()
    if directories:
        is_engine = cluster.name == "engine"
        processes = {provider.pid() if is_engine else provider.pid(broker) for broker in ALL}
    return {
        "data directories": measured(len(directories) or float("nan"), "of their own"),
        "processes that serve them": measured(len(processes) or float("nan"), "for all three"),
    }


def _metadata_quorum() -> Any:
    request = m.DescribeQuorumRequest
    part = request.PartitionData(partition_index=0)
    named = request.TopicData(topic_name="__cluster_metadata", partitions=[part])
    return request(topics=[named])


KINDS = {
    "Produce": "Produce requests at 101",
    "FetchConsumer": "Fetch requests of consumers",
    "FetchFollower": "Fetch requests of followers",
}


def counted(cluster: Cluster) -> Seen:
    """How many requests of each kind broker 101 has had; nan where the cluster does not tell."""
    try:
        found = broker_metrics.requests(cluster, 101, *KINDS)
    except NotOffered:
        return {row: measured(float("nan"), "so far") for row in KINDS.values()}
    return {row: measured(found[kind].count, "so far") for kind, row in KINDS.items()}


def two_generations(cluster: Cluster) -> Seen:
    """An old client's versions and a new one's on the same broker; and one that is too old."""
    placed(cluster)
    with RawClient(cluster, 101, "old and new") as client:
        frames = captured(client)
        offered = client.ask(m.ApiVersionsRequest("lesson", "1"), 3)
        ranges = {each.api_key: [each.min_version, each.max_version] for each in offered.api_keys}
        named = m.MetadataRequest.MetadataRequestTopic(name=TOPIC)
        topic_id = client.ask(m.MetadataRequest(topics=[named]), 13).topics[0].topic_id
        producing_today = producing(TOPIC, acks=-1)
        producing_today.topic_data[0].topic_id = topic_id
        offsets = [
            first_partition(client.ask(body, version)).base_offset
            for version, body in ((3, producing(TOPIC, acks=-1)), (13, producing_today))
        ]
        fetching_today = fetching(TOPIC)
        fetching_today.topics[0].topic_id = topic_id
        requests = ((4, fetching(TOPIC)), (18, fetching_today))
        read = [records_in(client.ask(body, version)) for version, body in requests]
    with RawClient(cluster, 101, "of the year 2014") as ancient:
        ancient.send_bytes(_ancient_list_offsets())
        closed = ancient.is_closed()
    keys = list(dict.fromkeys(map(api_key, frames)))
    return {
        "API keys in the bytes: ApiVersions, Metadata, Produce, Fetch": keys,
        "Produce as version 3, then 13: offsets": offsets,
        "records read by Fetch 4 and 18": read,
        "Fetch versions offered": ranges[m.FetchRequest.API_KEY],
        "Metadata versions offered": ranges[m.MetadataRequest.API_KEY],
        "ListOffsets 0, gone since 4.0: connection closed": closed,
    }


def _ancient_list_offsets() -> bytes:
    """A ListOffsets request of version 0 for no topics, as bytes: no codec encodes it any more."""
    client_id = b"old"
    header = b"\0\2" + b"\0\0" + b"\0\0\0\1" + len(client_id).to_bytes(2, "big") + client_id
    body = (-1).to_bytes(4, "big", signed=True) + bytes(4)
    return len(header + body).to_bytes(4, "big") + header + body


def flipped_bit(cluster: Cluster) -> Seen:
    """One bit of a batch changes in flight."""
    placed(cluster)
    good = one_batch(b"forty euros to Alice")
    broken = bytearray(good)
    broken[-4] ^= 0b0000_0100
    with RawClient(cluster, 101, "noisy line") as client:
        bad = first_partition(client.ask(producing(TOPIC, acks=-1, records=bytes(broken))))
        end_after_bad = partition(cluster, TOPIC)["logs"][101]["log_end_offset"]
        fine = first_partition(client.ask(producing(TOPIC, acks=-1, records=good)))
    return {
        "the broken batch": error(bad.error_code),
        "log end offset after it": end_after_bad,
        "the same batch, whole": error(fine.error_code),
        "its offset": fine.base_offset,
    }


def first_requests(cluster: Cluster) -> Seen:
    """Three small scenes in one table."""
    return {
        "a cluster": three_brokers(cluster),
        "old and new": two_generations(cluster),
        "a flipped bit": flipped_bit(cluster),
    }


# -- waiting


def purgatory(cluster: Cluster) -> Seen:
    """What waits at 101 now; nan where the cluster does not tell."""
    try:
        now = broker_metrics.gauges(cluster, 101)
        produce, fetch = float(now.delayed_produce), float(now.delayed_fetch)
    except NotOffered:
        produce = fetch = float("nan")
    return {
        "produce requests in purgatory": measured(produce, "waiting"),
        "fetch requests in purgatory": measured(fetch, "waiting"),
    }


def fetch_session(cluster: Cluster) -> Seen:
    """Fifty partitions, named once; from then on only changes (KIP-227)."""
    cluster.create_topic("fifty", assignment={index: [101] for index in range(50)})
    with RawClient(cluster, 101, "session") as client:
        cluster.wait_until(lambda _: _is_led(client), PATIENCE_S, "all fifty to be led")
        opened = client.ask(fetching("fifty", partitions=range(50), session=(0, 0)))
        full = [client.bytes_out, client.bytes_in]
        number = opened.session_id
        quiet = client.ask(fetching("fifty", partitions=(), session=(number, 1)))
        small = [client.bytes_out, client.bytes_in]
        client.ask(producing("fifty", 100))
        news = client.ask(fetching("fifty", partitions=(), session=(number, 2), max_wait_ms=2_000))
        wrong = client.ask(fetching("fifty", partitions=(), session=(number, 2)))
        unknown = client.ask(fetching("fifty", partitions=(), session=(number ^ 1, 1)))
    return {
        "full request and its answer, bytes": full,
        "incremental request and its answer, bytes": small,
        "session offered": number > 0,
        "partitions in the first answer": mentioned(opened),
        "partitions in a quiet one": mentioned(quiet),
        "partitions after one write": mentioned(news),
        "the same session epoch again": error(wrong.error_code),
        "a session that is not there": error(unknown.error_code),
    }


def _is_led(client: RawClient) -> bool:
    answer = client.ask(fetching("fifty", partitions=range(50)))
    parts = [part for topic in answer.responses for part in topic.partitions]
    return len(parts) == 50 and not any(part.error_code for part in parts)


def mentioned(answer: Any) -> int:
    return sum(len(topic.partitions) for topic in answer.responses)


def retries_pile_up(cluster: Cluster, attempts: int = 4) -> Seen:
    """A client gives up on a paused broker, and tries again on a new connection."""
    placed(cluster)
    with RawClient(cluster, 101, "first") as client:
        client.ask(producing(TOPIC, acks=-1))
    address = addresses(cluster)[101]
    cluster.pause(101)
    try:
        given_up = 0
        for _ in range(attempts):
            client = RawClient.at(address, "impatient")
            client.send(producing(TOPIC))
            given_up += client.receive(SHORT_S / 4) is None
            client.close()
    finally:
        cluster.resume(101)
    cluster.wait_until(lambda c: log_end(c) == 1 + attempts, PATIENCE_S, "the old requests")
    return {
        "attempts that were given up": given_up,
        "records after the broker moved on": log_end(cluster) - 1,
    }


def log_end(cluster: Cluster) -> int:
    return int(partition(cluster, TOPIC)["logs"][101]["log_end_offset"])


# -- settings

SETTINGS = (
    "num.network.threads",
    "num.io.threads",
    "queued.max.requests",
    "quota.window.num",
    "log.flush.interval.messages",
)


def settings(cluster: Cluster) -> Seen:
    """A broker's own defaults for the settings of this notebook."""
    request = m.DescribeConfigsRequest
    resource = request.DescribeConfigsResource(4, "101", list(SETTINGS))
    with RawClient(cluster, 101, "lesson") as client:
        described = client.ask(request([resource]), 4).results[0].configs
    return {each.name: each.value for each in sorted(described, key=lambda c: c.name)}
