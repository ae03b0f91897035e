"""The same limits and the same requests on the engine and on a live Kafka: the same waits.

Throttle times come from bytes and from the milliseconds between requests; the bytes are the
same on both sides, and the milliseconds are measured: on a busy machine they are not few.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

from engine.wire import messages as m
from engine.wire.errors import Errors
from kit import jars
from kit.clusters.connections import Connection
from kit.clusters.kafka_cluster import KafkaCluster
from kit.probes.requests import now_ms
from tests.engine.quotas.quota_cluster import TOPIC, Entity, alteration, fetching, producing
from tests.real_clusters import require_local_kafka

pytestmark = pytest.mark.real

Found = dict[str, Any]
PATIENCE_S = 60
VERSION = 12
"""Of Produce and Fetch: the last that names topics."""


class Side:
    """One cluster with a topic led by 101, and connections of any client id."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        cluster.create_topic(TOPIC, assignment={0: [101, 102, 103]})
        host, _, port = cluster.bootstrap.split(",")[0].rpartition(":")
        self.address = (host, int(port))
        self.open: list[Connection] = []
        self.entities: list[Entity] = []

    def connect(self, client_id: str) -> Connection:
        self.open.append(Connection(self.address, PATIENCE_S, client_id))
        return self.open[-1]

    def limit(self, entity: Entity, **limits: float | None) -> Any:
        """Sets limits and waits until 101 has them; the entry of the answer."""
        admin = self.connect("admin")
        entry = admin.ask(alteration(entity, **limits)).entries[0]
        if entry.error_code == 0:
            self.entities.append(entity)
            deadline = time.monotonic() + PATIENCE_S
            wanted = {key: value for key, value in limits.items() if value is not None}
            while self.limits(admin, entity) != wanted:
                assert time.monotonic() < deadline, f"101 has not heard of {wanted}"
                time.sleep(0.02)
        return entry

    def limits(self, admin: Connection, entity: Entity) -> Found:
        request = m.DescribeClientQuotasRequest
        parts = [request.ComponentData(k, 1 if v is None else 0, v) for k, v in entity.items()]
        entries = admin.ask(request(components=parts, strict=True)).entries
        return {value.key: value.value for entry in entries for value in entry.values}

    def close(self) -> None:
        admin = self.connect("admin")
        for entity in self.entities:
            gone = dict.fromkeys(self.limits(admin, entity))
            admin.ask(alteration(entity, **gone))
        for connection in self.open:
            connection.close()
        self.cluster.delete_topic(TOPIC)


@pytest.fixture(scope="module")
def sides(engine_cluster: KafkaCluster, local_cluster: KafkaCluster) -> Iterator[list[Side]]:
    both = [Side(engine_cluster), Side(local_cluster)]
    yield both
    for side in both:
        side.close()


def ms_since(moment: float) -> float:
    return (time.monotonic() - moment) * 1000


def close_enough(mine: int, theirs: int, *spans_ms: float) -> bool:
    """Within a tenth, and what went by from the first request to the last on either side."""
    return abs(mine - theirs) <= 0.1 * theirs + max(spans_ms)


def fresh(value_bytes: int, acks: int = 1) -> Any:
    """A write of today: an old record may be gone before it is read."""
    return producing(acks, value_bytes, now_ms())


def produced(side: Side, client_id: str) -> Found:
    """Throttle times of three requests, and how long the silence after the last one was."""
    side.connect("loader").ask(fresh(100_000), VERSION)  # the first one starts cold
    connection = side.connect(client_id)
    began, waits = time.monotonic(), []
    for size in (90_000, 100_000, 90_000):
        asked = time.monotonic()
        waits.append(connection.ask(fresh(size), VERSION).throttle_time_ms)
    span_ms = ms_since(began)
    after = connection.ask(fresh(10), VERSION)
    error = after.responses[0].partition_responses[0].error_code
    # The silence begins with the answer, which was there before we were told of it.
    return {"waits": waits, "span_ms": span_ms, "silence_ms": ms_since(asked), "error": error}


def test_a_producer_over_its_rate_waits_as_long(sides: list[Side]) -> None:
    seen = []
    for side in sides:
        side.limit({"client-id": "writer"}, producer_byte_rate=20_000)
        seen.append(produced(side, "writer"))
    mine, theirs = seen
    assert mine["waits"][:2] == theirs["waits"][:2] == [0, 0]
    assert theirs["waits"][2] > 100
    spans_ms = [each["span_ms"] for each in seen]
    assert close_enough(mine["waits"][2], theirs["waits"][2], *spans_ms)
    for each in seen:
        assert each["error"] == 0
        assert each["silence_ms"] >= 0.9 * each["waits"][2]


def fetched(side: Side, client_id: str, offset: int) -> tuple[list[tuple[int, int]], float]:
    """Of fetches one after the other: bytes of records, throttle time; and the time they took."""
    connection = side.connect(client_id)
    began, found = time.monotonic(), []
    request = fetching(offset)
    request.max_bytes = 1  # one whole batch: Kafka cuts a second one short, the engine does not
    for _ in range(2):
        answer = connection.ask(request, VERSION)
        size = sum(len(p.records or b"") for t in answer.responses for p in t.partitions)
        found.append((size, answer.throttle_time_ms))
    return found, ms_since(began)


def test_a_consumer_over_its_rate_gets_nothing_for_as_long(sides: list[Side]) -> None:
    seen = []
    for side in sides:
        loader = side.connect("loader")
        answers = [loader.ask(fresh(6_000, acks=-1), VERSION) for _ in range(2)]
        offset = answers[0].responses[0].partition_responses[0].base_offset
        side.limit({"client-id": "reader"}, consumer_byte_rate=1_000)
        seen.append(fetched(side, "reader", offset))
    (mine, my_ms), (theirs, their_ms) = seen
    assert [size for size, _ in mine] == [size for size, _ in theirs]
    for ours, real in zip(mine, theirs, strict=True):
        assert close_enough(ours[1], real[1], my_ms, their_ms)
    assert theirs[0][1] == 0 < theirs[1][1]


@pytest.mark.parametrize(
    ("entity", "limits"),
    [
        ({"client-id": "x"}, {"producer_bytes_rate": 1.0}),
        ({"client-id": "x"}, {"consumer_bytes_rate": 1.0}),
        ({"client-id": "x"}, {"controller_mutations_rate": 1.0}),
        ({"client-id": "x"}, {"producer_byte_rate": 0.0}),
        ({"client-id": "x"}, {"producer_byte_rate": 0.5}),
        ({"client-id": ""}, {"producer_byte_rate": 1.0}),
        ({"group": "x"}, {"producer_byte_rate": 1.0}),
    ],
)
def test_what_is_refused_is_refused_alike(
    sides: list[Side], entity: Entity, limits: dict[str, float]
) -> None:
    mine, theirs = (side.limit(entity, **limits) for side in sides)
    assert mine.error_code == theirs.error_code == Errors.INVALID_REQUEST
    assert mine.error_message == theirs.error_message


def made(side: Side, partitions: int, name: str) -> tuple[int, int]:
    request = m.CreateTopicsRequest
    connection = side.connect("maker")
    topic = request.CreatableTopic(name, partitions, 1)
    answer = connection.ask(request([topic], timeout_ms=10_000, validate_only=True))
    return answer.topics[0].error_code, answer.throttle_time_ms


def test_partitions_over_the_rate_are_refused_for_as_long(sides: list[Side]) -> None:
    seen, spans_ms = [], []
    for side in sides:
        side.limit({"client-id": "maker"}, controller_mutation_rate=1)
        began = time.monotonic()
        seen.append([made(side, 14, "burst"), made(side, 1, "after")])
        spans_ms.append(ms_since(began))
    mine, theirs = seen
    assert theirs[1][0] == Errors.THROTTLING_QUOTA_EXCEEDED
    assert [error for error, _ in mine] == [error for error, _ in theirs]
    assert mine[0][1] == theirs[0][1] == 0
    assert close_enough(mine[1][1], theirs[1][1], *spans_ms)


def test_kafkas_own_tool_sets_shows_and_removes(engine_cluster: KafkaCluster) -> None:
    require_local_kafka()

    def configs(*arguments: str) -> str:
        command = [jars.java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", jars.classpath()]
        where = ["--bootstrap-server", engine_cluster.bootstrap, "--entity-type", "clients"]
        done = subprocess.run(
            [*command, "kafka.admin.ConfigCommand", *where, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    name = ("--entity-name", "from-the-tool")
    wanted = "producer_byte_rate=100000,request_percentage=12.5"
    assert "Completed updating" in configs("--alter", *name, "--add-config", wanted)
    shown = configs("--describe", *name)
    assert "producer_byte_rate=100000.0" in shown
    assert "request_percentage=12.5" in shown
    configs("--alter", *name, "--delete-config", "producer_byte_rate,request_percentage")
    assert "producer_byte_rate" not in configs("--describe", *name)
