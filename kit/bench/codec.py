"""The wire codec in the broker's direction, beside kafka-python and kio.

A broker decodes requests and encodes answers.  One exchange of each of ApiVersions,
Metadata with 1,000 partitions, Produce, Fetch and JoinGroup is timed, the times summed.
All three get the same bytes and write the same answer.  They take turns, and each keeps
its fastest, because other work on the machine can only slow it down.
"""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from engine.wire import codec
from engine.wire import messages as m

Work = Callable[[], Any]

VERSIONS = {"ApiVersions": 4, "Metadata": 12, "Produce": 11, "Fetch": 16, "JoinGroup": 9}
"""The newest versions that all three know."""

_BATCH = bytes(16 * 1024)
_TURN_S = 0.05


@dataclass(frozen=True)
class Exchange:
    """A request and its answer, in our classes."""

    api: str
    request: Any
    response: Any

    @property
    def version(self) -> int:
        return VERSIONS[self.api]


def measure(rounds: int = 3) -> list[dict[str, Any]]:
    """One row per rival; times are microseconds for one exchange of each API."""
    contenders = {"engine": _ours, "kafka-python": _kafka_python, "kio": _kio}
    total = dict.fromkeys(contenders, 0.0)
    for exchange in exchanges():
        works = {name: build(exchange) for name, build in contenders.items()}
        for name, seconds in fastest(works, rounds).items():
            total[name] += seconds
    ours = total.pop("engine")
    return [row(f"codec, beside {name}", ours, theirs) for name, theirs in total.items()]


def row(name: str, ours_s: float, theirs_s: float) -> dict[str, Any]:
    """A row of the bench's table for two times, which should not be longer than theirs."""
    ratio = ours_s / theirs_s
    return {
        "name": name,
        "unit": "µs",
        "ours": round(ours_s * 1e6, 1),
        "theirs": round(theirs_s * 1e6, 1),
        "ratio": round(ratio, 3),
        "budget": "≤ 1.0",
        "holds": ratio <= 1.0,
    }


def fastest(works: dict[str, Work], rounds: int) -> dict[str, float]:
    """Seconds that one call of each takes: they take turns, and the best of `rounds` counts."""
    for work in works.values():
        work()  # compiles and caches all that is made on first use
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            calls, began = 0, perf_counter()
            while (elapsed := perf_counter() - began) < _TURN_S:
                work()
                calls += 1
            best[name] = min(best[name], elapsed / calls)
    return best


def exchanges() -> list[Exchange]:
    """What a client with a topic or ten says when it starts, produces and consumes."""
    topics = [f"topic-{n}" for n in range(10)]
    uuid = bytes(range(16))
    return [
        Exchange(
            "ApiVersions",
            m.ApiVersionsRequest("librdkafka", "2.16.0"),
            m.ApiVersionsResponse(
                api_keys=[m.ApiVersionsResponse.ApiVersion(n, 0, 9) for n in range(60)],
                finalized_features_epoch=3,
                finalized_features=[
                    m.ApiVersionsResponse.FinalizedFeatureKey("metadata.version", 29, 29)
                ],
            ),
        ),
        Exchange(
            "Metadata",
            m.MetadataRequest([m.MetadataRequest.MetadataRequestTopic(name=t) for t in topics]),
            m.MetadataResponse(
                brokers=[
                    m.MetadataResponse.MetadataResponseBroker(n, "127.0.0.1", 9092, "a")
                    for n in (101, 102, 103)
                ],
                cluster_id="AAAAAAAAAAAAAAAAAAAAAA",
                controller_id=101,
                topics=[_metadata_topic(name, uuid) for name in topics],
            ),
        ),
        Exchange(
            "Produce",
            m.ProduceRequest(
                acks=-1,
                timeout_ms=30_000,
                topic_data=[
                    m.ProduceRequest.TopicProduceData(
                        name=name,
                        partition_data=[
                            m.ProduceRequest.PartitionProduceData(index=i, records=_BATCH)
                            for i in range(3)
                        ],
                    )
                    for name in topics[:3]
                ],
            ),
            m.ProduceResponse(
                responses=[
                    m.ProduceResponse.TopicProduceResponse(
                        name=name,
                        partition_responses=[
                            m.ProduceResponse.PartitionProduceResponse(index=i, base_offset=5)
                            for i in range(3)
                        ],
                    )
                    for name in topics[:3]
                ]
            ),
        ),
        Exchange(
            "Fetch",
            m.FetchRequest(
                max_wait_ms=500,
                topics=[
                    m.FetchRequest.FetchTopic(
                        topic_id=uuid,
                        partitions=[
                            m.FetchRequest.FetchPartition(partition=i, fetch_offset=5)
                            for i in range(10)
                        ],
                    )
                ],
            ),
            m.FetchResponse(
                responses=[
                    m.FetchResponse.FetchableTopicResponse(
                        topic_id=uuid,
                        partitions=[
                            m.FetchResponse.PartitionData(
                                partition_index=i, high_watermark=9, records=_BATCH
                            )
                            for i in range(10)
                        ],
                    )
                ]
            ),
        ),
        Exchange(
            "JoinGroup",
            m.JoinGroupRequest(
                group_id="g1",
                session_timeout_ms=45_000,
                rebalance_timeout_ms=300_000,
                protocol_type="consumer",
                protocols=[
                    m.JoinGroupRequest.JoinGroupRequestProtocol(name, bytes(60))
                    for name in ("range", "cooperative-sticky")
                ],
            ),
            m.JoinGroupResponse(
                generation_id=4,
                protocol_type="consumer",
                protocol_name="range",
                leader="member-0",
                members=[
                    m.JoinGroupResponse.JoinGroupResponseMember(f"member-{n}", None, bytes(60))
                    for n in range(20)
                ],
            ),
        ),
    ]


def _metadata_topic(name: str, uuid: bytes) -> Any:
    return m.MetadataResponse.MetadataResponseTopic(
        name=name,
        topic_id=uuid,
        partitions=[
            m.MetadataResponse.MetadataResponsePartition(
                partition_index=i,
                leader_id=101,
                leader_epoch=1,
                replica_nodes=[101, 102, 103],
                isr_nodes=[101, 102, 103],
            )
            for i in range(100)
        ],
    )


def _ours(exchange: Exchange) -> Work:
    name, version, response = f"{exchange.api}Request", exchange.version, exchange.response
    body = codec.encode(exchange.request, version)

    def work() -> bytes:
        codec.decode(name, version, body)
        return codec.encode(response, version)

    return work


def _kafka_python(exchange: Exchange) -> Work:
    version, module = exchange.version, None
    for group in ("metadata", "producer", "consumer"):
        module = importlib.import_module(f"kafka.protocol.{group}")
        if hasattr(module, f"{exchange.api}Request"):
            break
    request = getattr(module, f"{exchange.api}Request")
    body = codec.encode(exchange.request, version)
    answer = codec.encode(exchange.response, version)
    response = getattr(module, f"{exchange.api}Response").decode(answer, version=version)
    response._header = None  # only missing on an object that was read

    def work() -> bytes:
        request.decode(body, version=version)
        return bytes(response.encode(version=version))

    return _checked(work, answer)


def _kio(exchange: Exchange) -> Work:
    serial = importlib.import_module("kio.serial")
    folder = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", exchange.api).lower()
    place = f"kio.schema.{folder}.v{exchange.version}"
    request = getattr(importlib.import_module(f"{place}.request"), f"{exchange.api}Request")
    answer_class = getattr(importlib.import_module(f"{place}.response"), f"{exchange.api}Response")
    body = codec.encode(exchange.request, exchange.version)
    answer = codec.encode(exchange.response, exchange.version)
    response, _ = serial.entity_reader(answer_class)(answer, 0)
    read, write = serial.entity_reader(request), serial.entity_writer(answer_class)

    def work() -> bytes:
        read(body, 0)
        out = io.BytesIO()
        write(out, response)
        return out.getvalue()

    return _checked(work, answer)


def _checked(work: Work, answer: bytes) -> Work:
    """The rival's work, once it is seen to give the same bytes as ours."""
    if work() != answer:
        raise RuntimeError("the rival's answer differs; what is timed would not be the same work")
    return work
