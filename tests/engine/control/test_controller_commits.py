"""Nothing leaves the controller before it is durable; everything durable is there again."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pytest

from engine.events import Flushed
from engine.metadata.image import MetadataImage
from engine.metadata.records import LeaderChange, decode_batches
from engine.storage.memory_disk import MemoryDisk
from engine.wire import messages as m
from engine.wire.errors import Errors


def records(bench: Any, number: int) -> list[tuple[int, Any]]:
    """What a fetch has brought."""
    (topic,) = bench.replies[number].responses
    return list(decode_batches(topic.partitions[0].records))


def create_request(name: str) -> Any:
    topic = m.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=3)
    return m.CreateTopicsRequest(topics=[topic])


# -- commit


def test_new_cluster_opens_with_an_epoch_its_features_and_min_in_sync(new_bench: Any) -> None:
    bench = new_bench()
    found = records(bench, bench.fetch(0))
    assert found[0] == (0, LeaderChange(100, 1))
    assert [type(record).__name__ for _, record in found[1:]] == [
        "FeatureLevelRecord",
        "FeatureLevelRecord",
        "FeatureLevelRecord",
        "FeatureLevelRecord",
        "ConfigRecord",
    ]
    assert bench.image.features == {
        "metadata.version": 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "transaction.version": 2,
    }


def test_answer_and_fetch_wait_for_the_flush(bench: Any) -> None:
    bench.flushes_at_once = False
    end = bench.image.offset
    waiting = bench.fetch(end, max_wait_ms=500)
    asked = bench.send(create_request("orders"))
    assert asked not in bench.replies
    assert waiting not in bench.replies
    assert "orders" in bench.image.topic_ids
    bench.flush()
    assert bench.replies[asked].topics[0].error_code == 0
    assert [type(each).__name__ for _, each in records(bench, waiting)] == [
        "TopicRecord",
        "PartitionRecord",
    ]


def test_request_without_records_waits_for_what_it_may_rest_on(bench: Any) -> None:
    bench.flushes_at_once = False
    bench.send(create_request("orders"))
    refused = bench.send(create_request("orders"))
    assert refused not in bench.replies
    bench.flush()
    assert bench.replies[refused].topics[0].error_code == Errors.TOPIC_ALREADY_EXISTS


def test_what_comes_during_a_flush_goes_with_the_next(bench: Any) -> None:
    bench.flushes_at_once = False
    first, *later = [bench.send(create_request(f"t{number}")) for number in range(5)]
    (effect,) = bench.to_flush
    bench.to_flush = []
    bench.take(bench.controller.step(bench.now, Flushed(effect.token)))
    assert first in bench.replies
    assert not any(number in bench.replies for number in later)
    bench.flush()
    assert all(number in bench.replies for number in later)


def test_fetch_ends_at_what_is_committed(bench: Any) -> None:
    end = bench.image.offset
    bench.flushes_at_once = False
    bench.send(create_request("orders"))
    assert records(bench, bench.fetch(0))[-1][0] == end - 1


def test_answers_keep_the_order_of_the_requests(bench: Any) -> None:
    bench.flushes_at_once = False
    numbers = [bench.send(create_request(f"t{number}")) for number in range(3)]
    bench.flush()
    assert [number for number in bench.replies if number in numbers] == numbers


# -- fetches


def test_fetch_with_nothing_new_waits_its_time_and_answers_empty(bench: Any) -> None:
    end = bench.image.offset
    waiting = bench.fetch(end, max_wait_ms=500)
    bench.pass_time(499_000)
    assert waiting not in bench.replies
    bench.pass_time(1_000)
    data = bench.replies[waiting].responses[0].partitions[0]
    assert (data.error_code, data.records, data.high_watermark) == (0, b"", end)


def test_waiting_fetch_is_answered_by_the_next_change(bench: Any) -> None:
    waiting = bench.fetch(bench.image.offset, max_wait_ms=500)
    bench.create("orders", 101)
    assert records(bench, waiting)
    assert ("metadata-fetch", 1) not in bench.timers


def test_long_log_is_fetched_in_portions_of_whole_changes(bench: Any) -> None:
    for number in range(5):
        bench.create(f"t{number}", 101, 102, 103)
    offset, portions = 0, 0
    while offset < bench.image.offset:
        found = records(bench, bench.fetch(offset, max_bytes=300))
        assert found[0][0] == offset
        offset = found[-1][0] + 1
        portions += 1
    assert portions > 3


def test_offset_beyond_the_log_is_out_of_range(bench: Any) -> None:
    number = bench.fetch(bench.image.offset + 1, max_wait_ms=500)
    data = bench.replies[number].responses[0].partitions[0]
    assert data.error_code == Errors.OFFSET_OUT_OF_RANGE


def test_quorum_tells_how_far_brokers_have_read(bench: Any) -> None:
    end = bench.image.offset
    bench.fetch(end, replica=101)
    bench.fetch(end - 2, replica=102)
    request = m.DescribeQuorumRequest
    topic = request.TopicData(
        topic_name="__cluster_metadata", partitions=[request.PartitionData(partition_index=0)]
    )
    (answer,) = bench.ask(request(topics=[topic])).topics[0].partitions
    assert (answer.leader_id, answer.leader_epoch, answer.high_watermark) == (100, 1, end)
    assert [(each.replica_id, each.log_end_offset) for each in answer.observers] == [
        (101, end),
        (102, end - 2),
    ]


def test_broker_that_applies_what_it_fetches_has_the_same_image(bench: Any) -> None:
    bench.create("orders", 101, 102, 103)
    bench.die(101)
    image = MetadataImage()
    for offset, record in records(bench, bench.fetch(0)):
        image.apply(record)
        image.offset = offset + 1
    assert image == bench.image


# -- restart


def busy(bench: Any) -> None:
    bench.create("orders", 101, 102, 103, min_in_sync=2)
    bench.create("gone", 102, 103)
    bench.set_config(4, "101", "log.retention.ms", "5")
    bench.ask(m.DeleteTopicsRequest(topic_names=["gone"], timeout_ms=5_000))
    bench.die(101)
    bench.alter_isr("orders", [102])
    bench.ask(m.AllocateProducerIdsRequest(broker_id=102, broker_epoch=bench.epochs[102]))


def restart(bench: Any) -> None:
    """Kills the controller's process and starts another on the same disk."""
    bench.start()


def test_restarted_controller_has_the_same_image_in_a_new_epoch(bench: Any) -> None:
    busy(bench)
    before = pickle.loads(pickle.dumps(bench.controller.state))
    restart(bench)
    assert (bench.image.epoch, bench.image.offset) == (2, before.image.offset + 1)
    before.apply(before.image.offset, LeaderChange(100, 2))
    assert bench.image == before.image
    assert vars(bench.controller.state.index) == vars(before.index)


def test_restart_gives_every_broker_a_fresh_session(bench: Any) -> None:
    bench.pass_time(8_000_000)
    restart(bench)
    bench.pass_time(8_000_000)
    assert not bench.reported("fenced")
    bench.pass_time(1_000_000)
    assert len(bench.reported("fenced")) == 3


def test_power_loss_loses_only_what_was_not_answered(bench: Any) -> None:
    bench.create("answered", 101, 102)
    bench.flushes_at_once = False
    asked = bench.send(create_request("unanswered"))
    assert asked not in bench.replies
    bench.disk.lose_power(Random(1))
    bench.flushes_at_once = True
    restart(bench)
    assert list(bench.image.topic_ids) == ["answered"]
    assert bench.create("unanswered", 101).error_code == 0


def test_clean_close_and_start(bench: Any) -> None:
    busy(bench)
    image = pickle.loads(pickle.dumps(bench.image))
    bench.controller.close()
    restart(bench)
    assert (bench.image.topics, bench.image.brokers) == (image.topics, image.brokers)


def test_producer_ids_are_never_given_twice(bench: Any) -> None:
    request = m.AllocateProducerIdsRequest(broker_id=102, broker_epoch=bench.epochs[102])
    first = bench.ask(request)
    restart(bench)
    second = bench.ask(request)
    assert (first.producer_id_start, first.producer_id_len) == (0, 1000)
    assert second.producer_id_start == 1000
    request.broker_epoch += 1
    assert bench.ask(request).error_code == Errors.STALE_BROKER_EPOCH


# -- as a state machine


def test_pickled_controller_goes_on_in_the_same_way(bench: Any) -> None:
    bench.flushes_at_once = False
    bench.fetch(bench.image.offset, max_wait_ms=500)
    bench.send(create_request("orders"))
    copy = pickle.loads(pickle.dumps(bench))
    for each in (bench, copy):
        each.flush()
        each.flushes_at_once = True
        each.die(101)
    assert copy.replies == bench.replies
    assert [str(line) for line in copy.trace] == [str(line) for line in bench.trace]
    assert copy.image == bench.image


def test_unknown_request_and_reassignments_are_answered(bench: Any) -> None:
    answer = bench.ask(m.ListPartitionReassignmentsRequest())
    assert (answer.error_code, answer.topics) == (Errors.NONE, [])
    answer = bench.ask(m.FindCoordinatorRequest())
    assert answer.error_code == Errors.UNSUPPORTED_VERSION


@pytest.mark.parametrize("topic_id", [b"x" * 16, bytes(16)])
def test_fetch_of_another_topic_is_refused(bench: Any, topic_id: bytes) -> None:
    request = m.FetchRequest
    topic = request.FetchTopic(topic_id=topic_id, partitions=[request.FetchPartition(partition=0)])
    assert bench.ask(request(topics=[topic])).error_code == Errors.INVALID_REQUEST


class FullDisk(MemoryDisk):
    """Takes nothing more once it is full."""

    full = False

    def append(self, path: str, data: bytes) -> None:
        if self.full:
            raise OSError(28, "No space left on device")
        super().append(path, data)


def test_full_disk_refuses_changes_and_serves_on(bench: Any) -> None:
    bench.create("orders", 101, 102)
    bench.disk.__class__ = FullDisk
    bench.disk.full = True
    end = bench.image.offset
    (result,) = bench.ask(create_request("more")).topics
    assert result.error_code == Errors.KAFKA_STORAGE_ERROR
    assert "make room" in result.error_message
    bench.let_sessions_end(101)
    assert bench.reported("log-failed")
    assert bench.image.offset == end
    assert bench.heartbeat(102).error_code == Errors.NONE
    bench.disk.full = False
    restart(bench)
    assert bench.create("more", 102).error_code == Errors.NONE
