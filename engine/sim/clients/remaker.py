"""A simulated administrator: deletes a topic, and makes it again under the same name.

    Metadata ──> DeleteTopics, by id ──> a while without the topic ──> CreateTopics ──> over

The new topic has another id, and perhaps fewer partitions.  It is deleted by id, so that a request
that arrives late or twice cannot take the new one.  Each request is sent until a broker answers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from engine.events import Answered, Effect, Event, Expired, Outbox, Response
from engine.sim.clients.clients import REQUEST_TIMEOUT_US, RETRY_US, create_topics
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.wire.structures import Message, RequestMessage

_HERE = "sim.clients.remaker.Remaker"
WITHOUT_US = (1, 50_000, 500_000, 3_000_000)
"""How long there is no such topic."""


class Remaker:
    """It does it once; `over` is why it does nothing any more."""

    def __init__(
        self,
        topic: str,
        partitions: int,
        brokers: tuple[int, ...],
        config: Mapping[str, object],
        seed: object,
    ) -> None:
        chance = Random(f"remaker/{seed}")
        self.topic = topic
        self.partitions = chance.choice((partitions, partitions, 1))
        self.without_us = chance.choice(WITHOUT_US)
        self.brokers = brokers
        self.config = dict(config)
        self.turn = chance.randrange(len(brokers))
        self.outbox = Outbox()
        self.topic_id = b""
        self.is_deleted = False
        self.over = ""

    @property
    def idle(self) -> bool:
        return bool(self.over)

    def start(self, now: int) -> list[Effect]:
        self._ask()
        return self.outbox.drain()

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Expired(("next",)) if not self.over:
                self._ask()
            case Response(_, ("metadata",), body):
                self._found(now, body)
            case Response(_, ("delete",), body):
                self._deleted(now, body)
            case Response(_, ("create",), body):
                self._created(now, body)
        return self.outbox.drain()

    def _ask(self) -> None:
        if not self.topic_id:
            named = m.MetadataRequest.MetadataRequestTopic(name=self.topic)
            body = m.MetadataRequest(topics=[named], allow_auto_topic_creation=False)
            self._send("metadata", body)
        elif not self.is_deleted:
            state = m.DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=self.topic_id)
            self._send("delete", m.DeleteTopicsRequest(topics=[state], timeout_ms=2_000))
        else:
            body_new = create_topics(self.topic, self.partitions, 3, self.config, None)
            self._send("create", body_new)

    def _send(self, token: str, body: RequestMessage[Message]) -> None:
        self.turn += 1
        broker = self.brokers[self.turn % len(self.brokers)]
        self.outbox.send(broker, (token,), body, REQUEST_TIMEOUT_US, connection=None)

    def _later(self, now: int, wait_us: int = RETRY_US) -> None:
        self.outbox.set_timer(("next",), now + wait_us)

    def _found(self, now: int, body: Answered) -> None:
        topics = body.topics if isinstance(body, m.MetadataResponse) else []
        self.topic_id = topics[0].topic_id if topics and not topics[0].error_code else b""
        self._later(now, 1 if self.topic_id else RETRY_US)

    def _deleted(self, now: int, body: Answered) -> None:
        rows = body.responses if isinstance(body, m.DeleteTopicsResponse) else []
        if rows and rows[0].error_code in (Errors.NONE, Errors.UNKNOWN_TOPIC_ID):
            self.is_deleted = True
            self._later(now, self.without_us)
        else:
            self._later(now)

    def _created(self, now: int, body: Answered) -> None:
        rows = body.topics if isinstance(body, m.CreateTopicsResponse) else []
        if rows and rows[0].error_code in (Errors.NONE, Errors.TOPIC_ALREADY_EXISTS):
            self.over = "the topic is there again"
            self.outbox.trace(f"{_HERE}._created", "made-again", why=self.over, topic=self.topic,
                              partitions=self.partitions)  # fmt: skip
        else:
            self._later(now)
