"""A world's state as bytes, and back into the very same objects.

A notebook holds on to a world, to its cluster, to a producer that it added.  These must stay
the same objects when the world goes back, or the notebook's variables would show a world that
does not exist any more.  So they are not pickled as a whole.  Within the pickle a *name* stands
for each object; its contents are stored beside it.  Loading gives each named object its contents.

    pickle   parts:     … <cluster> … <producer-1> …
             contents:  cluster: {now: …, queue: […]}   producer-1: {made: 17, …}
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any

LEFT_OUT = "trace"
"""Not part of a cluster's state: engine/sim/world/timeline.py keeps it."""


class _Writer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, names: Mapping[int, str]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.names = names

    def persistent_id(self, item: Any) -> str | None:
        return self.names.get(id(item))


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, held: Mapping[str, Any]) -> None:
        super().__init__(file)
        self.held = held

    def persistent_load(self, name: str) -> Any:
        return self.held[name]


def save(parts: Any, held: Mapping[str, Any]) -> bytes:
    """`parts` pickled, with the contents of the objects in `held` beside it."""
    file = io.BytesIO()
    names = {id(each): name for name, each in held.items()}
    contents = {name: {**vars(each)} for name, each in held.items()}
    for each in contents.values():
        each.pop(LEFT_OUT, None)
    pickle.dump({name: type(each) for name, each in held.items()}, file)
    _Writer(file, names).dump((parts, contents))
    return file.getvalue()


def load(state: bytes, held: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The parts, and the held objects by name; one that `held` does not have is made."""
    file = io.BytesIO(state)
    found = {}
    for name, kind in pickle.load(file).items():
        there = held.get(name)
        found[name] = there if type(there) is kind else kind.__new__(kind)
    parts, contents = _Reader(file, found).load()
    for name, each in found.items():
        kept = {LEFT_OUT: vars(each)[LEFT_OUT]} if LEFT_OUT in vars(each) else {}
        become(each, {**contents[name], **kept})
    return parts, found


def become(held: Any, contents: Mapping[str, Any]) -> Any:
    """Gives an object other contents; it stays the object that users hold on to."""
    held.__dict__ = dict(contents)
    return held
