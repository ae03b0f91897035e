"""A producer among renumbered batches, recreated topics, deposed leaders and late answers."""

from __future__ import annotations

from engine.events import Outbox
from engine.sim.clients import Routes
from engine.sim.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors
from tests.engine.client.worlds import finish, lines, log, produce, send, world


def test_a_batch_numbered_anew_and_refused_again_gets_a_new_epoch_not_endless_tries() -> None:
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


def _epochs_up(w: World) -> None:
    """Two elections, so that the leader epoch is 2."""
    for _ in range(2):
        old = w.leader("orders", 0)
        w.stop(old)
        w.run(until=lambda w: w.leader("orders", 0) not in (old, -1), for_s=10)
        w.run(until=lambda w: old not in w.cluster.nodes, for_s=10)
        w.start(old)
        w.run(until=lambda w: len(w.partition("orders", 0).isr) == 3, for_s=20)
    assert w.partition("orders", 0).leader_epoch == 2


def test_a_topic_made_again_is_another_topic_and_its_epochs_begin_at_0() -> None:
    w = world()
    _epochs_up(w)
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
        routes.learn(answer(topics=[topic]))
    assert routes.leaders["orders", 0] == 102
