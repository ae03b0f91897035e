"""The protocol's messages as Python classes, made from the schemas on first use.

    >>> from engine.wire import messages as m
    >>> m.FetchRequest(max_wait_ms=500, topics=[m.FetchRequest.FetchTopic(topic="orders")])
    FetchRequest(max_wait_ms=500, topics=[FetchTopic(topic='orders')])

A class has one slot per field of any version, in Kafka's order, snake_case.  Structures
are attributes of their message's class.  Left-out fields take Kafka's default, except
that a structure defaults to None (absent).  A uuid is 16 raw bytes.  `records` are
bytes or a memoryview, never decoded here.

Class attributes: `API_KEY`, `VERSIONS`, `FLEXIBLE` (ranges), `SCHEMA` (the definition);
`LATEST` is the highest version in use.
"""

from __future__ import annotations

from typing import Any

from engine.wire import schema

_MISSING = object()


def _repr(self: Any) -> str:
    shown = []
    for name, default in zip(self.__slots__, self._DEFAULTS, strict=True):
        value = getattr(self, name)
        if value == default:
            continue
        if isinstance(value, bytes | memoryview) and len(value) > 32:
            value = f"<{len(value)} bytes>"
        shown.append(f"{name}={value!r}")
    return f"{type(self).__name__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> bool:
    if type(self) is not type(other):
        return NotImplemented
    return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)


def _reduce(self: Any) -> tuple[Any, tuple[Any, ...]]:
    return type(self), tuple(getattr(self, name) for name in self.__slots__)


def _make_class(struct: schema.Struct, qualified_name: str) -> type:
    """Builds a slotted class whose `__init__` takes every field, by position or name."""
    parameters, body = [], []
    namespace: dict[str, Any] = {"_MISSING": _MISSING}
    for f in struct.fields:
        if f.default == [] and f.is_array:
            parameters.append(f"{f.name}=_MISSING")
            body.append(f"    self.{f.name} = [] if {f.name} is _MISSING else {f.name}")
        else:
            parameters.append(f"{f.name}={f.default!r}")
            body.append(f"    self.{f.name} = {f.name}")
    source = f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(body or ["    pass"])
    exec(source, namespace)
    return type(
        struct.name,
        (),
        {
            "__slots__": tuple(f.name for f in struct.fields),
            "__init__": namespace["__init__"],
            "__repr__": _repr,
            "__eq__": _eq,
            "__hash__": None,
            "__reduce__": _reduce,
            "__module__": __name__,
            "__qualname__": qualified_name,
            "_DEFAULTS": tuple(f.default for f in struct.fields),
        },
    )


def _load(name: str) -> type:
    definition = schema.find(name)
    cls: Any = _make_class(definition.root, name)
    for struct in definition.structs.values():
        setattr(cls, struct.name, _make_class(struct, f"{name}.{struct.name}"))
    cls.SCHEMA = definition
    cls.API_KEY = definition.api_key
    cls.VERSIONS = definition.versions
    cls.LATEST = definition.versions.high - definition.latest_is_unstable
    cls.FLEXIBLE = definition.flexible
    cls.__doc__ = definition.text
    return cls


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        cls = _load(name)
    except KeyError:
        raise AttributeError(f"no message named {name} in engine/wire/schemas") from None
    globals()[name] = cls
    return cls
