"""A member of the ensemble: it serves the clients that are connected to it.

    Connect     a session begins, or goes on here, with its watches
    Operations  reads are answered here and now; writes go through the leader, and are answered
                when this member has carried them out
    Stay        ends when the connection does

A read may be older than what another member has already carried out, but never older than what
this client has seen: a member that is behind the client's last zxid does not take it.  Session ids
begin with the member's number.  A member that has no leader serves no clients and ends all
connections, so that they look for another one.

Stay is ZooKeeper's TCP connection: a client learns at once that its member's process is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from engine.events import AnyRequest, Effect, Event, Expired, Outbox, Request, Response, Token
from engine.storage.disk import Disk
from engine.zookeeper import znodes
from engine.zookeeper.agreement import Agreement, AgreementTimer, LeaderLink, PeerRound, Role
from engine.zookeeper.chroot import full
from engine.zookeeper.messages import (
    OF_MEMBERS,
    Answers,
    Connect,
    Connected,
    Notice,
    Operations,
    PassOn,
    Proposal,
    Stay,
    Taken,
)
from engine.zookeeper.sessions import Sessions
from engine.zookeeper.settings import ZooKeeperSettings
from engine.zookeeper.tree import READS, CloseSession, CreateSession, Result, Tree, Write
from engine.zookeeper.watches import Watches, missed, watch_of

PASS_ON_US = 30_000_000
_HERE = "zookeeper.member.Member"


@dataclass(frozen=True, slots=True)
class Due:
    """Rings when the time that a batch takes is over."""

    number: int


@dataclass(frozen=True, slots=True)
class SessionTick:
    """Rings once a tick, at the leader: which sessions are over?"""


@dataclass(frozen=True, slots=True)
class PassedOn:
    """Token of writes that the leader was asked to propose."""

    number: int


@dataclass(frozen=True, slots=True)
class NoticeRound:
    """Token of a notice to a client."""

    session: int
    connection: int


@dataclass(slots=True)
class Connection:
    """A client's connection: its number, and the open request that stands for it."""

    client: int | str
    number: int
    stay: AnyRequest | None = None


@dataclass(slots=True)
class Waiting:
    """A client's request that is not answered yet, with the results so far."""

    request: AnyRequest
    results: list[Result]
    wanted: int


class Member:
    """Member `node_id` on `disk`; `ids` is its only source of randomness.

    `tree` is what was there before the first change; all members begin with the same.
    """

    def __init__(
        self,
        node_id: int,
        members: Sequence[int],
        settings: ZooKeeperSettings,
        disk: Disk,
        ids: Random,
        tree: Tree | None = None,
    ) -> None:
        self.node_id = node_id
        self.settings = settings
        self.outbox = Outbox()
        self.tree = tree or Tree()
        self.agreement = Agreement(node_id, members, settings, disk, self.outbox, ids, self)
        self.sessions = Sessions(settings.tick_us)
        self.watches = Watches()
        self.connections: dict[int, Connection] = {}
        self.waiting: dict[int, Waiting] = {}
        self.heard: dict[int, None] = {}
        # Proposals of a former process must not be taken for requests of this one.
        self.last_number = ids.randrange(1 << 30) << 20
        self.last_session = (node_id << 56) + (ids.randrange(1 << 24) << 16)

    def controller_epoch(self, chroot: str = "") -> int:
        """How many controllers the brokers have had, as far as this member knows."""
        znode = self.tree.nodes.get(full(chroot, znodes.CONTROLLER_EPOCH))
        return 0 if znode is None else int(znode.data)

    @property
    def is_leading(self) -> bool:
        return self.agreement.role is Role.LEADING and self.agreement.is_serving

    def start(self, now: int) -> list[Effect]:
        self.agreement.start(now)
        return self.outbox.drain()

    def stop(self, now: int) -> list[Effect]:
        """Nothing has to be moved away first."""
        self.outbox.halt()
        return self.outbox.drain()

    def close(self) -> None:
        """Everything is on the disk already."""

    def step(self, now: int, event: Event) -> list[Effect]:
        match event:
            case Request() if isinstance(event.body, OF_MEMBERS):
                self.agreement.requested(now, event)
            case Request():
                self._on_request(now, event)
            case Response(_, PeerRound() | LeaderLink() as token, body):
                self.agreement.answered(now, token, body)
            case Response(_, PassedOn(number), body):
                if not (isinstance(body, Taken) and body.is_taken):
                    self._fail(number)
            case Response(_, NoticeRound(session, connection), None):
                self._hang_up(session, connection)
            case Expired():
                self._on_timer(now, event.token)
        return self.outbox.drain()

    def _on_timer(self, now: int, token: Token) -> None:
        match token:
            case AgreementTimer():
                self.agreement.expired(now)
            case Due(number):
                if number in self.waiting:
                    self._carry_out(now, number)
            case SessionTick() if self.is_leading:
                for session in self.sessions.over(now, self.tree.sessions):
                    owned = tuple(self.tree.ephemerals.get(session, ()))
                    self._trace("_on_timer", "session-over", "not heard of for its timeout",
                                session=hex(session), owned=owned)  # fmt: skip
                    self.agreement.propose(now, 0, [CloseSession(session)], (0, 0))
                self.outbox.set_timer(SessionTick(), now + self.settings.tick_us)

    # -- clients

    def _on_request(self, now: int, request: AnyRequest) -> None:
        body = request.body
        match body:
            case Connect():
                self._connect(now, request, body)
            case Stay(session, number):
                known = self.connections.get(session)
                if known is not None and known.number == number and known.client == request.source:
                    known.stay = request
                elif session == 0:
                    self.agreement.requested(now, request)  # another member's
                else:
                    self.outbox.reply(request, Answers(None))
            case Operations(session, number, operations):
                known = self.connections.get(session)
                if known is None or known.number != number:
                    self.outbox.reply(request, Answers(None))
                    return
                self._touch(now, session)
                if not operations:
                    self.outbox.reply(request, Answers([], self.agreement.applied))
                    return
                self._wait(now, request, len(operations))
            case PassOn(session, writes, number):
                assert isinstance(request.source, int)
                origin = (request.source, number)
                taken = self.agreement.propose(now, session, writes, origin)
                self.outbox.reply(request, Taken(taken))

    def _connect(self, now: int, request: AnyRequest, body: Connect) -> None:
        if not self.agreement.is_serving or body.seen > self.agreement.applied:
            self.outbox.reply(request, Connected(is_served=False))
        elif body.session == 0:
            self._wait(now, request, 1)
        elif body.session not in self.tree.sessions:
            self.outbox.reply(request, Connected(is_served=True))
        else:
            self._welcome(now, request, body, body.session)

    def _welcome(self, now: int, request: AnyRequest, body: Connect, session: int) -> None:
        self._hang_up(session)
        self.connections[session] = Connection(request.source, body.connection)
        self._touch(now, session)
        timeout_ms = self.tree.sessions[session]
        self.outbox.reply(request, Connected(True, session, timeout_ms))
        for kind, path, was_there in body.watches:
            change = missed(self.tree, (kind, path, was_there), body.seen)
            if change is None:
                self.watches.add(session, kind, path)
            else:
                self._notify(session, *change)

    def _touch(self, now: int, session: int) -> None:
        if self.is_leading:
            self.sessions.touch(now, session)
        else:
            self.heard[session] = None

    def _wait(self, now: int, request: AnyRequest, wanted: int) -> None:
        """A batch takes its time: so much for each request in it."""
        self.last_number += 1
        self.waiting[self.last_number] = Waiting(request, [], wanted)
        operations = getattr(request.body, "operations", ())
        reads = sum(isinstance(each, READS) for each in operations)
        cost_us = self.settings.read_us * reads + self.settings.write_us * (wanted - reads)
        if cost_us:
            self.outbox.set_timer(Due(self.last_number), now + cost_us)
        else:
            self._carry_out(now, self.last_number)

    def _carry_out(self, now: int, number: int) -> None:
        body = self.waiting[number].request.body
        if isinstance(body, Connect):
            self.last_session += 1
            timeout_ms = self.settings.negotiated_ms(body.timeout_ms)
            self._propose(now, number, 0, [CreateSession(self.last_session, timeout_ms)])
            return
        assert isinstance(body, Operations)
        if not all(isinstance(each, READS) for each in body.operations):
            self._propose(now, number, body.session, body.operations)  # type: ignore[arg-type]
            return
        results = []
        for read in body.operations:
            result = self.tree.read(read)  # type: ignore[arg-type]
            results.append(result)
            watch = watch_of(read, result)  # type: ignore[arg-type]
            if watch is not None:
                self.watches.add(body.session, watch[0], watch[1])
        request = self.waiting.pop(number).request
        self.outbox.reply(request, Answers(results, self.agreement.applied))

    def _propose(self, now: int, number: int, session: int, writes: Sequence[Write]) -> None:
        if self.agreement.propose(now, session, writes, (self.node_id, number)):
            return
        if self.agreement.role is not Role.FOLLOWING:
            self._fail(number)
            return
        body = PassOn(session, list(writes), number)
        self.outbox.send(self.agreement.leader, PassedOn(number), body, PASS_ON_US,
                         connection="pass-on")  # fmt: skip

    def _fail(self, number: int) -> None:
        """It is not known whether the writes will happen: the connection ends."""
        waiting = self.waiting.pop(number, None)
        if waiting is None:
            return
        body = waiting.request.body
        if isinstance(body, Connect):
            self.outbox.reply(waiting.request, Connected(is_served=False))
            return
        assert isinstance(body, Operations)
        self.outbox.reply(waiting.request, Answers(None))
        self._hang_up(body.session)

    def _hang_up(self, session: int, number: int | None = None) -> None:
        """Ends a client's connection here; its watches and open requests go with it."""
        known = self.connections.get(session)
        if known is None or number not in (None, known.number):
            return
        del self.connections[session]
        self.watches.forget(session)
        if known.stay is not None:
            self.outbox.reply(known.stay, Answers(None))

    def _notify(self, session: int, what: str, path: str) -> None:
        known = self.connections.get(session)
        if known is None:
            return
        body = Notice(known.number, what, path, self.agreement.applied)
        # The other side is a broker, or a node that a user added.
        self.outbox.send(known.client, NoticeRound(session, known.number), body,  # type: ignore[arg-type]
                         self.settings.silence_us, connection=None)  # fmt: skip

    # -- what the members agree on

    def applied(self, now: int, proposal: Proposal) -> None:
        """A change is committed: carries it out, informs watchers, answers the client."""
        write = proposal.write
        assert write is not None
        result, changes = self.tree.apply(proposal.zxid, proposal.session, write)
        for change in changes:
            for session in self.watches.fire(change):
                self._notify(session, *change)
        if isinstance(write, CreateSession) and self.is_leading:
            self.sessions.touch(now, write.session)
        self._answer(now, proposal, result)
        if isinstance(write, CloseSession):
            self._hang_up(write.session)

    def _answer(self, now: int, proposal: Proposal, result: Result) -> None:
        """The client that waits for this change gets its result, with the last one of its batch."""
        member, number = proposal.origin
        waiting = self.waiting.get(number) if member == self.node_id else None
        if waiting is None:
            return
        waiting.results.append(result)
        if len(waiting.results) < waiting.wanted:
            return
        del self.waiting[number]
        body = waiting.request.body
        if isinstance(body, Connect):
            write = proposal.write
            assert isinstance(write, CreateSession)
            self._welcome(now, waiting.request, body, write.session)
        else:
            self.outbox.reply(waiting.request, Answers(waiting.results, proposal.zxid))

    def serves(self, now: int) -> None:
        if self.agreement.role is Role.LEADING:
            self.sessions.restart(now, self.tree.sessions)
            self.outbox.set_timer(SessionTick(), now + self.settings.tick_us)

    def stops(self, now: int) -> None:
        for number in tuple(self.waiting):
            self._fail(number)
        for session in tuple(self.connections):
            self._hang_up(session)
        self.heard.clear()

    def heard_since(self) -> list[int]:
        heard, self.heard = list(self.heard), {}
        return heard

    def heard_of(self, now: int, sessions: list[int]) -> None:
        for session in sessions:
            if session in self.tree.sessions:
                self.sessions.touch(now, session)

    def _trace(self, method: str, kind: str, why: str, **fields: object) -> None:
        self.outbox.trace(f"{_HERE}.{method}", kind, "", why, **fields)
