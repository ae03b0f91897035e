"""The settings of a node: defaults, precedence, and what is refused."""

from __future__ import annotations

import pickle

import pytest

from engine.settings import Settings
from engine.settings.definitions import default_values, table
from engine.wire.errors import Errors, KafkaError


def test_defaults_are_typed() -> None:
    settings = Settings()
    assert settings["replica.lag.time.max.ms"] == 30_000
    assert settings["auto.create.topics.enable"] is True
    assert settings["log.cleaner.min.cleanable.ratio"] == 0.5
    assert settings["log.cleanup.policy"] == ("delete",)
    assert settings["broker.rack"] is None


@pytest.mark.parametrize(
    ("name", "default"),
    {
        "replica.fetch.wait.max.ms": 500,
        "replica.fetch.max.bytes": 1_048_576,
        "replica.fetch.response.max.bytes": 10_485_760,
        "min.insync.replicas": 1,
        "broker.session.timeout.ms": 9000,
        "broker.heartbeat.interval.ms": 2000,
        "unclean.leader.election.enable": False,
        "num.partitions": 1,
        "default.replication.factor": 1,
        "group.initial.rebalance.delay.ms": 3000,
        "group.max.session.timeout.ms": 1_800_000,
        "offsets.topic.num.partitions": 50,
        "offsets.retention.minutes": 10_080,
        "message.max.bytes": 1_048_588,
        "auto.leader.rebalance.enable": True,
        "leader.imbalance.check.interval.seconds": 300,
        "producer.id.expiration.ms": 86_400_000,
        "max.incremental.fetch.session.cache.slots": 1000,
        "connections.max.idle.ms": 600_000,
        "socket.request.max.bytes": 104_857_600,
    }.items(),
)
def test_what_replication_leans_on_has_the_defaults_of_4_3(name: str, default: object) -> None:
    assert Settings()[name] == default


def test_every_default_is_valid() -> None:
    for resource in ("broker", "topic", "group"):
        for name, config in table(resource).items():
            value = default_values(resource)[name]
            if value not in (None, ()):
                assert config.parse(config.text(value)) == value, name


def test_values_may_come_as_text_or_typed() -> None:
    assert Settings({"num.partitions": "3"}) == Settings({"num.partitions": 3})
    assert Settings({"auto.create.topics.enable": False})["auto.create.topics.enable"] is False
    assert Settings({"log.dirs": " /a , /b "})["log.dirs"] == ("/a", "/b")


def test_none_means_not_given() -> None:
    assert Settings({"broker.rack": None}).static == {}


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"num.partitons": 3}, "did you mean num.partitions?"),
        ({"num.partitions": 0}, "num.partitions must be at least 1, not 0."),
        ({"num.partitions": "many"}, "must be a whole number, not 'many'"),
        ({"num.partitions": 1 << 31}, "must fit into 32 bits"),
        ({"auto.create.topics.enable": "yes"}, "must be true or false, not 'yes'"),
        ({"log.cleaner.min.cleanable.ratio": "1.5"}, "must be from 0 to 1, not 1.5"),
        ({"compression.gzip.level": 0}, "must be from 1 to 9, or -1, not 0"),
        ({"log.cleanup.policy": "delete,shred"}, "must be one of compact, delete, not 'shred'"),
        ({"replica.fetch.wait.max.ms": 40_000}, "must not be above replica.socket.timeout.ms"),
        ({"authorizer.class.name": "a.B"}, "(the engine checks no permissions): leave it out."),
        ({"security.inter.broker.protocol": "SSL"}, "leave it at 'PLAINTEXT'"),
    ],
)
def test_a_bad_value_gets_a_sentence(overrides: dict[str, object], sentence: str) -> None:
    with pytest.raises(KafkaError) as refused:
        Settings(overrides)  # type: ignore[arg-type]
    assert refused.value.code == Errors.INVALID_CONFIG
    assert sentence in refused.value.message


def test_gzip_level_minus_one_stands_apart_from_its_range() -> None:
    assert Settings({"compression.gzip.level": -1})["compression.gzip.level"] == -1


def test_a_brokers_own_dynamic_value_wins_over_the_one_for_all_over_the_file() -> None:
    settings = Settings({"message.max.bytes": 1})
    settings.set_dynamic({"message.max.bytes": "2", "num.network.threads": "5"}, {})
    assert settings["message.max.bytes"] == 2
    settings.set_dynamic({"message.max.bytes": "2"}, {"message.max.bytes": "3"})
    assert settings["message.max.bytes"] == 3
    assert settings["num.network.threads"] == 3
    settings.set_dynamic({}, {})
    assert settings["message.max.bytes"] == 1


def test_one_nodes_settings_extend_the_clusters() -> None:
    cluster = Settings({"num.partitions": 4})
    node = cluster.extended({"node.id": 101, "broker.rack": "a"})
    assert (node["num.partitions"], node["node.id"], node["broker.rack"]) == (4, 101, "a")
    assert cluster["broker.rack"] is None


def test_settings_pickle_equal() -> None:
    settings = Settings({"num.partitions": 4})
    settings.set_dynamic({"message.max.bytes": "2"}, {"message.max.bytes": "3"})
    again = pickle.loads(pickle.dumps(settings))
    assert again == settings
    assert again["message.max.bytes"] == 3


def test_doubles_are_spelt_as_java_spells_them() -> None:
    config = table("broker")["log.cleaner.io.max.bytes.per.second"]
    assert config.text(config.parse("1.7976931348623157E308")) == "1.7976931348623157E308"
    assert config.text(config.parse("1e20")) == "1.0E20"
