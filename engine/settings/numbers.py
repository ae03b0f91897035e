"""Numbers the way Java reads them.

A config travels as text, and both brokers must take the same texts.  Python's `int` and `float`
are more generous (`5_000`, `infinity`) and in places stricter (`0.5f`) than Java's.
"""

from __future__ import annotations

import re

_WHOLE = re.compile(r"([+-]?)0*(\d{1,99})")
"""More digits are out of every bound, and Python would not read them."""
_DECIMAL = re.compile(
    r"\s*([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?\s*"
)


def whole(text: str) -> int | None:
    """`Integer.parseInt`, without its bounds; None if that would refuse the text."""
    found = _WHOLE.fullmatch(text)
    return int(found[1] + found[2]) if found else None


def decimal(text: str) -> float | None:
    """`Double.parseDouble`, except for hexadecimal; None if that would refuse the text."""
    found = _DECIMAL.fullmatch(text)
    return float(found[1]) if found else None
