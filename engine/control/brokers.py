"""Brokers and the controller: registration, heartbeats, fencing, leaving (KIP-631).

The states and what leads from one to the next are in `broker_states`.  This module
decides which event a heartbeat is, and what a change of state does.

Each start of a broker has an *incarnation id*, which the broker chooses, and a *broker
epoch*, which the controller gives it: the offset of its registration in the metadata log.
A request with another epoch comes from an earlier incarnation and is refused.

Unclean restarts (KIP-966).  A broker that stops cleanly writes its epoch down and brings
it along next time (`previous_broker_epoch`).  Any other value means that it crashed and
may have lost what the page cache held; it leaves ISR and ELR before it is let in again.

A crashed broker that is restarted within the session timeout is refused with
DUPLICATE_BROKER_REGISTRATION, and asks again: as far as the controller knows, the old
process may still be alive.
"""

from __future__ import annotations

from engine.control import broker_states, elections
from engine.control.broker_states import BrokerEvent, BrokerState
from engine.control.sessions import Session, Sessions
from engine.control.state import ControlState, Decision
from engine.metadata.image import BrokerImage
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

FENCE, UNFENCE = 1, -1
IN_CONTROLLED_SHUTDOWN = 1


def register(
    state: ControlState,
    sessions: Sessions,
    now: int,
    body: m.BrokerRegistrationRequest,
    cluster_id: str,
    next_offset: int,
) -> Decision:
    """Registers a broker, fenced; its epoch is the offset of the registration."""
    if cluster_id and body.cluster_id != cluster_id:
        raise KafkaError(
            Errors.INCONSISTENT_CLUSTER_ID,
            f"This is cluster {cluster_id}, but the broker belongs to {body.cluster_id}.",
        )
    existing = state.image.brokers.get(body.broker_id)
    same_life = existing is not None and existing.incarnation == body.incarnation_id
    if not same_life and sessions.is_live(now, body.broker_id):
        raise KafkaError(
            Errors.DUPLICATE_BROKER_REGISTRATION,
            f"Another broker {body.broker_id} has a live session; ask again when it is over.",
        )
    _check_features(state, body)
    _check_directories(state, body)
    record = m.RegisterBrokerRecord
    registration = record(
        broker_id=body.broker_id,
        incarnation_id=body.incarnation_id,
        broker_epoch=next_offset,
        end_points=[
            record.BrokerEndpoint(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=each.security_protocol,
            )
            for each in body.listeners
        ],
        features=[
            record.BrokerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in body.features
        ],
        rack=body.rack,
        fenced=True,
        log_dirs=list(body.log_dirs),
    )
    decision = Decision()
    if same_life and existing is not None:
        registration.broker_epoch = existing.epoch
        registration.fenced = existing.fenced
        registration.in_controlled_shutdown = existing.in_controlled_shutdown
    else:
        _clean_up_former_life(state, decision, existing, body)
        sessions.by_broker[body.broker_id] = Session(next_offset)
    decision.records.append(registration)
    decision.tell(
        "brokers.register",
        "registered",
        "the same life registers again" if same_life else "a new life gets a new epoch",
        broker=body.broker_id,
        epoch=registration.broker_epoch,
    )
    decision.answer = m.BrokerRegistrationResponse(broker_epoch=registration.broker_epoch)
    return decision


def _clean_up_former_life(
    state: ControlState,
    decision: Decision,
    existing: BrokerImage | None,
    body: m.BrokerRegistrationRequest,
) -> None:
    clean = existing is not None and existing.epoch == body.previous_broker_epoch
    if state.elr_enabled and not clean:
        why = f"broker {body.broker_id} restarted uncleanly"
        elections.after_unclean_restart(state, decision, body.broker_id, why)
    else:
        keys = state.index.with_in_isr(body.broker_id)
        why = f"broker {body.broker_id} restarted"
        elections.without_broker(state, decision, body.broker_id, keys, why)


def _check_features(state: ControlState, body: m.BrokerRegistrationRequest) -> None:
    """A broker that says what it supports must support what is finalised."""
    for feature in body.features:
        level = state.image.levels.get(feature.name, 0)
        if not feature.min_supported_version <= level <= feature.max_supported_version:
            raise KafkaError(
                Errors.UNSUPPORTED_VERSION,
                f"{feature.name} is at {level}, but the broker supports "
                f"{feature.min_supported_version} to {feature.max_supported_version}.",
            )


def _check_directories(state: ControlState, body: m.BrokerRegistrationRequest) -> None:
    if len(set(body.log_dirs)) != len(body.log_dirs):
        raise KafkaError(Errors.INVALID_REGISTRATION, "A log directory is named twice.")
    for broker in state.image.brokers.values():
        if broker.id != body.broker_id and set(broker.directories) & set(body.log_dirs):
            raise KafkaError(
                Errors.INVALID_REGISTRATION,
                f"Broker {broker.id} has registered one of these log directories before.",
            )


# -- heartbeats


def heartbeat(
    state: ControlState, sessions: Sessions, now: int, body: m.BrokerHeartbeatRequest
) -> Decision:
    """Notes that a broker lives, and moves it to its next state."""
    state.check_broker_epoch(body.broker_id, body.broker_epoch)
    session = sessions.by_broker[body.broker_id]
    session.last_contact = now
    decision = Decision()
    before = state_of(state, body.broker_id)
    after = broker_states.after(before, _event(state, sessions, body, before))
    if before is not after:
        _move(state, decision, body.broker_id, before, after)
    session.metadata_offset = body.current_metadata_offset
    decision.answer = m.BrokerHeartbeatResponse(
        is_caught_up=_is_caught_up(state, body),
        is_fenced=after in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW),
        should_shut_down=after is BrokerState.SHUTDOWN_NOW,
    )
    if after is BrokerState.CONTROLLED_SHUTDOWN and session.shutdown_offset is None:
        # The others must have read at least the records of this decision.
        session.shutdown_offset = state.image.offset + len(decision.records) - 1
    return decision


def state_of(state: ControlState, broker_id: int) -> BrokerState:
    """A broker's state, as the metadata log has it."""
    broker = state.image.brokers.get(broker_id)
    if broker is None:
        return BrokerState.UNREGISTERED
    if broker.fenced:
        return BrokerState.FENCED
    if broker.in_controlled_shutdown:
        return BrokerState.CONTROLLED_SHUTDOWN
    return BrokerState.UNFENCED


def _event(
    state: ControlState, sessions: Sessions, body: m.BrokerHeartbeatRequest, current: BrokerState
) -> BrokerEvent | None:
    """What a heartbeat means for a broker in this state."""
    if body.want_shut_down or current is BrokerState.CONTROLLED_SHUTDOWN:
        needed = _is_needed(state, sessions, body, current)
        return BrokerEvent.STILL_NEEDED if needed else BrokerEvent.MAY_STOP
    if body.want_fence:
        return BrokerEvent.WANTS_FENCE
    return BrokerEvent.CAUGHT_UP if _is_caught_up(state, body) else None


def _is_caught_up(state: ControlState, body: m.BrokerHeartbeatRequest) -> bool:
    """Has it read its own registration?"""
    return bool(body.current_metadata_offset >= state.registered_at[body.broker_id])


def _is_needed(
    state: ControlState, sessions: Sessions, body: m.BrokerHeartbeatRequest, current: BrokerState
) -> bool:
    """Would something stand still if the broker stopped now?"""
    leads = state.index.leads_any(body.broker_id)
    if current is not BrokerState.CONTROLLED_SHUTDOWN:
        return leads and not body.want_fence
    # The others must know who leads now, or they would go on asking this one.
    lowest = sessions.lowest_active_offset(state)
    shutdown_offset = sessions.by_broker[body.broker_id].shutdown_offset or 0
    return leads or (lowest is not None and lowest < shutdown_offset)


def _move(
    state: ControlState, decision: Decision, broker_id: int, before: BrokerState, after: BrokerState
) -> None:
    change = m.BrokerRegistrationChangeRecord(
        broker_id=broker_id, broker_epoch=state.image.brokers[broker_id].epoch
    )
    match after:
        case BrokerState.UNFENCED:
            change.fenced = UNFENCE
            decision.records.append(change)
            _tell(decision, "heartbeat", "unfenced", broker_id, "it has caught up with the log")
            elections.with_broker(state, decision, broker_id, f"broker {broker_id} is unfenced")
        case BrokerState.CONTROLLED_SHUTDOWN:
            change.in_controlled_shutdown = IN_CONTROLLED_SHUTDOWN
            decision.records.append(change)
            _tell(decision, "heartbeat", "leaving", broker_id, "it wants to stop and leads still")
            keys = state.index.with_in_isr(broker_id)
            why = f"broker {broker_id} is shutting down"
            elections.without_broker(state, decision, broker_id, keys, why)
        case _ if before is not BrokerState.FENCED:
            asked = "it may stop" if after is BrokerState.SHUTDOWN_NOW else "it asked for it"
            fence(state, decision, broker_id, asked)
        case _:
            _tell(decision, "heartbeat", "stopping", broker_id, "a fenced broker may stop at once")


def fence(state: ControlState, decision: Decision, broker_id: int, why: str) -> None:
    """Takes a broker out of service: first its partitions, then itself."""
    keys = state.index.with_in_isr(broker_id)
    elections.without_broker(state, decision, broker_id, keys, f"broker {broker_id} is fenced")
    decision.records.append(
        m.BrokerRegistrationChangeRecord(
            broker_id=broker_id,
            broker_epoch=state.image.brokers[broker_id].epoch,
            fenced=FENCE,
        )
    )
    _tell(decision, "fence", "fenced", broker_id, why)


def _tell(decision: Decision, rule: str, kind: str, broker_id: int, why: str) -> None:
    decision.tell(f"brokers.{rule}", kind, why, broker=broker_id)


def expire(state: ControlState, sessions: Sessions, broker_id: int) -> Decision:
    """The session is over: no heartbeat for broker.session.timeout.ms."""
    decision = Decision()
    sessions.by_broker[broker_id].last_contact = None
    if not state.image.brokers[broker_id].fenced:
        fence(state, decision, broker_id, "no heartbeat for broker.session.timeout.ms")
    return decision


def unregister(
    state: ControlState, sessions: Sessions, body: m.UnregisterBrokerRequest
) -> Decision:
    """Forgets a broker for good (kafka-cluster unregister)."""
    broker = state.image.brokers.get(body.broker_id)
    if broker is None:
        raise KafkaError(
            Errors.BROKER_ID_NOT_REGISTERED, f"Broker {body.broker_id} is not registered."
        )
    decision = Decision(m.UnregisterBrokerResponse())
    del sessions.by_broker[broker.id]
    keys = state.index.with_in_isr(broker.id) + state.index.with_in_elr(broker.id)
    why = f"broker {broker.id} is unregistered"
    elections.without_broker(state, decision, broker.id, keys, why)
    decision.records.append(
        m.UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    )
    _tell(decision, "unregister", "unregistered", broker.id, "asked by an operator")
    return decision
