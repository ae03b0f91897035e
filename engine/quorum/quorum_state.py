"""A voter's state, and the only place that changes it.

A change of epoch, leader or vote is on the disk before `role` says so: a reader of the state may
act on it.  A prospective voter has changed nothing yet, and writes nothing.

What is remembered within an epoch:

    voted    a voter grants one vote an epoch, over restarts too
    leader   there is one an epoch; who knows it grants no vote in that epoch

Source: QuorumState of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.quorum import election_state, formatting
from engine.quorum.ballot import Ballot
from engine.quorum.election_state import NONE, ElectionState
from engine.quorum.roles import NOMINEES, Role
from engine.quorum.voter_history import VoterHistory
from engine.quorum.voters import ReplicaKey, Voter, VoterSet
from engine.storage.disk import Disk
from engine.wire import uuids


class QuorumState:
    """Replica `node_id`; `ballot` is there while it is a nominee.

    `history` has the voters; `voters` are those that a quorum is configured with.  In a quorum
    whose voters may change, `address` is the replica's own.
    `has_fetched` tells whether a follower has had an answer from its leader.
    """

    def __init__(
        self,
        node_id: int,
        voters: Sequence[int],
        disk: Disk,
        address: tuple[str, int] | None = None,
    ) -> None:
        self.node_id = node_id
        self.address = address
        self.history = VoterHistory(VoterSet.of_ids(voters))
        self.directory = uuids.ZERO
        self.disk = disk
        self.role = Role.UNATTACHED
        self.saved = ElectionState()
        self.ballot: Ballot | None = None
        self.has_fetched = False

    @property
    def voters(self) -> tuple[int, ...]:
        return self.history.voters.ids

    @property
    def may_change(self) -> bool:
        """Whether the voters are data in the log (kraft.version 1)."""
        return self.history.version > 0

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.node_id, self.directory)

    @property
    def itself(self) -> Voter | None:
        """What the log should say of this replica as a voter; None if the voters are fixed."""
        if self.address is None:
            return None
        return formatting.voter(self.node_id, self.directory, self.address)

    @property
    def is_voter(self) -> bool:
        """Else it is an observer: it follows, and neither stands nor counts."""
        return self.history.voters.is_voter(self.key)

    @property
    def epoch(self) -> int:
        return self.saved.epoch

    @property
    def leader(self) -> int:
        """-1 while none is known; a resigned leader is still its epoch's leader."""
        return self.saved.leader

    @property
    def voted(self) -> int:
        return self.saved.voted

    @property
    def is_leader(self) -> bool:
        return self.role is Role.LEADER

    def begin(self, log_epoch: int) -> None:
        """Goes on where the last process stopped.

        A former leader begins resigned: its own vote is not in the file, and it must give no
        other one in that epoch.
        """
        found = election_state.read(self.disk, self.voters, log_epoch)
        if found.epoch < log_epoch:
            found = ElectionState(log_epoch)
        if found.leader == self.node_id:
            role = Role.RESIGNED
        elif found.leader in self.voters:
            role = Role.FOLLOWER
        elif found.voted == self.node_id and self.is_voter:
            role = Role.CANDIDATE
        else:
            role = Role.UNATTACHED
        self._become(role, found)

    # -- from one state to the next

    def to_unattached(self, epoch: int) -> None:
        """In a later epoch nothing is known; in the same one what is known stays."""
        later = epoch > self.epoch
        self._become(Role.UNATTACHED, ElectionState(epoch) if later else self.saved)

    def to_follower(self, epoch: int, leader: int) -> None:
        """An epoch has one leader, and a vote given in it stays given."""
        same = epoch == self.epoch
        assert not same or self.leader in (NONE, leader), "an epoch has one leader"
        after = replace(self.saved, leader=leader) if same else ElectionState(epoch, leader)
        self._become(Role.FOLLOWER, after)

    def to_prospective(self) -> None:
        self._become(Role.PROSPECTIVE, self.saved)

    def to_candidate(self) -> None:
        after = ElectionState(self.epoch + 1, NONE, *self.key)
        self._become(Role.CANDIDATE, after)

    def to_leader(self) -> None:
        self._become(Role.LEADER, ElectionState(self.epoch, self.node_id))

    def to_resigned(self) -> None:
        self._become(Role.RESIGNED, self.saved)

    def vote_for(self, candidate: int, directory: bytes = uuids.ZERO) -> None:
        """Writes a vote down; the votes that a prospective voter has collected are void."""
        self._become(self.role, ElectionState(self.epoch, self.leader, candidate, directory))

    def _become(self, role: Role, after: ElectionState) -> None:
        if after != self.saved:
            election_state.write(self.disk, after, None if self.may_change else self.voters)
            self.saved = after
        self.role = role
        self.ballot = Ballot(self.voters, self.node_id) if role in NOMINEES else None
        self.has_fetched = False

    # -- votes

    def grants(
        self,
        candidate: int,
        log_is_current: bool,
        pre_vote: bool,
        directory: bytes = uuids.ZERO,
    ) -> bool:
        """Whether this voter votes for a candidate of its own epoch.

        `log_is_current`: the candidate's log ends where ours ends, or later.
        """
        match self.role:
            case Role.LEADER:
                return False
            case Role.FOLLOWER:
                return pre_vote and log_is_current and not self.has_fetched
            case Role.CANDIDATE | Role.RESIGNED:
                return pre_vote and log_is_current
        if pre_vote:
            return log_is_current
        if self.voted != NONE:
            noted = self.saved.voted_directory
            return self.voted == candidate and noted in (uuids.ZERO, directory)
        return self.leader == NONE and log_is_current
