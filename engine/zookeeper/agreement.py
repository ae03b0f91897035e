"""How the members agree: one leads, a majority decides.

    looking --a majority votes for it--> leading
    looking --hears of a leader--------> following
    leading, following --silence for syncLimit ticks, or a later epoch--> looking

A leader numbers the changes: epoch, then a counter (the zxid).  It sends them to the others, and a
change is *committed* once a majority has it in its log.  A member that has no leader asks for
votes; a member votes once an epoch, and only for one whose log does not end before its own, so a
new leader has everything that was committed.  A new leader opens its epoch with an empty change.
Once that is committed so is all before it, and from then on the members serve clients.

A follower's log must end where the leader's proposals go on.  If it does not, it gets the leader's
whole state in its place.  A follower keeps one request open at its leader, as a connection: when
the leader's process ends, so does the request, and the follower looks for another leader at once.

Simplified, in the place of Zab: a vote asks for the same things as Raft's; a candidate asks first
whether it would win, so that a member that was cut off disturbs no leader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Protocol

from engine.events import Answered, AnyRequest, Outbox
from engine.storage.disk import Disk
from engine.zookeeper.messages import (
    Answers,
    Follow,
    Followed,
    Granted,
    Proposal,
    State,
    Stay,
    Vote,
)
from engine.zookeeper.settings import ZooKeeperSettings
from engine.zookeeper.tree import Tree, Write
from engine.zookeeper.txn_log import TxnLog

COUNTER_BITS = 32
KEPT = 500
"""Committed changes that a leader keeps for followers that are a little behind."""
FOR_GOOD_US = 1 << 50
NOBODY = 0
_HERE = "zookeeper.agreement.Agreement"


class Role(StrEnum):
    """What a member is."""

    LOOKING = "looking"
    FOLLOWING = "following"
    LEADING = "leading"


@dataclass(frozen=True, slots=True)
class PeerRound:
    """Token of a request to another member, of an epoch."""

    peer: int
    epoch: int
    number: int


@dataclass(frozen=True, slots=True)
class LeaderLink:
    """Token of the request that a follower keeps open at its leader."""

    epoch: int


@dataclass(frozen=True, slots=True)
class AgreementTimer:
    """Rings when something is due: an election, a heartbeat, the end of a leader's patience."""


class Machine(Protocol):
    """What the changes are for."""

    tree: Tree

    def applied(self, now: int, proposal: Proposal) -> None:
        """A change is committed, and next in order."""

    def serves(self, now: int) -> None:
        """From now on clients may be served; a leader begins here."""

    def stops(self, now: int) -> None:
        """Clients are served no more, until `serves`."""

    def heard_since(self) -> list[int]:
        """The sessions heard of since the last call, for the leader."""

    def heard_of(self, now: int, sessions: list[int]) -> None:
        """At the leader: what another member has heard."""


@dataclass(slots=True)
class Peer:
    """What a leader knows of another member: how far its log reaches, as far as is known."""

    acked: int
    heard_at: int
    told: int = 0


class Agreement:
    """Member `node_id`; `ids` is its only source of randomness."""

    def __init__(
        self,
        node_id: int,
        members: Sequence[int],
        settings: ZooKeeperSettings,
        disk: Disk,
        outbox: Outbox,
        ids: Random,
        machine: Machine,
    ) -> None:
        self.node_id = node_id
        self.others = [each for each in members if each != node_id]
        self.majority = len(members) // 2 + 1
        self.settings = settings
        self.log = TxnLog(disk)
        self.outbox = outbox
        self.ids = ids
        self.machine = machine
        self.role = Role.LOOKING
        self.epoch, self.voted, self.leader = 0, NOBODY, NOBODY
        self.pending: list[Proposal] = []
        self.recent: list[Proposal] = []
        self.applied = 0
        self.synced = 0  # the epoch in which this log is known to be a part of the leader's
        self.is_serving = False
        self.granted: set[int] = set()
        self.asks_first = True
        self.peers: dict[int, Peer] = {}
        self.links: list[AnyRequest] = []
        self.rounds: dict[int, PeerRound] = {}
        self.last_number = 0
        self.deadline = 0

    @property
    def last(self) -> int:
        """The zxid at which the log ends."""
        return self.pending[-1].zxid if self.pending else self.applied

    def start(self, now: int) -> None:
        """Reads what the last process has left."""
        self.epoch, self.voted = self.log.vote()
        tree = self.machine.tree
        self.machine.tree, self.applied, self.pending = self.log.read(tree)
        self._look(now, "it starts", self.ids.randrange(self.settings.tick_us))

    def propose(self, now: int, session: int, writes: Sequence[Write], origin: tuple[int, int],
                ) -> bool:  # fmt: skip
        """As leader: numbers the changes and sends them; False if this member does not lead."""
        if self.role is not Role.LEADING or not self.is_serving:
            return False
        first = self.last + 1
        made = [Proposal(first + n, session, each, origin) for n, each in enumerate(writes)]
        self._append(made)
        self._count(now)
        self._send_on(now)
        return True

    # -- what others ask

    def requested(self, now: int, request: AnyRequest) -> None:
        """A vote, or what the leader sends."""
        body, source = request.body, request.source
        assert isinstance(source, int)
        if isinstance(body, Vote):
            granted = self._vote(now, source, body)
            self.outbox.reply(request, Granted(self.epoch, granted))
        elif isinstance(body, Stay):
            self.links.append(request)
            if self.role is not Role.LEADING or body.connection != self.epoch:
                self._end_links()
        elif isinstance(body, Follow | State):
            level = body.epoch >= self.epoch and self._follow(now, source, body)
            heard = self.machine.heard_since() if level else []
            self.outbox.reply(request, Followed(self.epoch, level, self.last, heard))
        self._set_timer(now)

    def _vote(self, now: int, candidate: int, asked: Vote) -> bool:
        hears_a_leader = self.role is not Role.LOOKING
        if hears_a_leader or asked.epoch < self.epoch or asked.last < self.last:
            return False
        if asked.epoch == self.epoch and self.voted not in (NOBODY, candidate):
            return False
        if not asked.pre:
            self._enter(asked.epoch, candidate)
            self.deadline = now + self._wait_us()
        return True

    def _follow(self, now: int, leader: int, sent: Follow | State) -> bool:
        if self.role is not Role.FOLLOWING or sent.epoch > self.epoch:
            if self.role is Role.LEADING and sent.epoch == self.epoch:
                return False
            self._leave(now)
            if sent.epoch > self.epoch:
                self._enter(sent.epoch, leader)
            self.role, self.leader = Role.FOLLOWING, leader
            self.outbox.send(leader, LeaderLink(self.epoch), Stay(0, self.epoch), FOR_GOOD_US,
                             connection=None)  # fmt: skip
            self._trace("_follow", "following", f"{leader} leads", epoch=self.epoch)
        self.deadline = now + self.settings.silence_us
        if isinstance(sent, State):
            if self.synced == self.epoch:
                return False  # it was delivered twice
            self.machine.tree, self.applied = sent.tree.copy(), sent.applied
            self.pending, self.recent = list(sent.pending), []
            self.log.begin_with(sent.tree, sent.applied, self.pending)
            self._trace("_follow", "state", "its log was not a part of the leader's",
                        zxid=hex(self.last))  # fmt: skip
        elif sent.after != self.last:
            return False
        else:
            self._append(sent.proposals)
        self.synced = self.epoch
        self._commit(now, min(sent.committed, self.last))
        return True

    # -- what it learns

    def answered(self, now: int, token: PeerRound | LeaderLink, body: Answered) -> None:
        """Another member has answered; None if it was lost."""
        if isinstance(token, LeaderLink):
            if self.role is Role.FOLLOWING and token.epoch == self.epoch:
                self._look(now, f"the connection to {self.leader} has ended",
                           self.ids.randrange(self.settings.tick_us))  # fmt: skip
            return
        if self.rounds.get(token.peer) != token:
            return
        del self.rounds[token.peer]
        if isinstance(body, Granted) and self.role is Role.LOOKING:
            if body.granted:
                self.granted.add(token.peer)
                self._count_votes(now)
            elif body.epoch > self.epoch:
                self._enter(body.epoch, NOBODY)
        elif isinstance(body, Followed) and self.role is Role.LEADING:
            self._learn(now, token.peer, body)
        self._set_timer(now)

    def _learn(self, now: int, member: int, body: Followed) -> None:
        if body.epoch > self.epoch:
            self._enter(body.epoch, NOBODY)
            self._look(now, "there is a later epoch", self._wait_us())
            return
        peer = self.peers[member]
        peer.heard_at, peer.acked = now, body.last
        if not body.is_level:
            self._send(now, member)
            return
        self.machine.heard_of(now, body.heard)
        self._count(now)
        self._send_on(now)

    def expired(self, now: int) -> None:
        """Something is due."""
        if now < self.deadline:
            pass
        elif self.role is Role.LEADING:
            self.deadline = now + self.settings.tick_us // 2
            heard = 1 + sum(
                now - each.heard_at < self.settings.silence_us for each in self.peers.values()
            )
            if heard < self.majority:
                self._look(now, "it has lost its majority", self._wait_us())
            else:
                for member in self.peers:
                    self._send(now, member)
        elif self.role is Role.FOLLOWING:
            self._look(now, f"{self.leader} is silent", self.ids.randrange(self._wait_us()))
        else:
            self._ask_for_votes(now)
        self._set_timer(now)

    # -- elections

    def _look(self, now: int, why: str, wait_us: int) -> None:
        self._leave(now)
        self.role, self.leader = Role.LOOKING, NOBODY
        self.asks_first, self.granted = True, set()
        self.deadline = now + wait_us
        self._trace("_look", "looking", why, epoch=self.epoch)
        self._set_timer(now)

    def _ask_for_votes(self, now: int) -> None:
        self.asks_first, self.granted = True, {self.node_id}
        self.deadline = now + self._wait_us()
        self.rounds.clear()
        self._send_votes(self.epoch + 1)
        self._count_votes(now)

    def _count_votes(self, now: int) -> None:
        if len(self.granted) < self.majority:
            return
        if self.asks_first:
            self.asks_first, self.granted = False, {self.node_id}
            self._enter(self.epoch + 1, self.node_id)
            self.rounds.clear()
            self._send_votes(self.epoch)
            self._count_votes(now)
        elif self.role is Role.LOOKING and self.voted == self.node_id:
            self._lead(now)

    def _send_votes(self, epoch: int) -> None:
        for member in self.others:
            self._ask(member, Vote(epoch, self.last, self.asks_first))

    def _lead(self, now: int) -> None:
        self.role, self.leader = Role.LEADING, self.node_id
        self.deadline = now + self.settings.tick_us // 2
        self.rounds.clear()
        self.peers = {each: Peer(self.last, now) for each in self.others}
        names = " ".join(map(str, sorted(self.granted)))
        self._trace("_lead", "ensemble-leader", f"{names} voted for it", leader=self.node_id,
                    epoch=self.epoch)  # fmt: skip
        self._append([Proposal(self.epoch << COUNTER_BITS)])
        self._count(now)
        self._send_on(now)

    def _leave(self, now: int) -> None:
        self.rounds.clear()
        self.peers = {}
        self.synced = 0
        self._end_links()
        if self.is_serving:
            self.is_serving = False
            self.machine.stops(now)

    def _end_links(self) -> None:
        for request in self.links:
            self.outbox.reply(request, Answers(None))
        self.links = []

    def _enter(self, epoch: int, voted: int) -> None:
        """A later epoch, or a vote: written down before anyone hears of it."""
        self.epoch, self.voted = epoch, voted
        self.log.write_vote(epoch, voted)

    def _wait_us(self) -> int:
        """One to two ticks, so that two candidates rarely stand at one time."""
        return self.settings.tick_us + self.ids.randrange(self.settings.tick_us)

    # -- the log

    def _append(self, proposals: Sequence[Proposal]) -> None:
        if proposals:
            self.pending += proposals
            self.log.append(proposals)

    def _count(self, now: int) -> None:
        """As leader: what a majority has, of this epoch, is committed."""
        ends = sorted([self.last, *(each.acked for each in self.peers.values())], reverse=True)
        agreed = ends[self.majority - 1]
        if agreed >= self.epoch << COUNTER_BITS:
            self._commit(now, agreed)

    def _commit(self, now: int, zxid: int) -> None:
        committed = [each for each in self.pending if each.zxid <= zxid]
        self.pending = self.pending[len(committed) :]
        for proposal in committed:
            self.applied = proposal.zxid
            if proposal.write is not None:
                self.machine.applied(now, proposal)
        self.recent += committed
        if len(self.recent) > 2 * KEPT:
            needed = min((each.acked for each in self.peers.values()), default=self.applied)
            late = sum(each.zxid > needed for each in self.recent)
            self.recent = self.recent[-max(KEPT, late) :]
        if not self.is_serving and self.applied >= self.epoch << COUNTER_BITS:
            self.is_serving = True
            self.machine.serves(now)

    # -- sending

    def _send_on(self, now: int) -> None:
        """To each member that lacks something and has no request under way."""
        for member, peer in self.peers.items():
            if member not in self.rounds and (peer.acked < self.last or peer.told < self.applied):
                self._send(now, member)

    def _send(self, now: int, member: int) -> None:
        if member in self.rounds:
            return
        peer = self.peers[member]
        peer.told = self.applied
        log = self.pending if peer.acked >= self.applied else [*self.recent, *self.pending]
        known = peer.acked == self.applied or any(each.zxid == peer.acked for each in log)
        if not known:
            self._ask(member, State(self.epoch, self.machine.tree.copy(), self.applied,
                                    list(self.pending), self.applied))  # fmt: skip
            return
        missing = [each for each in log if each.zxid > peer.acked]
        self._ask(member, Follow(self.epoch, peer.acked, missing, self.applied))

    def _ask(self, member: int, body: Vote | Follow | State) -> None:
        self.last_number += 1
        token = self.rounds[member] = PeerRound(member, self.epoch, self.last_number)
        self.outbox.send(member, token, body, self.settings.silence_us, connection=None)

    def _set_timer(self, now: int) -> None:
        self.outbox.set_timer(AgreementTimer(), max(self.deadline, now + 1))

    def _trace(self, method: str, kind: str, why: str, **fields: object) -> None:
        self.outbox.trace(f"{_HERE}.{method}", kind, "", why, **fields)
