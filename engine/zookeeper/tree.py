"""The tree of znodes: what each request changes, what it answers, and which clients it concerns.

    /controller            {"brokerid":101}      ephemeral: gone with the session of 101
    /controller_epoch      7                     version 7: it was set seven times
    /brokers/topics/orders                       has children, so it cannot be deleted

A znode has a few bytes of data and children.  `version` counts the changes of the data, `cversion`
those of the children.  A set or delete may name the version that it expects; if another client was
faster, it fails with BADVERSION.  *Multi* is a list of changes and checks of which all happen or
none: so a write can depend on a znode that it does not change.

Every change has a number, the zxid; `czxid` is that of the znode's creation, `mzxid` that of the
last change of its data, `pzxid` that of its children's.  As the tree only depends on the changes
and their order, all members have the same.

    create   tells "created" to who watches the path, "children" to who watches the parent
    set      tells "changed"
    delete   tells "deleted", and "children" to who watches the parent

Left out: ACLs, quotas, containers, znodes with a time to live.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum


class Code(IntEnum):
    """ZooKeeper's result codes, those that are used here."""

    OK = 0
    RUNTIME_INCONSISTENCY = -2
    NO_NODE = -101
    BAD_VERSION = -103
    NO_CHILDREN_FOR_EPHEMERALS = -108
    NODE_EXISTS = -110
    NOT_EMPTY = -111
    SESSION_EXPIRED = -112


ANY_VERSION = -1
CREATED, CHANGED, DELETED, CHILDREN = "created", "changed", "deleted", "children"
Change = tuple[str, str]
"""What happened to a path, for those that watch it."""


@dataclass(frozen=True, slots=True)
class Create:
    """`ephemeral`: it goes with the session; `sequential`: the parent's counter ends its name."""

    path: str
    data: str = ""
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    path: str
    data: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Within a multi: the data of a znode has this version."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Multi:
    """All of it or nothing."""

    parts: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class CreateSession:
    session: int
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class CloseSession:
    """Its ephemeral znodes go with it."""

    session: int


@dataclass(frozen=True, slots=True)
class GetData:
    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Exists:
    """Like GetData without the data; its watch also hears of a znode that is created."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class GetChildren:
    path: str
    watch: bool = False


Read = GetData | Exists | GetChildren
Write = Create | SetData | Delete | Check | Multi | CreateSession | CloseSession
Operation = Read | Write
READS = (GetData, Exists, GetChildren)


@dataclass(frozen=True, slots=True)
class Znode:
    """`ephemeral_owner` is the session that it ends with; 0 for a persistent one."""

    data: str
    czxid: int
    mzxid: int
    pzxid: int
    version: int = 0
    cversion: int = 0
    ephemeral_owner: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What a request gets.  `path` is the name that a create chose; `parts` are a multi's."""

    code: Code = Code.OK
    znode: Znode | None = None
    children: tuple[str, ...] = ()
    path: str = ""
    parts: tuple[Result, ...] = ()

    @property
    def is_ok(self) -> bool:
        return self.code is Code.OK


@dataclass(slots=True)
class Tree:
    """Znodes by path, names of children by parent, session timeouts and ephemerals by session."""

    nodes: dict[str, Znode] = field(default_factory=lambda: {"/": Znode("", 0, 0, 0)})
    children: dict[str, dict[str, None]] = field(default_factory=lambda: {"/": {}})
    sessions: dict[int, int] = field(default_factory=dict)
    ephemerals: dict[int, dict[str, None]] = field(default_factory=dict)

    def copy(self) -> Tree:
        """An independent tree; znodes never change, so both may hold the same ones."""
        children = {path: dict(names) for path, names in self.children.items()}
        ephemerals = {session: dict(paths) for session, paths in self.ephemerals.items()}
        return Tree(dict(self.nodes), children, dict(self.sessions), ephemerals)

    def read(self, asked: Read) -> Result:
        znode = self.nodes.get(asked.path)
        if znode is None:
            return Result(Code.NO_NODE)
        if isinstance(asked, GetChildren):
            return Result(znode=znode, children=tuple(sorted(self.children.get(asked.path, ()))))
        return Result(znode=znode)

    def apply(self, zxid: int, session: int, write: Write) -> tuple[Result, list[Change]]:
        """Carries a change out; `session` is the one that asked, 0 for the ensemble itself."""
        if session and session not in self.sessions:
            return Result(Code.SESSION_EXPIRED), []
        changes: list[Change] = []
        if not isinstance(write, Multi):
            return self._apply(zxid, session, write, changes), changes
        before: list[tuple[str, Znode | None]] = []
        results: list[Result] = []
        for part in write.parts:
            before += [(path, self.nodes.get(path)) for path in _touched(self, part)]
            results.append(self._apply(zxid, session, part, changes))
            if not results[-1].is_ok:
                for path, znode in reversed(before):
                    self._put(path, znode)
                rest = len(write.parts) - len(results)
                results += [Result(Code.RUNTIME_INCONSISTENCY)] * rest
                failed = next(each.code for each in results if not each.is_ok)
                return Result(failed, parts=tuple(results)), []
        return Result(parts=tuple(results)), changes

    def _apply(self, zxid: int, session: int, write: Write, changes: list[Change]) -> Result:
        match write:
            case Create():
                return self._create(zxid, session, write, changes)
            case SetData(path, data, version):
                znode = self.nodes.get(path)
                refused = _refused(znode, version)
                if refused or znode is None:
                    return Result(refused)
                made = replace(znode, data=data, mzxid=zxid, version=znode.version + 1)
                self.nodes[path] = made
                changes.append((CHANGED, path))
                return Result(znode=made)
            case Delete(path, version):
                refused = _refused(self.nodes.get(path), version)
                if not refused and self.children.get(path):
                    refused = Code.NOT_EMPTY
                if not refused:
                    self._delete(zxid, path, changes)
                return Result(refused)
            case Check(path, version):
                return Result(_refused(self.nodes.get(path), version))
            case CreateSession(opened, timeout_ms):
                self.sessions[opened] = timeout_ms
            case CloseSession(closed):
                self.sessions.pop(closed, None)
                for path in tuple(self.ephemerals.get(closed, ())):
                    self._delete(zxid, path, changes)
            case Multi():
                raise ValueError("a multi has no multi in it")
        return Result()

    def _create(self, zxid: int, session: int, write: Create, changes: list[Change]) -> Result:
        above = parent(write.path)
        holder = self.nodes.get(above)
        if holder is None:
            return Result(Code.NO_NODE)
        if holder.ephemeral_owner:
            return Result(Code.NO_CHILDREN_FOR_EPHEMERALS)
        path = write.path + (f"{holder.cversion:010d}" if write.sequential else "")
        if path in self.nodes:
            return Result(Code.NODE_EXISTS)
        made = Znode(
            write.data, zxid, zxid, zxid, ephemeral_owner=session if write.ephemeral else 0
        )
        self._put(path, made)
        self._put(above, replace(holder, cversion=holder.cversion + 1, pzxid=zxid))
        changes += [(CREATED, path), (CHILDREN, above)]
        return Result(znode=made, path=path)

    def _delete(self, zxid: int, path: str, changes: list[Change]) -> None:
        above = parent(path)
        self._put(path, None)
        holder = self.nodes[above]
        self._put(above, replace(holder, cversion=holder.cversion + 1, pzxid=zxid))
        changes += [(DELETED, path), (CHILDREN, above)]

    def _put(self, path: str, znode: Znode | None) -> None:
        """A path gets a znode, another one, or none."""
        old = self.nodes.get(path)
        if old is not None and old.ephemeral_owner:
            self.ephemerals[old.ephemeral_owner].pop(path)
        siblings = self.children.setdefault(parent(path), {})
        if znode is None:
            self.nodes.pop(path, None)
            self.children.pop(path, None)
            siblings.pop(name_of(path), None)
            return
        self.nodes[path] = znode
        if path != "/":
            siblings[name_of(path)] = None
        if znode.ephemeral_owner:
            self.ephemerals.setdefault(znode.ephemeral_owner, {})[path] = None


def _refused(znode: Znode | None, version: int) -> Code:
    if znode is None:
        return Code.NO_NODE
    return Code.OK if version in (ANY_VERSION, znode.version) else Code.BAD_VERSION


def _touched(tree: Tree, write: Write) -> Iterator[str]:
    """The paths that one change may change, so that they can be put back."""
    if isinstance(write, Create | SetData | Delete):
        above = parent(write.path)
        holder = tree.nodes.get(above)
        sequence = f"{holder.cversion:010d}" if holder is not None else ""
        numbered = isinstance(write, Create) and write.sequential
        yield above
        yield write.path + (sequence if numbered else "")


def parent(path: str) -> str:
    """`/brokers` of `/brokers/ids`, and `/` of `/brokers`."""
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> str:
    return path.rpartition("/")[2]
