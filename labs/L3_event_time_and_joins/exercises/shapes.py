"""What a judge can read: rows of plain values, as a query writes them."""

from __future__ import annotations

from typing import Any


def are_rows(seen: Any, width: int) -> bool:
    """Whether a result is a list of rows of that width: a name first, then numbers or nulls."""
    return isinstance(seen, list) and all(
        isinstance(row, list)
        and len(row) == width
        and isinstance(row[0], str)
        and all(value is None or isinstance(value, int | float) for value in row[1:])
        for row in seen
    )
