"""Writes `messages.pyi`, which tells editors and the type checker every message's fields.

The classes in `engine.wire.messages` exist only at run time.  The stub shows them as they are
there, one line per field:

    class FetchRequest(RequestMessage[FetchResponse]):
        class FetchTopic(Structure):
            topic: str = ""
            partitions: list[FetchRequest.FetchPartition] = ...
        max_wait_ms: int = 0
        topics: list[FetchRequest.FetchTopic] = ...

The constructor takes the fields, with their defaults (`Structure` is marked as a dataclass
transform, PEP 681).  A field may be None where the protocol allows null in some
version, and where a structure is absent from some version or optional.  An array of numbers is
a sequence, because a tuple of replicas need not be copied for an answer.

    python -m engine.wire.stubs

A test regenerates the file and compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.wire import schema
from engine.wire.schema import NEVER, Field, Message, Struct

STUB = Path(__file__).with_name("messages.pyi")

_TYPES = {"string": "str", "bytes": "bytes", "records": "bytes", "uuid": "bytes"}
_TYPES |= {"bool": "bool", "float64": "float"}

_HEAD = '''\
"""Written by engine.wire.stubs from engine/wire/schemas; do not edit."""

from collections.abc import Sequence

from engine.wire.structures import Message, RequestMessage, Structure

__all__ = ["Message", "RequestMessage", "Structure"]
'''


def text() -> str:
    """The whole stub."""
    return _HEAD + "".join(f"\n\n{_class(name)}\n" for name in _names())


def _names() -> list[str]:
    """Every message: each response before its request, which names it, then stored records."""
    pairs = [f"{api}{kind}" for api in schema.api_files() for kind in ("Response", "Request")]
    return pairs + [name for stem in schema.RECORD_FILES for name in schema.load_file(stem)]


def _class(name: str) -> str:
    definition = schema.find(name)
    answer = f"{name.removesuffix('Request')}Response"
    is_request = name.endswith("Request")
    base = f"RequestMessage[{answer}]" if is_request else "Message"
    lines = [f"class {name}({base}):"]
    for struct in definition.structs.values():
        lines += [f"    class {struct.name}(Structure):"]
        lines += (f"        {line}" for line in _fields(definition, struct))
        lines += [""]
    lines += (f"    {line}" for line in _fields(definition, definition.root))
    return "\n".join(lines)


def _fields(definition: Message, struct: Struct) -> Iterator[str]:
    if not struct.fields:
        yield "..."
    for f in struct.fields:
        kind = _type(definition, f)
        yield f"{f.name}: {kind} = {_default(f.default, kind)}"


def _type(definition: Message, f: Field) -> str:
    name = f"{definition.name}.{f.type}" if f.struct else _TYPES.get(f.type, "int")
    if f.is_array:
        name = f"Sequence[{name}]" if name == "int" else f"list[{name}]"
    return f"{name} | None" if f.nullable != NEVER or _may_be_absent(definition, f) else name


def _may_be_absent(definition: Message, f: Field) -> bool:
    """Whether None stands for a structure that is not there."""
    if f.struct is None or f.is_array:
        return False
    versions = definition.versions
    everywhere = versions.low in f.versions and versions.high in f.versions
    return f.tag is not None or not everywhere


def _default(value: object, kind: str) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    is_plain = isinstance(value, int | float) or (value is None and kind.endswith("None"))
    return repr(value) if is_plain else "..."


if __name__ == "__main__":
    STUB.write_text(text(), "utf-8")
