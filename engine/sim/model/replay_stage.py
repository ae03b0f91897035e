"""The moves of a partition's scenes: a client writes, an operator elects; see stage.py."""

from __future__ import annotations

from engine.events import Effect, Event, Outbox, Response
from engine.records import batch
from engine.sim.model.stage import Stage
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire.errors import Errors

TOPIC = "orders"


class Writer:
    """A client that writes one record to one broker; an acknowledgement under acks=all counts."""

    def __init__(self, value: str, broker: int, topic_id: bytes, acks: int) -> None:
        self.value = value
        self.broker = broker
        self.topic_id = topic_id
        self.acks = acks
        self.outbox = Outbox()
        self.asked_us = 0
        self.offset: int | None = None

    def start(self, now: int) -> list[Effect]:
        self.asked_us = now
        record = batch.Record(0, now // 1000, None, self.value.encode(), ())
        request = m.ProduceRequest
        part = request.PartitionProduceData(index=0, records=batch.encode([record]))
        topic = request.TopicProduceData(topic_id=self.topic_id, partition_data=[part])
        body = request(acks=self.acks, timeout_ms=8_000, topic_data=[topic])
        self.outbox.send(self.broker, ("produce",), body, 9_000_000)
        return self.outbox.drain()

    def step(self, now: int, event: Event) -> list[Effect]:
        if isinstance(event, Response) and isinstance(event.body, m.ProduceResponse):
            answer = event.body.responses[0].partition_responses[0]
            if answer.error_code == Errors.NONE:
                self.offset = answer.base_offset
                if self.acks == -1:
                    self.outbox.trace("sim.model.replay_stage.Writer", "acknowledged", f"{TOPIC}-0",
                                      value=self.value, offset=self.offset,
                                      asked_us=self.asked_us)  # fmt: skip
        return self.outbox.drain()


class Replay(Stage):
    """A scene of one partition."""

    whose = "brokers"

    def write(self, value: str, broker: int, *steps: int, acks: int = -1) -> None:
        """A client writes to a broker that leads, or believes it does; it does not wait."""
        topic_id = self.world.image().topic_ids[TOPIC]
        end = log_end(self.world, broker)
        self.world.add(f"writer-{value}", Writer(value, broker, topic_id, acks))
        text = f"a client writes {value} to {broker}, acks={'all' if acks == -1 else acks}"
        self.until(lambda w: log_end(w, broker) > end, text, *steps)

    def acknowledged(self, value: str, *steps: int) -> None:
        self.until(lambda w: is_acknowledged(w, value), f"{value} is acknowledged", *steps)

    def elect_preferred(self, *steps: int) -> None:
        """An operator asks for the first replica to lead; the ISR stays as it is."""
        request = m.ElectLeadersRequest
        named = request.TopicPartitions(topic=TOPIC, partitions=[0])
        self.world.post(request(election_type=0, topic_partitions=[named], timeout_ms=5_000), 101)
        preferred = self.world.partition(TOPIC, 0).replicas[0]
        text = f"the preferred leader, {preferred}, is elected"
        self.until(lambda w: leads(w, preferred), text, *steps)

    def preferred_returns(self, *steps: int) -> None:
        """101 leads epoch 0; the preferred leader, absent until now, comes back into the ISR."""
        preferred, *_ = replicas = self.world.partition(TOPIC, 0).replicas
        self.world.start(preferred)
        self.until(
            lambda w: set(w.replica(101, TOPIC, 0).in_sync_replicas) == set(replicas),
            f"101 leads epoch 0, everyone is in sync; {preferred} is the preferred leader",
            *steps,
        )
        self.begins = self.world.events


# -- what can be asked of a world


def is_up(world: World, broker: int) -> bool:
    return broker in world.cluster.nodes


def log_end(world: World, broker: int) -> int:
    return int(world.replica(broker, TOPIC, 0).log.log_end_offset)


def leads(world: World, broker: int) -> bool:
    """The controller says so, and the broker has heard of it."""
    replica = world.replica(broker, TOPIC, 0)
    newest = world.partition(TOPIC, 0)
    return bool(replica.is_leader and replica.leader_epoch == newest.leader_epoch)


def heard_epoch(world: World, broker: int) -> int:
    return int(world.replica(broker, TOPIC, 0).leader_epoch)


def is_acknowledged(world: World, value: str) -> bool:
    return world.client(f"writer-{value}").offset is not None
