"""Membership by the consumer protocol (KIP-848): one request, the heartbeat, and a target.

    JOINING ──epoch 1──> STABLE ──the target changes──> RECONCILING ──it is ours──> ACKNOWLEDGING
       ^                    ^                                                            │
       │                    └──────────────────── the coordinator knows ─────────────────┘
       └── FENCED: an old epoch, or unknown to the group: all partitions are lost

The coordinator assigns.  Each member walks from what it has to its own target, at its own pace:

    1  the answer to a heartbeat brings the target
    2  the member commits, gives back what is not in it, and says so in the next heartbeat
    3  what others have given back comes with a later answer; the member takes it

No member waits for another, except for the partitions that the other one has.  So there are no
JoinGroup and SyncGroup, no leader and no assignor in the client.  The member's *epoch* is its
licence: it goes into every heartbeat and commit, and an old one is fenced.

    epoch 0   joins: says everything about itself
    epoch n   lives: says what has changed, the answer what it may have
    epoch -1  leaves        epoch -2   a static member leaves and will be back

Heartbeats go out beside `poll`, in the interval that the coordinator sets.  But partitions are
given back and taken inside `poll`, because a listener is called there.  A loop that does not poll
for max.poll.interval.ms is STALE: it leaves, and joins again with its next poll.

The member makes its own id, so that a lost answer to the first heartbeat leaves no ghost behind
(KIP-1082).

Simplified: a target is taken over whole, as soon as the topics' names are known.

Sources: KIP-848; AbstractMembershipManager in Kafka's clients.
"""

from __future__ import annotations

import uuid
from random import Random

from engine.client.connections import Answer
from engine.client.consumer.commits import AUTO, COMMIT_FAILED, Commit, Commits, Identity
from engine.client.consumer.coordinator import Coordinator
from engine.client.consumer.handover import Handover
from engine.client.consumer.settings import ConsumerSettings
from engine.client.consumer.subscription import Subscription, names
from engine.client.metadata import Metadata, Place
from engine.events import Outbox
from engine.wire import messages as m
from engine.wire.errors import Errors

_HERE = "client.consumer.consumer_group.ConsumerGroupMembership"
UNSUBSCRIBED, JOINING, STABLE = "unsubscribed", "joining", "stable"
RECONCILING, ACKNOWLEDGING = "reconciling", "acknowledging"
FENCED, STALE, FATAL = "fenced", "stale", "fatal"
IN_GROUP = (STABLE, RECONCILING, ACKNOWLEDGING)
BEAT, LEAVE = "group-heartbeat", "leave"
JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
GONE = (Errors.FENCED_MEMBER_EPOCH, Errors.UNKNOWN_MEMBER_ID)
Target = dict[bytes, tuple[int, ...]]


class ConsumerGroupMembership:
    """One member; `error` is what the next `poll` must report, and ends the membership."""

    def __init__(self, outbox: Outbox, settings: ConsumerSettings, subscription: Subscription,
                 metadata: Metadata, coordinator: Coordinator, commits: Commits,
                 handover: Handover, chance: Random) -> None:  # fmt: skip
        self.outbox = outbox
        self.settings = settings
        self.subscription = subscription
        self.metadata = metadata
        self.coordinator = coordinator
        self.commits = commits
        self.handover = handover
        self.state = UNSUBSCRIBED
        self.member_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        self.epoch = JOIN_EPOCH
        self.target: Target = {}
        self.said: tuple[object, ...] = ()
        """What the coordinator has heard of us, so that it is said once."""
        self.is_said = False
        self.auto_commit: Commit | None = None
        self.asking = False
        self.beat_at = 0
        self.interval_ms = 0
        self.poll_until = 0
        self.failures = 0
        self.error = ""

    # -- what others read

    @property
    def generation(self) -> int:
        """The epoch, under the name that it has in the classic protocol."""
        return self.epoch

    @property
    def rejoin(self) -> bool:
        return self.state not in (STABLE, FATAL)

    def member(self) -> tuple[str | None, int]:
        """For OffsetFetch: only a member asks for its partitions' offsets."""
        return (self.member_id, self.epoch) if self.state in IN_GROUP else (None, -1)

    # -- inside poll

    def work(self, now: int) -> None:
        self.poll_until = now + self.settings.max_poll_interval_ms * 1000
        if self.state in (UNSUBSCRIBED, STALE, FENCED, FATAL):
            self._drop_everything(now)
            if self.state == FATAL:
                return
            self._join(now)
        if self.state == RECONCILING:
            self._reconcile(now)
        self.beat(now)

    def _drop_everything(self, now: int) -> None:
        self.handover.lose(now, self.subscription.owned, f"the member is {self.state}")
        self.auto_commit = None

    def _join(self, now: int) -> None:
        self.outbox.trace(f"{_HERE}._join", "joining", member=self.member_id,
                          owned=len(self.subscription.assigned))  # fmt: skip
        self.state, self.epoch, self.target, self.is_said = JOINING, JOIN_EPOCH, {}, False
        self.beat_at = now

    def _reconcile(self, now: int) -> None:
        """One step towards the target; a later poll goes on if it must wait."""
        wanted = self._named_target()
        if wanted is None:
            return
        owned = self.subscription.owned
        leaving = tuple(place for place in owned if place not in wanted)
        if leaving and not self._has_committed(now, leaving):
            return
        if not self.handover.give_back(now, leaving, "it is not in our target"):
            return
        self.auto_commit = None
        if set(wanted) != set(self.subscription.owned):
            self.handover.take(now, wanted, self.epoch)
        self.commits.put_off(now)
        self.state = ACKNOWLEDGING
        self.beat_at = now

    def _named_target(self) -> tuple[Place, ...] | None:
        """The target by topic names; None while metadata does not know one of its ids."""
        by_id = {topic_id: name for name, topic_id in self.metadata.topic_ids.items()}
        unknown = [topic_id for topic_id in self.target if topic_id not in by_id]
        if unknown:
            self.metadata.add_ids(unknown)
            return None
        places = ((by_id[t], index) for t, indexes in self.target.items() for index in indexes)
        return tuple(sorted(places))

    def _has_committed(self, now: int, leaving: tuple[Place, ...]) -> bool:
        if not self.settings.enable_auto_commit:
            return True
        if self.auto_commit is None:
            for place in leaving:
                self.subscription.assigned[place].giving_back = True
            self.auto_commit = self.commits.start(now, self.subscription.consumed(), AUTO)
        return self.auto_commit.is_done

    # -- beside poll: heartbeats

    def beat(self, now: int) -> None:
        if self.state not in (JOINING, *IN_GROUP):
            return
        if now >= self.poll_until and self.coordinator.is_ready(now):
            self.leave(now, "consumer poll timeout has expired.")
            self.state = STALE
        elif now >= self.beat_at and not self.asking and self.coordinator.is_ready(now):
            self._send(now)

    def _send(self, now: int) -> None:
        """What has changed since the coordinator has heard of us; everything when we join."""
        request = m.ConsumerGroupHeartbeatRequest
        topics = self.subscription.topics or ()
        saying = (topics, self.subscription.pattern, self.subscription.owned)
        changed = [not self.is_said or a != b for a, b in zip(saying, self.said, strict=False)]
        says_all = not self.is_said or not changed
        body = request(
            group_id=self.settings.group_id, member_id=self.member_id, member_epoch=self.epoch,
            instance_id=self.settings.group_instance_id or None,
        )  # fmt: skip
        if says_all:
            body.rebalance_timeout_ms = self.settings.max_poll_interval_ms
            body.server_assignor = self.settings.group_remote_assignor or None
            body.rack_id = self.settings.client_rack or None
        if says_all or changed[0]:
            body.subscribed_topic_names = sorted(topics)
        if self.subscription.pattern and (says_all or changed[1]):
            body.subscribed_topic_regex = self.subscription.pattern
        if says_all or changed[2]:
            body.topic_partitions = self._owned_by_id()
        self.said, self.is_said = saying, True
        self.asking = True
        self.beat_at = now + self.interval_ms * 1000
        if self.state == ACKNOWLEDGING:
            self.state = STABLE
        self.coordinator.send(now, BEAT, body, Identity(self.epoch, self.member_id))

    def _owned_by_id(self) -> list[m.ConsumerGroupHeartbeatRequest.TopicPartitions]:
        by_topic: dict[str, list[int]] = {}
        for topic, index in self.subscription.owned:
            by_topic.setdefault(topic, []).append(index)
        row = m.ConsumerGroupHeartbeatRequest.TopicPartitions
        return [row(self.metadata.topic_ids[topic], each) for topic, each in by_topic.items()]

    def heard(self, now: int, answer: Answer) -> None:
        if answer.purpose[0] != BEAT:
            return
        self.asking = False
        body = answer.body
        error = answer.error
        if isinstance(body, m.ConsumerGroupHeartbeatResponse):
            error = Errors(body.error_code)
        sent: Identity = answer.purpose[1]
        self.outbox.trace(f"{_HERE}.heard", "heartbeat answered", error=error.name,
                          generation=sent.generation)  # fmt: skip
        if self.state not in (JOINING, *IN_GROUP):
            return  # it has left meanwhile
        if error or not isinstance(body, m.ConsumerGroupHeartbeatResponse):
            self._refused(now, error)
            return
        self.failures = 0
        self._accepted(now, body)

    def _accepted(self, now: int, body: m.ConsumerGroupHeartbeatResponse) -> None:
        if body.heartbeat_interval_ms != self.interval_ms:
            self.interval_ms = body.heartbeat_interval_ms
            self.beat_at = now + self.interval_ms * 1000
        if body.member_epoch != self.epoch or self.state == JOINING:
            self.outbox.trace(f"{_HERE}._accepted", "joined", member=self.member_id,
                              generation=body.member_epoch)  # fmt: skip
        self.epoch = body.member_epoch
        self.member_id = body.member_id or self.member_id
        if body.assignment is not None:
            rows = body.assignment.topic_partitions
            self.target = {row.topic_id: tuple(row.partitions) for row in rows}
        if body.assignment is not None and self._named_target() != self.subscription.owned:
            self.state = RECONCILING
            self.outbox.trace(f"{_HERE}._accepted", "target", generation=self.epoch,
                              partitions=names(self._named_target() or ()))  # fmt: skip
        elif self.state == JOINING:
            self.state = STABLE

    def _refused(self, now: int, error: Errors) -> None:
        """After an error the next heartbeat says everything again."""
        self.coordinator.check(error)
        if error in (Errors.REQUEST_TIMED_OUT, Errors.NETWORK_EXCEPTION):
            self.coordinator.unknown(error.name)
        self.is_said = False
        backoff_ms = min(
            self.settings.retry_backoff_ms << min(self.failures, 10),
            self.settings.retry_backoff_max_ms,
        )
        self.failures += 1
        self.beat_at = now + backoff_ms * 1000
        if error in GONE:
            self._fenced(error)
        elif not error.retriable:
            self._fenced(error)
            self.state, self.error = FATAL, error.name

    def _fenced(self, error: Errors) -> None:
        """Out of the group; the next poll loses all partitions and joins again."""
        self.outbox.trace(f"{_HERE}._fenced", "fenced", why=error.name, member=self.member_id,
                          generation=self.epoch)  # fmt: skip
        self.state, self.epoch = FENCED, JOIN_EPOCH

    # -- commits, and the end

    def identity(self) -> Identity | str:
        """As Commits asks it."""
        if self.state in IN_GROUP:
            return Identity(self.epoch, self.member_id)
        return COMMIT_FAILED

    def commit_refused(self, now: int, error: Errors, sent: Identity) -> str:
        """The heartbeat finds out by itself that we are fenced; the commit has failed for good."""
        if error in (*GONE, Errors.STALE_MEMBER_EPOCH):
            return COMMIT_FAILED
        return error.name

    def close(self, now: int) -> bool:
        """Gives everything back and leaves; True when done."""
        if self.state not in IN_GROUP:
            self.handover.lose(now, self.subscription.owned, "the consumer is closed")
        elif not self.handover.give_back(now, self.subscription.owned, "the consumer is closed"):
            return False
        self.leave(now, "the consumer is being closed")
        self.state = UNSUBSCRIBED
        return True

    def leave(self, now: int, why: str) -> None:
        is_static = bool(self.settings.group_instance_id)
        if self.state in (JOINING, *IN_GROUP) and self.coordinator.is_ready(now):
            body = m.ConsumerGroupHeartbeatRequest(
                group_id=self.settings.group_id, member_id=self.member_id,
                member_epoch=LEAVE_STATIC_EPOCH if is_static else LEAVE_EPOCH,
                instance_id=self.settings.group_instance_id or None,
            )  # fmt: skip
            self.coordinator.send(now, LEAVE, body)
        self.outbox.trace(f"{_HERE}.leave", "left", why=why, member=self.member_id,
                          static=is_static)  # fmt: skip
        self.epoch = LEAVE_STATIC_EPOCH if is_static else LEAVE_EPOCH

    def next_at(self) -> list[int]:
        return [self.beat_at, self.poll_until] if self.state in (JOINING, *IN_GROUP) else []
