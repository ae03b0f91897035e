"""The life of a broker in the cluster, as a table (KIP-631, KIP-841).

    Unregistered --registers--> Fenced --has caught up--> Unfenced
                                  ^                        |   |
                                  +---- falls silent ------+   | wants to stop, still needed
                                  ^                            v
                                  +---- falls silent ---- ControlledShutdown
                                                               |
    Fenced, Unfenced, ControlledShutdown --may stop--> ShutdownNow

A *fenced* broker leads nothing, is in no ISR, and clients are not sent to it.  Only a heartbeat
brings it back, and only once it knows from the metadata log what it has to do.  One in *controlled
shutdown* has given its leaderships away and serves until the other brokers know.  The metadata log
records ShutdownNow as Fenced: the state is only the answer to a broker that wants to stop.

`TRANSITIONS` is the only place where a state changes; pictures are drawn from it.
"""

from __future__ import annotations

from enum import StrEnum


class BrokerState(StrEnum):
    """What a broker may do."""

    UNREGISTERED = "Unregistered"
    FENCED = "Fenced"
    UNFENCED = "Unfenced"
    CONTROLLED_SHUTDOWN = "ControlledShutdown"
    SHUTDOWN_NOW = "ShutdownNow"


class BrokerEvent(StrEnum):
    """What moves a broker from one state to another."""

    REGISTERS = "a new life of the broker registers"
    CAUGHT_UP = "it has read the log up to its registration and wants to serve"
    FALLS_SILENT = "no heartbeat for broker.session.timeout.ms"
    WANTS_FENCE = "it asks to be fenced"
    STILL_NEEDED = "it wants to stop, but leads partitions, or the others do not know yet"
    MAY_STOP = "it wants to stop and nothing depends on it"
    FORGOTTEN = "an operator unregisters it"


_S, _E = BrokerState, BrokerEvent

TRANSITIONS: dict[tuple[BrokerState, BrokerEvent], BrokerState] = {
    (_S.UNREGISTERED, _E.REGISTERS): _S.FENCED,
    (_S.FENCED, _E.REGISTERS): _S.FENCED,
    (_S.FENCED, _E.CAUGHT_UP): _S.UNFENCED,
    (_S.FENCED, _E.MAY_STOP): _S.SHUTDOWN_NOW,
    (_S.FENCED, _E.FORGOTTEN): _S.UNREGISTERED,
    (_S.UNFENCED, _E.FALLS_SILENT): _S.FENCED,
    (_S.UNFENCED, _E.WANTS_FENCE): _S.FENCED,
    (_S.UNFENCED, _E.STILL_NEEDED): _S.CONTROLLED_SHUTDOWN,
    (_S.UNFENCED, _E.MAY_STOP): _S.SHUTDOWN_NOW,
    (_S.UNFENCED, _E.FORGOTTEN): _S.UNREGISTERED,
    (_S.CONTROLLED_SHUTDOWN, _E.FALLS_SILENT): _S.FENCED,
    (_S.CONTROLLED_SHUTDOWN, _E.MAY_STOP): _S.SHUTDOWN_NOW,
    (_S.CONTROLLED_SHUTDOWN, _E.FORGOTTEN): _S.UNREGISTERED,
    (_S.SHUTDOWN_NOW, _E.REGISTERS): _S.FENCED,
}


def after(state: BrokerState, event: BrokerEvent | None) -> BrokerState:
    """The next state; what the table does not name changes nothing."""
    return state if event is None else TRANSITIONS.get((state, event), state)
