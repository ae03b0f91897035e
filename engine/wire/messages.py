"""The protocol's messages as Python classes, made from the schemas on first use.

    >>> from engine.wire import messages as m
    >>> m.FetchRequest(max_wait_ms=500, topics=[m.FetchRequest.FetchTopic(topic="orders")])
    FetchRequest(max_wait_ms=500, topics=[FetchTopic(topic='orders')])

A class has one slot per field of any version, in Kafka's order, snake_case.  Structures
are attributes of their message's class.  Left-out fields take Kafka's default, except
that a structure defaults to None (absent).  A uuid is 16 raw bytes.  `records` are the
bytes of batches, never decoded here.

Class attributes: `API_KEY`, `VERSIONS`, `FLEXIBLE` (ranges), `SCHEMA` (the definition);
`LATEST` is the highest version in use.

`messages.pyi` shows each class to editors and to the type checker.
"""

from __future__ import annotations

from engine.wire.structures import Message, RequestMessage, Structure, load

__all__ = ["Message", "RequestMessage", "Structure"]


def __getattr__(name: str) -> type[Message]:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        cls = load(name)
    except KeyError:
        raise AttributeError(f"no message named {name} in engine/wire/schemas") from None
    made: type[Message] = globals().setdefault(name, cls)  # another thread may have been first
    return made
