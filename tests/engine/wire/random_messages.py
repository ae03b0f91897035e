"""Random messages of every kind and version, the same ones every time."""

from __future__ import annotations

import random
from typing import Any

from engine.wire import messages, schema
from engine.wire.errors import Errors

_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz-._0123456789äßλ√漢😀"


def every_message() -> list[schema.Message]:
    """The definition of each message that has a schema."""
    stems = (*schema.api_files().values(), *schema.RECORD_FILES)
    return [definition for stem in stems for definition in schema.load_file(stem).values()]


def every_version() -> list[tuple[str, int]]:
    """Each (name, version) that can be encoded."""
    return [
        (definition.name, version)
        for definition in every_message()
        for version in range(definition.versions.low, definition.versions.high + 1)
    ]


def random_message(name: str, version: int, seed: int = 0) -> Any:
    """A message with a random value in each field that the version carries."""
    definition = schema.find(name)
    rng = random.Random(f"{name} {version} {seed}")
    return _structure(definition.root, getattr(messages, name), definition, version, rng)


def _structure(
    s: schema.Struct, cls: Any, definition: schema.Message, version: int, rng: random.Random
) -> Any:
    values = {
        f.name: _field(f, definition, version, rng) for f in s.fields if version in f.versions
    }
    return cls(**values)


def _field(f: schema.Field, definition: schema.Message, version: int, rng: random.Random) -> Any:
    is_tagged = f.tag is not None and version in definition.flexible
    if is_tagged and rng.random() < 0.4:
        return _default(f)
    if version in f.nullable and rng.random() < 0.2:
        return None
    if f.is_array:
        length = rng.choice((0, 1, 1, 2, 3, 130)) if f.struct is None else rng.choice((0, 1, 1, 2))
        return [_value(f, definition, version, rng) for _ in range(length)]
    while True:
        value = _value(f, definition, version, rng)
        # Kafka leaves a tagged structure out when all its fields have their defaults.
        if f.struct is None or not is_tagged or value != type(value)():
            return value


def _default(f: schema.Field) -> Any:
    return list(f.default) if isinstance(f.default, list) else f.default


def _value(f: schema.Field, definition: schema.Message, version: int, rng: random.Random) -> Any:
    if f.struct is not None:
        cls = getattr(getattr(messages, definition.name), f.type)
        return _structure(f.struct, cls, definition, version, rng)
    if f.type in _RANGES:
        return _number(f, rng)
    match f.type:
        case "bool":
            return rng.random() < 0.5
        case "float64":
            return rng.uniform(-1e9, 1e9)
        case "uuid":
            return rng.randbytes(16)
        case "string":
            return "".join(rng.choices(_LETTERS, k=rng.choice((0, 1, 3, 10, 60, 200))))
    return rng.randbytes(rng.choice((0, 1, 5, 126, 127, 128, 300)))


def _number(f: schema.Field, rng: random.Random) -> int:
    if f.name.endswith("error_code"):
        return int(rng.choice(list(Errors)))
    if f.type == "int64" and ("timestamp" in f.name or f.name.endswith("_ms")):
        return rng.randrange(4_000_000_000_000)
    low, high = _RANGES[f.type]
    return rng.choice((0, 1, low, high, rng.randint(low, high), rng.randint(0, 127)))
