"""What a replica asks of the other controllers, by the state that it is in.

    unattached               Fetch, of any: one will know who leads
    prospective, candidate   Vote, of all voters that have not answered
    follower                 Fetch or FetchSnapshot, of the leader, or of any while that is silent;
                             first what corrects the log's words on it: UpdateRaftVoter,
                             AddRaftVoter, RemoveRaftVoter
    leader                   BeginQuorumEpoch, of voters that do not fetch
    resigned                 EndQuorumEpoch, of all that have not heard of it

One request to each other controller is under way, and one in all while it fetches.  A controller
whose answer taught nothing is left alone for controller.quorum.retry.backoff.ms.  (Kafka asks again
at once if the answer had a leader or an epoch in it.)  A change of state makes both void: they are
of another time.

Source: KafkaRaftClient of Kafka 4.3.1; KIP-595, KIP-853.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from engine.events import Outbox
from engine.quorum import raft_messages
from engine.quorum.copying import Copying
from engine.quorum.quorum_state import QuorumState
from engine.quorum.raft_log import RaftLog
from engine.quorum.roles import Role
from engine.quorum.voter_progress import VoterProgress
from engine.quorum.voters import Voter
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire.structures import Message, RequestMessage


@dataclass(frozen=True, slots=True)
class RaftCall:
    """Token of a request to another controller."""

    peer: int
    number: int


class Requests:
    """`controllers` are asked, as the voters are, who leads; `ids` picks one."""

    def __init__(
        self,
        state: QuorumState,
        log: RaftLog,
        copying: Copying,
        outbox: Outbox,
        cluster_id: str,
        settings: Settings,
        ids: Random,
        controllers: Sequence[int],
    ) -> None:
        self.state = state
        self.log = log
        self.copying = copying
        self.outbox = outbox
        self.cluster_id = cluster_id
        self.settings = settings
        self.ids = ids
        self.controllers = tuple(controllers)
        self.calls: dict[int, RaftCall] = {}
        self.last_number = 0
        self.resting: dict[int, int] = {}  # controller -> when it may be asked again
        self.begin_at = 0  # when a leader looks for voters that do not fetch
        self.update_at = 0  # when a follower looks whether the log has its address
        self.successors: list[int] = []
        self.unaware: set[int] = set()  # of a resigned leader: who has not heard of it

    @property
    def others(self) -> list[int]:
        """The other voters, and all other controllers that could know who leads."""
        known = dict.fromkeys((*self.state.voters, *self.controllers))
        return [each for each in known if each != self.state.node_id]

    # -- what comes back

    def take(self, call: RaftCall) -> bool:
        """An answer has come; False if what was asked is void."""
        if self.calls.get(call.peer) != call:
            return False
        del self.calls[call.peer]
        return True

    def rest(self, now: int, peer: int, for_us: int | None = None) -> None:
        """Leaves it alone, by default for controller.quorum.retry.backoff.ms."""
        backoff_ms: int = max(1, self.settings["controller.quorum.retry.backoff.ms"])
        self.resting[peer] = now + (backoff_ms * 1000 if for_us is None else for_us)

    def forget_calls(self) -> None:
        """What is under way was asked before this voter gave its vote."""
        self.calls.clear()

    def forget(self) -> None:
        """The state is another one."""
        self.calls.clear()
        self.resting.clear()

    # -- what is asked

    def ask(self, now: int, deadline: int, progress: VoterProgress | None) -> None:
        """Asks what is due; `deadline` is the end of the state, `progress` a leader's."""
        match self.state.role:
            case Role.UNATTACHED if not self.calls:
                self._fetch_from_any(now)
            case Role.PROSPECTIVE | Role.CANDIDATE:
                self._votes(now)
            case Role.FOLLOWER if self.log.is_flushed and not self.calls:
                lost = not self.state.is_voter and now >= deadline
                if not lost and self._may_ask(now, self.state.leader):
                    self._leader(now)
                else:
                    self._fetch_from_any(now)
            case Role.LEADER if progress is not None and now >= self.begin_at:
                self._silent_voters(now, progress)
            case Role.RESIGNED:
                self._successors(now)

    def _votes(self, now: int) -> None:
        state, ballot = self.state, self.state.ballot
        if ballot is None or ballot.is_lost:
            return
        pre_vote = state.role is Role.PROSPECTIVE
        if not pre_vote and not self.log.is_flushed:
            return  # what it asks votes for must outlive a power loss
        for peer in ballot.unheard:
            voter = state.history.voters.key_of(peer)
            self._send(now, peer, raft_messages.vote(
                self.cluster_id, voter, state.epoch, state.key, self.log.last, pre_vote
            ))  # fmt: skip

    def _silent_voters(self, now: int, progress: VoterProgress) -> None:
        """They may not know of this leader."""
        state = self.state
        timeout_ms: int = self.settings["controller.quorum.fetch.timeout.ms"]
        silent_us = timeout_ms * 1000 // 2
        self.begin_at = now + silent_us
        for peer in progress.unaware(now, silent_us):
            voter = state.history.voters.key_of(peer)
            self._send(now, peer, raft_messages.begin_epoch(
                self.cluster_id, voter, state.epoch, state.node_id
            ))  # fmt: skip

    def _successors(self, now: int) -> None:
        """All hear who should follow this leader."""
        state = self.state
        for peer in self.others:
            if peer in self.unaware:
                successors = map(state.history.voters.key_of, self.successors)
                self._send(now, peer, raft_messages.end_epoch(
                    self.cluster_id, state.epoch, state.node_id, list(successors)
                ))  # fmt: skip

    def _fetch_from_any(self, now: int) -> None:
        """One will know who leads."""
        ready = [peer for peer in self.others if self._may_ask(now, peer)]
        if ready:
            peer = self.ids.choice(ready)
            self._send(now, peer, self.copying.request(peer))

    def _leader(self, now: int) -> None:
        """For what the log should say of this voter, if need be; else for what comes next."""
        state, itself = self.state, self.state.itself
        body = self.copying.request(state.leader)
        if itself is not None and now >= self.update_at and state.may_change:
            timeout_ms: int = self.settings["controller.quorum.fetch.timeout.ms"]
            self.update_at = now + timeout_ms * 1000
            body = self._change(itself, state.history.voters.find(state.node_id)) or body
        self._send(now, state.leader, body)

    def _change(self, itself: Voter, known: Voter | None) -> RequestMessage[Message] | None:
        """How the log comes to say of this replica what it should; None if it does."""
        if self.state.is_voter:
            if known == itself:
                return None
            return raft_messages.update_voter(self.cluster_id, self.state.epoch, itself)
        if not self.settings["controller.quorum.auto.join.enable"]:
            return None
        if known is not None:
            return m.RemoveRaftVoterRequest(self.cluster_id, *known.key)
        timeout_ms: int = self.settings["controller.quorum.request.timeout.ms"]
        return raft_messages.add_voter(self.cluster_id, itself, timeout_ms, when_committed=False)

    def _may_ask(self, now: int, peer: int) -> bool:
        return peer not in self.calls and self.resting.get(peer, now) <= now

    def _send(self, now: int, peer: int, body: RequestMessage[Message]) -> None:
        """Does nothing while `peer` owes an answer or is left alone."""
        if not self._may_ask(now, peer):
            return
        self.last_number += 1
        call = self.calls[peer] = RaftCall(peer, self.last_number)
        timeout_us: int = self.settings["controller.quorum.request.timeout.ms"] * 1000
        self.outbox.send(peer, call, body, timeout_us, connection="raft")
