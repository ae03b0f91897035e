"""A controller makes itself known in the metadata log, with the address of its listener (KIP-919).

    RegisterControllerRecord    controller 200, 127.0.0.1:19100

Clients that begin at a controller learn the others from these records, by DescribeCluster.  Each
process registers once it has read the log; one that finds another incarnation in its place does
so again.  A controller without a listener (in virtual time) does not register.

Source: ControllerRegistrationManager of Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from engine.control.state import ControlState, Decision
from engine.events import Answered, Outbox
from engine.metadata.features import SUPPORTED
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors

LISTENER = "CONTROLLER"
RETRY_US = 100_000
TIMEOUT_US = 2_000_000


@dataclass(frozen=True, slots=True)
class RegistrationCall:
    """Token of a request to the active controller."""


@dataclass(frozen=True, slots=True)
class RegistrationTimer:
    """Rings when a registration is tried again that failed, or that did not get into the log."""


class Registration:
    """Of the process of controller `node_id`, whose listener is at `address`."""

    def __init__(self, node_id: int, address: tuple[str, int], outbox: Outbox, ids: Random) -> None:
        self.node_id = node_id
        self.address = address
        self.outbox = outbox
        self.incarnation = uuids.new(ids)
        self.is_waiting = False

    def poll(self, leader: int, known: m.RegisterControllerRecord | None) -> None:
        """Asks the leader, unless the log has this process (`known`) or will have it."""
        if known is not None and known.incarnation_id == self.incarnation:
            self.is_waiting = False
        elif leader >= 0 and not self.is_waiting:
            self.is_waiting = True
            self.outbox.send(leader, RegistrationCall(), self._request(), TIMEOUT_US)

    def answered(self, now: int, body: Answered) -> None:
        """After a success the record is on its way here; else the next try is a matter of time."""
        done = isinstance(body, m.ControllerRegistrationResponse) and body.error_code == Errors.NONE
        self.outbox.set_timer(RegistrationTimer(), now + (TIMEOUT_US if done else RETRY_US))

    def expired(self) -> None:
        self.is_waiting = False

    def _request(self) -> m.ControllerRegistrationRequest:
        request = m.ControllerRegistrationRequest
        return request(
            controller_id=self.node_id,
            incarnation_id=self.incarnation,
            listeners=[request.Listener(LISTENER, *self.address)],
            features=[request.Feature(name, *levels) for name, levels in SUPPORTED.items()],
        )


def register(state: ControlState, body: m.ControllerRegistrationRequest) -> Decision:
    """As the active controller: writes down where a controller is."""
    record = m.RegisterControllerRecord
    decision = Decision(m.ControllerRegistrationResponse())
    decision.records.append(
        record(
            controller_id=body.controller_id,
            incarnation_id=body.incarnation_id,
            end_points=[
                record.ControllerEndpoint(each.name, each.host, each.port, each.security_protocol)
                for each in body.listeners
            ],
            features=[
                record.ControllerFeature(
                    each.name, each.min_supported_version, each.max_supported_version
                )
                for each in body.features
            ],
        )
    )
    return decision


def addresses(state: ControlState) -> dict[int, tuple[str, int]]:
    """Host and port of each controller that has registered."""
    controllers = sorted(state.image.controllers.items())
    return {
        node_id: (each.end_points[0].host, each.end_points[0].port)
        for node_id, each in controllers
        if each.end_points
    }
