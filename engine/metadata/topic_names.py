"""Which names a topic may have.

A topic's name becomes part of directory names and of metric names.  So it has at most 249 ASCII
letters, digits, `.`, `_` and `-`, and is neither `.` nor `..`.  Metrics write `_` for `.`, so two
names that differ in nothing else collide; the controller refuses the second.
"""

from __future__ import annotations

import re

MAX_LENGTH = 249
INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics that belong to Kafka itself: a client may not delete or write them."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def problem_with(name: str) -> str | None:
    """Why a topic cannot have this name, in a sentence; None if it can."""
    if not name:
        return "A topic needs a name."
    if name in (".", ".."):
        return f"A topic cannot be called {name!r}: that is a directory's name."
    if len(name) > MAX_LENGTH:
        return f"A topic's name has at most {MAX_LENGTH} characters; this one has {len(name)}."
    if not _LEGAL.fullmatch(name):
        return f"A topic's name has letters, digits, '.', '_' and '-' only; {name!r} has others."
    return None


def collision_key(name: str) -> str:
    """Names with the same key collide in metrics."""
    return name.replace(".", "_")
