"""A controller: the active one decides, and writes down what it decided.

    Request --> a rule of this package --> Decision: records, answer, story
                records --> appended to the metadata log, applied to the state at once
                        --> committed: the answer goes out, brokers fetch them

Every rule is a function from the state and a request to a decision (`state.Decision`);
this module only routes.  An answer waits until everything appended before it is
committed, even if it brings no records itself: it may depend on a decision that a power
loss, or another leader of the quorum, could still undo.

Which controller is active, the quorum decides (engine/quorum).  The others apply what is committed,
and refuse requests.  A controller that is deposed goes back to what is committed, and refuses what
it has not answered: the broker asks the next one.

Timers: one per broker session, moved along lazily; one each for the two periodic
elections; one per fetch that waits.  None looks at partitions one by one.
Source: QuorumController of Kafka 4.3.1.  Simplified: no metadata transactions, no NoOpRecord, no
ACLs, no reassignment yet; the only voter is active at once; a leader that resigns is not active any
more (in Kafka until its next append).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from engine.control import (
    alter_partition,
    brokers,
    client_quotas,
    configs,
    elections,
    feature_levels,
    producer_ids,
    registration,
    topics,
)
from engine.control.registration import RegistrationCall, RegistrationTimer
from engine.control.sessions import Sessions
from engine.control.state import ControlState, Decision
from engine.events import (
    AnyRequest,
    Effect,
    Event,
    Expired,
    Flushed,
    Outbox,
    Reply,
    Request,
    Response,
    Token,
)
from engine.metadata import features, image_records
from engine.metadata.image import MetadataImage
from engine.metadata.records import MetadataRecord
from engine.metadata.snapshot import SnapshotId
from engine.plain import Plain
from engine.quorum.describe import describe
from engine.quorum.election_state import NONE
from engine.quorum.fetches import FetchWait
from engine.quorum.raft_log import RaftLog
from engine.quorum.replica import RAFT_REQUESTS, RaftTimer, Replica
from engine.quorum.requests import RaftCall
from engine.quorum.roles import Role
from engine.quorum.voter_changes import VOTER_REQUESTS, NewVoterCall, levels
from engine.quotas.mutation_quotas import MutationQuota, MutationQuotas
from engine.settings import Settings
from engine.storage.disk import Disk
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError
from engine.wire.structures import Message, RequestMessage

ANY_CONTROLLER = (m.ApiVersionsRequest.API_KEY, m.DescribeClusterRequest.API_KEY)
"""What every controller answers on its listener, active or not."""

MAY_TIME_OUT = (
    m.CreateTopicsRequest, m.CreatePartitionsRequest, m.DeleteTopicsRequest,
    m.ElectLeadersRequest,
)  # fmt: skip
"""Requests with a timeout of their own; a timeout of 0 is over already."""

Addresses = Mapping[int, tuple[str, int]]

ELECT_PREFERRED, ELECT_UNCLEAN = "elect-preferred", "elect-unclean"


@dataclass(frozen=True, slots=True)
class SessionTimer:
    """The end of a broker's session, unless a heartbeat has moved it meanwhile."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class ElectionTimer:
    """When the next periodic election of a kind is due."""

    which: str


@dataclass(frozen=True)
class Listener:
    """Where clients reach a controller, and the functions of engine/api that serve them.

    `answer(request, cluster id, leader, addresses, image)` answers what any controller can, None
    if that is for the active one; `fit(request, answer, None)` makes an answer the client's.
    """

    address: tuple[str, int]
    answer: Callable[[AnyRequest, str, int, Addresses, MetadataImage], Message | None]
    fit: Callable[[AnyRequest, Message, Message | None], Message]


class Controller:
    """Controller `node_id` on `disk`; `ids` is its only source of randomness.

    `voters` are the ids of all controllers, alone if there are no others.  In a quorum whose voters
    may change they are in the log: then `address` and `controllers` are those of the replica.
    With a `cluster_id`, brokers of other clusters are refused.  `levels` are the features that a
    new cluster starts with; a log that exists keeps its own.  Without a `listener` no client asks
    it.
    """

    def __init__(
        self,
        node_id: int,
        settings: Settings,
        disk: Disk,
        ids: Random,
        refusal: Callable[[AnyRequest, Errors, str | None], Message],
        cluster_id: str = "",
        levels: Mapping[str, int] | None = None,
        voters: Sequence[int] = (),
        listener: Listener | None = None,
        address: tuple[str, int] | None = None,
        controllers: Sequence[int] = (),
    ) -> None:
        self.node_id = node_id
        self.settings = settings
        self.disk = disk
        self.ids = ids
        self.refusal = refusal
        self.cluster_id = cluster_id
        self.levels = {**features.FINALISED, **(levels or {})}
        self.outbox = Outbox()
        self.unanswered: deque[tuple[int, AnyRequest, Message | None]] = deque()
        if address is None:
            voters = voters or (node_id,)
        self.replica = Replica(node_id, voters, cluster_id, settings, disk, self.outbox, ids, self,
                               address, controllers)  # fmt: skip
        self.is_active = self.is_stopping = False
        self.listener = listener
        self.registration = (
            None if listener is None
            else registration.Registration(node_id, listener.address, self.outbox, ids)
        )  # fmt: skip
        self._forget()

    def _forget(self) -> None:
        """Knows nothing: neither the log's records nor the brokers' sessions."""
        self.state = ControlState(self.node_id, self.settings)
        self.sessions = Sessions(self.settings["broker.session.timeout.ms"] * 1000)
        self.mutations = MutationQuotas(self.settings, self.state.image)

    @property
    def image(self) -> MetadataImage:
        """Of the active controller all that has been decided, committed or not."""
        return self.state.image

    @property
    def epoch(self) -> int:
        return self.replica.state.epoch

    @property
    def log(self) -> RaftLog:
        return self.replica.log

    def start(self, now: int) -> list[Effect]:
        """Takes its place in the quorum; the only voter is active at once."""
        self.replica.start(now)
        return self.outbox.drain()

    def stop(self, now: int) -> list[Effect]:
        """Begins a clean stop, which ends with a Halt effect; a leader first lets others elect."""
        self.is_stopping = True
        if self.replica.state.is_leader and self.replica.state.voters != (self.node_id,):
            self.replica.resign(now, "it stops")
            self.replica.poll(now)
        self._halt_if_done()
        return self.outbox.drain()

    def _halt_if_done(self) -> None:
        if self.is_stopping and self.replica.state.role is not Role.RESIGNED:
            self.outbox.halt()

    def step(self, now: int, event: Event) -> list[Effect]:
        try:
            self.replica.poll(now)
            match event:
                case Request():
                    self._on_request(now, event)
                case Response(_, RaftCall() as call, body):
                    self.replica.answered(now, call, body)
                case Response(_, NewVoterCall() as call, body):
                    self.replica.new_voter_answered(now, call, body)
                case Response(_, RegistrationCall(), body) if self.registration is not None:
                    self.registration.answered(now, body)
                case Flushed():
                    self.replica.flushed(now)
                case Expired():
                    self._on_timer(now, event.token)
        except KafkaError as error:
            rule = "control.controller.Controller.step"
            self.outbox.trace(rule, "log-failed", "", error.message)
        if self.registration is not None and self.image.features:
            known = self.image.controllers.get(self.node_id)
            self.registration.poll(self.replica.state.leader, known)
        self._halt_if_done()
        return self.outbox.drain()

    def close(self) -> None:
        """Flushes and closes the log."""
        self.replica.close()

    # -- what the quorum says

    def leads(self, now: int) -> None:
        """Active from now on: every broker in service has a full session to report in."""
        self._apply(self.log.end_offset)
        self.is_active = True
        if not self.image.features:
            min_in_sync = self.state.settings["min.insync.replicas"]
            self._append(
                now, Decision(records=features.bootstrap_records(self.levels, min_in_sync))
            )
        self.sessions.restart(now, self.state)
        for broker_id in sorted(self.sessions.by_broker):
            self._watch(broker_id)
        self._set_periodic(now, ELECT_PREFERRED)
        self._set_periodic(now, ELECT_UNCLEAN)

    def follows(self, now: int) -> None:
        """Deposed: what is not committed may be lost, and is forgotten."""
        self.is_active = False
        while self.unanswered:
            _, request, _ = self.unanswered.popleft()
            self._refuse(request)
        self.sessions.by_broker.clear()
        if self.image.offset > self.log.high_watermark:
            self._forget()
        self._apply(self.log.high_watermark)

    def committed(self, now: int) -> None:
        """What waited for the high watermark is answered, or applied."""
        if not self.is_active:
            self._apply(self.log.high_watermark)
        while self.unanswered and self.unanswered[0][0] <= self.log.high_watermark:
            _, request, answer = self.unanswered.popleft()
            self._reply(request, answer)
        if self.log.needs_snapshot(now):
            try:
                self._write_snapshot(now)
            except KafkaError as error:  # the next commit tries again
                rule = "control.controller.Controller.committed"
                self.outbox.trace(rule, "snapshot-failed", "", error.message)

    def _write_snapshot(self, now: int) -> None:
        is_current = self.image.offset == self.log.high_watermark
        image = self.image if is_current else self.log.committed()
        written = self.log.write_snapshot(now, image.epoch, image_records.records(image))
        self.outbox.trace(
            "control.controller.Controller._write_snapshot",
            "snapshot-written",
            "",
            "enough has been committed since the last one",
            snapshot=str(written),
            bytes=self.log.snapshots.size(written),
        )

    def _apply(self, limit: int) -> None:
        """Applies the log up to an offset, from the newest snapshot on if that is news."""
        newest = self.log.snapshot_for(self.image.offset)
        if newest is not None:
            records = self._records_of(newest)
            self._forget()
            for record in records:
                self.state.apply(newest.end_offset - 1, record)
            self.image.offset, self.image.epoch = newest
        for offset, record in self.log.records(self.image.offset, limit):
            self.state.apply(offset, record)

    def _records_of(self, snapshot: SnapshotId) -> list[MetadataRecord]:
        """KafkaError if it is damaged by now, or of a Kafka with more; then this process ends."""
        try:
            return self.log.snapshots.load(snapshot)
        except KafkaError as error:
            self.disk.failure = error.message
            raise

    # -- requests

    def _on_request(self, now: int, request: AnyRequest) -> None:
        if isinstance(request.body, RAFT_REQUESTS):
            self.replica.requested(now, request)
        elif isinstance(request.body, VOTER_REQUESTS):
            self._change_voters(now, request)
        elif isinstance(request.body, m.ApiVersionsRequest) and isinstance(request.source, int):
            self._reply(request, levels())
        elif self.listener is not None and request.body.API_KEY in ANY_CONTROLLER:
            self._answer_itself(request, self.listener)
        elif self.is_active:
            self._answer_when_decided(now, request)
        elif isinstance(request.body, m.DescribeQuorumRequest) and request.envelope is None:
            self._reply(request, self._describe(now, request.body))
        else:
            self._refuse(request)

    def _change_voters(self, now: int, request: AnyRequest) -> None:
        """The leader's to decide; a broker that has forwarded it asks the next controller."""
        if request.envelope is not None and not self.replica.state.is_leader:
            self._refuse(request)
        else:
            self.replica.asked_to_change(now, request)

    def _describe(self, now: int, body: m.DescribeQuorumRequest) -> Message:
        return describe(self.replica, now, body, registration.addresses(self.state))

    def _answer_itself(self, request: AnyRequest, listener: Listener) -> None:
        leader, addresses = self.replica.state.leader, registration.addresses(self.state)
        try:
            answer = listener.answer(request, self.cluster_id, leader, addresses, self.image)
        except KafkaError as error:
            answer = self.refusal(request, error.code, error.text)
        if self.is_active:
            self._answer(request, answer)  # it may show what is not committed yet
        else:
            self._reply(request, answer)

    def _reply(self, request: AnyRequest, answer: Message | None) -> None:
        """A client of the listener gets an answer in its own version."""
        if self.listener is not None and isinstance(request.source, str) and answer is not None:
            answer = self.listener.fit(request, answer, None)
        self.outbox.reply(request, answer)

    def _answer_when_decided(self, now: int, request: AnyRequest) -> None:
        quota = self.mutations.of(now, request)
        try:
            decision = self._decide(now, request.body, quota)
            self._append(now, decision)
            answer = decision.answer
            if quota.throttle_ms and answer and hasattr(answer, "throttle_time_ms"):
                answer.throttle_time_ms = quota.throttle_ms
        except KafkaError as error:
            answer = self.refusal(request, error.code, error.text)
        self._answer(request, answer)
        if isinstance(request.body, m.BrokerHeartbeatRequest):
            self._watch(request.body.broker_id)

    def _decide(self, now: int, body: RequestMessage[Message], quota: MutationQuota) -> Decision:
        """The rule for a request; KafkaError refuses it as a whole."""
        if isinstance(body, MAY_TIME_OUT) and body.timeout_ms <= 0:
            raise KafkaError(Errors.REQUEST_TIMED_OUT)
        match body:
            case m.BrokerHeartbeatRequest():
                return brokers.heartbeat(self.state, self.sessions, now, body)
            case m.BrokerRegistrationRequest():
                return brokers.register(
                    self.state, self.sessions, now, body, self.cluster_id, self.log.end_offset
                )
            case m.UnregisterBrokerRequest():
                return brokers.unregister(self.state, self.sessions, body)
            case m.AlterPartitionRequest():
                return alter_partition.alter_partition(self.state, body)
            case m.AllocateProducerIdsRequest():
                return producer_ids.allocate(self.state, body)
            case m.CreateTopicsRequest():
                return topics.create(self.state, self.ids, body, quota)
            case m.CreatePartitionsRequest():
                return topics.create_partitions(self.state, self.ids, body, quota)
            case m.DeleteTopicsRequest():
                return topics.delete(self.state, body, quota)
            case m.ElectLeadersRequest():
                return elections.elect_leaders(self.state, body)
            case m.IncrementalAlterConfigsRequest():
                return configs.incremental_alter(self.state, body)
            case m.AlterConfigsRequest():
                return configs.legacy_alter(self.state, body)
            case m.AlterClientQuotasRequest():
                return client_quotas.alter(self.state, body)
            case m.UpdateFeaturesRequest():
                return feature_levels.update(self.state, body)
            case m.DescribeQuorumRequest():
                return Decision(self._describe(now, body))
            case m.ControllerRegistrationRequest():
                return registration.register(self.state, body)
            case m.ListPartitionReassignmentsRequest():
                return Decision(m.ListPartitionReassignmentsResponse(error_message=None))
            case _:
                name = type(body).__name__
                raise KafkaError(Errors.UNSUPPORTED_VERSION, f"A controller answers no {name}.")

    def _append(self, now: int, decision: Decision) -> None:
        """Writes a decision down and acts by it from now on.

        After a failed write the log takes nothing more until the controller is started
        again: this decision is dropped, with its story, and so is every later one.
        """
        if decision.records:
            for offset, record in self.replica.append(now, decision.records):
                self.state.apply(offset, record)
        self.outbox.effects.extend(decision.story)

    def _answer(self, request: AnyRequest, answer: Message | None) -> None:
        """Answers once everything so far is committed."""
        if self.log.end_offset <= self.log.high_watermark:
            self._reply(request, answer)
        else:
            self.unanswered.append((self.log.end_offset, request, answer))

    def _refuse(self, request: AnyRequest) -> None:
        """Names the leader; a broker that forwarded a client's request asks that one."""
        leader = self.replica.state.leader
        known = leader not in (NONE, self.node_id)
        if request.envelope is not None:
            refused = m.EnvelopeResponse(error_code=Errors.NOT_CONTROLLER)
            self.outbox.effects.append(Reply(request.source, request.token, 0, refused, request))
            return
        named = f"The active controller appears to be node {leader}."
        text = named if known else "No controller appears to be active."
        self._reply(request, self.refusal(request, Errors.NOT_CONTROLLER, text))

    # -- timers

    def _on_timer(self, now: int, token: Token) -> None:
        match token:
            case RaftTimer():
                self.replica.expired(now)
            case RegistrationTimer() if self.registration is not None:
                self.registration.expired()
            case FetchWait(number):
                self.replica.fetches.expired(number)
            case SessionTimer(broker_id) if self.is_active:
                self._check_session(now, broker_id)
            case ElectionTimer(which) if self.is_active:
                self._elect(now, which)

    def _watch(self, broker_id: int) -> None:
        """Sets the timer of a session that has none."""
        session = self.sessions.by_broker.get(broker_id)
        if session is None or session.watched or session.last_contact is None:
            return
        session.watched = True
        self.outbox.set_timer(
            SessionTimer(broker_id), session.last_contact + self.sessions.timeout_us
        )

    def _check_session(self, now: int, broker_id: int) -> None:
        """A session's timer: heartbeats since then have moved its end."""
        session = self.sessions.by_broker.get(broker_id)
        if session is None:
            return
        session.watched = False
        if self.sessions.is_live(now, broker_id):
            self._watch(broker_id)
        elif session.last_contact is not None:
            self._append(now, brokers.expire(self.state, self.sessions, broker_id))

    def _set_periodic(self, now: int, which: str) -> None:
        settings = self.state.settings
        if which == ELECT_UNCLEAN:
            interval_us = settings["unclean.leader.election.interval.ms"] * 1000
        elif settings["auto.leader.rebalance.enable"]:
            interval_us = settings["leader.imbalance.check.interval.seconds"] * 1_000_000
        else:
            return
        self.outbox.set_timer(ElectionTimer(which), now + interval_us)

    def _elect(self, now: int, which: str) -> None:
        preferred = which == ELECT_PREFERRED
        decision = (elections.balance_leaders if preferred else elections.elect_unclean)(self.state)
        self._append(now, decision)
        if len(decision.records) >= elections.ELECTIONS_AT_ONCE_MAX:
            self.outbox.set_timer(ElectionTimer(which), now)
        else:
            self._set_periodic(now, which)

    # -- views

    def snapshot(self) -> Plain:
        """The controller's own view, as plain data."""
        image = self.image
        return {
            "id": self.node_id,
            "epoch": self.replica.state.epoch,
            "metadata_offset": self.log.end_offset,
            "high_watermark": self.log.high_watermark,
            "features": dict(image.features),
            "brokers": {
                broker.id: {
                    "epoch": broker.epoch,
                    "state": str(brokers.state_of(self.state, broker.id)),
                    "rack": broker.rack,
                }
                for broker in image.brokers.values()
            },
            "topics": len(image.topics),
        }
