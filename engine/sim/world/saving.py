"""A world's state as bytes, and back into the very same objects.

Who rewinds a world holds on to it: to the world, its cluster, a producer that it was given.
These must stay the same objects, or the notebook's variable would show a world that is no
more.  So they are not pickled as a whole: within the pickle a *name* stands for each, beside
it the contents of each, and loading pours the contents into the objects that carry the names.

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
        vars(each).clear()
        vars(each).update(contents[name], **kept)
    return parts, found
