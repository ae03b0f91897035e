"""Which feature levels are in force, and how that changes: UpdateFeatures (KIP-584, KIP-778).

New software alone changes nothing.  A cluster is upgraded node by node, and only when all
nodes run the new version does an administrator raise a feature's level; from that record of the
metadata log on, everybody acts by it:

    kafka-features.sh upgrade --feature transaction.version=2
        --> UpdateFeatures --> FeatureLevelRecord transaction.version 2 --> every image
        --> ApiVersions: finalised 2 --> producers choose the new protocol by themselves

An update says which way it is meant to go, so that a stale script does not lower a level by
mistake.  `upgrade` never lowers.  `safe downgrade` lowers where nothing can be lost,
`unsafe downgrade` even where it can; neither raises.  Level 0 switches a feature off.
metadata.version decides which records the log may hold, and a log that may hold newer ones
cannot be lowered: Kafka has a word for doing so by force and refuses that too (KAFKA-13896).

All updates of a request happen or none.  The checks, their order and the messages are those of
FeatureControlManager in Kafka 4.3.1.  Switching ELR on writes the cluster's
min.insync.replicas down and removes those of single brokers, for all must mean the same by it.

Simplified: brokers run the software of the controller, so the ranges that they support are not
asked.  Where several updates of a request are wrong, the first is named; Kafka takes them in the
order of a hash map.  An update to the level of today is written down again, as in Kafka.
"""

from __future__ import annotations

from engine.control.state import ControlState, Decision
from engine.metadata.features import (
    ELR_FEATURE,
    METADATA_FEATURE,
    SUPPORTED,
    min_in_sync_record,
)
from engine.metadata.image import BROKER, KRAFT_FEATURE
from engine.wire import messages as m
from engine.wire.errors import Errors, KafkaError

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
_HEAD = "The update failed for all features since the following feature had an error: "
_MIN_IN_SYNC = "min.insync.replicas"
Update = m.UpdateFeaturesRequest.FeatureUpdateKey


def update(state: ControlState, body: m.UpdateFeaturesRequest) -> Decision:
    """UpdateFeatures; with `validate_only`, only checked."""
    answer = m.UpdateFeaturesResponse(error_message=None)
    decision = Decision(answer)
    # If a feature appears twice, its last update counts.
    updates = {each.feature: each for each in body.feature_updates}
    try:
        for each in updates.values():
            _check(state, each)
    except KafkaError as error:
        answer.error_code, answer.error_message = error.code, f"{_HEAD}{error.text}"
        return decision
    answer.results = [
        m.UpdateFeaturesResponse.UpdatableFeatureResult(each.feature, error_message="NONE")
        for each in body.feature_updates
    ]
    if body.validate_only:
        return decision
    for name, each in updates.items():
        level = each.max_version_level
        if name == KRAFT_FEATURE:
            continue  # as it is
        decision.records.append(m.FeatureLevelRecord(name=name, feature_level=level))
        if name == ELR_FEATURE and level > 0:
            _same_min_in_sync(state, decision)
        decision.tell(
            "feature_levels.update",
            "feature",
            "asked by a client",
            name=name,
            before=state.image.features.get(name, 0),
            level=level,
        )
    return decision


def _check(state: ControlState, each: Update) -> None:
    name, level, way = each.feature, each.max_version_level, each.upgrade_type
    current = state.image.levels.get(name, 0)
    low, high = SUPPORTED.get(name, (0, 0))
    if way not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise _invalid(each, "The controller does not support the given upgrade type.")
    if level < 0:
        raise _invalid(each, "A feature version cannot be less than 0.")
    if not low <= level <= high:
        here = f"Local controller {state.node_id}"
        known = f"only supports versions {low}-{high}" if high else "does not support this feature."
        raise _invalid(each, f"{here} {known}")
    if level < current and way == UPGRADE:
        raise _invalid(
            each,
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade.",
        )
    if level > current and way != UPGRADE:
        raise _invalid(each, "Can't downgrade to a newer version.")
    if name not in SUPPORTED:
        raise _invalid(each, f"Feature {name} not found.")
    if name == KRAFT_FEATURE and level != current:
        raise _invalid(
            each,
            "The voters of this quorum are fixed."
            if level > current
            else "Can't downgrade the version of this feature.",
        )
    if name == METADATA_FEATURE and level < current:
        why = (
            "Unsafe metadata downgrade is not supported in this version."
            if way == UNSAFE_DOWNGRADE
            else "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
        )
        step = f"Unsupported metadata.version downgrade from {current} to {level}"
        raise KafkaError(Errors.INVALID_UPDATE_VERSION, f"{step}. {why}")


def _same_min_in_sync(state: ControlState, decision: Decision) -> None:
    configs = state.image.configs
    if _MIN_IN_SYNC not in configs.get((BROKER, ""), {}):
        decision.records.append(min_in_sync_record("", str(state.settings[_MIN_IN_SYNC])))
    decision.records += [
        min_in_sync_record(broker, None)
        for (kind, broker), own in sorted(configs.items())
        if kind == BROKER and broker and _MIN_IN_SYNC in own
    ]


def _invalid(each: Update, message: str) -> KafkaError:
    what = f"Invalid update version {each.max_version_level} for feature {each.feature}"
    return KafkaError(Errors.INVALID_UPDATE_VERSION, f"{what}. {message}")
