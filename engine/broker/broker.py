"""One broker: hands each event to the part that it concerns.

    Request   --> engine.api, one file per Kafka API
    Response  --> the part that asked: fetchers, ISR changes, lifecycle, metadata, groups
    Expired   --> the part whose timer it was

The broker itself only knows how the parts are connected: metadata records change the
image, and the image gives each replica its role.  See docs/architecture.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

from engine.broker.lifecycle import (
    Heartbeat,
    Lifecycle,
    LifecycleTimer,
    Registration,
    RegistrationTimeout,
)
from engine.broker.metadata_fetcher import MetadataFetcher, MetadataRound, MetadataTimer
from engine.broker.producer_ids import BlockRequest, BlockTimer, ProducerIds
from engine.broker.transaction_verification import TransactionVerification, VerificationRound
from engine.coordinators.classic.groups import JoinTimer, SessionTimer, SyncTimer
from engine.coordinators.consumer.groups import MemberTimer
from engine.coordinators.group_coordinator import GroupCoordinator, OffsetsTopicCreation
from engine.coordinators.group_shard import ExpiryTimer
from engine.coordinators.offsets_topic import OFFSETS_TOPIC
from engine.coordinators.transactions.markers import MarkerRound
from engine.coordinators.transactions.transaction_coordinator import (
    ExpiryScan,
    TimeoutScan,
    TransactionCoordinator,
    TransactionsTopicCreation,
)
from engine.coordinators.transactions.transaction_records import TRANSACTIONS_TOPIC
from engine.coordinators.transactions.transaction_shard import MarkerTimer
from engine.events import (
    Answered,
    AnyRequest,
    Disconnected,
    Effect,
    Envelope,
    Event,
    Expired,
    Flushed,
    Outbox,
    Request,
    Response,
    Token,
)
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import MetadataImage
from engine.metadata.records import MetadataRecord
from engine.quotas.client_quotas import ClientQuotas
from engine.replication.alter_partition import AlterPartitionRetry, AlterPartitionRound
from engine.replication.log_cleaner import CleanerTimer
from engine.replication.purgatory import PurgatoryTimer
from engine.replication.questions import EpochQuestion, FetcherTimer, FetchRound, OffsetQuestion
from engine.replication.remote_log_manager import RemoteLogTimer
from engine.replication.replica_manager import (
    BROKER_RESOURCE,
    OpeningTimer,
    PeriodicTimer,
    ReplicaManager,
)
from engine.replication.truncation import DEFAULT_RULE
from engine.settings import Settings
from engine.storage import checkpoints
from engine.storage.disk import Disk
from engine.wire import messages as m
from engine.wire.errors import Errors
from engine.wire.framing import response_class
from engine.wire.structures import Message, RequestMessage

FORWARD_TIMEOUT_US, FORWARDED_FOR_US, FORWARD_RETRY_US = 30_000_000, 60_000_000, 100_000


@dataclass(frozen=True, slots=True)
class ForwardRound:
    """Token of a client's request that only the controller can answer."""

    number: int


@dataclass(frozen=True, slots=True)
class ForwardRetry:
    """Rings when such a request is sent again, to the controller that is active by then."""

    number: int


@dataclass(frozen=True, slots=True)
class AutoCreation:
    """Token of the request that creates a topic which a client has asked about."""

    topic: str


class ControlPlane(Protocol):
    """What stands in the place of KRaft's parts of a broker: see engine/zookeeper."""

    def start(self, now: int) -> None: ...

    def stop(self, now: int) -> None: ...

    def requested(self, now: int, request: AnyRequest) -> bool:
        """True if the request was meant for it."""

    def answered(self, now: int, event: Response) -> None: ...

    def expired(self, now: int, token: Token) -> None: ...


@dataclass(frozen=True)
class Apis:
    """The functions of engine/api that answer requests; engine/api is above this room.

    An API works with the parts of a broker, but a broker imports no API, so the cluster hands
    them in.  `dispatch` answers a request, now or later; `refusal` makes the answer that refuses
    all of it; `fit` turns the controller's answer into the client's.
    """

    dispatch: Callable[[Broker, int, AnyRequest], None]
    refusal: Callable[..., Message]
    fit: Callable[[AnyRequest, Message, Message | None], Message]


@dataclass(frozen=True, slots=True)
class Forwarded:
    """A client's request that waits for the controller's answer."""

    request: AnyRequest
    sent: AnyRequest
    """The request as the controller got it: all of it, or without what this broker refused."""
    refused: Message | None
    """The answer to what this broker refused itself."""
    until: int
    """When this broker gives up looking for the active controller."""


class Broker:
    """A broker on `disk`; `ids` is its only source of randomness.

    `plane` makes another control plane than KRaft's.
    """

    def __init__(
        self,
        node_id: int,
        settings: Settings,
        disk: Disk,
        ids: Random,
        apis: Apis,
        controllers: Sequence[int] = (100,),
        cluster_id: str = "",
        rule: str = DEFAULT_RULE,
        before: tuple[str, ...] = (),
        tier: Disk | None = None,
        plane: Callable[[Broker], ControlPlane] | None = None,
    ) -> None:
        self.node_id = node_id
        self.settings = settings
        self.disk = disk
        self.ids = ids
        self.apis = apis
        self.controller = ActiveController(controllers)
        self.before = before
        self.outbox = Outbox()
        self.metadata = MetadataImage()
        self.replicas = ReplicaManager(
            node_id, self.controller, settings, disk, self.outbox, self.metadata, ids, rule, tier
        )
        self.groups = GroupCoordinator(self)
        self.replicas.coordinators[OFFSETS_TOPIC] = self.groups
        self.transactions = TransactionCoordinator(self)
        self.verification = TransactionVerification(self)
        self.replicas.coordinators[TRANSACTIONS_TOPIC] = self.transactions
        clean_epoch = checkpoints.take_clean_shutdown(disk)
        self.clean_start = clean_epoch is not None
        previous_epoch = -1 if clean_epoch is None else clean_epoch
        self.lifecycle = Lifecycle(
            node_id,
            self.controller,
            cluster_id,
            settings,
            self.outbox,
            self.metadata,
            ids,
            previous_epoch,
        )
        self.metadata_fetcher = MetadataFetcher(
            node_id, self.controller, settings, disk, self.outbox, self.metadata
        )
        self.producer_ids = ProducerIds(node_id, self.controller, self.outbox)
        self.quotas = ClientQuotas(settings, self.metadata, self.replicas.sessions)
        self.is_serving = False
        self.forwarded: dict[int, Forwarded] = {}
        self.last_forwarded = 0
        self.plane = None if plane is None else plane(self)

    def start(self, now: int) -> list[Effect]:
        self.replicas.start(now, self.clean_start)
        if self.plane is not None:
            self.plane.start(now)
        else:
            self.lifecycle.start(now)
            self.metadata_fetcher.start(now)
        return self.outbox.drain()

    def stop(self, now: int) -> list[Effect]:
        """Begins a clean stop; ends with a Halt effect, after which `close` is called."""
        (self.plane or self.lifecycle).stop(now)
        return self.outbox.drain()

    def close(self) -> None:
        """Flushes and closes the files of a broker that has halted."""
        self.replicas.close()
        if self.plane is None:
            self.metadata_fetcher.close()

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Request():
                if self.plane is None or not self.plane.requested(now, event):
                    self.apis.dispatch(self, now, event)
            case Response():
                self._on_response(now, event)
            case Expired():
                self._on_timer(now, event.token)
            case Flushed() | Disconnected():
                pass
        effects = self.outbox.drain()
        return self.quotas.charge(now, effects) if self.metadata.quotas else effects

    def _on_response(self, now: int, event: Response) -> None:
        """Hands an answer to the part that asked, which the class of its token names."""
        body = event.body
        match event.token:
            case FetchRound() | EpochQuestion() | OffsetQuestion() as token:
                self.replicas.fetchers.answered(now, token, body)
            case AlterPartitionRound():
                asked = self.replicas.isr_changes.sent
                self.replicas.isr_changes.answered(now, body)
                if self.plane is not None:  # no metadata log brings the news
                    for partition in asked:
                        self.replicas.look_again(partition)
            case MetadataRound():
                before = self.metadata.offset
                news = self.metadata_fetcher.answered(now, body)
                if news is not None:
                    for offset, record in news:
                        self._apply(now, offset, record)
                    self.metadata_fetcher.applied(now)
                    self.replicas.open_new(now)
                    self.metadata_fetcher.poll()
                self._begin_serving(now)
                if self.metadata.offset > before:
                    self.lifecycle.caught_up(now)
            case Registration() | Heartbeat():
                if self.lifecycle.on_response(now, body):
                    self.replicas.registered(self.lifecycle.epoch)
                    self._begin_serving(now)
            case BlockRequest():
                self.producer_ids.on_response(now, body)
            case ForwardRound(number):
                self._relay(now, number, body)
            case OffsetsTopicCreation():
                self.groups.topic_creation_answered(body)
            case VerificationRound(number):
                self.verification.answered(now, number, body)
            case TransactionsTopicCreation():
                self.transactions.topic_creation_answered(body)
            case MarkerRound() as token:
                self.transactions.markers_answered(now, token, body)
            case AutoCreation():
                pass  # the client asks for metadata again and sees the result
            case _ if self.plane is not None:
                self.plane.answered(now, event)

    def _on_timer(self, now: int, token: Token) -> None:
        """Hands a timer to the part that set it."""
        match token:
            case PurgatoryTimer(operation_id):
                self.replicas.purgatory.expire(now, operation_id)
            case FetcherTimer(leader):
                self.replicas.fetchers.poll(now, leader)
            case AlterPartitionRetry():
                self.replicas.isr_changes.send(now)
            case OpeningTimer():
                self.replicas.open_some(now)
            case PeriodicTimer(what):
                self.replicas.do_periodically(now, what)
            case CleanerTimer(thread):
                self.replicas.cleaner.on_timer(now, thread)
            case RemoteLogTimer():
                self.replicas.remote.on_timer(now)
            case ForwardRetry(number):
                self._forward(number)
            case LifecycleTimer():
                self.lifecycle.heartbeat(now)
            case RegistrationTimeout():
                self.lifecycle.give_up()
            case MetadataTimer():
                self.metadata_fetcher.poll()
            case BlockTimer():
                self.producer_ids.ask()
            case SessionTimer() | JoinTimer() | SyncTimer() | MemberTimer() | ExpiryTimer():
                self.groups.on_timer(now, token)
            case MarkerTimer() | TimeoutScan() | ExpiryScan():
                self.transactions.on_timer(now, token)
            case _ if self.plane is not None:
                self.plane.expired(now, token)

    def new_producer_id(self) -> int | None:
        """A producer id for a transactional id; None while the next block is on its way."""
        return self.producer_ids.take(self.lifecycle.epoch)

    # -- metadata

    def is_known_to(self, other: Broker) -> bool:
        """Whether `other` (or this broker) sees this incarnation registered and unfenced.

        The metadata log holds the last incarnation too, with its old address, and unfenced if
        it crashed.  Only the broker epoch tells the two apart.
        """
        seen = other.metadata.brokers.get(self.node_id)
        return seen is not None and seen.epoch == self.lifecycle.epoch and not seen.fenced

    def _begin_serving(self, now: int) -> None:
        """Opens the replicas hosted here, once the image is up to date.

        It is up to date when it contains our own registration (the broker epoch is that record's
        offset).  Before that, it may say that we lead partitions which others took over when we
        crashed, or name a topic that has been deleted and created again since.
        """
        if self.is_serving or not 0 <= self.lifecycle.epoch < self.metadata.offset:
            return
        self.is_serving = True
        self._apply_broker_configs()
        self.replicas.begin()
        for topic in tuple(self.metadata.topics.values()):
            for index, image in sorted(topic.partitions.items()):
                self.replicas.partition_changed(now, topic.name, topic.id, index, image)
        self.replicas.open_some(now, len(self.replicas.unopened))

    def _apply(self, now: int, offset: int, record: MetadataRecord) -> None:
        """Applies one metadata record: to the image first, then to what is hosted here."""
        deleted = None
        if isinstance(record, m.RemoveTopicRecord):
            deleted = self.metadata.topics.get(record.topic_id)
        self.metadata.apply(record)
        self.metadata.offset = offset + 1
        if not self.is_serving:
            return
        match record:
            case m.PartitionRecord() | m.PartitionChangeRecord():
                topic = self.metadata.topics[record.topic_id]
                image = topic.partitions[record.partition_id]
                self.replicas.partition_changed(
                    now, topic.name, topic.id, record.partition_id, image
                )
            case m.RemoveTopicRecord() if deleted is not None:
                self.replicas.topic_deleted(now, deleted.name, sorted(deleted.partitions))
                self.groups.on_topic_deleted(now, deleted.name)
            case m.BrokerRegistrationChangeRecord() | m.RegisterBrokerRecord():
                self.replicas.broker_changed(now, record.broker_id)
            case m.ConfigRecord():
                self._config_changed(record.resource_type, record.resource_name)

    def _config_changed(self, resource_type: int, name: str) -> None:
        if resource_type == BROKER_RESOURCE:
            self._apply_broker_configs()
        self.replicas.config_changed(resource_type, name)

    def _apply_broker_configs(self) -> None:
        configs = self.metadata.configs
        own = configs.get((BROKER_RESOURCE, str(self.node_id)), {})
        self.settings.set_dynamic(configs.get((BROKER_RESOURCE, ""), {}), own)

    # -- requests that only the controller can answer

    def forward(
        self,
        now: int,
        request: AnyRequest,
        without: RequestMessage[Message] | None = None,
        refused: Message | None = None,
    ) -> None:
        """Sends a client's request on to the controller and relays the answer.

        What this broker refuses itself is not sent: `without` is the request without it, and
        `refused` the answer to it.

        Simplified: of the Envelope (KIP-590) there is the client's id and version, no principal.
        """
        sent = request if without is None else replace(request, body=without)
        self.last_forwarded += 1
        until = now + FORWARDED_FOR_US
        self.forwarded[self.last_forwarded] = Forwarded(request, sent, refused, until)
        self._forward(self.last_forwarded)

    def _forward(self, number: int) -> None:
        kept = self.forwarded[number]
        self.outbox.send(
            self.controller.id,
            ForwardRound(number),
            kept.sent.body,
            FORWARD_TIMEOUT_US,
            Envelope(kept.request.client_id, kept.request.version),
        )

    def _relay(self, now: int, number: int, body: Answered) -> None:
        """Hands the controller's answer on; asks again if that controller was not active."""
        kept = self.forwarded[number]
        refused = isinstance(body, m.EnvelopeResponse)
        lost = body is None and self.controller.has_others
        if (refused or lost) and now + FORWARD_RETRY_US < kept.until:
            self.outbox.set_timer(ForwardRetry(number), now + FORWARD_RETRY_US)
            return
        del self.forwarded[number]
        if isinstance(body, m.EnvelopeResponse) or not isinstance(body, Message):
            body = self.apis.refusal(kept.sent, Errors.REQUEST_TIMED_OUT)
            assert isinstance(body, response_class(kept.request.body))
        self.outbox.reply(kept.request, self.apis.fit(kept.request, body, kept.refused))
