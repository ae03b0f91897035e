"""A probe that reads a partition comes to an end, also where a consumer would go on forever."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from kit.clusters.interface import Cluster, ClusterError
from kit.probes import clients

END = KafkaError(KafkaError._PARTITION_EOF)
LEADERLESS: Any = SimpleNamespace(bootstrap="localhost:1")
CLUSTER: Cluster = LEADERLESS


def record(offset: int, value: bytes | None) -> Any:
    return SimpleNamespace(error=lambda: None, offset=lambda: offset, value=lambda: value)


def refused(error: KafkaError) -> Any:
    return SimpleNamespace(error=lambda: error, offset=lambda: None)


@pytest.fixture
def polls(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets what a consumer's polls give, one after the other."""

    def give(*messages: Any) -> None:
        coming: Iterator[Any] = chain(messages, repeat(messages[-1], 1_000))
        consumer = SimpleNamespace(
            assign=lambda at: None, poll=lambda timeout: next(coming), close=lambda: None
        )
        monkeypatch.setattr(clients, "Consumer", lambda settings: consumer)

    return give


def test_values_end_at_the_partition_s_end_after_an_error_that_passes(polls: Any) -> None:
    passing = refused(KafkaError(KafkaError._TRANSPORT))
    polls(passing, record(0, b"a"), passing, record(1, None), refused(END))
    assert clients.values(CLUSTER, "orders") == ["a", ""]


@pytest.mark.parametrize("code", sorted(clients.DAMAGED))
def test_damaged_bytes_are_named_at_once(polls: Any, code: int) -> None:
    polls(record(0, b"a"), refused(KafkaError(code)))
    with pytest.raises(ClusterError, match=r"orders-0 cannot be read to its end.*another replica"):
        clients.values(CLUSTER, "orders")


def test_an_offset_that_comes_again_and_again_ends_the_read(polls: Any) -> None:
    polls(record(4_294_967_296, b"a"), record(1, b"b"), refused(END))
    assert clients.values(CLUSTER, "orders") == ["a", "b"]
    polls(record(0, b"a"))
    with pytest.raises(ClusterError, match="Offset 0 of orders-0 has come three times"):
        clients.values(CLUSTER, "orders")


def test_a_partition_without_an_answer_is_named(polls: Any) -> None:
    polls(None)
    with pytest.raises(ClusterError, match="does it have a leader"):
        clients.values(CLUSTER, "orders")


def test_an_error_that_does_not_pass_is_given_up(
    polls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    polls(refused(KafkaError(KafkaError._TRANSPORT)))
    monkeypatch.setattr(clients, "time", SimpleNamespace(monotonic=iter(range(1_000)).__next__))
    with pytest.raises(ClusterError, match="does it have a leader"):
        clients.values(CLUSTER, "orders")
