"""The base of every message class, and how a class is built from its definition.

A message class has one slot per field of any version, so an object costs little memory and a
misspelt field is an error.  Two messages are equal when their fields are.

    Structure                fields, equality, a short text, pickling
      Message                and a place in the protocol: API key, versions, definition
        RequestMessage[A]    and the class A of the answer that belongs to it

`engine.wire.messages` offers the classes under their names; editors and the type checker read
their fields in `messages.pyi`, which `engine.wire.stubs` writes from the same schemas.
"""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar, cast, dataclass_transform

from engine.wire import schema

Answer = TypeVar("Answer", bound="Message", covariant=True)
Base = TypeVar("Base", bound="Structure")

_MODULE = f"{__package__}.messages"
_MISSING = object()


@dataclass_transform()
class Structure:
    """A list of named fields, alone or inside a message."""

    __slots__: ClassVar[tuple[str, ...]] = ()
    _DEFAULTS: ClassVar[tuple[object, ...]] = ()

    def __repr__(self) -> str:
        shown = []
        for name, default in zip(self.__slots__, self._DEFAULTS, strict=True):
            value = getattr(self, name)
            if value == default:
                continue
            if isinstance(value, bytes | memoryview) and len(value) > 32:
                value = f"<{len(value)} bytes>"
            shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.__slots__)


class Message(Structure):
    """A request, a response or a stored record.

    `LATEST` is the highest version in use; `API_KEY` is -1 where the protocol gives none.
    """

    __slots__ = ()
    API_KEY: ClassVar[int]
    VERSIONS: ClassVar[schema.Versions]
    LATEST: ClassVar[int]
    FLEXIBLE: ClassVar[schema.Versions]
    SCHEMA: ClassVar[schema.Message]


class RequestMessage(Message, Generic[Answer]):
    """A request, and in its type the answer that belongs to it."""

    __slots__ = ()


def load(name: str) -> type[Message]:
    """The class of a message, made from its definition; KeyError if there is none."""
    definition = schema.find(name)
    base = RequestMessage if name.endswith("Request") else Message
    structs = definition.structs.values()
    return _make_class(
        definition.root,
        name,
        base,
        __doc__=definition.text,
        SCHEMA=definition,
        API_KEY=-1 if definition.api_key is None else definition.api_key,
        VERSIONS=definition.versions,
        LATEST=definition.versions.high - definition.latest_is_unstable,
        FLEXIBLE=definition.flexible,
        **{each.name: _make_class(each, f"{name}.{each.name}", Structure) for each in structs},
    )


def _make_class(
    struct: schema.Struct, qualified_name: str, base: type[Base], **attributes: object
) -> type[Base]:
    """Builds a slotted class whose `__init__` takes every field, by position or name."""
    parameters, body = [], []
    namespace: dict[str, object] = {"_MISSING": _MISSING}
    for f in struct.fields:
        if f.default == [] and f.is_array:
            parameters.append(f"{f.name}=_MISSING")
            body.append(f"    self.{f.name} = [] if {f.name} is _MISSING else {f.name}")
        else:
            parameters.append(f"{f.name}={f.default!r}")
            body.append(f"    self.{f.name} = {f.name}")
    source = f"def __init__(self, {', '.join(parameters)}):\n" + "\n".join(body or ["    pass"])
    exec(source, namespace)
    attributes |= {
        "__slots__": tuple(f.name for f in struct.fields),
        "__init__": namespace["__init__"],
        "__module__": _MODULE,
        "__qualname__": qualified_name,
        "_DEFAULTS": tuple(f.default for f in struct.fields),
    }
    return cast("type[Base]", type(struct.name, (base,), attributes))
