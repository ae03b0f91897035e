"""A voter's state: what leads to what, whom it votes for, and what its disk remembers."""

from __future__ import annotations

import pytest

from engine.quorum import election_state
from engine.quorum.ballot import Ballot
from engine.quorum.election_state import PATH, ElectionState
from engine.quorum.quorum_state import QuorumState
from engine.quorum.roles import Role
from engine.storage.memory_disk import MemoryDisk
from engine.wire import uuids
from engine.wire.errors import KafkaError

VOTERS = (100, 200, 300)


def voter(disk: MemoryDisk | None = None, log_epoch: int = 0, node_id: int = 100) -> QuorumState:
    state = QuorumState(node_id, VOTERS, disk or MemoryDisk())
    state.begin(log_epoch)
    return state


def in_role(role: Role, epoch: int = 5, voted: int = -1) -> QuorumState:
    """Voter 100 in this role in an epoch; as a follower, of 200."""
    state = voter()
    state.to_unattached(epoch)
    if voted >= 0:
        state.vote_for(voted)
    match role:
        case Role.PROSPECTIVE:
            state.to_prospective()
        case Role.FOLLOWER:
            state.to_follower(epoch, 200)
        case Role.CANDIDATE | Role.LEADER | Role.RESIGNED:
            state = voter()
            state.to_unattached(epoch - 1)
            state.to_candidate()
            if role is not Role.CANDIDATE:
                state.to_leader()
            if role is Role.RESIGNED:
                state.to_resigned()
    assert (state.role, state.epoch) == (role, epoch)
    return state


@pytest.mark.parametrize(
    ("role", "pre_vote", "vote"),
    [
        (Role.UNATTACHED, True, True),
        (Role.PROSPECTIVE, True, True),
        (Role.FOLLOWER, True, False),
        (Role.CANDIDATE, True, False),
        (Role.RESIGNED, True, False),
        (Role.LEADER, False, False),
    ],
)
def test_who_votes_for_a_candidate_whose_log_is_long_enough(
    role: Role, pre_vote: bool, vote: bool
) -> None:
    state = in_role(role)
    assert state.grants(300, log_is_current=True, pre_vote=True) is pre_vote
    assert state.grants(300, log_is_current=True, pre_vote=False) is vote
    assert not state.grants(300, log_is_current=False, pre_vote=True)
    assert not state.grants(300, log_is_current=False, pre_vote=False)


def test_a_follower_that_has_heard_from_its_leader_would_not_vote_for_another() -> None:
    state = in_role(Role.FOLLOWER)
    state.has_fetched = True
    assert not state.grants(300, log_is_current=True, pre_vote=True)


@pytest.mark.parametrize("role", [Role.UNATTACHED, Role.PROSPECTIVE])
def test_one_vote_an_epoch_and_the_same_one_again(role: Role) -> None:
    state = in_role(role, voted=300)
    assert state.grants(300, log_is_current=False, pre_vote=False)
    assert not state.grants(200, log_is_current=True, pre_vote=False)
    assert state.grants(200, log_is_current=True, pre_vote=True)


def test_a_voter_that_knows_the_leader_of_an_epoch_gives_no_vote_in_it() -> None:
    state = in_role(Role.FOLLOWER)
    state.to_unattached(5)
    assert state.leader == 200
    assert not state.grants(300, log_is_current=True, pre_vote=False)


@pytest.mark.parametrize("to", ["follower", "unattached", "prospective"])
def test_a_vote_stays_given_within_its_epoch(to: str) -> None:
    state = in_role(Role.UNATTACHED, voted=300)
    if to == "follower":
        state.to_follower(5, 200)
    elif to == "unattached":
        state.to_unattached(5)
    else:
        state.to_prospective()
    assert state.voted == 300
    state.to_unattached(6)
    assert state.voted == -1


@pytest.mark.parametrize("role", list(Role))
def test_the_disk_says_what_the_voter_says(role: Role) -> None:
    state = in_role(role)
    assert election_state.read(state.disk, VOTERS) == state.saved


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Role.LEADER, Role.RESIGNED),
        (Role.RESIGNED, Role.RESIGNED),
        (Role.CANDIDATE, Role.CANDIDATE),  # its vote for itself stays
        (Role.FOLLOWER, Role.FOLLOWER),
        (Role.PROSPECTIVE, Role.UNATTACHED),
        (Role.UNATTACHED, Role.UNATTACHED),
    ],
)
def test_what_a_voter_is_after_a_restart(before: Role, after: Role) -> None:
    state = in_role(before)
    again = voter(state.disk)
    assert (again.role, again.epoch) == (after, 5)


def test_a_voter_remembers_its_vote_over_a_restart() -> None:
    state = in_role(Role.UNATTACHED, voted=300)
    again = voter(state.disk)
    assert not again.grants(200, log_is_current=True, pre_vote=False)


def test_a_log_of_a_later_epoch_counts_more_than_the_file() -> None:
    assert voter(in_role(Role.FOLLOWER).disk, log_epoch=9).saved == ElectionState(9)


def test_a_log_without_a_file_is_refused_where_there_are_other_voters() -> None:
    with pytest.raises(KafkaError, match="no __cluster_metadata-0/quorum-state that says whose"):
        voter(log_epoch=9)
    alone = QuorumState(100, (100,), MemoryDisk())
    alone.begin(9)
    assert alone.saved == ElectionState(9)


def test_a_voter_that_lost_its_election_follows_after_a_restart() -> None:
    state = in_role(Role.CANDIDATE)
    state.to_follower(5, 200)
    again = voter(state.disk)
    assert (again.role, again.voted) == (Role.FOLLOWER, 100)


def test_a_voter_without_a_file_begins_with_nothing() -> None:
    assert voter().saved == ElectionState(0)


def test_the_file_is_kafkas() -> None:
    disk = MemoryDisk()
    election_state.write(disk, ElectionState(7, voted=200), VOTERS)
    assert disk.read(PATH, 0, 1000) == (
        b'{"clusterId":"","leaderId":-1,"leaderEpoch":7,"votedId":200,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":100},{"voterId":200},{"voterId":300}],"data_version":0}'
    )


def test_the_file_of_a_dynamic_quorum_is_read_too() -> None:
    disk = MemoryDisk()
    disk.replace(
        PATH,
        b'{"leaderId":-1,"leaderEpoch":7,"votedId":200,'
        b'"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}',
    )
    directory = uuids.from_text("J8aAPcfLQt2bqs1JT_rMgQ")
    assert election_state.read(disk, VOTERS) == ElectionState(7, -1, 200, directory)
    before = disk.read(PATH, 0, 1000)
    election_state.write(disk, election_state.read(disk, VOTERS), None)
    assert disk.read(PATH, 0, 1000) == before


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"7", b"{", b'{"leaderEpoch":1}', b'{"leaderEpoch":"a","data_version":0}',
     b'{"leaderEpoch":1,"data_version":9}', b"\xff\xfe"],
)  # fmt: skip
def test_a_file_that_says_nothing_stops_the_start(content: bytes) -> None:
    disk = MemoryDisk()
    disk.replace(PATH, content)
    with pytest.raises(KafkaError, match="quorum-state says nothing: restore it"):
        election_state.read(disk, VOTERS)


def test_a_file_of_other_voters_stops_the_start() -> None:
    disk = MemoryDisk()
    election_state.write(disk, ElectionState(7), (100,))
    with pytest.raises(KafkaError, match="of the voters 100, not of 100 200 300"):
        election_state.read(disk, VOTERS)


def test_a_ballot_of_three_is_won_by_two_and_lost_by_two() -> None:
    ballot = Ballot(VOTERS, 100)
    assert (ballot.is_won, ballot.is_lost, ballot.unheard) == (False, False, [200, 300])
    ballot.record(200, False)
    assert (ballot.is_won, ballot.is_lost, ballot.unheard) == (False, False, [300])
    ballot.record(300, True)
    assert (ballot.is_won, ballot.is_lost) == (True, False)
    ballot.record(300, False)
    assert (ballot.is_won, ballot.is_lost) == (False, True)


def test_a_ballot_does_not_count_those_who_have_no_vote() -> None:
    ballot = Ballot((100, 200, 300, 400, 500), 100)
    for stranger in (101, 102, 103):
        ballot.record(stranger, True)
    assert not ballot.is_won
