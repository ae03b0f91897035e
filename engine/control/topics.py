"""Topics: create, delete, and add partitions.

A topic is a TopicRecord, its own configs, and a PartitionRecord per partition; deleting
it is one RemoveTopicRecord.  The id, fresh each time, is what tells a topic from an
earlier one of the same name (KIP-516).  One request is one batch of records: all of it
is in the metadata log or nothing, though each topic is accepted or refused by itself.

Partitions that a client creates or deletes may be limited (quotas/mutation_quotas.py).

Left out: create.topic.policy.class.name.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from engine.control import assignments
from engine.control.configs import check_topic_configs
from engine.control.state import ControlState, Decision
from engine.metadata.image import TOPIC, TopicImage
from engine.metadata.records import METADATA_TOPIC, RECORDS_PER_BATCH_MAX
from engine.metadata.topic_names import collision_key, problem_with
from engine.quotas.mutation_quotas import NO_QUOTA, MutationQuota
from engine.settings import TopicConfig
from engine.settings.definitions import table
from engine.settings.sources import Source, topic_synonyms
from engine.wire import messages as m
from engine.wire import uuids
from engine.wire.errors import Errors, KafkaError

# -- create


def create(
    state: ControlState, ids: Random, body: m.CreateTopicsRequest, quota: MutationQuota = NO_QUOTA
) -> Decision:
    """CreateTopics: each topic is created or refused; with `validate_only`, only checked."""
    response = m.CreateTopicsResponse
    answer = response()
    decision = Decision(answer)
    names = Counter(topic.name for topic in body.topics)
    taken = {collision_key(name): name for name in state.image.topic_ids}
    if _partitions_wanted(state, body) > RECORDS_PER_BATCH_MAX:
        raise KafkaError(
            Errors.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )
    for topic in {topic.name: topic for topic in body.topics}.values():
        try:
            if names[topic.name] > 1:
                raise KafkaError(Errors.INVALID_REQUEST, "Duplicate topic name.")
            _check_name(state, topic.name, taken)
            result = _create_one(state, ids, decision, topic, quota)
        except KafkaError as error:
            result = response.CreatableTopicResult(
                name=topic.name, error_code=error.code, error_message=error.text
            )
        answer.topics.append(result)
        decision.check_size()
    if body.validate_only:
        return Decision(answer)
    return decision


def _partitions_wanted(state: ControlState, body: m.CreateTopicsRequest) -> int:
    default: int = state.settings["num.partitions"]
    return sum(
        len(topic.assignments) or (default if topic.num_partitions < 0 else topic.num_partitions)
        for topic in body.topics
    )


def _check_name(state: ControlState, name: str, taken: dict[str, str]) -> None:
    if name == METADATA_TOPIC:
        raise KafkaError(Errors.INVALID_REQUEST, f"{name} belongs to the controller.")
    problem = problem_with(name)
    if problem:
        raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, problem)
    if name in state.image.topic_ids:
        raise KafkaError(Errors.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = taken.get(collision_key(name))
    if other is not None:
        raise KafkaError(
            Errors.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {other} (metrics write _ for .)",
        )


def _create_one(
    state: ControlState,
    ids: Random,
    decision: Decision,
    topic: m.CreateTopicsRequest.CreatableTopic,
    quota: MutationQuota,
) -> m.CreateTopicsResponse.CreatableTopicResult:
    configs = {each.name: each.value for each in topic.configs}
    effective = check_topic_configs(state, configs)
    own = {name: value for name, value in configs.items() if value is not None}
    replicas_by_index = assignments.for_new_topic(state, ids, topic)
    partitions = {
        index: assignments.partition_record(state, b"", index, replicas)
        for index, replicas in sorted(replicas_by_index.items())
    }
    quota.take(len(partitions))
    topic_id = uuids.new(ids)
    decision.records.append(m.TopicRecord(name=topic.name, topic_id=topic_id))
    for name, value in own.items():
        decision.records.append(
            m.ConfigRecord(resource_type=TOPIC, resource_name=topic.name, name=name, value=value)
        )
    for record in partitions.values():
        record.topic_id = topic_id
        decision.records.append(record)
    replication_factor = len(replicas_by_index[0])
    decision.tell(
        "topics.create",
        "topic-created",
        "asked by a client",
        topic=topic.name,
        id=uuids.to_text(topic_id),
        partitions=len(partitions),
        replicas=replication_factor,
    )
    return m.CreateTopicsResponse.CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id,
        error_message=None,
        num_partitions=len(partitions),
        replication_factor=replication_factor,
        configs=_described(state, effective, own),
    )


def _described(
    state: ControlState, effective: TopicConfig, own: dict[str, str]
) -> list[m.CreateTopicsResponse.CreatableTopicConfigs]:
    """The configs of a topic as CreateTopics 5+ answers them (KIP-525), its own as sent."""
    found = []
    for name, config in sorted(table("topic").items()):
        if config.is_hidden and name not in own:
            continue
        synonyms = topic_synonyms(state.settings, config, own)
        found.append(
            m.CreateTopicsResponse.CreatableTopicConfigs(
                name=name,
                value=None if config.is_sensitive else own.get(name, config.text(effective[name])),
                read_only=False,
                config_source=synonyms[0][2] if synonyms else Source.DEFAULT,
                is_sensitive=config.is_sensitive,
            )
        )
    return found


# -- add partitions


def create_partitions(
    state: ControlState,
    ids: Random,
    body: m.CreatePartitionsRequest,
    quota: MutationQuota = NO_QUOTA,
) -> Decision:
    """CreatePartitions: more partitions for topics that exist.  Old records stay put.

    A request may add 10,000 at most, one record each; a topic that does not fit in gets
    UNKNOWN_SERVER_ERROR, Kafka's own answer.  Simplified: Kafka then still adds as many of
    its partitions as fit; here none is added.
    """
    response = m.CreatePartitionsResponse
    answer = response()
    decision = Decision(answer)
    names = Counter(topic.name for topic in body.topics)
    for asked in {topic.name: topic for topic in body.topics}.values():
        error = KafkaError(Errors.NONE)
        try:
            if names[asked.name] > 1:
                raise KafkaError(Errors.INVALID_REQUEST, "Duplicate topic name.")
            _add_partitions(state, ids, decision, asked, quota)
        except KafkaError as refused:
            error = refused
        answer.results.append(
            response.CreatePartitionsTopicResult(
                name=asked.name,
                error_code=error.code,
                error_message=error.text,
            )
        )
    if body.validate_only:
        return Decision(answer)
    return decision


def _add_partitions(
    state: ControlState,
    ids: Random,
    decision: Decision,
    asked: m.CreatePartitionsRequest.CreatePartitionsTopic,
    quota: MutationQuota,
) -> None:
    topic = state.image.topic(asked.name)
    if topic is None:
        raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
    present = len(topic.partitions)
    if asked.count <= present:
        raise KafkaError(
            Errors.INVALID_PARTITIONS,
            f"The topic {asked.name} currently has {present} partition(s); "
            f"{asked.count} would not be an increase.",
        )
    added = asked.count - present
    replication_factor = len(topic.partitions[0].replicas)
    assignments.check_number(asked, added)
    quota.take(added)
    if len(decision.records) + added > RECORDS_PER_BATCH_MAX:
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)
    placed = assignments.for_added_partitions(state, ids, asked, added, replication_factor)
    # All or none of a topic's partitions: the records are made before any is taken.
    decision.records += [
        assignments.partition_record(state, topic.id, index, replicas)
        for index, replicas in enumerate(placed, present)
    ]
    decision.tell(
        "topics.create_partitions",
        "partitions-created",
        "asked by a client",
        topic=asked.name,
        partitions=asked.count,
    )


# -- delete


def delete(
    state: ControlState, body: m.DeleteTopicsRequest, quota: MutationQuota = NO_QUOTA
) -> Decision:
    """DeleteTopics, by name or (6+) by id."""
    response = m.DeleteTopicsResponse
    if not state.settings["delete.topic.enable"]:
        raise KafkaError(Errors.TOPIC_DELETION_DISABLED, "delete.topic.enable is false.")
    answer = response()
    decision = Decision(answer)
    asked: list[tuple[str | None, bytes]] = [(name, uuids.ZERO) for name in body.topic_names]
    asked += [(topic.name, topic.topic_id) for topic in body.topics]
    times = Counter(asked)
    found: dict[bytes, m.DeleteTopicsResponse.DeletableTopicResult] = {}
    for name, topic_id in times:
        result = response.DeletableTopicResult(name=name, topic_id=topic_id, error_message=None)
        try:
            if times[name, topic_id] > 1:
                raise KafkaError(Errors.INVALID_REQUEST, "The topic is named twice.")
            topic = _find(state, name, topic_id)
            result.name, result.topic_id = topic.name, topic.id
            if topic.id in found:
                found[topic.id].error_code = Errors.INVALID_REQUEST
                found[topic.id].error_message = "The topic is given by name and by id."
                continue
            found[topic.id] = result
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.text
        answer.responses.append(result)
    for topic_id, result in found.items():
        if not result.error_code:
            _delete_one(state, decision, topic_id, result, quota)
    return decision


def _delete_one(
    state: ControlState,
    decision: Decision,
    topic_id: bytes,
    result: m.DeleteTopicsResponse.DeletableTopicResult,
    quota: MutationQuota,
) -> None:
    topic = state.image.topics[topic_id]
    try:
        quota.take(len(topic.partitions))
    except KafkaError as error:
        result.error_code, result.error_message = error.code, error.text
        return
    decision.records.append(m.RemoveTopicRecord(topic_id=topic_id))
    decision.check_size()
    decision.tell("topics.delete", "topic-deleted", "asked by a client", topic=topic.name)


def _find(state: ControlState, name: str | None, topic_id: bytes) -> TopicImage:
    if (name is None) == (topic_id == uuids.ZERO):
        raise KafkaError(Errors.INVALID_REQUEST, "A topic is given by name or by id, not both.")
    if name is not None:
        topic = state.image.topic(name)
        if topic is None:
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name}.")
        return topic
    if topic_id not in state.image.topics:
        raise KafkaError(Errors.UNKNOWN_TOPIC_ID, "There is no topic with this id.")
    return state.image.topics[topic_id]
