"""The history of a simulated run."""

from __future__ import annotations

from engine.client.producer import Load
from engine.client.producer import Producer as Teachable
from engine.sim.clients.histories import history_in, history_of
from engine.sim.history import Poll, Reached, Seek, check
from engine.sim.world.world import World
from engine.wire import messages as m


def test_a_world_s_own_clients_leave_a_clean_history() -> None:
    world = World(seed=3)
    world.create_topic("orders", partitions=2)
    producer = world.load("orders", count=200, idempotent=True)
    consumer = world.reader("orders")
    world.run(for_s=2)
    world.kill(world.leader("orders", 0))
    world.run(until=lambda _: producer.idle, for_s=60)
    world.run(for_s=5)
    findings = check(history_of([producer], [consumer], at_end=True))
    assert not findings, findings.text
    assert findings.summary.startswith("200 sent (200 acknowledged")


def test_a_world_s_history_has_all_its_clients_in_its_own_time() -> None:
    world = World(seed=3)
    world.create_topic("orders")
    world.load("orders", count=20)
    load = Load("orders", count=30, period_us=5_000)
    world.add("shop", Teachable("shop", (101, 102, 103), load=load))
    world.reader("orders")
    world.run(for_s=5)
    history = history_in(world, at_end=True)
    assert check(history).summary.startswith("50 sent (50 acknowledged")
    assert not check(history)
    assert {each.client for each in history.operations} == {"producer-1", "shop", "consumer-2"}
    assert all(0 <= each.at_us <= world.now_us for each in history.operations)


def test_a_send_that_still_waits_is_unknown() -> None:
    world = World(seed=3)
    world.create_topic("orders")
    producer = world.load("orders", count=1)
    world.run(until=lambda _: producer.made == 1, for_s=1)
    assert [each.verdict for each in history_of([producer], []).operations] == ["unknown"]


def cut_off(world: World, client: str) -> None:
    for broker in world.cluster.spec.brokers:
        world.cut(client, broker)


def delete_records(world: World, topic: str, offset: int) -> None:
    """Trims partition 0 below an offset."""
    request = m.DeleteRecordsRequest
    part = request.DeleteRecordsPartition(partition_index=0, offset=offset)
    named = request.DeleteRecordsTopic(name=topic, partitions=[part])
    answer = world.ask(request(topics=[named], timeout_ms=5_000), world.leader(topic, 0))
    assert answer.topics[0].partitions[0].low_watermark == offset


def trimmed() -> World:
    """Twenty records acknowledged, the first ten of them deleted, nobody has read yet."""
    world = World(seed=3)
    world.create_topic("orders")
    producer = world.load("orders", count=20)
    world.run(until=lambda _: producer.idle, for_s=10)
    delete_records(world, "orders", 10)
    world.run(for_s=2)  # the followers hear of it one fetch later
    return world


def test_a_reader_of_a_trimmed_topic_begins_at_the_log_start() -> None:
    world = trimmed()
    consumer = world.reader("orders")
    world.run(for_s=5)
    assert [op.offset for op in consumer.operations if isinstance(op, Seek)] == [0, 10]
    reads = [r for op in consumer.operations if isinstance(op, Poll) for r in op.reads]
    assert [r.offset for r in reads] == list(range(10, 20))
    findings = check(history_in(world, at_end=True))
    assert findings.kinds == {"unseen": 10}  # what nobody read before it was deleted


def test_a_reader_that_is_overtaken_by_a_deletion_goes_on_behind_it() -> None:
    world = World(seed=3)
    world.create_topic("orders")
    consumer = world.reader("orders")
    producer = world.load("orders", count=20)
    world.run(until=lambda _: consumer.positions[0].offset == 5, for_s=10)
    cut_off(world, consumer.name)
    world.run(until=lambda _: producer.idle, for_s=10)
    delete_records(world, "orders", 10)
    world.heal()
    world.run(until=lambda _: consumer.positions[0].offset == 20, for_s=20)
    assert [op.offset for op in consumer.operations if isinstance(op, Seek)] == [0, 10]
    findings = check(history_in(world, at_end=True))
    assert list(findings.kinds) == ["unseen"], findings.text


def test_a_reset_is_asked_for_again_until_it_is_answered() -> None:
    world = trimmed()
    consumer = world.reader("orders")
    world.run(until=lambda _: consumer.positions[0].offset < 0, for_s=5)
    world.kill(world.leader("orders", 0))
    world.run(until=lambda _: consumer.positions[0].offset == 20, for_s=60)
    assert [op.offset for op in consumer.operations if isinstance(op, Seek)] == [0, 10]


def ends(world: World) -> list[int]:
    reported = history_in(world, at_end=True).operations
    return [each.offset for each in reported if isinstance(each, Reached)]


def test_only_a_reader_that_stands_at_the_end_says_where_it_is() -> None:
    world = World(seed=3)
    world.create_topic("orders")
    consumer = world.reader("orders")
    producer = world.load("orders", count=20)
    assert ends(world) == []  # it was told nothing yet
    world.run(until=lambda _: consumer.positions[0].offset == 5, for_s=10)
    cut_off(world, consumer.name)
    world.run(until=lambda _: producer.idle, for_s=10)
    assert ends(world) == []  # it was told of five records, and there are twenty
    world.heal()
    world.run(until=lambda _: consumer.positions[0].offset == 20, for_s=20)
    assert ends(world) == [20]
    late = world.reader("orders")
    world.run(until=lambda _: late.positions[0].offset == 0 and late.routes.leaders != {}, for_s=5)
    assert ends(world) == [20]


def test_a_deleted_topic_has_no_end() -> None:
    world = trimmed()
    world.reader("orders")
    world.run(for_s=2)
    assert ends(world) == [20]
    request = m.DeleteTopicsRequest
    state = request.DeleteTopicState(name="orders")
    world.ask(request(topics=[state], timeout_ms=5_000), 101)
    world.run(for_s=2)
    assert ends(world) == []


def test_a_reader_that_asks_where_to_go_on_is_not_at_the_end() -> None:
    world = trimmed()
    consumer = world.reader("orders")
    world.run(until=lambda _: consumer.positions[0].offset < 0, for_s=5)
    assert ends(world) == []
    assert not any(isinstance(op, Reached)
                   for op in history_of([], [consumer], at_end=True).operations)  # fmt: skip


def test_the_ends_are_found_when_all_clients_are_done() -> None:
    """Not while a second reader still reads, in whichever order they are asked."""
    world = World(seed=3)
    world.create_topic("orders")
    first = world.reader("orders")
    world.load("orders", count=5)
    world.run(for_s=3)
    second = world.reader("orders")
    world.run(for_s=3)
    reported = history_of([], [first, second], at_end=True).operations
    polls = [each.at_us for each in reported if isinstance(each, Poll)]
    assert len({each.at_us for each in reported if isinstance(each, Reached)}) == 1
    assert all(each.at_us > max(polls) for each in reported if isinstance(each, Reached))


def test_a_record_that_is_gone_in_the_end_is_lost() -> None:
    """An unclean election: the consumer stands at the end, and acknowledged records are not."""
    world = World(seed=3)
    world.create_topic("orders", replicas=2, config={"unclean.leader.election.enable": "true"})
    leader = world.leader("orders", 0)
    (follower,) = (b for b in world.partition("orders", 0).replicas if b != leader)
    world.stop(follower)
    world.run(for_s=1)
    producer = world.load("orders", count=5)
    world.run(until=lambda _: producer.idle, for_s=5)
    world.kill(leader)
    world.run(for_s=3)
    world.start(follower)
    world.reader("orders")
    world.run(for_s=5)
    assert check(history_in(world)).kinds == {"unseen": 5}
    assert check(history_in(world, at_end=True)).kinds == {"lost": 5}
