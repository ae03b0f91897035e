"""One-shot watches: a client asks to be informed of the next change, and only of that.

A watch belongs to a read: what the client has read is true until it is informed.  The notice says
what kind of thing happened, not what is there now; the client reads again, and with that read it
watches again.  Changes in between are not reported one by one, but none is missed.

    exists, getData  -> data watch    hears created, changed, deleted
    getChildren      -> child watch   hears children, and deleted

Watches are kept by the member that the client is connected to.  A client that moves to another
member names its watches there with the last zxid it has seen, and hears at once of what it missed.
"""

from __future__ import annotations

from engine.zookeeper.tree import (
    CHANGED,
    CHILDREN,
    CREATED,
    DELETED,
    Change,
    GetChildren,
    Read,
    Result,
    Tree,
)

DATA, CHILD = "data", "child"
Watch = tuple[str, str, bool]
"""Kind of watch, path, and whether the znode was there when it was read."""


def watch_of(asked: Read, result: Result) -> Watch | None:
    """What a read that asks for a watch sets: none if there are no children to be watched."""
    if not asked.watch:
        return None
    if isinstance(asked, GetChildren):
        return (CHILD, asked.path, True) if result.is_ok else None
    return DATA, asked.path, result.is_ok


def missed(tree: Tree, watch: Watch, seen: int) -> Change | None:
    """What happened to a watched path after the zxid `seen`; None if nothing did."""
    kind, path, was_there = watch
    znode = tree.nodes.get(path)
    if znode is None:
        return (DELETED, path) if was_there else None
    if kind == DATA:
        if not was_there or znode.czxid > seen:
            return CREATED, path
        return (CHANGED, path) if znode.mzxid > seen else None
    return (CHILDREN, path) if znode.pzxid > seen else None


class Watches:
    """The watches of all clients of one member."""

    def __init__(self) -> None:
        self.by_path: dict[tuple[str, str], dict[int, None]] = {}

    def add(self, session: int, kind: str, path: str) -> None:
        self.by_path.setdefault((kind, path), {})[session] = None

    def fire(self, change: Change) -> list[int]:
        """The sessions to be informed of a change; their watches on it are used up."""
        what, path = change
        kinds = {CHILDREN: (CHILD,), DELETED: (DATA, CHILD)}.get(what, (DATA,))
        found: dict[int, None] = {}
        for kind in kinds:
            found.update(self.by_path.pop((kind, path), {}))
        return list(found)

    def forget(self, session: int) -> None:
        """The client is connected elsewhere, or gone."""
        for place, watchers in tuple(self.by_path.items()):
            watchers.pop(session, None)
            if not watchers:
                del self.by_path[place]
