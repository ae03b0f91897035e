"""Which brokers get the replicas of a new partition: chosen here, or given by the client.

Replicas come from `placement`, or from the client as they are.  The first ISR is the
replicas that are up; the first of those leads, in epoch 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from engine.control.placement import UsableBroker, place
from engine.control.state import ControlState
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors, KafkaError

DEFAULT = -1
Replicas = tuple[int, ...]


def for_new_topic(
    state: ControlState, ids: Random, topic: m.CreateTopicsRequest.CreatableTopic
) -> dict[int, Replicas]:
    """Replicas by partition index, placed or as the client wants them."""
    if topic.assignments:
        return _manual(state, topic)
    count, replicas = topic.num_partitions, topic.replication_factor
    if replicas < DEFAULT or replicas == 0:
        raise KafkaError(
            Errors.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if count < DEFAULT or count == 0:
        raise KafkaError(
            Errors.INVALID_PARTITIONS,
            "The number of partitions must be larger than 0, or -1 to use the default value.",
        )
    if replicas == DEFAULT:
        replicas = state.settings["default.replication.factor"]
    if count == DEFAULT:
        count = state.settings["num.partitions"]
    return dict(enumerate(place(count, replicas, _usable(state), ids)))


def _manual(
    state: ControlState, topic: m.CreateTopicsRequest.CreatableTopic
) -> dict[int, Replicas]:
    if topic.replication_factor != DEFAULT or topic.num_partitions != DEFAULT:
        raise KafkaError(
            Errors.INVALID_REQUEST,
            "With a manual assignment, replication factor and partitions must both be -1.",
        )
    assignments: dict[int, Replicas] = {}
    replication_factor = None
    for each in topic.assignments:
        if each.partition_index in assignments:
            raise _bad_assignment(f"partition {each.partition_index} is assigned twice.")
        _check_assignment(state, each.broker_ids, replication_factor)
        replication_factor = len(each.broker_ids)
        assignments[each.partition_index] = tuple(each.broker_ids)
    if sorted(assignments) != list(range(len(assignments))):
        raise _bad_assignment("partitions must be numbered from 0, without a gap.")
    return assignments


def check_number(asked: m.CreatePartitionsRequest.CreatePartitionsTopic, added: int) -> None:
    """A client that assigns replicas itself does so for each new partition."""
    if asked.assignments is not None and len(asked.assignments) != added:
        raise _bad_assignment(f"{added} partitions need {added} assignments.")


def for_added_partitions(
    state: ControlState,
    ids: Random,
    asked: m.CreatePartitionsRequest.CreatePartitionsTopic,
    added: int,
    replication_factor: int,
) -> list[Replicas]:
    """Replicas of `added` partitions of an existing topic."""
    if asked.assignments is None:
        return place(added, replication_factor, _usable(state), ids)
    for each in asked.assignments:
        _check_assignment(state, each.broker_ids, replication_factor)
    return [tuple(each.broker_ids) for each in asked.assignments]


def _check_assignment(
    state: ControlState, brokers: Sequence[int], replication_factor: int | None
) -> None:
    if not brokers:
        raise _bad_assignment("a partition has no replicas.")
    seen: set[int] = set()
    for broker_id in brokers:
        if broker_id not in state.image.brokers:
            raise _bad_assignment(f"broker {broker_id} is not registered.")
        if broker_id in seen:
            raise _bad_assignment(f"broker {broker_id} appears more than once.")
        seen.add(broker_id)
    if replication_factor is not None and len(brokers) != replication_factor:
        raise _bad_assignment(
            f"a partition has {len(brokers)} replica(s); the others have {replication_factor}."
        )
    if not any(map(state.is_active, brokers)):
        raise _bad_assignment(f"brokers {brokers} are all fenced or shutting down.")


def _bad_assignment(problem: str) -> KafkaError:
    return KafkaError(
        Errors.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment is wrong: {problem}"
    )


def _usable(state: ControlState) -> Iterable[UsableBroker]:
    for broker in state.image.brokers.values():
        if not broker.in_controlled_shutdown:
            yield UsableBroker(broker.id, broker.rack, broker.fenced)


def partition_record(
    state: ControlState, topic_id: bytes, index: int, replicas: Replicas
) -> m.PartitionRecord:
    """A partition in epoch 0: the replicas that are up are in sync, the first of them leads."""
    isr = [replica for replica in replicas if state.is_active(replica)]
    if not isr:
        raise KafkaError(
            Errors.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {len(replicas)} time(s): "
            "all its brokers are fenced or in controlled shutdown.",
        )
    return m.PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[_directory(state, replica) for replica in replicas],
    )


def _directory(state: ControlState, broker_id: int) -> bytes:
    """The directory of a replica: a broker here has one, or does not say."""
    directories = state.image.brokers[broker_id].directories
    return directories[0] if directories else uuids.ZERO
