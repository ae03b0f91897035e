"""What a node answers when its own code raised: a defect of this engine, met behind sockets.

A Kafka broker answers UNKNOWN_SERVER_ERROR to the request, or closes the connection of a client
that expects no answer (acks=0), logs the exception, and goes on.  Its scheduler runs a periodic
task again although the last run raised.  So here:

    Request     the effects so far, and UNKNOWN_SERVER_ERROR if it has no answer yet
    Expired     the effects so far; the timer runs out again a second later, if it is not set
    Response    the effects so far, then the same as for a lost connection: the part tries again
"""

from __future__ import annotations

from engine import api
from engine.broker.broker import Broker
from engine.control.controller import Controller
from engine.events import (
    AnyRequest,
    CancelTimer,
    Effect,
    Event,
    Expired,
    HangUp,
    Reply,
    Request,
    Response,
    SetTimer,
    Token,
)
from engine.wire.errors import Errors

AGAIN_US = 1_000_000


def settled(now: int, node: Broker | Controller, event: Event) -> list[Effect]:
    """The effects of a step that raised."""
    effects: list[Effect] = node.outbox.drain()
    match event:
        case Request() if not any(_answers(each, event) for each in effects):
            effects.append(refusal(event))
        case Expired(token) if not any(_sets(each, token) for each in effects):
            effects.append(SetTimer(token, now + AGAIN_US))
        case Response(source, token, body) if body is not None:
            effects += _as_lost(now, node, Response(source, token, None))
    return effects


def refusal(request: AnyRequest) -> Effect:
    """UNKNOWN_SERVER_ERROR; or the end of the connection, where no answer can say it."""
    why = "the broker met a defect in its own code"
    if getattr(request.body, "acks", None) == 0:
        return HangUp(request.source, request.token, why)
    try:
        body = api.refusal(request, Errors.UNKNOWN_SERVER_ERROR)
    except Exception:
        return HangUp(request.source, request.token, why)
    return Reply(request.source, request.token, request.version, body, request)


def _answers(effect: Effect, request: AnyRequest) -> bool:
    return (
        isinstance(effect, Reply | HangUp)
        and effect.destination == request.source
        and effect.token == request.token
    )


def _sets(effect: Effect, token: Token) -> bool:
    return isinstance(effect, SetTimer | CancelTimer) and effect.token == token


def _as_lost(now: int, node: Broker | Controller, response: Response) -> list[Effect]:
    """What the part that asked does when its answer is lost; nothing if that raises, too."""
    try:
        effects: list[Effect] = node.step(now, response)
    except Exception:
        effects = node.outbox.drain()
    return effects
