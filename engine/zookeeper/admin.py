"""Requests to the controller from brokers and, through them, from clients.

Whether a topic, a partition or a config may be as asked is decided by today's rules
(engine/control); what they would write into the metadata log is written into znodes here, and the
watches on these znodes make the controller act. Only AlterPartition and ElectLeaders act at once.

    CreateTopics       /brokers/topics/<name>; answered when all partitions have a leader
    DeleteTopics       /admin/delete_topics/<name>; answered when that is written
    configs            /config/<type>/<name>, and a note in /config/changes
    AlterPartition     the state znode: the leader's new ISR (KIP-497)

Left out, and refused: quotas, features, unregistering.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from engine.control import alter_partition, configs, elections, topics
from engine.control.producer_ids import BLOCK_SIZE
from engine.control.state import Decision
from engine.events import AnyRequest
from engine.metadata.image import PartitionImage
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError
from engine.wire.structures import Message
from engine.zookeeper import changes, states, znodes
from engine.zookeeper.context import Context, Key
from engine.zookeeper.steps import Results
from engine.zookeeper.tree import Code, Create, GetData, Operation, SetData

ADMINISTRATIVE = (
    m.CreateTopicsRequest, m.CreatePartitionsRequest, m.DeleteTopicsRequest, m.ElectLeadersRequest,
    m.IncrementalAlterConfigsRequest, m.AlterConfigsRequest, m.AlterPartitionRequest,
    m.AllocateProducerIdsRequest, m.AlterClientQuotasRequest, m.UpdateFeaturesRequest,
    m.UnregisterBrokerRequest, m.DescribeQuorumRequest, m.ListPartitionReassignmentsRequest,
)  # fmt: skip
"""What a broker sends to the controller without being asked by a client, or with."""


def decide(c: Context, request: AnyRequest, now: int) -> list[Operation] | None:
    """Acts on a request; KafkaError refuses it as a whole."""
    body: Any = request.body
    if getattr(body, "timeout_ms", 1) <= 0:
        raise KafkaError(Errors.REQUEST_TIMED_OUT)
    match body:
        case m.CreateTopicsRequest():
            return _create_topics(c, request, topics.create(c.state, c.ids, body))
        case m.CreatePartitionsRequest():
            decision = topics.create_partitions(c.state, c.ids, body)
            return _create_partitions(c, request, decision)
        case m.DeleteTopicsRequest():
            return _delete_topics(c, request, topics.delete(c.state, body))
        case m.IncrementalAlterConfigsRequest():
            return _write_configs(c, request, configs.incremental_alter(c.state, body))
        case m.AlterConfigsRequest():
            return _write_configs(c, request, configs.legacy_alter(c.state, body))
        case m.AlterPartitionRequest():
            decision = alter_partition.alter_partition(c.state, _as_asked_again(c, body))
            return _write_isrs(c, request, decision)
        case m.ElectLeadersRequest():
            decision = elections.elect_leaders(c.state, body)
            c.steps.then(partial(states.send, c), partial(_reply, c, request, decision.answer))
            return write_changes(c, decision, "an election was asked for")
        case m.AllocateProducerIdsRequest():
            c.state.check_broker_epoch(body.broker_id, body.broker_epoch)
            c.steps.then(partial(_take_block, c, request))
            return [GetData(znodes.PRODUCER_IDS)]
        case m.ListPartitionReassignmentsRequest():
            _reply(c, request, m.ListPartitionReassignmentsResponse(error_message=None), now)
            return None
        case _:
            raise KafkaError(
                Errors.UNSUPPORTED_VERSION,
                f"The ZooKeeper control plane has no {type(body).__name__}; make the world with "
                "control_plane='kraft' for it.",
            )


def _reply(
    c: Context, request: AnyRequest, answer: Message | None, now: int, _: Results = ()
) -> None:
    c.outbox.reply(request, answer)


# -- topics


def _create_topics(c: Context, request: AnyRequest, decision: Decision) -> list[Operation]:
    names: dict[bytes, str] = {}
    replicas: dict[str, dict[int, tuple[int, ...]]] = {}
    own: dict[str, dict[str, str]] = {}
    for record in decision.records:
        match record:
            case m.TopicRecord():
                names[record.topic_id] = record.name
                replicas[record.name], own[record.name] = {}, {}
            case m.ConfigRecord() if record.value is not None:
                own[record.resource_name][record.name] = record.value
            case m.PartitionRecord():
                placed = tuple(record.replicas)
                replicas[names[record.topic_id]][record.partition_id] = placed
    c.outbox.effects.extend(decision.story)
    c.steps.then(partial(_topics_created, c, request, decision, list(replicas)))
    writes: list[Operation] = []
    for topic_id, name in names.items():
        writes.append(Create(znodes.config(2, name), znodes.config_data(own[name])))
        writes.append(Create(znodes.topic(name), znodes.topic_data(topic_id, replicas[name])))
    return writes


def _topics_created(
    c: Context,
    request: AnyRequest,
    decision: Decision,
    names: Sequence[str],
    now: int,
    results: Results,
) -> None:
    answer = decision.answer
    assert isinstance(answer, m.CreateTopicsResponse)
    made = []
    for name, result in zip(names, results[1::2], strict=True):
        if result.is_ok:
            made.append(name)
            continue
        row = next(each for each in answer.topics if each.name == name)
        row.error_code = Errors.TOPIC_ALREADY_EXISTS
        row.error_message = f"Topic '{name}' already exists."
    c.creating.append((request, answer, made))
    c.answer_created(now, ())


def _create_partitions(c: Context, request: AnyRequest, decision: Decision) -> list[Operation]:
    added: dict[str, dict[int, tuple[int, ...]]] = {}
    for record in decision.records:
        assert isinstance(record, m.PartitionRecord)
        name = c.image.topics[record.topic_id].name
        added.setdefault(name, {})[record.partition_id] = tuple(record.replicas)
    c.outbox.effects.extend(decision.story)
    c.steps.then(partial(_reply, c, request, decision.answer))
    writes: list[Operation] = []
    for name, new in added.items():
        present = {index: each for (topic, index), each in c.replicas.items() if topic == name}
        data = znodes.topic_data(c.image.topic_ids[name], {**present, **new})
        writes.append(SetData(znodes.topic(name), data))
    return writes


def _delete_topics(c: Context, request: AnyRequest, decision: Decision) -> list[Operation]:
    names = [c.image.topics[each.topic_id].name for each in decision.records
             if isinstance(each, m.RemoveTopicRecord)]  # fmt: skip
    c.steps.then(partial(_reply, c, request, decision.answer))
    return [Create(f"{znodes.DELETE_TOPICS}/{name}") for name in names]


# -- configs


def _write_configs(c: Context, request: AnyRequest, decision: Decision) -> list[Operation]:
    touched: dict[tuple[int, str], dict[str, str]] = {}
    for record in decision.records:
        if not isinstance(record, m.ConfigRecord):
            continue
        key = (record.resource_type, record.resource_name)
        if record.resource_type not in znodes.PARENTS:
            raise KafkaError(
                Errors.UNSUPPORTED_VERSION,
                "The ZooKeeper control plane has configs of topics and brokers only.",
            )
        values = touched.setdefault(key, dict(c.image.configs.get(key, {})))
        values.pop(record.name, None)
        if record.value is not None:
            values[record.name] = record.value
    c.outbox.effects.extend(decision.story)
    c.steps.then(partial(_configs_made, c, request, decision, touched))
    return [Create(znodes.config(*key), znodes.config_data({})) for key in touched]


def _configs_made(
    c: Context,
    request: AnyRequest,
    decision: Decision,
    touched: dict[tuple[int, str], dict[str, str]],
    now: int,
    _: Results,
) -> list[Operation]:
    """The znodes are there now, whether they were before or not."""
    writes: list[Operation] = []
    for key, values in touched.items():
        data = znodes.config_data(values)
        changes.take_configs(c, *key, data)
        writes.append(SetData(znodes.config(*key), data))
        note = znodes.change_data(*key)
        writes.append(Create(f"{znodes.CONFIG_CHANGES}/config_change_", note, sequential=True))
    c.steps.then(partial(_reply, c, request, decision.answer),
                 partial(changes.bring_online, c, "a config has changed"))  # fmt: skip
    return writes


# -- ISRs and elections


def write_changes(c: Context, decision: Decision, why: str) -> list[Operation]:
    """Writes the partitions that a rule of today has decided; LeaderAndIsr follows."""
    wanted: list[tuple[Key, PartitionImage]] = []
    for record in decision.records:
        if isinstance(record, m.PartitionChangeRecord):
            topic = c.image.topics[record.topic_id]
            changed = topic.partitions[record.partition_id].merge(record)
            before = replace(changed, partition_epoch=changed.partition_epoch - 1)
            wanted.append(((topic.name, record.partition_id), before))
    return states.write(c, wanted, why, partial(_reread, c))


def _reread(c: Context, keys: Sequence[Key]) -> None:
    """The znodes are newer than this controller thought: it reads them, and leaves them."""
    states.change(c, keys, states.keep, "it has changed meanwhile")


def _as_asked_again(c: Context, body: m.AlterPartitionRequest) -> m.AlterPartitionRequest:
    """A proposal that was carried out already is taken for one of what is there now.

    Its answer was lost, and no metadata log tells the leader.
    """
    asked = deepcopy(body)
    for topic in asked.topics:
        known = c.image.topics.get(topic.topic_id)
        for row in topic.partitions:
            image = known.partitions.get(row.partition_index) if known is not None else None
            isr = sorted(each.broker_id for each in row.new_isr_with_epochs)
            if image is None or row.leader_epoch != image.leader_epoch:
                continue
            if isr == sorted(image.isr):
                row.partition_epoch = max(row.partition_epoch, image.partition_epoch)
    return asked


def _write_isrs(c: Context, request: AnyRequest, decision: Decision) -> list[Operation] | None:
    answer = decision.answer
    assert isinstance(answer, m.AlterPartitionResponse)
    wanted: list[tuple[Key, PartitionImage]] = []
    for record in decision.records:
        assert isinstance(record, m.PartitionChangeRecord)
        topic = c.image.topics[record.topic_id]
        changed = topic.partitions[record.partition_id].merge(record)
        before = replace(changed, partition_epoch=changed.partition_epoch - 1)
        wanted.append(((topic.name, record.partition_id), before))
    c.steps.then(partial(states.send, c), partial(_reply, c, request, answer))
    return states.write(c, wanted, "the leader changed the ISR",
                        partial(_settle_isrs, c, answer, dict(wanted)), orders=False)  # fmt: skip


def _settle_isrs(
    c: Context,
    answer: m.AlterPartitionResponse,
    wanted: dict[Key, PartitionImage],
    keys: Sequence[Key],
) -> None:
    """The version was another: perhaps a first attempt, whose answer was lost, has written it."""
    states.change(c, keys, partial(_settle_isr, answer, wanted), "the leader changed the ISR")


def _settle_isr(
    answer: m.AlterPartitionResponse,
    wanted: dict[Key, PartitionImage],
    c: Context,
    key: Key,
    image: PartitionImage,
) -> None:
    """Stricter than Kafka, which refuses here; the leader then waits for its next epoch."""
    topic_id, asked = c.image.topic_ids[key[0]], wanted[key]
    rows = [row for topic in answer.topics if topic.topic_id == topic_id
            for row in topic.partitions if row.partition_index == key[1]]  # fmt: skip
    for row in rows:
        if (image.leader_epoch, image.isr) == (asked.leader_epoch, asked.isr):
            row.partition_epoch = image.partition_epoch
        else:
            row.error_code = Errors.INVALID_UPDATE_VERSION


# -- producer ids


def _take_block(c: Context, request: AnyRequest, now: int, results: Results) -> list[Operation]:
    znode, start = results[0].znode, 0
    if znode is not None:
        start = int(znodes.fields(znode.data)["block_end"]) + 1
    data = znodes.fields_data(broker=request.body.broker_id, block_start=start,  # type: ignore[attr-defined]
                              block_end=start + BLOCK_SIZE - 1)  # fmt: skip
    c.steps.then(partial(_block_taken, c, request, start))
    if znode is None:
        return [Create(znodes.PRODUCER_IDS, data)]
    return [SetData(znodes.PRODUCER_IDS, data, znode.version)]


def _block_taken(
    c: Context, request: AnyRequest, start: int, now: int, results: Results
) -> list[Operation] | None:
    if results[0].code in (Code.BAD_VERSION, Code.NODE_EXISTS):
        c.steps.then(partial(_take_block, c, request))
        return [GetData(znodes.PRODUCER_IDS)]
    answer = m.AllocateProducerIdsResponse(producer_id_start=start, producer_id_len=BLOCK_SIZE)
    c.outbox.reply(request, answer)
    return None
