"""The simulated consumer where it may not read yet."""

from __future__ import annotations

from engine.records import batch
from engine.sim.world.world import World
from engine.wire import messages as m


def write(world: World, value: str) -> None:
    """One record with acks=all, to the leader of the moment."""
    data = batch.encode([batch.Record(0, world.cluster.now // 1000, None, value.encode(), ())])
    request = m.ProduceRequest
    part = request.PartitionProduceData(index=0, records=data)
    topic = request.TopicProduceData(
        topic_id=world.image().topic_ids["orders"], partition_data=[part]
    )
    body = request(acks=-1, timeout_ms=5_000, topic_data=[topic])
    world.ask(body, world.leader("orders", 0))


def test_above_the_high_watermark_it_asks_again_after_a_pause_and_reads_in_the_end() -> None:
    world = World(seed=7, settings={"replica.lag.time.max.ms": 20_000})
    world.create_topic("orders", assignment={0: [101, 102, 103]})
    reader = world.reader("orders")
    write(world, "A")
    world.run(until=lambda _: reader.positions[0].offset == 1, for_s=5)
    write(world, "B")
    world.run(until=lambda _: reader.positions[0].offset == 2, for_s=5)
    for a, b in ((101, 102), (101, 103), (102, 103)):
        world.cut(a, b)
    world.kill(101)
    world.run(until=lambda w: w.leader("orders", 0) == 102, for_s=10)
    world.run(until=lambda _: reader.positions[0].received[1] == 1, for_s=10)
    assert reader.positions[0].offset == 2, "the new leader knows B, not that it is committed"
    events = world.events
    world.run(for_s=2)
    assert world.events - events < 400
    world.heal()
    write(world, "C")
    world.run(until=lambda _: reader.positions[0].offset == 3, for_s=10)
    assert reader.positions[0].offset == 3
