"""A topic's effective configs, and changes of configs in a running cluster."""

from __future__ import annotations

import pickle

import pytest

from engine.settings import Settings
from engine.settings.definitions import table
from engine.settings.dynamic import check_broker_change
from engine.settings.topic_config import SYNONYMS
from engine.wire.errors import Errors, KafkaError


def test_a_topic_without_configs_has_the_brokers() -> None:
    topic = Settings({"min.insync.replicas": 2}).topic()
    assert topic["min.insync.replicas"] == 2
    assert topic["retention.ms"] == 604_800_000
    assert topic["flush.ms"] == (1 << 63) - 1


def test_defaults_of_topics_agree_with_the_brokers_defaults() -> None:
    topic = Settings().topic()
    for name, config in table("topic").items():
        assert topic[name] == (None if config.default is None else config.parse(config.default))


def test_every_synonym_is_a_broker_config_of_the_same_kind() -> None:
    for name, synonyms in SYNONYMS.items():
        numbers = {"int", "long"}
        for synonym in synonyms:
            kinds = {table("topic")[name].type, table("broker")[synonym].type}
            assert len(kinds) == 1 or kinds == numbers, name


def test_retention_follows_milliseconds_over_minutes_over_hours() -> None:
    file = {"log.retention.hours": 1}
    assert Settings(file).topic()["retention.ms"] == 3_600_000
    file["log.retention.minutes"] = 2
    assert Settings(file).topic()["retention.ms"] == 120_000
    file["log.retention.ms"] = 3
    assert Settings(file).topic()["retention.ms"] == 3
    assert Settings(file).topic({"retention.ms": "4"})["retention.ms"] == 4


def test_negative_hours_mean_forever() -> None:
    assert Settings({"log.retention.hours": -1}).topic()["retention.ms"] == -1


def test_a_dynamic_broker_config_reaches_topics() -> None:
    settings = Settings()
    settings.set_dynamic({"log.retention.ms": "7"}, {})
    assert settings.topic()["retention.ms"] == 7


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"retention.mss": "1"}, "did you mean retention.ms?"),
        ({"retention.ms": "-2"}, "retention.ms must be at least -1, not -2."),
        ({"retention.ms": None}, "retention.ms needs a value."),
        ({"segment.bytes": "1000"}, "must be at least 1048576"),
        ({"remote.log.copy.disable": "true"}, "a topic stays in tiered storage"),
        (
            {"min.compaction.lag.ms": "50", "max.compaction.lag.ms": "5"},
            "min.compaction.lag.ms (50) must not be above max.compaction.lag.ms (5).",
        ),
        ({"leader.replication.throttled.replicas": "0-101"}, "PARTITION:BROKER pairs"),
    ],
)
def test_a_bad_topic_config_gets_a_sentence(overrides: dict[str, str], sentence: str) -> None:
    with pytest.raises(KafkaError) as refused:
        Settings().topic(overrides)
    assert refused.value.code == Errors.INVALID_CONFIG
    assert sentence in refused.value.message


def test_small_segments_need_the_internal_config() -> None:
    assert Settings().topic({"internal.segment.bytes": "500"})["internal.segment.bytes"] == 500


def test_topic_configs_pickle_equal() -> None:
    topic = Settings().topic({"retention.ms": "4", "cleanup.policy": "compact, delete"})
    again = pickle.loads(pickle.dumps(topic))
    assert again == topic
    assert again["cleanup.policy"] == ("compact", "delete")
    assert again.overrides == {"retention.ms": "4", "cleanup.policy": "compact,delete"}


@pytest.mark.parametrize(
    ("changes", "for_all", "refusal"),
    [
        ({"num.partitions": "3"}, False, "read at start only"),
        ({"max.connections": "0"}, True, ""),
        ({"message.max.bytes": "-1"}, True, "must be at least 0"),
        ({"message.max.bytes": None}, True, ""),
        ({"ssl.keystore.type": "JKS"}, False, "per listener only"),
        ({"cordoned.log.dirs": "*"}, True, "name the broker"),
        ({"cordoned.log.dirs": "*"}, False, ""),
        ({"message.max.byte": "1"}, False, "did you mean message.max.bytes?"),
        ({"sasl.kerberos.min.time.before.relogin": "61000"}, False, ""),
        ({"sasl.kerberos.min.time.before.relogin": "61000"}, True, "name the broker"),
        ({"num.io.threads": "16"}, False, ""),
        ({"num.io.threads": "17"}, False, "double or halve"),
        ({"num.io.threads": "3"}, False, "double or halve"),
    ],
)
def test_what_may_change_while_a_broker_runs(
    changes: dict[str, str | None], for_all: bool, refusal: str
) -> None:
    if not refusal:
        check_broker_change(changes, for_all, Settings())
        return
    with pytest.raises(KafkaError) as refused:
        check_broker_change(changes, for_all, Settings())
    assert refused.value.code == Errors.INVALID_REQUEST
    assert refusal in refused.value.message
