"""Voters come and go: AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter (KIP-853).

    AddRaftVoter --> ApiVersions to the new voter --> it has caught up --> VotersRecord
    RemoveRaftVoter ------------------------------------------------> VotersRecord
                                        answered once a majority of the new voters has the record

One voter at a time: then every majority of the old voters and every majority of the new ones have
a voter in common.  So the last set must be committed before the next is appended, and the leader
must have committed a record of its own epoch: only then does it know the last one.

If it may be otherwise in a moment, the answer is REQUEST_TIMED_OUT: the client asks again.

As in Kafka, by its source, a leader of two that removes itself may be the end of both: if the
other voter never gets the record, it needs the vote of one who has a longer log, and who does not
stand, as it is no voter in it.  (Ongaro's dissertation, 4.2.2, lets it stand.)

Stricter than Kafka: a leader that has removed itself resigns when that is committed even if that
took longer than the request's 2 s.  Not here: the upgrade from kraft.version 0 to 1.

Source: AddVoterHandler, RemoveVoterHandler and UpdateVoterHandler of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine.events import Answered, AnyRequest, Outbox
from engine.metadata.image import KRAFT_FEATURE
from engine.quorum.quorum_state import QuorumState
from engine.quorum.raft_log import RaftLog
from engine.quorum.voter_progress import UNKNOWN, VoterProgress
from engine.quorum.voters import LISTENER, SUPPORTED, Endpoint, ReplicaKey, Voter, VoterSet
from engine.records import control
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors, KafkaError
from engine.wire.structures import Message

CAUGHT_UP_WITHIN_US = 3_600_000_000
"""A new voter has fetched within the last hour."""

VOTER_REQUESTS = (m.AddRaftVoterRequest, m.RemoveRaftVoterRequest, m.UpdateRaftVoterRequest)


@dataclass(frozen=True, slots=True)
class NewVoterCall:
    """Token of the ApiVersions request to a new voter."""

    number: int


@dataclass(slots=True)
class Pending:
    """A change on its way: `offset` is that of its record, None before there is one."""

    request: AnyRequest
    until: int
    new: Voter | None = None
    offset: int | None = None


class VoterChanges:
    """The leader's part; `progress` is what it knows of its readers."""

    def __init__(
        self, state: QuorumState, log: RaftLog, outbox: Outbox, cluster_id: str, settings: Settings
    ) -> None:
        self.state = state
        self.log = log
        self.outbox = outbox
        self.cluster_id = cluster_id
        self.settings = settings
        self.pending: Pending | None = None
        self.last_number = 0

    def asked(self, now: int, request: AnyRequest, progress: VoterProgress | None) -> None:
        """One of VOTER_REQUESTS: answers it, or does as it says and answers later."""
        try:
            self._check(request.body, progress)
            assert progress is not None, "only a leader gets so far"
            match request.body:
                case m.AddRaftVoterRequest() as body:
                    self._add(now, request, body)
                case m.RemoveRaftVoterRequest() as body:
                    self._remove(now, request, body, progress)
                case m.UpdateRaftVoterRequest() as body:
                    self._update(now, request, body, progress)
        except KafkaError as error:
            self._reply(request, error.code, error.text)

    # -- whether it may be

    def _check(self, body: Any, progress: VoterProgress | None) -> None:
        """What all three ask first, in Kafka's order; KafkaError says what is wrong."""
        if body.cluster_id not in (None, self.cluster_id) and self.cluster_id:
            raise KafkaError(
                Errors.INCONSISTENT_CLUSTER_ID,
                f'The given id "{body.cluster_id}" doesn\'t match the cluster id '
                f'"{self.cluster_id}"',
            )
        if isinstance(body, m.UpdateRaftVoterRequest):
            if body.current_leader_epoch < self.state.epoch:
                raise KafkaError(Errors.FENCED_LEADER_EPOCH)
            if body.current_leader_epoch > self.state.epoch:
                raise KafkaError(Errors.UNKNOWN_LEADER_EPOCH)
        if progress is None:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER)
        self._check_shape(body)
        if self.pending is not None:
            raise _later("leader to handle previous voter change request")
        if not self.is_established(progress):
            raise _later("leader to establish HWM and fence previous voter changes")
        if not self.state.may_change:
            what = {m.AddRaftVoterRequest: "adding", m.RemoveRaftVoterRequest: "removing"}
            raise KafkaError(
                Errors.UNSUPPORTED_VERSION,
                f"Cluster doesn't support {what.get(type(body), 'updating')} voter because the "
                f"{KRAFT_FEATURE} feature is {self.state.history.version}",
            )
        if not self.is_settled():
            raise _later(
                f"voters to commit the latest voter change at {self.state.history.offset} with "
                f"HWM {self.log.high_watermark}"
            )

    def is_established(self, progress: VoterProgress) -> bool:
        """Whether a record of the leader's own epoch is committed."""
        return self.log.high_watermark > progress.epoch_start

    def is_settled(self) -> bool:
        """Whether the last set of voters is committed."""
        return self.state.history.offset < self.log.high_watermark

    def _check_shape(self, body: Any) -> None:
        removes = isinstance(body, m.RemoveRaftVoterRequest)
        asked = f"{'Remove' if removes else 'Add'} voter request didn't include"
        if body.voter_id < 0 or body.voter_directory_id == uuids.ZERO:
            raise KafkaError(Errors.INVALID_REQUEST, f"{asked} a valid voter")
        if removes:
            return
        if not all(each.name.strip() for each in body.listeners):
            raise KafkaError(Errors.INVALID_REQUEST, "a listener has no name")
        if not _voter(body).has_listener():
            raise KafkaError(
                Errors.INVALID_REQUEST, f"{asked} the endpoint for the default listener {LISTENER}"
            )
        if isinstance(body, m.UpdateRaftVoterRequest):
            low, high = _voter(body).supported
            if not 0 <= low <= high or not low <= self.state.history.version <= high:
                raise KafkaError(Errors.INVALID_REQUEST)

    # -- the changes

    def _add(self, now: int, request: AnyRequest, body: m.AddRaftVoterRequest) -> None:
        """Asks the new voter first which levels of kraft.version it knows."""
        voters, new = self.state.history.voters, _voter(body)
        if new.key.id in voters.ids:
            raise KafkaError(
                Errors.DUPLICATE_VOTER,
                f"The voter id for {new.key} is already part of the set of voters "
                f"{_named(voters.keys)}.",
            )
        timeout_us: int = self.settings["controller.quorum.request.timeout.ms"] * 1000
        self.last_number += 1
        self.pending = Pending(request, now + timeout_us, new)
        asked = m.ApiVersionsRequest("kafka-inside-out", "4.3.1")
        self.outbox.send(new.key.id, NewVoterCall(self.last_number), asked, timeout_us)

    def answered(
        self, now: int, call: NewVoterCall, body: Answered, progress: VoterProgress | None
    ) -> None:
        """The new voter has answered, or is not there: it becomes one, or the change is over."""
        pending = self.pending
        if pending is None or pending.new is None or call.number != self.last_number:
            return
        level, key = self.state.history.version, pending.new.key
        if progress is None or not isinstance(body, m.ApiVersionsResponse) or body.error_code:
            self._end(
                Errors.REQUEST_TIMED_OUT,
                "Aborted add voter operation for since API_VERSIONS returned an error",
            )
            return
        known = {each.name: each for each in body.supported_features}.get(KRAFT_FEATURE)
        if known is None or not known.min_version <= level <= known.max_version:
            self._end(
                Errors.INVALID_REQUEST,
                f"Aborted add voter operation for {key} since the {KRAFT_FEATURE} range doesn't "
                f"support the finalized version {level}",
            )
        elif not has_caught_up(now, progress, key):
            self._end(
                Errors.REQUEST_TIMED_OUT,
                f"Aborted add voter operation for {key} since it is lagging behind",
            )
        else:
            supported = known.min_version, known.max_version
            new = Voter(key, pending.new.endpoints, supported)
            pending.offset = self._append(now, self.state.history.voters.with_voter(new), progress)
            if not getattr(pending.request.body, "ack_when_committed", True):
                self._reply(pending.request, Errors.NONE)

    def _remove(
        self,
        now: int,
        request: AnyRequest,
        body: m.RemoveRaftVoterRequest,
        progress: VoterProgress,
    ) -> None:
        voters = self.state.history.voters
        key = ReplicaKey(body.voter_id, body.voter_directory_id)
        left = voters.without(key)
        if key not in voters.keys or not left.voters:
            raise KafkaError(
                Errors.VOTER_NOT_FOUND,
                f"Cannot remove voter {key} from the set of voters {_named(voters.keys)}",
            )
        timeout_us: int = self.settings["controller.quorum.request.timeout.ms"] * 1000
        self.pending = Pending(request, now + timeout_us)
        self.pending.offset = self._append(now, left, progress)

    def _update(
        self,
        now: int,
        request: AnyRequest,
        body: m.UpdateRaftVoterRequest,
        progress: VoterProgress,
    ) -> None:
        """A voter has another address, or knows other levels; answered at once."""
        voters, changed = self.state.history.voters, _voter(body)
        if changed.key not in voters.keys:
            raise KafkaError(Errors.VOTER_NOT_FOUND)
        self._append(now, voters.with_voter(changed), progress)
        self._reply(request, Errors.NONE)

    def _append(self, now: int, voters: VoterSet, progress: VoterProgress) -> int:
        """The record is in force from here on; gives its offset."""
        offset, epoch = self.log.end_offset, self.state.epoch
        data = control.quorum(
            [voters.record()], timestamp=now // 1000, base_offset=offset, leader_epoch=epoch
        )
        self.log.append(data, epoch, now)
        progress.use_voters(now, voters)
        rule = "quorum.voter_changes.VoterChanges._append"
        names = " ".join(map(str, voters.ids))
        self.outbox.trace(rule, "voters", "", "asked for", voters=names, offset=offset)
        return offset

    # -- how it ends

    def committed(self) -> None:
        """The high watermark has moved."""
        pending = self.pending
        if pending is not None and pending.offset is not None and self.is_settled():
            self._end(Errors.NONE)

    def expire(self, now: int) -> None:
        """A change that takes too long is answered; its record stays where it is."""
        if self.pending is not None and now >= self.pending.until:
            self._end(Errors.REQUEST_TIMED_OUT)

    def give_up(self) -> None:
        """The leader is none any more."""
        if self.pending is not None:
            self._end(Errors.NOT_LEADER_OR_FOLLOWER)

    def _end(self, error: Errors, text: str | None = None) -> None:
        assert self.pending is not None, "a change is on its way"
        request, is_written = self.pending.request, self.pending.offset is not None
        self.pending = None
        if getattr(request.body, "ack_when_committed", True) or not is_written:
            self._reply(request, error, text)

    def _reply(self, request: AnyRequest, error: Errors, text: str | None = None) -> None:
        answer: Message
        match request.body:
            case m.AddRaftVoterRequest():
                answer = m.AddRaftVoterResponse(error_code=error, error_message=text)
            case m.RemoveRaftVoterRequest():
                answer = m.RemoveRaftVoterResponse(error_code=error, error_message=text)
            case _:
                answer = m.UpdateRaftVoterResponse(error_code=error)
                known = self.state.leader, self.state.epoch
                answer.current_leader = answer.CurrentLeader(*known)
        self.outbox.reply(request, answer)


def has_caught_up(now: int, progress: VoterProgress, key: ReplicaKey) -> bool:
    """It has had the whole log once in this epoch, and still fetches."""
    seen = progress.observers.get(key)
    return (
        seen is not None
        and seen.caught_up_at != UNKNOWN
        and now - seen.fetched_at <= CAUGHT_UP_WITHIN_US
    )


def levels() -> m.ApiVersionsResponse:
    """What a controller answers to a leader that wants to make it a voter."""
    feature = m.ApiVersionsResponse.SupportedFeatureKey
    return m.ApiVersionsResponse(supported_features=[feature(KRAFT_FEATURE, *SUPPORTED)])


def _voter(body: Any) -> Voter:
    places = {each.name.upper(): (each.host, each.port) for each in body.listeners}
    found = Voter(
        ReplicaKey(body.voter_id, body.voter_directory_id),
        tuple(Endpoint(name, *place) for name, place in places.items()),
    )
    if isinstance(body, m.UpdateRaftVoterRequest):
        known = body.kraft_version_feature
        supported = known.min_supported_version, known.max_supported_version
        return Voter(found.key, found.endpoints, supported)
    return found


def _later(what: str) -> KafkaError:
    return KafkaError(Errors.REQUEST_TIMED_OUT, f"Request timed out waiting for {what}")


def _named(keys: Iterable[ReplicaKey]) -> str:
    return ", ".join(map(str, keys))
