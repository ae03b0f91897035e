"""A broker's ZooKeeper client: its session, its connection, its batches and its watches.

    connecting --a member takes it--> connected --no sign of the member for 2/3 of the timeout,
         ^                                |       or the connection ends
         +--------------------------------+
         |
         +--the session is over--> expired --a new session--> connected

A client asks one batch after the other.  If its connection is lost it goes to the next member and
asks again what was not answered: the first attempt may have been carried out, and the caller must
be able to live with that.  While it has no connection it knows nothing of its session's end: only
the ensemble tells, on the next connection.  Then everything that was asked is dropped, the owner
hears `session_expired`, and, when there is a new session, `session_began`.

The client remembers which watches it has and names them to the next member.  A new session has
none.

Source: ZooKeeper's ClientCnxn, Kafka's ZooKeeperClient.  Simplified: members are tried in one
order, drawn at the start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from engine.events import Answered, AnyRequest, Outbox
from engine.zookeeper.chroot import below, own, seen
from engine.zookeeper.messages import Answers, Connect, Connected, Heard, Notice, Operations, Stay
from engine.zookeeper.settings import ZooKeeperSettings
from engine.zookeeper.tree import READS, Code, Operation, Result
from engine.zookeeper.watches import Watch, watch_of

RETRY_US = 100_000
FOR_GOOD_US = 1 << 50
Then = Callable[[int, Sequence[Result]], None]
"""Gets the time and one result for each operation; picklable, like all state."""
_HERE = "zookeeper.client.Client"


@dataclass(frozen=True, slots=True)
class ClientRound:
    """Token of a request to a member: on which connection, and for what."""

    connection: int
    what: str


@dataclass(frozen=True, slots=True)
class ClientTimer:
    """Rings when a ping, or the next attempt to connect, is due."""


class Owner(Protocol):
    """The broker that the session stands for."""

    def session_began(self, now: int) -> None: ...

    def session_expired(self, now: int) -> None: ...

    def noticed(self, now: int, what: str, path: str) -> None:
        """A watch has fired."""


class Client:
    """The client of `node_id`; `session` is 0 while there is none.

    It and its owner know paths below the `chroot`, its watches and the members those of the tree.
    """

    def __init__(
        self,
        node_id: int | str,
        members: Sequence[int],
        settings: ZooKeeperSettings,
        outbox: Outbox,
        ids: Random,
        owner: Owner,
        chroot: str = "",
    ) -> None:
        self.node_id = node_id
        self.members = list(members)
        ids.shuffle(self.members)
        self.settings = settings
        self.outbox = outbox
        self.owner = owner
        self.chroot = chroot
        self.session = 0
        self.connection = 0
        self.is_connected = False
        self.timeout_ms = settings.negotiated_ms(settings.session_timeout_ms)
        self.seen = 0
        self.place = 0
        self.batches: deque[tuple[list[Operation], Then]] = deque()
        self.is_asking = False
        self.is_pinging = False
        self.watches: dict[tuple[str, str], bool] = {}

    @property
    def member(self) -> int:
        return self.members[self.place % len(self.members)]

    def start(self, now: int) -> None:
        self._connect()

    def ask(self, operations: Sequence[Operation], then: Then) -> None:
        """All reads or all writes; `then` gets the results, unless the session ends before."""
        self.batches.append(([below(self.chroot, each) for each in operations], then))
        self._ask_next()

    # -- the connection

    def _connect(self) -> None:
        self.connection += 1
        self.is_connected = self.is_asking = self.is_pinging = False
        watches: list[Watch] = [(*each, there) for each, there in self.watches.items()]
        body = Connect(self.session, self.connection, self.settings.session_timeout_ms, self.seen,
                       watches)  # fmt: skip
        wait_us = self.timeout_ms * 1000 // len(self.members)
        self._send("connect", body, wait_us)

    def _lost(self, now: int) -> None:
        """Goes to the next member, a moment later."""
        if self.is_connected:
            self._trace("_lost", "disconnected", f"no sign of {self.member}")
        self.connection += 1
        self.is_connected = False
        self.place += 1
        self.outbox.set_timer(ClientTimer(), now + RETRY_US)

    def _ask_next(self) -> None:
        if self.is_connected and not self.is_asking and self.batches:
            self.is_asking = True
            body = Operations(self.session, self.connection, self.batches[0][0])
            self._send("batch", body, FOR_GOOD_US)

    def _send(self, what: str, body: Connect | Operations | Stay, timeout_us: int) -> None:
        token = ClientRound(self.connection, what)
        self.outbox.send(self.member, token, body, timeout_us, connection=None)

    # -- what happens

    def expired(self, now: int) -> None:
        """The timer: a ping keeps the session alive; who did not answer one is given up."""
        if not self.is_connected:
            self._connect()
            return
        if self.is_pinging:
            self._lost(now)
            return
        self.is_pinging = True
        self._send("ping", Operations(self.session, self.connection, []), self.timeout_ms * 1000)
        self.outbox.set_timer(ClientTimer(), now + self.timeout_ms * 1000 // 3)

    def answered(self, now: int, token: ClientRound, body: Answered) -> None:
        """A member's answer; None if it was lost."""
        if token.connection != self.connection:
            return
        match token.what, body:
            case "connect", Connected(is_served=True):
                self._connected(now, body)
            case "ping", Answers(results) if results is not None:
                self.is_pinging = False
                self.seen = max(self.seen, body.zxid)
            case "batch", Answers(results) if results is not None:
                self._take(now, body.zxid, results)
            case _:
                self._lost(now)

    def _connected(self, now: int, body: Connected) -> None:
        if body.session == 0:
            self._trace("_connected", "session-expired", "the ensemble has closed it",
                        session=hex(self.session))  # fmt: skip
            self.session, self.watches = 0, {}
            self.batches.clear()
            self.owner.session_expired(now)
            self._connect()
            return
        is_new = self.session != body.session
        self.session, self.timeout_ms, self.is_connected = body.session, body.timeout_ms, True
        self._trace("_connected", "connected", "a new session" if is_new else "the same session",
                    member=self.member, session=hex(self.session))  # fmt: skip
        self._send("stay", Stay(self.session, self.connection), FOR_GOOD_US)
        self.outbox.set_timer(ClientTimer(), now + self.timeout_ms * 1000 // 3)
        if is_new:
            self.owner.session_began(now)
        self._ask_next()

    def _take(self, now: int, zxid: int, results: Sequence[Result]) -> None:
        if any(each.code is Code.SESSION_EXPIRED for each in results):
            self._lost(now)  # the next member will say so
            return
        self.seen = max(self.seen, zxid)
        operations, then = self.batches.popleft()
        for operation, result in zip(operations, results, strict=True):
            if isinstance(operation, READS):
                watch = watch_of(operation, result)
                if watch is not None:
                    self.watches[watch[0], watch[1]] = watch[2]
        self.is_asking = False
        then(now, [seen(self.chroot, each) for each in results])
        self._ask_next()

    def noticed(self, now: int, request: AnyRequest) -> None:
        """A watch has fired: it is used up."""
        body = request.body
        assert isinstance(body, Notice)
        self.outbox.reply(request, Heard())
        if body.connection != self.connection:
            return
        self.seen = max(self.seen, body.zxid)
        for kind in ("data", "child"):
            if (kind == "child") == (body.what == "children") or body.what == "deleted":
                self.watches.pop((kind, body.path), None)
        self._trace("noticed", "watch", "it is used up", what=body.what, path=body.path)
        self.owner.noticed(now, body.what, own(self.chroot, body.path))

    def _trace(self, method: str, kind: str, why: str, **fields: object) -> None:
        self.outbox.trace(f"{_HERE}.{method}", kind, "", why, **fields)
