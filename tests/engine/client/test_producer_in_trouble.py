"""A producer among renumbered batches, recreated topics, deposed leaders and late answers."""

from __future__ import annotations

from itertools import groupby

import pytest

from engine.client.connections import Answer
from engine.client.producer_batch import Sent
from engine.events import Outbox
from engine.records import batch
from engine.replication.truncation import DEFAULT_RULE
from engine.sim.cases.stage import CaseStage
from engine.sim.clients.clients import Routes
from engine.sim.history import Send
from engine.sim.scripts.scripts import Script
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.client.worlds import finish, lines, log, produce, send, world


def test_a_batch_renumbered_and_refused_again_gets_a_new_epoch_not_endless_attempts() -> None:
    w = world()
    producer = produce(w, linger_ms=0, batch_size=1)
    send(w, "known")
    finish(w)
    w.delay(101, "shop", ms=0, count=1, api="Produce")
    w.drop(101, "shop", count=1, api="Produce")  # both are stored, but only A's answer arrives
    send(w, "A", "B")
    assert producer.identity is not None
    producer.identity.restart_partition(("orders", 0))
    producer.identity.settle()
    assert finish(w).verdicts.count() == {"acknowledged": 3}
    gaps = [f for _, f, _ in lines(w, "answered") if f["error"] == "OUT_OF_ORDER_SEQUENCE_NUMBER"]
    assert len(gaps) == 1
    assert [fields["epoch"] for _, fields, _ in lines(w, "epoch_bump")] == [1, 2]


def _delete(w: World, topic: str, on: int) -> None:
    request = m.DeleteTopicsRequest
    body = request(topics=[request.DeleteTopicState(name=topic)], timeout_ms=5_000)
    assert w.ask(body, on).responses[0].error_code == Errors.NONE


def _elect(w: World) -> None:
    """Stops the leader, and starts it again when another leads."""
    old = w.leader("orders", 0)
    w.stop(old)
    w.run(until=lambda w: w.leader("orders", 0) not in (old, -1), for_s=10)
    w.run(until=lambda w: old not in w.cluster.nodes, for_s=10)
    w.start(old)
    w.run(until=lambda w: len(w.partition("orders", 0).isr) == 3, for_s=20)


def test_a_topic_made_again_is_another_topic_and_its_epochs_begin_at_0() -> None:
    w = world()
    _elect(w)
    _elect(w)
    assert w.partition("orders", 0).leader_epoch == 2
    produce(w, linger_ms=0)
    send(w, "known")
    finish(w)
    old = w.leader("orders", 0)
    _delete(w, "orders", old)
    others = [broker for broker in (101, 102, 103) if broker != old]
    w.create_topic("orders", assignment={0: others})
    send(w, "A")
    assert finish(w).verdicts.count() == {"acknowledged": 2}
    assert log(w) == ["A"]


def test_so_it_is_for_the_simple_producer() -> None:
    routes = Routes(Outbox(), (101,))
    answer = m.MetadataResponse
    for topic_id, epoch, leader in ((b"1" * 16, 2, 101), (b"2" * 16, 0, 102)):
        part = answer.MetadataResponsePartition(
            partition_index=0, leader_id=leader, leader_epoch=epoch
        )
        topic = answer.MetadataResponseTopic(name="orders", topic_id=topic_id, partitions=[part])
        routes.learn(0, answer(topics=[topic]))
    assert routes.leaders["orders", 0] == 102


def test_a_leader_deposed_after_the_append_leaves_the_record_unknown() -> None:
    w = world()
    produce(w, retries=0, enable_idempotence=False, linger_ms=0, request_timeout_ms=5_000)
    send(w, "known")
    finish(w)
    w.cut_one_way(102, 101)  # they get the record, and the leader does not learn of it
    w.cut_one_way(103, 101)
    send(w, "A")
    w.run(for_s=0.05)
    w.stop(101)
    sent = finish(w).sends[-1]
    assert (sent.verdict, sent.error) == ("unknown", "NOT_LEADER_OR_FOLLOWER")
    w.run(until=lambda w: w.leader("orders", 0) != 101, for_s=10)
    assert log(w) == ["known", "A"]


@pytest.mark.parametrize(
    "error", ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR"]
)
def test_so_it_is_for_what_a_case_produces_by_hand(error: str) -> None:
    stage = CaseStage(Script("", 1, DEFAULT_RULE, {}, (), ""))
    stage.world.create_topic("orders", replicas=1)
    topic_id = next(iter(stage.world.image().topics))
    asked, reported = m.ProduceRequest, m.ProduceResponse
    records = batch.encode([batch.Record(0, 0, None, b"A", ())])
    part = asked.PartitionProduceData(index=0, records=records)
    body = asked(topic_data=[asked.TopicProduceData(topic_id=topic_id, partition_data=[part])])
    answered = reported.PartitionProduceResponse(index=0, error_code=Errors[error])
    topic = reported.TopicProduceResponse(topic_id=topic_id, partition_responses=[answered])
    stage._note_send(0, body, reported(responses=[topic]))
    (operation,) = stage.operations
    assert isinstance(operation, Send)
    assert operation.verdict == "unknown"


def test_an_answer_for_a_topic_that_was_made_again_meanwhile_finds_its_batch() -> None:
    w = World(seed=5, checked=False, encoded=True)
    w.create_topic("orders", assignment={0: [101]})
    w.create_topic("other", assignment={0: [102]})  # so that metadata comes from elsewhere
    produce(w, linger_ms=0, metadata_max_age_ms=200, request_timeout_ms=10_000)
    for topic in ("orders", "other"):
        w.tell("shop", "send", topic, b"known")
    finish(w)
    w.delay(101, "shop", ms=3_000, count=1, api="Produce")
    send(w, "A")
    w.run(for_s=0.02)
    _delete(w, "orders", 102)
    w.create_topic("orders", assignment={0: [102]})
    w.run(for_s=2)
    assert w.client("shop").metadata.leader(("orders", 0)) == 102
    assert finish(w).verdicts.count() == {"acknowledged": 3}


def test_a_record_that_waits_for_memory_keeps_its_turn() -> None:
    w = world(seed=2)
    w.create_topic("three", partitions=3)
    produce(w, partitioner_class="round-robin", buffer_memory=4_000, batch_size=1_000, linger_ms=0)
    w.run(for_s=0.3)
    for _ in range(60):
        w.tell("shop", "send", "three", b"x" * 600)
    assert [each.partition for each in finish(w).sends] == [0, 1, 2] * 20


def _stays(w: World) -> list[int]:
    """How many records went to one partition before another was drawn."""
    places = [each.partition for each in w.client("shop").sends]
    return [len(list(run)) for _, run in groupby(places)]


def test_sticking_ends_after_batch_size_bytes_with_headers_though_no_batch_fills_up() -> None:
    w = world()
    w.create_topic("many", partitions=50)
    produce(w, batch_size=1_000, linger_ms=0)
    for _ in range(60):  # one at a time: each leaves in a batch of its own, of about 170 bytes
        w.tell("shop", "send", "many", b"x" * 100)
        finish(w)
    assert _stays(w) == [6] * 10


def test_sticking_leaves_a_full_batch_behind_in_a_burst() -> None:
    w = world()
    w.create_topic("many", partitions=50)
    produce(w, batch_size=1_000, linger_ms=100)
    w.run(for_s=0.3)
    w.tell("shop", "send", "many", b"first")
    w.run(until=lambda w: w.client("shop").metadata.partitions("many") > 0, for_s=1)
    for _ in range(60):
        w.tell("shop", "send", "many", b"x" * 100)
    finish(w)
    requests: dict[tuple[int, int], list[int]] = {}
    for at, fields, _ in lines(w, "sent"):
        requests.setdefault((at, fields["broker"]), []).append(fields["records"])
    # What has just begun to fill goes along with the full batch beside it.
    fullest = [max(records) for records in requests.values()]
    assert set(fullest[:-1]) <= {8, 9}
    assert sum(len(records) for records in requests.values()) < 10


def test_one_late_answer_is_a_time_out_for_all_that_was_under_way_there() -> None:
    w = world()
    produce(w, linger_ms=0, batch_size=1)
    send(w, "known")
    finish(w)
    w.cut(101, "shop")
    send(w, "A")
    w.run(for_s=0.5)
    send(w, "B")  # only half a second under way when A is late
    w.run(for_s=0.8)
    w.heal()
    assert finish(w).verdicts.count() == {"acknowledged": 3}
    errors = [fields["error"] for _, fields, _ in lines(w, "answered")]
    assert errors == ["NONE", "REQUEST_TIMED_OUT", "REQUEST_TIMED_OUT", "NONE", "NONE"]


@pytest.mark.parametrize("error", ["NONE", "DUPLICATE_SEQUENCE_NUMBER"])
def test_a_late_word_that_a_batch_is_stored_closes_the_gap(error: str) -> None:
    w = world()
    produce(w, linger_ms=0)
    send(w, "known")
    producer = finish(w)
    w.cut(101, "shop")
    send(w, "A")
    completion, identity = producer.sender.completion, producer.identity
    assert identity is not None
    (sent,) = completion.in_flight["orders", 0]
    sent.retries = 1
    late = sent.created_us + 60_000_000
    completion.expire(late)
    assert identity.unresolved == {("orders", 0): 2}
    reported = m.ProduceResponse.PartitionProduceResponse(
        index=0, error_code=Errors[error], base_offset=-1 if error != "NONE" else 1
    )
    completion.answered(late, sent, Answer(101, (), sent.sent_us, None), reported)
    identity.settle()
    assert identity.identity[1] == 0, "no new epoch"
    assert producer.sends[-1].verdict == "unknown"


def test_a_throttled_producer_waits_and_no_answer_is_late() -> None:
    w = world()
    request = m.AlterClientQuotasRequest
    entry = request.EntryData(
        entity=[request.EntityData(entity_type="client-id", entity_name="shop")],
        ops=[request.OpData(key="producer_byte_rate", value=2_000.0, remove=False)],
    )
    assert w.ask(request(entries=[entry])).entries[0].error_code == Errors.NONE
    produce(w, linger_ms=0)
    w.run(for_s=0.5)
    send(w, "x" * 30_000)  # costs some seconds, longer than request.timeout.ms
    w.run(until=lambda w: w.client("shop").idle, for_s=5)
    muted_us = w.client("shop").connections.node(101).muted_until
    send(w, "A", "B", "C")
    assert finish(w).verdicts.count() == {"acknowledged": 4}
    sent = [each.done_us for each in w.client("shop").sends]
    assert sent[0] + 1_000_000 < muted_us < sent[1]
    assert lines(w, "disconnected") == []


def test_when_a_request_is_too_small_for_all_partitions_take_turns() -> None:
    w = world()
    w.create_topic("four", assignment={n: [101, 102, 103] for n in range(4)})
    produce(w, linger_ms=0, batch_size=1, max_request_size=1_000,
            max_in_flight_requests_per_connection=1)  # fmt: skip
    w.tell("shop", "send", "four", b"known", None, 0)
    finish(w)
    w.pause(101)
    for n in range(40):
        w.tell("shop", "send", "four", b"x" * 700, None, n % 4)
    w.run(for_s=0.1)
    w.resume(101)
    finish(w)
    order = [each.partition for each in sorted(w.client("shop").sends[1:], key=_done)]
    assert all(set(order[at : at + 4]) == {0, 1, 2, 3} for at in range(4, 32))


def _done(sent: Sent) -> int:
    return sent.done_us
