"""What can be asked of a simulated world, and the clients that it puts to work.

A request is a deed on the tape like any other; the two that only look at the answer or at the
clients' books are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.cluster.cluster import Cluster
from engine.sim.clients.clients import Producer, create_topics
from engine.sim.clients.consumer import Consumer
from engine.sim.world import admissible as deeds
from engine.sim.world.tape import Add, Ask, Deed, Done
from engine.wire.errors import Errors, KafkaError

CLIENTS = ("producer-", "consumer-")


class Askable:
    """Requests, topics, and a load of producers and consumers."""

    cluster: Cluster
    tape: list[Done]
    on_tape: int

    def _do(self, deed: Deed) -> None:
        raise NotImplementedError

    def add(self, name: str, node: Any) -> Any:
        raise NotImplementedError

    def run(self, until: Callable[[Any], bool], for_s: float) -> bool:
        raise NotImplementedError

    def partitions(self, topic: str) -> Any:
        raise NotImplementedError

    def post(self, body: Any, broker: int) -> int:
        """Sends one request to a broker; the number under which `answer` will know it."""
        self._do(Ask.of(broker, body))
        return int(self.cluster.nodes["admin"].asked)

    def answer(self, number: int) -> Any:
        """What was answered to a request; None while nothing was, or if it was lost."""
        return self.cluster.nodes["admin"].answers.get(number)

    def ask(self, body: Any, broker: int | None = None) -> Any:
        """Sends one request to a broker (else the first that runs) and runs to the answer."""
        number = self.post(body, broker or deeds.who_answers(self.cluster))
        admin = self.cluster.nodes["admin"]
        self.run(until=lambda _: number in admin.answers, for_s=60)
        return self.answer(number)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int = 3,
        config: Mapping[str, Any] | None = None,
        assignment: Mapping[int, list[int]] | None = None,
    ) -> None:
        """Creates a topic and runs until every replica is in the ISR; KafkaError if refused."""
        body = create_topics(name, partitions, replicas, config, assignment)
        asked = self.ask(body)
        if asked is None:
            raise KafkaError(Errors.REQUEST_TIMED_OUT, f"nobody answered whether {name} is made.")
        answer = asked.topics[0]
        if answer.error_code != Errors.NONE:
            raise KafkaError(Errors(answer.error_code), answer.error_message or name)
        self.run(until=lambda w: w._is_served(name), for_s=30)

    def _is_served(self, topic: str) -> bool:
        for index, partition in self.partitions(topic).items():
            for broker in partition.replicas:
                node = self.cluster.nodes.get(broker)
                if node is None or (topic, index) not in node.replicas.partitions:
                    return False
        return True

    def load(self, topic: str, **options: Any) -> Producer:
        """Starts a producer on all partitions of a topic; see `Producer` for the options."""
        producer = Producer(self._client("producer"), topic, len(self.partitions(topic)),
                            self.cluster.spec.brokers, **options)  # fmt: skip
        self.add(producer.name, producer)
        return producer

    def reader(self, topic: str) -> Consumer:
        """Starts a consumer that reads all partitions of a topic from the beginning."""
        consumer = Consumer(self._client("consumer"), topic, len(self.partitions(topic)),
                            self.cluster.spec.brokers)  # fmt: skip
        self.add(consumer.name, consumer)
        return consumer

    def _client(self, kind: str) -> str:
        past = [done.deed for done in self.tape[: self.on_tape]]
        known = sum(isinstance(each, Add) and each.name.startswith(CLIENTS) for each in past)
        return f"{kind}-{known + 1}"
