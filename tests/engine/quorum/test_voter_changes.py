"""Voters that come and go (KIP-853): what the log says of them, and what the leader refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine.quorum import election_state, voter_changes
from engine.quorum.replica import Replica
from engine.quorum.roles import Role
from engine.quorum.snapshots import BOOTSTRAP
from engine.quorum.voter_history import VoterHistory
from engine.quorum.voters import SUPPORTED, Endpoint, ReplicaKey, Voter, VoterSet
from engine.sim.campaign.play import SNAPSHOTS
from engine.sim.world.world import World
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors, KafkaError

TOPIC = "orders"
ONE, OTHER = bytes([1] * 16), bytes([2] * 16)


def world(controllers: int = 4, voters: int = 3, seed: int = 3, **options: Any) -> World:
    return World(seed=seed, controllers=controllers, voters=voters, **options)


def quick(controllers: int = 4, voters: int = 3, **options: Any) -> World:
    return world(controllers, voters, rewindable=False, **options)


def active(of: World) -> int:
    assert of.run(until=lambda w: w.cluster.controller is not None, for_s=30)
    found: int = of.cluster.controller.node_id
    return found


def replica(of: World, controller: int) -> Replica:
    found: Replica = of.cluster.nodes[controller].replica
    return found


def standby(of: World) -> int:
    leader = active(of)
    return next(each for each in replica(of, leader).state.voters if each != leader)


# -- a set of voters, and the sets that a log has had


def test_a_voter_is_a_node_and_its_directory() -> None:
    known = VoterSet.of([Voter(ReplicaKey(100, ONE)), Voter(ReplicaKey(200))])
    assert known.is_voter(ReplicaKey(100, ONE))
    assert not known.is_voter(ReplicaKey(100, OTHER))
    assert known.is_voter(ReplicaKey(200, OTHER))  # of kraft.version 0: the id alone
    assert not known.is_voter(ReplicaKey(300, ONE))


def test_a_set_of_voters_goes_through_its_record() -> None:
    record = m.VotersRecord
    rows = [
        record.Voter(each, bytes([each]) * 16, [record.Endpoint("CONTROLLER", "a", each)],
                     record.KRaftVersionFeature(*SUPPORTED))
        for each in (3, 1, 2)
    ]  # fmt: skip
    found = VoterSet.of_record(record(0, rows))
    assert found.ids == (1, 2, 3)
    assert VoterSet.of_record(found.record()) == found
    assert found.without(ReplicaKey(2, bytes([2]) * 16)).ids == (1, 3)
    assert found.without(ReplicaKey(2, bytes([7]) * 16)) == found
    assert found.with_voter(Voter(ReplicaKey(4))).majority == 3


def test_the_last_set_of_the_log_counts_and_goes_with_it() -> None:
    history = VoterHistory(VoterSet.of_ids((1, 2, 3)))
    assert history.before(0) == []
    four = VoterSet.of_ids((1, 2, 3, 4))
    history.read(7, m.KRaftVersionRecord(0, 1))
    history.read(8, four.record())
    history.read(20, VoterSet.of_ids((1, 2, 4)).record())
    assert (history.offset, history.version, history.voters.ids) == (20, 1, (1, 2, 4))
    assert history.before(20) == [m.KRaftVersionRecord(0, 1), four.record()]
    history.truncate_to(20)
    assert history.voters == four
    history.truncate_to(5)
    assert (history.offset, history.version, history.voters.ids) == (-1, 0, (1, 2, 3))


# -- the life of a quorum


def test_a_new_quorum_has_the_voters_of_its_format_in_its_log() -> None:
    made = quick()
    made.run(for_s=1)
    for each in made.cluster.spec.controllers:
        state = replica(made, each).state
        assert (state.voters, state.is_voter) == ((100, 200, 300), each != 400)
        assert state.history.offset == 2  # after LeaderChange and KRaftVersion, in their batch
        assert made.cluster.disks[each].exists(BOOTSTRAP.path) == (each != 400)
    assert replica(made, 400).state.role is Role.FOLLOWER
    assert replica(made, 400).log.end_offset == replica(made, active(made)).log.end_offset
    file = made.cluster.disks[100].read(election_state.PATH, 0, 1000)
    assert b'"votedDirectoryId"' in file
    assert b"currentVoters" not in file


def test_without_voters_nothing_of_this_is_in_the_log() -> None:
    made = World(seed=3, controllers=3, rewindable=False)
    assert replica(made, 100).log.history.entries == [(-1, 0, VoterSet.of_ids((100, 200, 300)))]
    with pytest.raises(ValueError, match="make it with voters=3"):
        made.add_voter(200)


def test_one_is_added_and_counts() -> None:
    made = quick()
    made.add_voter(400)
    leader = active(made)
    assert replica(made, leader).state.voters == (100, 200, 300, 400)
    made.run(for_s=1)
    assert replica(made, 400).state.is_voter
    # Three of four are a majority: with two gone, nothing is committed, and the leader resigns.
    for each in [each for each in (100, 200, 300) if each != leader][:2]:
        made.kill(each)
    made.run(for_s=5)
    assert made.cluster.controller is None


def test_the_leader_is_removed_and_resigns_when_that_is_committed() -> None:
    made = quick(3)
    former = active(made)
    made.remove_voter(former)
    assert replica(made, former).state.role is Role.RESIGNED
    assert made.run(until=lambda w: active(w) != former, for_s=10)
    made.run(for_s=3)
    assert replica(made, former).state.role is Role.FOLLOWER
    assert not replica(made, former).state.is_voter
    made.create_topic(TOPIC)
    made.run(for_s=1)
    assert TOPIC in made.cluster.nodes[former].image.topic_ids


def test_a_removed_voter_comes_back_as_an_observer() -> None:
    made = quick(3)
    gone = standby(made)
    made.kill(gone)
    made.remove_voter(gone)
    leader, epoch = active(made), replica(made, active(made)).state.epoch
    made.start(gone)  # its log still says that it is a voter
    made.run(for_s=6)
    state = replica(made, gone).state
    assert (state.role, state.is_voter, state.leader) == (Role.FOLLOWER, False, leader)
    assert (active(made), replica(made, leader).state.epoch) == (leader, epoch)
    made.kill(leader)
    made.run(for_s=6)
    assert replica(made, gone).state.role in (Role.FOLLOWER, Role.UNATTACHED)


def test_a_voter_with_another_directory_is_no_voter() -> None:
    made = quick(3)
    wiped = standby(made)
    known = replica(made, wiped).state.directory
    made.replace_disk(wiped)
    made.start(wiped)
    made.run(for_s=3)
    state = replica(made, wiped).state
    assert state.directory != known
    assert not state.is_voter
    assert wiped in state.voters
    with pytest.raises(KafkaError, match="DUPLICATE_VOTER"):
        made.add_voter(wiped)
    made.remove_voter(wiped)
    made.add_voter(wiped)
    made.run(for_s=1)
    assert replica(made, wiped).state.is_voter


def test_down_to_one_voter_and_up_again() -> None:
    made = quick(3)
    last = active(made)
    for each in [each for each in (100, 200, 300) if each != last]:
        made.remove_voter(each)
    assert replica(made, last).state.voters == (last,)
    made.run(for_s=8)
    assert active(made) == last  # there is none that it must hear from
    with pytest.raises(KafkaError, match="VOTER_NOT_FOUND"):
        made.remove_voter(last)
    made.kill(last)
    made.start(last)
    assert active(made) == last
    made.run(for_s=3)
    made.add_voter(100 if last != 100 else 200)
    assert len(replica(made, last).state.voters) == 2


def test_a_leader_of_two_that_removes_itself_may_leave_none_that_can_lead() -> None:
    """As in Kafka: each of the two needs the other, and only one of them knows that it does not."""
    made = quick(3, 2)
    leader, other = active(made), standby(made)
    made.cut(leader, other)
    made.post(removing(made, leader), leader)
    assert made.run(until=lambda w: replica(w, leader).state.voters == (other,), for_s=1)
    assert made.run(until=lambda w: w.cluster.controller is None, for_s=10)
    made.heal()
    made.run(for_s=30)
    assert made.cluster.controller is None
    assert replica(made, other).state.voters == (100, 200)
    assert replica(made, other).log.last < replica(made, leader).log.last


def test_a_set_that_was_not_committed_goes_with_the_log() -> None:
    made = quick()
    former = active(made)
    others = [each for each in (100, 200, 300) if each != former]
    for each in (*others, 400):
        made.cut(former, each)
    body = m.RemoveRaftVoterRequest(
        None, *replica(made, former).state.history.voters.key_of(others[0])
    )
    made.post(body, 101)
    assert made.run(until=lambda w: len(replica(w, former).state.voters) == 2, for_s=2)
    assert made.run(until=lambda w: active(w) != former, for_s=20)
    made.heal()
    made.run(for_s=5)
    assert replica(made, former).state.voters == (100, 200, 300)


def test_a_snapshot_has_the_voters() -> None:
    made = quick(settings=SNAPSHOTS)
    made.add_voter(400)
    made.kill(300)
    for number in range(6):
        made.create_topic(f"{TOPIC}-{number}")
    made.remove_voter(300)
    leader = active(made)
    log = replica(made, leader).log
    assert log.start_offset > log.history.entries[-2][0]
    made.replace_disk(300)
    made.start(300)
    made.run(for_s=4)
    behind = replica(made, 300)
    assert behind.log.start_offset > 0
    assert behind.state.voters == (100, 200, 400)
    for each in (100, 200, 400):
        made.kill(each)
        made.start(each)
    active(made)
    assert replica(made, 400).state.voters == (100, 200, 400)


def test_a_world_goes_back_before_a_change() -> None:
    made = world()
    before = made.events
    made.add_voter(400)
    after, trace = made.events, made.trace_lines()
    made.goto(event=before)
    assert 400 not in replica(made, active(made)).state.voters
    made.goto(event=after)
    assert made.trace_lines() == trace
    assert 400 in replica(made, active(made)).state.voters


def test_an_observer_may_join_by_itself() -> None:
    made = quick(settings={"controller.quorum.auto.join.enable": True})
    assert made.run(until=lambda w: replica(w, 400).state.is_voter, for_s=6)
    # With another directory it first removes the voter that it was.
    wiped = standby(made)
    made.replace_disk(wiped)
    made.start(wiped)
    made.run(for_s=1)
    assert not replica(made, wiped).state.is_voter
    assert made.run(until=lambda w: replica(w, wiped).state.is_voter, for_s=20)
    assert replica(made, active(made)).state.voters == (100, 200, 300, 400)


# -- what the leader refuses


def key_of(of: World, controller: int) -> ReplicaKey:
    return replica(of, controller).state.key


def adding(
    of: World, controller: int = 400, names: tuple[str, ...] = ("CONTROLLER",), **changes: Any
) -> m.AddRaftVoterRequest:
    listener = m.AddRaftVoterRequest.Listener
    id, directory = key_of(of, controller)
    given = {"cluster_id": None, "timeout_ms": 1000, "voter_id": id,
             "voter_directory_id": directory,
             "listeners": [listener(name, "127.0.0.1", 9400) for name in names]}  # fmt: skip
    return m.AddRaftVoterRequest(**(given | changes))


def removing(of: World, controller: int, **changes: Any) -> m.RemoveRaftVoterRequest:
    id, directory = key_of(of, controller)
    given = {"cluster_id": None, "voter_id": id, "voter_directory_id": directory}
    return m.RemoveRaftVoterRequest(**(given | changes))


def updating(of: World, controller: int, **changes: Any) -> m.UpdateRaftVoterRequest:
    request = m.UpdateRaftVoterRequest
    id, directory = key_of(of, controller)
    given = {"cluster_id": None, "voter_id": id, "voter_directory_id": directory,
             "current_leader_epoch": replica(of, active(of)).state.epoch,
             "listeners": [request.Listener("CONTROLLER", "127.0.0.1", 9999)],
             "kraft_version_feature": request.KRaftVersionFeature(0, 1)}  # fmt: skip
    return request(**(given | changes))


Making = Callable[[World], Any]
REFUSED: dict[str, tuple[Making, Errors]] = {
    "another cluster's": (lambda w: adding(w, cluster_id="x"), Errors.INCONSISTENT_CLUSTER_ID),
    "no cluster's": (lambda w: adding(w, cluster_id=""), Errors.INCONSISTENT_CLUSTER_ID),
    "no id": (lambda w: adding(w, voter_id=-1), Errors.INVALID_REQUEST),
    "no directory": (lambda w: adding(w, voter_directory_id=uuids.ZERO), Errors.INVALID_REQUEST),
    "no endpoint": (lambda w: adding(w, names=()), Errors.INVALID_REQUEST),
    "a nameless endpoint": (lambda w: adding(w, names=("CONTROLLER", " ")), Errors.INVALID_REQUEST),
    "a voter": (lambda w: adding(w, 200), Errors.DUPLICATE_VOTER),
    "a voter's id": (lambda w: adding(w, voter_id=200), Errors.DUPLICATE_VOTER),
    "a broker": (lambda w: adding(w, voter_id=101), Errors.REQUEST_TIMED_OUT),
    "nothing there": (lambda w: adding(w, voter_id=900), Errors.REQUEST_TIMED_OUT),
    "one that does not fetch": (
        lambda w: adding(w, voter_directory_id=ONE), Errors.REQUEST_TIMED_OUT
    ),
    "the removal of no id": (lambda w: removing(w, 200, voter_id=-1), Errors.INVALID_REQUEST),
    "the removal of no directory": (
        lambda w: removing(w, 200, voter_directory_id=uuids.ZERO), Errors.INVALID_REQUEST
    ),
    "no voter": (lambda w: removing(w, 400), Errors.VOTER_NOT_FOUND),
    "a voter's other directory": (
        lambda w: removing(w, 200, voter_directory_id=ONE), Errors.VOTER_NOT_FOUND
    ),
    "an update of no voter": (lambda w: updating(w, 400), Errors.VOTER_NOT_FOUND),
    "an update in an earlier epoch": (
        lambda w: updating(w, 200, current_leader_epoch=0), Errors.FENCED_LEADER_EPOCH
    ),
    "an update in a later epoch": (
        lambda w: updating(w, 200, current_leader_epoch=9), Errors.UNKNOWN_LEADER_EPOCH
    ),
    "an update without a listener": (
        lambda w: updating(w, 200, listeners=[]), Errors.INVALID_REQUEST
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def quorum() -> World:
    made = quick()
    made.run(for_s=2)
    return made


@pytest.mark.parametrize("what", REFUSED)
def test_the_leader_refuses(quorum: World, what: str) -> None:
    make, error = REFUSED[what]
    leader = active(quorum)
    answer = quorum.ask(make(quorum), leader)
    assert answer is not None
    assert Errors(answer.error_code) is error
    assert replica(quorum, leader).state.voters == (100, 200, 300)


def test_a_controller_that_knows_fixed_voters_only_becomes_none(
    quorum: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(voter_changes, "SUPPORTED", (0, 0))
    answer = quorum.ask(adding(quorum), active(quorum))
    assert answer is not None
    assert answer.error_code == Errors.INVALID_REQUEST
    assert "range doesn't support the finalized version 1" in answer.error_message


def test_the_case_of_a_listener_does_not_count() -> None:
    made = quick()
    made.run(for_s=2)
    leader = active(made)
    answer = made.ask(adding(made, names=("controller", "Controller")), leader)
    assert answer is not None
    assert answer.error_code == Errors.NONE
    found = replica(made, leader).state.history.voters.find(400)
    assert found is not None
    assert found.endpoints == (Endpoint("CONTROLLER", "127.0.0.1", 9400),)


def test_a_standby_says_that_it_does_not_lead(quorum: World) -> None:
    answer = quorum.ask(removing(quorum, 200), standby(quorum))
    assert answer is not None
    assert answer.error_code == Errors.NOT_LEADER_OR_FOLLOWER


def test_fixed_voters_cannot_be_changed() -> None:
    made = World(seed=3, controllers=3, rewindable=False)
    made.run(for_s=1)
    answer = made.ask(removing(made, 200, voter_directory_id=ONE), active(made))
    assert answer is not None
    assert answer.error_code == Errors.UNSUPPORTED_VERSION
    assert "the kraft.version feature is 0" in str(answer.error_message)


def test_one_change_at_a_time() -> None:
    made = quick(5, 5)
    leader = active(made)
    one, two, *rest = [each for each in (100, 200, 300, 400, 500) if each != leader]
    first = made.post(removing(made, one), leader)
    second = made.post(removing(made, two), leader)
    assert made.run(until=lambda w: None not in map(w.answer, (first, second)), for_s=5)
    errors = [Errors(made.answer(each).error_code) for each in (first, second)]
    assert errors == [Errors.NONE, Errors.REQUEST_TIMED_OUT]
    # A change that cannot be committed is given up after 2 s, and its record still is in the way.
    for each in rest:
        made.cut(leader, each)
    stuck = made.post(removing(made, two), leader)
    assert made.run(until=lambda w: w.answer(stuck) is not None, for_s=5)
    late = made.ask(removing(made, rest[0]), leader)
    assert late is not None
    assert "voters to commit the latest voter change" in str(late.error_message)


def test_a_new_leader_changes_nothing_before_it_has_committed_a_record_of_its_own() -> None:
    made = quick(3)
    made.kill(active(made))
    assert made.run(until=lambda w: leading(w) is not None, for_s=20)
    new = leading(made)
    assert new is not None
    assert made.cluster.controller is None
    number = made.post(removing(made, new), new)
    assert made.run(until=lambda w: w.answer(number) is not None, for_s=5)
    assert made.answer(number).error_code == Errors.REQUEST_TIMED_OUT
    assert "leader to establish HWM" in str(made.answer(number).error_message)


def leading(of: World) -> int | None:
    """The leader of the quorum, active or not."""
    nodes = of.cluster.nodes
    there = [each for each in of.cluster.spec.controllers if each in nodes]
    return next((each for each in there if replica(of, each).state.is_leader), None)


def test_a_voter_with_another_address_says_so() -> None:
    made = quick(3)
    changed = standby(made)
    replica(made, changed).state.address = ("127.0.0.1", 7777)
    made.run(for_s=4)
    found = replica(made, active(made)).state.history.voters.find(changed)
    assert found is not None
    assert found.endpoints[0].port == 7777


def finalized(of: World, broker: int) -> dict[str, int]:
    answer = of.ask(m.ApiVersionsRequest("kit", "1"), broker)
    assert answer is not None
    return {each.name: each.max_version_level for each in answer.finalized_features}


def test_brokers_say_that_voters_may_change() -> None:
    made = quick(settings=SNAPSHOTS)
    made.run(for_s=1)
    assert finalized(made, 101)["kraft.version"] == 1
    made.replace_disk(102)
    for number in range(6):
        made.create_topic(f"{TOPIC}-{number}", partitions=9)
    made.run(for_s=2)
    made.start(102)
    assert made.run(until=lambda w: finalized(w, 102).get("kraft.version") == 1, for_s=20)
    assert made.trace_lines(("snapshot-loaded",))
    update = m.UpdateFeaturesRequest
    key = update.FeatureUpdateKey("kraft.version", 0, upgrade_type=3)
    answer = made.ask(update(1_000, [key], False), 101)
    assert answer is not None
    assert "Can't downgrade the version of this feature." in answer.error_message
    fixed = World(seed=3, controllers=3, rewindable=False)
    assert "kraft.version" not in finalized(fixed, 101)


def test_describe_quorum_shows_directories_and_endpoints() -> None:
    made = quick()
    made.run(for_s=2)
    request = m.DescribeQuorumRequest
    part = request.PartitionData(partition_index=0)
    answer = made.ask(request(topics=[request.TopicData("__cluster_metadata", [part])]), 102)
    assert answer is not None
    data = answer.topics[0].partitions[0]
    assert [(each.replica_id, each.replica_directory_id) for each in data.current_voters] == [
        key_of(made, each) for each in (100, 200, 300)
    ]
    observers = {each.replica_id: each.replica_directory_id for each in data.observers}
    assert observers.keys() == {101, 102, 103, 400}
    assert observers[400] == key_of(made, 400).directory
    nodes = [
        (each.node_id, each.listeners[0].name, each.listeners[0].port) for each in answer.nodes
    ]
    assert nodes == [(each, "CONTROLLER", 9000 + each) for each in (100, 200, 300)]
