"""ConsumerGroupHeartbeat (key 68): a member joins, lives and leaves (KIP-848).

What it does to the group is in `engine.coordinators.consumer.heartbeat` and `.leave`.

    v0      the coordinator may make the member id
    v1      The client makes its own (KIP-1082), so that a join whose answer was lost is not
            a second member.  Subscriptions by regular expression.

Left out: authorization.
Simplified: a regular expression is one of Python's, without what RE2 lacks; it is resolved at once
and not in the background.
"""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.coordinators.consumer.heartbeat import heartbeat
from engine.coordinators.consumer.leave import leave
from engine.coordinators.consumer.states import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH
from engine.events import Request
from engine.metadata.features import GROUP_FEATURE
from engine.settings import Settings
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

FIRST_VERSION_WITH_CLIENT_MADE_IDS = 1


def handle(broker: Broker, now: int, request: Request[m.ConsumerGroupHeartbeatRequest]) -> None:
    body = request.body
    check_protocol(broker)
    check(broker.settings, request.version, body)
    shard, error = broker.groups.shard_of(body.group_id)
    if shard is None:
        raise KafkaError(error)
    if body.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
        leave(shard.consumer, now, request)
    else:
        heartbeat(shard.consumer, now, request)


def check_protocol(broker: Broker) -> None:
    """UNSUPPORTED_VERSION where the cluster or the broker has the protocol switched off.

    A broker that has just started and has no metadata yet cannot say.  Kafka's is not reachable
    until then.
    """
    if not broker.metadata.features:
        raise KafkaError(Errors.COORDINATOR_NOT_AVAILABLE)
    offered = broker.settings["group.coordinator.rebalance.protocols"]
    if not broker.metadata.features.get(GROUP_FEATURE, 0) or "consumer" not in offered:
        raise KafkaError(Errors.UNSUPPORTED_VERSION)


def check(settings: Settings, version: int, body: m.ConsumerGroupHeartbeatRequest) -> None:
    """What is wrong with a heartbeat on any broker, the coordinator or not."""
    epoch = body.member_epoch
    has_id = version >= FIRST_VERSION_WITH_CLIENT_MADE_IDS or epoch > 0 or epoch == LEAVE_EPOCH
    if has_id and not body.member_id.strip():
        raise _invalid("MemberId can't be empty.")
    for name, text in (
        ("GroupId", body.group_id),
        ("InstanceId", body.instance_id),
        ("RackId", body.rack_id),
    ):
        if text is not None and not text.strip():
            raise _invalid(f"{name} can't be empty.")
    if epoch == JOIN_EPOCH:
        _check_join(body)
    elif epoch == LEAVE_STATIC_EPOCH and body.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    elif epoch < LEAVE_STATIC_EPOCH:
        raise _invalid(f"MemberEpoch is {epoch}, but must be greater than or equal to -2.")
    offered = settings["group.consumer.assignors"]
    if body.server_assignor is not None and body.server_assignor not in offered:
        raise KafkaError(
            Errors.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {body.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(offered)}.",
        )


def _check_join(body: m.ConsumerGroupHeartbeatRequest) -> None:
    if body.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if body.topic_partitions is None or body.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if body.subscribed_topic_names is None and body.subscribed_topic_regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null "
            "when (re-)joining."
        )


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_REQUEST, message)
