"""When elections are held: brokers coming and going, requests, and two periodic checks.

* A broker is fenced, leaves, or restarts uncleanly: every partition that has it in the
  ISR (or, after an unclean restart, in the ELR) is decided again without it.
* A broker is unfenced: every partition without a leader is decided again.
* ElectLeaders (KIP-183, KIP-460): an operator asks for the preferred leader, or, for a
  partition that has none, for an unclean election.
* Every leader.imbalance.check.interval.seconds, if auto.leader.rebalance.enable: back to
  the preferred leaders.  Leaderships pile up on the brokers that stayed alive.
* Every unclean.leader.election.interval.ms: partitions without a leader whose topic has
  unclean.leader.election.enable=true.

How an election goes is in `partition_changes`; this module decides which partitions hold
one, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engine.control.partition_changes import Change, Election, change_partition
from engine.control.state import ControlState, Decision
from engine.metadata.image import NO_LEADER, PartitionImage
from engine.metadata.partition_index import Key
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

PREFERRED, UNCLEAN = 0, 1
ELECTIONS_AT_ONCE_MAX = 1_000
"""A periodic check stops after this many; the others wait for the next event."""


def without_broker(
    state: ControlState, decision: Decision, broker_id: int, keys: Iterable[Key], why: str
) -> None:
    """The broker is gone: it leaves every ISR, and others take its leaderships."""

    def usable(replica: int) -> bool:
        return replica != broker_id and state.is_active(replica)

    _change_partitions(state, decision, keys, usable, why, gone=broker_id)


def after_unclean_restart(
    state: ControlState, decision: Decision, broker_id: int, why: str
) -> None:
    """The broker may have lost what it had not flushed: it leaves every ISR and ELR."""

    def usable(replica: int) -> bool:
        return replica != broker_id and state.is_active(replica)

    keys = state.index.with_in_isr(broker_id) + state.index.with_in_elr(broker_id)
    _change_partitions(
        state, decision, keys, usable, why, gone=broker_id, unclean_restart=broker_id
    )


def with_broker(state: ControlState, decision: Decision, broker_id: int, why: str) -> None:
    """The broker is back: perhaps it can lead partitions that have no leader."""

    def usable(replica: int) -> bool:
        return replica == broker_id or state.is_active(replica)

    _change_partitions(state, decision, state.index.leaderless(), usable, why)


def _change_partitions(
    state: ControlState,
    decision: Decision,
    keys: Iterable[Key],
    usable: Callable[[int], bool],
    why: str,
    gone: int | None = None,
    unclean_restart: int | None = None,
) -> None:
    for key in keys:
        topic = state.image.topics[key[0]]
        partition = topic.partitions[key[1]]
        change = change_partition(
            partition,
            *key,
            state.rules(topic.name, usable),
            isr=tuple(replica for replica in partition.isr if replica != gone),
            unclean_restart=unclean_restart,
            election=Election.UNCLEAN if state.unclean_allowed(topic.name) else Election.ONLINE,
        )
        if change is not None:
            decision.change(topic.name, key[1], change, why)


# -- the ElectLeaders API


def elect_leaders(state: ControlState, body: m.ElectLeadersRequest) -> Decision:
    """Preferred or unclean elections, for the partitions named or (None) for all."""
    response = m.ElectLeadersResponse
    if body.election_type not in (PREFERRED, UNCLEAN):
        raise KafkaError(Errors.INVALID_REQUEST, f"Unknown election type {body.election_type}.")
    answer = response()
    decision = Decision(answer)
    for topic, indexes in _wanted(state, body):
        results = []
        for index in indexes:
            error = _elect_one(state, decision, topic, index, body.election_type)
            # Where all partitions are asked for, Kafka does not list those that need no election.
            if body.topic_partitions is not None or error.code != Errors.ELECTION_NOT_NEEDED:
                results.append(
                    response.PartitionResult(
                        partition_id=index,
                        error_code=error.code,
                        error_message=error.text,
                    )
                )
        answer.replica_election_results.append(
            response.ReplicaElectionResult(topic=topic, partition_result=results)
        )
    return decision


def _wanted(state: ControlState, body: m.ElectLeadersRequest) -> list[tuple[str, Sequence[int]]]:
    if body.topic_partitions is None:
        return [
            (topic.name, sorted(topic.partitions))
            for topic in sorted(state.image.topics.values(), key=lambda topic: topic.name)
        ]
    return [(topic.topic, topic.partitions) for topic in body.topic_partitions]


def _elect_one(
    state: ControlState, decision: Decision, topic: str, index: int, election_type: int
) -> KafkaError:
    found = state.image.topic(topic)
    partition = found.partitions.get(index) if found else None
    if found is None or partition is None:
        return KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"There is no {topic}-{index}.")
    if election_type == PREFERRED:
        needed = partition.leader != partition.replicas[0]
        election, failure = Election.PREFERRED, Errors.PREFERRED_LEADER_NOT_AVAILABLE
    else:
        needed = partition.leader == NO_LEADER
        election, failure = Election.UNCLEAN, Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE
    if not needed:
        return KafkaError(Errors.ELECTION_NOT_NEEDED, "Leader election is not needed.")
    change = _elect(state, topic, (found.id, index), partition, election)
    if change is None:
        return KafkaError(failure, f"No replica of {topic}-{index} can be elected now.")
    decision.change(topic, index, change, f"{election.value} election was asked for")
    decision.check_size()
    return KafkaError(Errors.NONE)


def _elect(
    state: ControlState, topic: str, key: Key, partition: PartitionImage, election: Election
) -> Change | None:
    return change_partition(partition, *key, state.rules(topic), election=election)


# -- the periodic checks


def balance_leaders(state: ControlState) -> Decision:
    """Preferred elections where another replica leads."""
    return _periodic(
        state,
        state.index.not_led_by_preferred(),
        Election.PREFERRED,
        "leader.imbalance.check.interval.seconds is over",
    )


def elect_unclean(state: ControlState) -> Decision:
    """Unclean elections where there is no leader and the topic allows it."""
    keys = [
        key
        for key in state.index.leaderless()
        if state.unclean_allowed(state.image.topics[key[0]].name)
    ]
    return _periodic(state, keys, Election.UNCLEAN, "unclean.leader.election.interval.ms is over")


def _periodic(state: ControlState, keys: list[Key], election: Election, why: str) -> Decision:
    decision = Decision()
    for key in keys:
        if len(decision.records) == ELECTIONS_AT_ONCE_MAX:
            break
        topic = state.image.topics[key[0]]
        change = _elect(state, topic.name, key, topic.partitions[key[1]], election)
        if change is not None:
            decision.change(topic.name, key[1], change, why)
    return decision
