"""ZooKeeper's protocol: a conversation with ZooKeeper 3.8.4, recorded byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from kit.clusters.connections import Address, Unreachable
from kit.clusters.interface import ClusterError
from kit.clusters.znodes import Tree, Znode, _Session, mode

OPENED = (
    "000000000000000000000000000075300000000000000000000000100000000000000000000000000000000000",
    "00000000000075300100023c4c47000200000010c57407bd5c9efe4a5741bc979e73804900",
)
BROKERS = (
    (
        "0000000100000004000000082f62726f6b65727300",
        "00000001000000010000004100000000ffffffff00000001000000040000000100000004000001a229e3c348"
        "000001a229e3c34800000000000000030000000000000000000000000000000000000003000000010000000d",
    ),
    (
        "000000020000000c000000082f62726f6b65727300",
        "00000002000000010000004100000000000000030000000369647300000006746f7069637300000005736571"
        "696400000001000000040000000100000004000001a229e3c348000001a229e3c34800000000000000030000"
        "000000000000000000000000000000000003000000010000000d",
    ),
)
NOTHING = (("0000000100000004000000082f6e6f7468696e6700", "000000010000000100000041ffffff9b"),)
CONTROLLER = (
    (
        "00000001000000040000000b2f636f6e74726f6c6c657200",
        "00000001000000010000004100000000000000527b2276657273696f6e223a322c2262726f6b65726964223a"
        "3130322c2274696d657374616d70223a2231373935393939313234303530222c226b72616674436f6e74726f"
        "6c6c657245706f6368223a2d317d000000010000003d000000010000003d000001a229e3ca59000001a229e3"
        "ca590000000000000000000000000300023c4c6900000000005200000000000000010000003d",
    ),
    (
        "000000020000000c0000000b2f636f6e74726f6c6c657200",
        "0000000200000001000000410000000000000000000000010000003d000000010000003d000001a229e3ca59"
        "000001a229e3ca590000000000000000000000000300023c4c6900000000005200000000000000010000003d",
    ),
)
CLOSED = ("00000000fffffff5", "")
Lines = tuple[tuple[str, str], ...]


def framed(message: str) -> bytes:
    return (len(message) // 2).to_bytes(4, "big") + bytes.fromhex(message)


def read(end: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        piece = end.recv(size - len(received))
        if not piece:
            break
        received += piece
    return received


@contextmanager
def member(*conversations: Lines) -> Iterator[tuple[Address, list[str]]]:
    """A member that holds one conversation for each connection, then hangs up; what was wrong."""
    wrong: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as door:

        def serve() -> None:
            for lines in conversations:
                connection, _ = door.accept()
                # A client that leaves an answer unread resets the connection.
                with connection, suppress(ConnectionError):
                    for asked, answer in lines:
                        got = read(connection, len(framed(asked)))
                        if got != framed(asked):
                            wrong.append(f"{got.hex()} for {asked}")
                        connection.sendall(framed(answer) if answer else b"")

        served = threading.Thread(target=serve)
        served.start()
        yield door.getsockname(), wrong
        served.join(10)
        assert not served.is_alive(), "not all was asked"
    assert wrong == []


def looked(conversation: Lines, path: str) -> Znode | None:
    with member((OPENED, *conversation, CLOSED)) as (address, _):
        tree = Tree(lambda: [address])
        found = tree.znode(path)
        tree.close()
        return found


def test_a_persistent_znode_has_children_and_no_owner() -> None:
    found = looked(BROKERS, "/brokers")
    assert found == Znode(
        "/brokers", None, 0, 0, ("ids", "seqid", "topics"), 1 << 32 | 4, 1 << 32 | 4
    )


def test_an_ephemeral_znode_has_an_owner_and_data() -> None:
    found = looked(CONTROLLER, "/controller")
    assert found is not None
    assert found.data is not None
    assert '"brokerid":102' in found.data
    assert (found.version, found.children) == (0, ())
    assert found.ephemeral_owner == 0x300023C4C690000
    assert found.czxid == found.mzxid == 1 << 32 | 0x3D


def test_a_znode_that_is_not_there_is_none() -> None:
    assert looked(NOTHING, "/nothing") is None


def test_an_expired_session_is_followed_by_another() -> None:
    with member((OPENED, *NOTHING), (OPENED, *BROKERS, CLOSED)) as (address, _):
        tree = Tree(lambda: [address])
        assert tree.znode("/nothing") is None
        assert tree.znode("/brokers") is not None
        tree.close()


def test_an_interrupted_question_is_not_answered_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with member((OPENED, BROKERS[0], CLOSED), (OPENED, *BROKERS, CLOSED)) as (address, _):
        tree = Tree(lambda: [address])

        def interrupted(session: _Session, size: int, read: Any = _Session._read) -> bytes:
            if session._number == 1:
                raise KeyboardInterrupt
            return bytes(read(session, size))

        monkeypatch.setattr(_Session, "_read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tree.znode("/brokers")
        monkeypatch.undo()
        assert tree.znode("/brokers") is not None
        tree.close()


def test_a_member_out_of_service_is_passed_over() -> None:
    with member((), (OPENED, *BROKERS, CLOSED)) as (address, _):
        tree = Tree(lambda: [("127.0.0.1", 1), address, address])
        assert tree.znode("/brokers") is not None
        tree.close()


@pytest.mark.parametrize("addresses", [[], [("127.0.0.1", 1)]])
def test_an_ensemble_that_does_not_answer_gets_a_sentence(addresses: list[Address]) -> None:
    with pytest.raises(Unreachable, match="is a majority of it running"):
        Tree(lambda: addresses).znode("/controller")


@pytest.mark.parametrize("path", ["controller", "/brokers/", ""])
def test_a_wrong_path_gets_a_sentence(path: str) -> None:
    with pytest.raises(ClusterError, match="is no path of a znode"):
        Tree(list).znode(path)


def test_a_subtree_is_read_to_its_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    children = {"/": ("a", "b"), "/a": ("c",), "/a/c": ()}  # /b went away meanwhile

    def znode(_: Tree, path: str) -> Znode | None:
        return Znode(path, None, 0, 0, children[path], 1, 1) if path in children else None

    monkeypatch.setattr(Tree, "znode", znode)
    assert list(Tree(list).znodes()) == ["/", "/a", "/a/c"]
    assert list(Tree(list).znodes("/a")) == ["/a", "/a/c"]
    assert Tree(list).znodes("/b") == {}


def asked_for_its_mode(answer: bytes) -> str:
    with socket.create_server(("127.0.0.1", 0)) as door:

        def serve() -> None:
            connection, _ = door.accept()
            with connection:
                assert read(connection, 4) == b"srvr"
                connection.sendall(answer)

        served = threading.Thread(target=serve)
        served.start()
        found = mode(door.getsockname())
        served.join(10)
        return found


def test_a_member_says_what_it_is() -> None:
    assert (
        asked_for_its_mode(b"Zookeeper version: 3.8.4\nZxid: 0x1\nMode: follower\n") == "follower"
    )
    assert (
        asked_for_its_mode(b"This ZooKeeper instance is not currently serving requests\n") == "none"
    )
    assert mode(("127.0.0.1", 1)) == "none"
