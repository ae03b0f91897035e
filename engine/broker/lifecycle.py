"""A broker's standing with the controller: registered, fenced, active, leaving.

    starting --registered, epoch given--> fenced --caught up with metadata--> active
    active --silent for broker.session.timeout.ms--> fenced (the controller decides)
    active --stop--> leaving --leaderships moved away--> halted

A broker registers with the id of this incarnation and receives a *broker epoch*.  The epoch
tells a request of this incarnation from one of the last.  A fenced broker leads nothing and
is in no ISR (KIP-631).  The registration names the epoch of the last clean stop.  Any other
value tells the controller that the broker may have lost data, and its replicas leave ISR and
ELR (KIP-966).

A broker that is refused asks again.  What refuses it may pass, such as the session of its last
incarnation, or may not, such as another process with its id.  One that is not registered
after initial.broker.registration.timeout.ms stops.

Simplified: each request here has a connection of its own.  Kafka has one connection for
them and one heartbeat under way at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from engine.events import Answered, Outbox
from engine.metadata.active_controller import ActiveController
from engine.metadata.image import MetadataImage
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors

RETRY_US = 200_000
REQUEST_TIMEOUT_US = 2_000_000


def parse_listener(listener: str) -> tuple[str, int]:
    """Host and port of `PLAINTEXT://host:port`."""
    host, _, port = listener.partition("://")[2].rpartition(":")
    return host, int(port)


@dataclass(frozen=True, slots=True)
class Registration:
    """Token of the request that registers a new incarnation of a broker."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Token of a heartbeat."""


@dataclass(frozen=True, slots=True)
class LifecycleTimer:
    """Rings when the next heartbeat, or the next attempt to register, is due."""


@dataclass(frozen=True, slots=True)
class RegistrationTimeout:
    """Rings when a broker that is still not registered stops."""


class Lifecycle:
    """`epoch` is -1 until registered; `incarnation` is fresh at every start."""

    def __init__(
        self,
        node_id: int,
        controller: ActiveController,
        cluster_id: str,
        settings: Settings,
        outbox: Outbox,
        metadata: MetadataImage,
        ids: Random,
        previous_epoch: int,
    ) -> None:
        self.node_id = node_id
        self.controller = controller
        self.cluster_id = cluster_id
        self.settings = settings
        self.outbox = outbox
        self.metadata = metadata
        self.incarnation = uuids.new(ids)
        self.previous_epoch = previous_epoch
        self.epoch = -1
        self.fenced = True
        self.leaving = False

    def start(self, now: int) -> None:
        timeout_us: int = self.settings["initial.broker.registration.timeout.ms"] * 1000
        self.outbox.set_timer(RegistrationTimeout(), now + timeout_us)
        self._register()

    def give_up(self) -> None:
        """Not registered in time: the broker stops."""
        rule = "broker.lifecycle.Lifecycle.give_up"
        why = "not registered within initial.broker.registration.timeout.ms"
        self.outbox.trace(rule, "stopping", "", why)
        self.outbox.halt()

    def stop(self, now: int) -> None:
        """Asks to leave; the controller first moves our leaderships to other brokers."""
        self.leaving = True
        self.heartbeat(now)

    def _register(self) -> None:
        request = m.BrokerRegistrationRequest
        host, port = parse_listener(self.settings["advertised.listeners"][0])
        body = request(
            broker_id=self.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=self.incarnation,
            listeners=[request.Listener(name="PLAINTEXT", host=host, port=port)],
            features=[],
            rack=self.settings["broker.rack"],
            previous_broker_epoch=self.previous_epoch,
        )
        self.outbox.send(
            self.controller.id, Registration(), body, REQUEST_TIMEOUT_US, connection=None
        )

    def heartbeat(self, now: int) -> None:
        """Says "I am alive, I have read the metadata up to here, I want to serve (or leave)"."""
        if self.epoch < 0:
            self._register()
            return
        body = m.BrokerHeartbeatRequest(
            broker_id=self.node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self.metadata.offset - 1,
            want_fence=False,
            want_shut_down=self.leaving,
        )
        self.outbox.send(self.controller.id, Heartbeat(), body, REQUEST_TIMEOUT_US, connection=None)

    def caught_up(self, now: int) -> None:
        """Tells the controller at once that more metadata has been read, while fenced for that."""
        if self.epoch >= 0 and self.fenced and not self.leaving:
            self.heartbeat(now)

    def on_response(self, now: int, body: Answered) -> bool:
        """True if a registration has just succeeded."""
        match body:
            case m.BrokerRegistrationResponse(error_code=Errors.NONE):
                self.epoch = body.broker_epoch
                self.outbox.cancel_timer(RegistrationTimeout())
                self.heartbeat(now)
                return True
            case m.BrokerHeartbeatResponse(error_code=Errors.NONE):
                self._heard(now, body)
            case _:
                self.outbox.set_timer(LifecycleTimer(), now + RETRY_US)
        return False

    def _heard(self, now: int, body: m.BrokerHeartbeatResponse) -> None:
        self.fenced = body.is_fenced
        if self.leaving and body.should_shut_down:
            self.outbox.halt()
            return
        interval_us: int = self.settings["broker.heartbeat.interval.ms"] * 1000
        soon = self.fenced or self.leaving
        pause_us = min(interval_us, RETRY_US) if soon else interval_us
        self.outbox.set_timer(LifecycleTimer(), now + pause_us)
