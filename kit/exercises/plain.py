"""Answers as plain data, so that they can leave the kernel as JSON.

Pickle would run the learner's code inside the judge; JSON cannot.  Types that JSON lacks
have a form here: bytes as {"bytes": hex}, tuples and sets as lists (sets sorted), dataclasses
and named tuples as objects with their fields, dictionary keys as text or kept as pairs.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

LARGEST_ANSWER = 4_000_000
"""Bytes of JSON that a judge reads: far above any exercise, far below a machine's memory."""


class NotPlain(Exception):
    """The answer holds something that cannot be sent to a judge."""


def to_json(answer: Any) -> str:
    """The answer as one line of JSON.

    Raises NotPlain, with a sentence, if it has no plain form or is too large.
    """
    try:
        text = json.dumps(_plain(answer), allow_nan=False)
    except NotPlain:
        raise
    except Exception as error:  # the answer's own code runs here: a mapping's, an array's
        raise NotPlain(
            f"Your answer cannot be read ({type(error).__name__}: {error}); pass numbers, text, "
            "bytes, lists and dictionaries."
        ) from None
    if len(text) > LARGEST_ANSWER:
        raise NotPlain(
            f"Your answer is {len(text):,} bytes long; check takes at most {LARGEST_ANSWER:,}."
        )
    return text


def from_json(text: str) -> Any:
    return _restored(json.loads(text))


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > 50:
        raise NotPlain("Your answer is nested more than 50 levels deep, or contains itself.")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": repr(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": bytes(value).hex()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return _plain({name: getattr(value, name) for name in names}, depth)
    if hasattr(value, "_asdict"):
        return _plain(value._asdict(), depth)
    if isinstance(value, Mapping):
        pairs = [[_plain(k, depth + 1), _plain(v, depth + 1)] for k, v in value.items()]
        if all(isinstance(key, str) for key, _ in pairs):
            return {"object": dict(pairs)}
        return {"pairs": pairs}
    if isinstance(value, set | frozenset):
        return sorted((_plain(item, depth + 1) for item in value), key=repr)
    if isinstance(value, Sequence):
        return [_plain(item, depth + 1) for item in value]
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return _plain(value.tolist(), depth + 1)
    raise NotPlain(
        f"Your answer holds a {type(value).__name__}, which check cannot send to the judge; "
        "pass numbers, text, bytes, lists and dictionaries."
    )


def _restored(value: Any) -> Any:
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if isinstance(value, dict):
        ((kind, inner),) = value.items()
        if kind == "bytes":
            return bytes.fromhex(inner)
        if kind == "number":
            return float(inner)
        if kind == "object":
            return {key: _restored(item) for key, item in inner.items()}
        return {_hashable(_restored(key)): _restored(item) for key, item in inner}
    return value


def _hashable(key: Any) -> Any:
    return tuple(_hashable(item) for item in key) if isinstance(key, list) else key
