"""Two answers beside each other: what may differ by nature is taken out, the rest is listed.

Ids, ports, times and positions in the metadata log are each side's own.  Of a sentence only its
presence counts.  Rows come in the same order, except where Kafka leaves it to its hash maps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine import api
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.conformance.probe.side import COMPACT, GROUP, NO_ANSWER, SETTINGS, TOPIC, TRANSACTION

OWN = {
    "cluster_id", "port", "topic_id", "controller_id", "member_id", "session_id",
    "documentation", "log_dir", "total_bytes", "usable_bytes", "replica_directory_id",
    "finalized_features_epoch", "last_fetch_timestamp", "last_caught_up_timestamp",
    "last_timestamp", "log_end_offset", "partition_size", "log_append_time_ms",
    "transaction_start_time_ms",
}  # fmt: skip
"""Fields that are compared only for being empty or not."""

UNORDERED = {
    "CreatePartitionsResponse", "OffsetDeleteResponse", "DescribeQuorumResponse",
    "AddPartitionsToTxnResponse", "WriteTxnMarkersResponse",
    "configs", "entity", "entries",
}  # fmt: skip
"""Answers, and lists in any answer, whose rows come in the order of Kafka's hash maps."""
PLACED_BY_CHANCE = {"FindCoordinatorResponse"}
"""Answers that name a broker which leads a partition of an internal topic."""

SENTENCES = {"error_message", "batch_index_error_message"}
NOTHING = (None, "", 0, -1, bytes(16))
OFFERED = {each.key for each in api.APIS.values()}
ROW_NAMES = ("name", "topic", "group_id", "topic_name", "resource_name", "transactional_id")


@dataclass(frozen=True, slots=True)
class Difference:
    """At one place of an answer."""

    path: str
    kafka: Any
    engine: Any

    def __str__(self) -> str:
        return f"{self.path}: Kafka {self.kafka!r}, engine {self.engine!r}"


def compare(kafka: list[Any], engine: list[Any], everything: bool = False) -> list[Difference]:
    return list(
        _compare(
            "",
            [_plain(each, everything, type(each).__name__) for each in kafka],
            [_plain(each, everything, type(each).__name__) for each in engine],
        )
    )


def _plain(node: Any, everything: bool, api: str, field: str = "") -> Any:
    if node in NO_ANSWER:
        return node
    if isinstance(node, list):
        rows = [_plain(each, everything, api, field) for each in node]
        if rows and isinstance(rows[0], dict):
            if everything:
                rows = [row for row in rows if _is_prepared(row)]
            if everything or api in UNORDERED or field in UNORDERED:
                rows.sort(key=repr)
        return rows
    if isinstance(node, m.ApiVersionsResponse):
        node.api_keys = [each for each in node.api_keys if each.api_key in OFFERED]
        node.supported_features = node.finalized_features = []
    if isinstance(node, m.DescribeQuorumResponse.PartitionData):
        node.high_watermark, node.leader_epoch = (
            min(node.high_watermark, 1),
            min(node.leader_epoch, 1),
        )
    if hasattr(node, "__slots__"):
        return {each: _plain(getattr(node, each), everything, api, each) for each in node.__slots__}
    if field in SENTENCES:
        return "text" if node else node
    if field == "producer_id":
        return "none" if node == -1 else "some"
    own = field in OWN or (field == "leader" and isinstance(node, str))
    if own or (field == "node_id" and api in PLACED_BY_CHANCE):
        return node if node in NOTHING else f"some {field}"
    if field == "error_code":
        return Errors(node).name
    return bytes(node) if isinstance(node, memoryview) else node


def _is_prepared(row: dict[str, Any]) -> bool:
    """Not a topic or a group that another case, or another test, has made."""
    names = [str(row[name]) for name in ROW_NAMES if name in row]
    return (
        all(
            name in (TOPIC, COMPACT, SETTINGS, GROUP, TRANSACTION)
            or not name.startswith(("probe", "__"))
            for name in names
        )
        and row.get("group_id", GROUP) == GROUP
        and row.get("transactional_id", TRANSACTION) == TRANSACTION
    )


def _compare(path: str, kafka: Any, engine: Any) -> Iterator[Difference]:
    if isinstance(kafka, dict) and isinstance(engine, dict):
        for key in kafka:
            yield from _compare(f"{path}.{key}" if path else key, kafka[key], engine[key])
    elif isinstance(kafka, list) and isinstance(engine, list):
        if len(kafka) != len(engine):
            yield Difference(f"{path}#", len(kafka), len(engine))
        for theirs, ours in zip(kafka, engine, strict=False):
            yield from _compare(f"{path}[]" if path else "", theirs, ours)
    elif repr(kafka) != repr(engine):
        yield Difference(path, kafka, engine)
