"""What the controller knows of brokers outside the log, and forgets when it stops.

A heartbeat renews a broker's session and says how far the broker has read the metadata
log.  Neither is worth a record.  A new controller therefore gives every broker that is in
service a full session to report in: no broker is fenced because the controller was away.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.control.state import ControlState


@dataclass(slots=True)
class Session:
    """One broker's session, of the incarnation with this epoch.

    `last_contact` in microseconds, None before the first heartbeat and once the session is
    over; `metadata_offset` is the last record that the broker has applied;
    `shutdown_offset` the last one of the decision that began its controlled shutdown;
    `watched` tells that a timer for the session's end is set.
    """

    epoch: int
    last_contact: int | None = None
    metadata_offset: int = -1
    shutdown_offset: int | None = None
    watched: bool = False


class Sessions:
    """The sessions of registered brokers, by id."""

    def __init__(self, timeout_us: int) -> None:
        self.timeout_us = timeout_us
        self.by_broker: dict[int, Session] = {}

    def restart(self, now: int, state: ControlState) -> None:
        """After the controller's own restart every broker in service has a full session."""
        for broker in state.image.brokers.values():
            self.by_broker[broker.id] = Session(broker.epoch, None if broker.fenced else now)

    def expires_at(self, broker_id: int) -> int | None:
        session = self.by_broker.get(broker_id)
        if session is None or session.last_contact is None:
            return None
        return session.last_contact + self.timeout_us

    def is_live(self, now: int, broker_id: int) -> bool:
        expiry = self.expires_at(broker_id)
        return expiry is not None and now < expiry

    def lowest_active_offset(self, state: ControlState) -> int | None:
        """How far the slowest active broker has read the log; None if none is active."""
        offsets = [
            session.metadata_offset
            for broker_id, session in self.by_broker.items()
            if state.is_active(broker_id)
        ]
        return min(offsets, default=None)
