"""A chroot: a part of the tree that is all of the tree to a client.

    zookeeper.connect=zk1:2181,zk2:2181,zk3:2181/a

A broker with this setting asks for /brokers/ids, and the ensemble reads /a/brokers/ids.  Members
know nothing of it.  The client puts the chroot in front of each path that it sends, and takes it
off each path that it hears of.  So several Kafka clusters can share one ensemble, and none sees the
znodes of another.

Source: ZooKeeper's programmer's guide.  Simplified: a chroot is one name below the root.
"""

from __future__ import annotations

import re
from dataclasses import replace

from engine.zookeeper.tree import CloseSession, CreateSession, Multi, Operation, Result

_FORM = re.compile(r"/[\w.-]+")


def check(chroot: str) -> str:
    """ValueError, with the remedy, for what is no chroot."""
    if not _FORM.fullmatch(chroot):
        raise ValueError(f"A chroot is a slash and one name, such as /a, not {chroot!r}.")
    return chroot


def full(chroot: str, path: str) -> str:
    """The path as the ensemble knows it."""
    return chroot + path if path != "/" else chroot or path


def own(chroot: str, path: str) -> str:
    """The path as the client knows it."""
    return path.removeprefix(chroot) or "/"


def below(chroot: str, operation: Operation) -> Operation:
    """The operation as the ensemble gets it."""
    if not chroot or isinstance(operation, CreateSession | CloseSession):
        return operation
    if isinstance(operation, Multi):
        return Multi(tuple(below(chroot, each) for each in operation.parts))  # type: ignore[misc]
    return replace(operation, path=full(chroot, operation.path))


def seen(chroot: str, result: Result) -> Result:
    """The result as the client gets it: only the name that a create chose is a path."""
    return replace(result, path=own(chroot, result.path)) if chroot and result.path else result
