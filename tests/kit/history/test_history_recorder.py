"""Confluent-kafka clients under the recorder, on the engine and on a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import TopicPartition

from engine.sim.history import EndTransaction, Poll, Reached, Seek, Send, check
from kit.clusters import engine
from kit.clusters.interface import Cluster
from kit.history import Recorder

PATIENCE_S = 60


@pytest.fixture(scope="module", params=["engine", pytest.param("local", marks=pytest.mark.real)])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    if request.param == "local":
        yield request.getfixturevalue("local_cluster")
        return
    with engine.start() as started:
        yield started


def settings(cluster: Cluster, **more: object) -> dict[str, object]:
    return {"bootstrap.servers": cluster.bootstrap, "log_level": 0} | {
        name.replace("_", "."): value for name, value in more.items()
    }


def test_a_quiet_run_is_clean(cluster: Cluster) -> None:
    cluster.create_topic("recorded", partitions=2)
    recorder = Recorder()
    producer = recorder.producer(settings(cluster, acks="all", enable_idempotence=True))
    reported: list[int] = []
    for number in range(50):
        producer.produce(
            "recorded", f"v{number}", on_delivery=lambda _, m: reported.append(m.offset())
        )
    producer.flush(PATIENCE_S)
    assert recorder.read_to_end(cluster.bootstrap, "recorded") == 50
    history = recorder.history()
    findings = check(history)
    assert not findings, findings.text
    assert findings.summary == "50 sent (50 acknowledged, 0 refused, 0 unknown), 50 read"
    assert len(reported) == 50
    assert sum(isinstance(each, Reached) for each in history.operations) == 2


def test_a_reader_that_seeks_proves_nothing_of_what_it_left_out(cluster: Cluster) -> None:
    cluster.create_topic("shortened")
    recorder = Recorder()
    producer = recorder.producer(settings(cluster, acks="all"))
    for number in range(10):
        producer.produce("shortened", f"v{number}", partition=0)
    producer.flush(PATIENCE_S)
    reader = recorder.consumer(settings(cluster, group_id="r", auto_offset_reset="latest"))
    reader.assign([TopicPartition("shortened", 0, 0)])
    assert reader.poll(PATIENCE_S).value() == b"v0"
    reader.seek(TopicPartition("shortened", 0, 8))
    while (message := reader.poll(PATIENCE_S)) is None or message.offset() != 8:
        pass
    reader.close()
    findings = check(recorder.history())
    assert findings.kinds == {"unseen": 8}, findings.text
    kinds = [type(each) for each in recorder.history().operations]
    assert kinds == [Send] * 10 + [Seek, Poll, Seek, Poll]


def test_a_refusal_and_a_time_out_have_different_verdicts(cluster: Cluster) -> None:
    cluster.create_topic("small", config={"max.message.bytes": "200"})
    recorder = Recorder()
    producer = recorder.producer(settings(cluster, acks="all", retries=0, linger_ms=0))
    producer.produce("small", "x" * 500, partition=0)
    producer.flush(PATIENCE_S)
    dead = recorder.producer(
        {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 300, "log_level": 0}
    )
    dead.produce("small", "y", partition=0)
    dead.flush(PATIENCE_S)
    recorder.read_to_end(cluster.bootstrap, "small")
    verdicts = [each.verdict for each in recorder.history().operations if isinstance(each, Send)]
    assert verdicts == ["refused", "unknown"]
    assert not check(recorder.history())


def test_acks_0_is_believed_without_an_offset(cluster: Cluster) -> None:
    cluster.create_topic("blind")
    recorder = Recorder()
    producer = recorder.producer(settings(cluster, acks="0"))
    producer.produce("blind", "a", partition=0)
    producer.flush(PATIENCE_S)
    send = recorder.history().operations[0]
    assert isinstance(send, Send)
    assert (send.verdict, send.offset) == ("acknowledged", -1)


@pytest.mark.real
def test_transactions_are_recorded_with_their_ends(local_cluster: Cluster) -> None:
    """On real Kafka: an aborted record is hidden from read_committed, and no loss."""
    local_cluster.create_topic("transactions")
    recorder = Recorder()
    producer = recorder.producer(settings(local_cluster, transactional_id="shop"), "shop")
    producer.init_transactions(PATIENCE_S)
    for values, end in (("ab", "commit"), ("cd", "abort"), ("e", "commit")):
        producer.begin_transaction()
        for value in values:
            producer.produce("transactions", value, partition=0)
        producer.flush(PATIENCE_S)
        getattr(producer, f"{end}_transaction")(PATIENCE_S)
    assert recorder.read_to_end(local_cluster.bootstrap, "transactions") == 3
    history = recorder.history()
    assert not check(history), check(history).text
    ends = [each.outcome for each in history.operations if isinstance(each, EndTransaction)]
    assert ends == ["committed", "aborted", "committed"]
    seen = recorder.consumer(
        settings(local_cluster, group_id="all", isolation_level="read_uncommitted")
    )
    seen.assign([TopicPartition("transactions", 0, 0)])
    values = [seen.poll(PATIENCE_S).value() for _ in range(5)]
    seen.close()
    assert values == [b"a", b"b", b"c", b"d", b"e"]
    assert not check(recorder.history())
