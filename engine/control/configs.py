"""Dynamic configs of topics, brokers and groups (KIP-226, KIP-339).

A config set while the cluster runs is a ConfigRecord in the metadata log: resource,
name, value (null takes it away).  The resource is a topic, a broker, or all brokers (a
broker with an empty name).  Values are checked here, before they are written.

IncrementalAlterConfigs changes what it names; APPEND and SUBTRACT work on the items of a
list config.  The older AlterConfigs replaces all: what it does not name goes back to the
default, and many settings were lost that way.

min.insync.replicas decides who is an eligible leader, so with ELR on it must be the same
wherever it is read: it cannot be set for one broker, nor removed from the whole cluster;
and each change of it empties the ELRs that it concerns (KIP-966).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from engine.control.state import ControlState, Decision
from engine.metadata.image import BROKER, TOPIC
from engine.metadata.topic_names import problem_with
from engine.settings import TopicConfig
from engine.settings.definitions import find
from engine.settings.dynamic import Operation, check_broker_change
from engine.settings.group_config import check_group_configs
from engine.settings.numbers import whole
from engine.settings.sources import GROUP
from engine.settings.topic_config import check_remote_storage
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

REMOTE_STORAGE = "remote.storage.enable"
MIN_IN_SYNC = "min.insync.replicas"
VALUE_LENGTH_MAX = 32_767
_TABLES = {TOPIC: "topic", BROKER: "broker", GROUP: "group"}

OneChange = m.IncrementalAlterConfigsRequest.AlterableConfig
_Changes = dict[str, str | None]


def check_topic_configs(state: ControlState, configs: Mapping[str, str | None]) -> TopicConfig:
    """The effective configs of a topic with these of its own; INVALID_CONFIG if one is invalid."""
    without_value = [name for name, value in configs.items() if value is None]
    if without_value:
        raise _invalid(f"Null value not supported for topic configs: {','.join(without_value)}")
    effective = state.settings.topic(configs)
    enabled: bool = state.settings["remote.log.storage.system.enable"]
    check_remote_storage(effective, system_enabled=enabled)
    return effective


def incremental_alter(state: ControlState, body: m.IncrementalAlterConfigsRequest) -> Decision:
    """IncrementalAlterConfigs.  An unknown operation fails the whole request, as in Kafka."""
    operations = {config.config_operation for each in body.resources for config in each.configs}
    if not operations <= set(Operation):
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR)
    return _alter(state, body, m.IncrementalAlterConfigsResponse, _incremental_changes)


def legacy_alter(state: ControlState, body: m.AlterConfigsRequest) -> Decision:
    """AlterConfigs: the new configs replace the old ones."""
    return _alter(state, body, m.AlterConfigsResponse, _replacing_changes)


def _alter(state: ControlState, body: Any, response: Any, changes_of: Any) -> Decision:
    answer = response()
    decision = Decision(answer)
    times = Counter((each.resource_type, each.resource_name) for each in body.resources)
    for resource in body.resources:
        key = (resource.resource_type, resource.resource_name)
        result = response.AlterConfigsResourceResponse(
            error_message=None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        answer.responses.append(result)
        try:
            if times[key] > 1:
                raise KafkaError(Errors.INVALID_REQUEST, "Each resource must appear at most once.")
            _check_name(*key)
            changes = changes_of(state, key, resource.configs)
            _check(state, key, changes)
            _check_exists(state, *key)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.text
            continue
        _record(state, decision, key, changes)
        decision.check_size()
    if body.validate_only:
        return Decision(answer)
    return decision


# -- what is to change


def _current(state: ControlState, key: tuple[int, str]) -> dict[str, str]:
    return state.image.configs.get(key, {})


def _incremental_changes(
    state: ControlState, key: tuple[int, str], asked: list[OneChange]
) -> _Changes:
    changes: _Changes = {}
    for each in asked:
        if each.name in changes:
            raise KafkaError(Errors.INVALID_REQUEST, f"{each.name} appears more than once.")
        if each.value is None and each.config_operation != Operation.DELETE:
            raise KafkaError(Errors.INVALID_REQUEST, f"{each.name} needs a value.")
        match each.config_operation:
            case Operation.SET:
                changes[each.name] = each.value
            case Operation.DELETE:
                changes[each.name] = None
            case Operation.APPEND | Operation.SUBTRACT:
                changes[each.name] = _edited_list(state, key, each)
    return changes


def _edited_list(state: ControlState, key: tuple[int, str], asked: OneChange) -> str:
    config = find(_TABLES[key[0]], asked.name)
    if config.type != "list":
        raise _invalid(f"Only a list can be appended to or subtracted from; {asked.name} is not.")
    text = _current(state, key).get(asked.name, config.default or "")
    items = [item for item in text.split(",") if item]
    for item in (asked.value or "").split(","):
        if asked.config_operation == Operation.APPEND and item not in items:
            items.append(item)
        if asked.config_operation == Operation.SUBTRACT and item in items:
            items.remove(item)
    return ",".join(items)


def _replacing_changes(
    state: ControlState, key: tuple[int, str], asked: list[m.AlterConfigsRequest.AlterableConfig]
) -> _Changes:
    changes: _Changes = {each.name: each.value for each in asked}
    for name in _current(state, key):
        changes.setdefault(name, None)
    return changes


# -- whether it may


def _check_name(resource_type: int, name: str) -> None:
    """Refuses a name that no such resource can have; whether there is one is checked last."""
    if resource_type not in _TABLES:
        raise KafkaError(
            Errors.INVALID_REQUEST, f"Resources of type {resource_type} have no configs here."
        )
    if resource_type == BROKER:
        if name and whole(name) is None:
            raise KafkaError(Errors.INVALID_REQUEST, f"A broker's id is a number; {name!r} is not.")
        return
    if not name:
        kind = _TABLES[resource_type]
        raise KafkaError(Errors.INVALID_REQUEST, f"Default {kind} resources are not allowed.")
    problem = problem_with(name) if resource_type == TOPIC else None
    if problem:
        raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, problem)


def _check_exists(state: ControlState, resource_type: int, name: str) -> None:
    if resource_type == TOPIC and name not in state.image.topic_ids:
        raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name}.")
    known = (*state.image.brokers, state.node_id)
    if resource_type == BROKER and name and whole(name) not in known:
        raise KafkaError(Errors.BROKER_ID_NOT_REGISTERED, f"There is no broker {name}.")


def _check(state: ControlState, key: tuple[int, str], changes: _Changes) -> None:
    resource_type, resource = key
    if state.elr_enabled and resource_type == BROKER and MIN_IN_SYNC in changes:
        if resource:
            raise _invalid(f"Broker-level {MIN_IN_SYNC} cannot be altered while ELR is enabled.")
        if changes[MIN_IN_SYNC] is None:
            raise _invalid(f"Cluster-level {MIN_IN_SYNC} cannot be removed while ELR is enabled.")
    configs: _Changes = {**_current(state, key), **changes}
    given = {name: value for name, value in configs.items() if value is not None}
    if any(len(value) > VALUE_LENGTH_MAX for value in given.values()):
        raise _invalid(f"A value has at most {VALUE_LENGTH_MAX} characters.")
    if resource_type == TOPIC:
        effective = check_topic_configs(state, given)
        was_remote = _current(state, key).get(REMOTE_STORAGE) == "true"
        if was_remote and not effective[REMOTE_STORAGE]:
            raise _invalid(
                "It is invalid to disable remote storage without deleting remote data. "
                "If you want to keep the remote data and turn to read only, please set "
                "`remote.storage.enable=true,remote.log.copy.disable=true`. "
                "If you want to disable remote storage and delete all remote data, please set "
                "`remote.storage.enable=false,remote.log.delete.on.disable=true`."
            )
    elif resource_type == BROKER:
        check_broker_change({**given, **changes}, for_all=not resource)
    else:
        check_group_configs(state.settings, given)


def _record(
    state: ControlState, decision: Decision, key: tuple[int, str], changes: _Changes
) -> None:
    resource_type, resource = key
    current = _current(state, key)
    clears_elr = False
    for name, value in changes.items():
        # A broker takes a repeated value as a request to read its files again (key stores).
        if value == current.get(name) and resource_type != BROKER:
            continue
        decision.records.append(
            m.ConfigRecord(
                resource_type=resource_type, resource_name=resource, name=name, value=value
            )
        )
        clears_elr |= name == MIN_IN_SYNC and state.elr_enabled
        decision.tell(
            "configs.incremental_alter",
            "config",
            "asked by a client",
            resource=resource or "all brokers",
            name=name,
            value=value,
        )
    if clears_elr:
        topic = resource if resource_type == TOPIC else ""
        decision.records.append(m.ClearElrRecord(topic_name=topic))


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_CONFIG, message)
