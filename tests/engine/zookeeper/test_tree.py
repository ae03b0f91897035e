"""ZooKeeper's rules, as tables: znodes, versions, multi, ephemerals, watches, sessions."""

from __future__ import annotations

import pytest

from engine.zookeeper.sessions import Sessions
from engine.zookeeper.settings import ZooKeeperSettings, divide
from engine.zookeeper.tree import (
    ANY_VERSION,
    Check,
    CloseSession,
    Code,
    Create,
    CreateSession,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    SetData,
    Tree,
    Write,
)
from engine.zookeeper.watches import Watches, missed, watch_of

OWNER, OTHER = 7, 8


@pytest.fixture
def tree() -> Tree:
    """/a of version 1 with the child /a/b, and /e, an ephemeral of OWNER."""
    made = Tree()
    writes: list[tuple[int, Write]] = [
        (0, CreateSession(OWNER, 3_000)), (0, CreateSession(OTHER, 3_000)), (OWNER, Create("/a")),
        (OWNER, SetData("/a", "one")), (OWNER, Create("/a/b")),
        (OWNER, Create("/e", ephemeral=True)),
    ]  # fmt: skip
    for zxid, (session, write) in enumerate(writes, 1):
        assert made.apply(zxid, session, write)[0].is_ok
    return made


@pytest.mark.parametrize(
    ("write", "code"),
    [
        (Create("/c"), Code.OK),
        (Create("/a"), Code.NODE_EXISTS),
        (Create("/x/y"), Code.NO_NODE),
        (Create("/e/child"), Code.NO_CHILDREN_FOR_EPHEMERALS),
        (SetData("/a", "two", ANY_VERSION), Code.OK),
        (SetData("/a", "two", 1), Code.OK),
        (SetData("/a", "two", 0), Code.BAD_VERSION),
        (SetData("/x", "two"), Code.NO_NODE),
        (Delete("/a/b"), Code.OK),
        (Delete("/a/b", 3), Code.BAD_VERSION),
        (Delete("/a"), Code.NOT_EMPTY),
        (Delete("/x"), Code.NO_NODE),
        (Multi((Check("/a", 1), SetData("/a/b", "x"))), Code.OK),
        (Multi((Check("/a", 0), SetData("/a/b", "x"))), Code.BAD_VERSION),
        (Multi((SetData("/a/b", "x"), Create("/a"))), Code.NODE_EXISTS),
    ],
)
def test_a_write_gets_its_code(tree: Tree, write: Write, code: Code) -> None:
    assert tree.apply(9, OWNER, write)[0].code is code


def test_a_multi_that_fails_changes_nothing_and_informs_no_one(tree: Tree) -> None:
    before = tree.copy()
    parts = (SetData("/a", "x"), Create("/a/n-", sequential=True), Delete("/e"), Create("/a"))
    result, changes = tree.apply(9, OWNER, Multi(parts))
    assert [each.code for each in result.parts] == [Code.OK] * 3 + [Code.NODE_EXISTS]
    assert changes == []
    assert tree == before


def test_versions_count_changes_of_data_and_of_children(tree: Tree) -> None:
    tree.apply(9, OWNER, Create("/a/c"))
    tree.apply(10, OWNER, Delete("/a/b"))
    znode = tree.nodes["/a"]
    assert (znode.version, znode.cversion) == (1, 3)
    assert (znode.czxid, znode.mzxid, znode.pzxid) == (3, 4, 10)


def test_sequential_znodes_are_numbered_by_their_parent(tree: Tree) -> None:
    names = [tree.apply(9, OWNER, Create("/a/n-", sequential=True))[0].path for _ in range(2)]
    assert names == ["/a/n-0000000001", "/a/n-0000000002"]


def test_an_ephemeral_goes_with_its_session_and_with_no_other(tree: Tree) -> None:
    tree.apply(9, 0, CloseSession(OTHER))
    assert "/e" in tree.nodes
    _, changes = tree.apply(10, 0, CloseSession(OWNER))
    assert "/e" not in tree.nodes
    assert changes == [("deleted", "/e"), ("children", "/")]


def test_a_session_that_is_over_writes_nothing(tree: Tree) -> None:
    tree.apply(9, 0, CloseSession(OWNER))
    assert tree.apply(10, OWNER, Create("/c"))[0].code is Code.SESSION_EXPIRED
    assert "/c" not in tree.nodes


# -- watches


@pytest.mark.parametrize(
    ("read", "write", "hears"),
    [
        (GetData("/a", True), SetData("/a", "x"), "changed"),
        (GetData("/a/b", True), Delete("/a/b"), "deleted"),
        (GetData("/a", True), Create("/a/c"), ""),
        (GetChildren("/a", True), Create("/a/c"), "children"),
        (GetChildren("/a", True), Delete("/a/b"), "children"),
        (GetChildren("/a", True), SetData("/a", "x"), ""),
        (Exists("/c", True), Create("/c"), "created"),
        (Exists("/c", False), Create("/c"), ""),
    ],
)
def test_a_watch_hears_once_and_at_the_next_member_too(tree, read, write, hears) -> None:
    """The second half: a client that moves between read and change hears of it all the same."""
    watch = watch_of(read, tree.read(read))
    watches = Watches()
    if watch is not None:
        watches.add(OTHER, watch[0], watch[1])
    _, changes = tree.apply(9, OWNER, write)
    heard = [change[0] for change in changes if watches.fire(change) == [OTHER]]
    assert heard == ([hears] if hears else [])
    assert [watches.fire(change) for change in changes] == [[]] * len(changes)
    late = missed(tree, watch, seen=8) if watch is not None else None
    assert (late[0] if late is not None else "") == hears
    assert watch is None or missed(tree, watch, seen=9) is None or hears in ("deleted", "created")


# -- sessions and settings


@pytest.mark.parametrize(("at_us", "over"), [(4_999_999, []), (5_000_000, [OWNER])])
def test_a_session_is_over_at_the_first_tick_after_its_timeout(at_us: int, over: list[int]) -> None:
    sessions = Sessions(tick_us=1_000_000)
    sessions.restart(0, [OWNER])
    sessions.touch(1_200_000, OWNER)
    assert sessions.over(at_us, {OWNER: 3_000}) == over
    assert sessions.over(at_us, {OWNER: 3_000}) == []


@pytest.mark.parametrize(("asked", "given"), [(100, 4_000), (18_000, 18_000), (90_000, 40_000)])
def test_the_ensemble_allows_two_to_twenty_ticks(asked: int, given: int) -> None:
    assert ZooKeeperSettings().negotiated_ms(asked) == given


def test_historic_configs_are_kept_apart_from_those_of_today() -> None:
    own, others = divide({"zookeeper.session.timeout.ms": "6000", "num.partitions": 3})
    assert own.session_timeout_ms == 6_000
    assert others == {"num.partitions": 3}
    with pytest.raises(ValueError, match="tickTime is a whole number from 1 on, not 0"):
        divide({"tickTime": 0})
