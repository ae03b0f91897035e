"""Configs described and altered, of topics, brokers, groups, and of what has none."""

# ruff: noqa: E501  (one case a line)

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from engine.settings.sources import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from engine.wire import messages as m
from tests.conformance.probe import side
from tests.conformance.probe.case import Case, Here, one
from tests.conformance.probe.side import creation, led

D, A, INC = m.DescribeConfigsRequest, m.AlterConfigsRequest, m.IncrementalAlterConfigsRequest
SET, DELETE, APPEND, SUBTRACT = range(4)
Row = tuple[int, str]
Own = dict[str, str | None]
Ops = list[tuple[str, int, str | None]]
MINE, ME = (TOPIC, side.SETTINGS), (BROKER, "101")
RETENTION: Own = {"retention.ms": "5000000"}


def describe(*rows: Row, keys: list[str] | None = None, synonyms: bool = False) -> Any:
    return D([D.DescribeConfigsResource(*row, keys) for row in rows], synonyms)


def shown(name: str, request: Any) -> Case:
    return one("DescribeConfigs", name, request)


SHOWN = [
    shown("a topic", lambda here: describe(MINE)),
    shown("a topic with synonyms", lambda here: describe((TOPIC, side.COMPACT), synonyms=True)),
    shown("one key", lambda here: describe(MINE, keys=["retention.ms"])),
    shown("a key twice", lambda here: describe(MINE, keys=["retention.ms"] * 2)),
    shown("no keys", lambda here: describe(MINE, keys=[])),
    shown("an unknown key", lambda here: describe(MINE, keys=["nope"])),
    shown("a topic twice", lambda here: describe(MINE, MINE, keys=["retention.ms"])),
    shown("an unknown topic", lambda here: describe((TOPIC, "nope"))),
    shown("an illegal name", lambda here: describe((TOPIC, "b@d"))),
    shown("a topic without a name", lambda here: describe((TOPIC, ""))),
    shown("a broker's key", lambda here: describe(ME, keys=["num.partitions", "log.retention.ms"], synonyms=True)),
    shown("all brokers", lambda here: describe((BROKER, ""))),
    shown("another broker", lambda here: describe((BROKER, "102"))),
    shown("an unknown broker", lambda here: describe((BROKER, "999"))),
    shown("a broker without a number", lambda here: describe((BROKER, "x"))),
    shown("the broker +101", lambda here: describe((BROKER, "+101"), keys=["num.partitions"])),
    shown("the broker 0101", lambda here: describe((BROKER, "0101"), keys=["num.partitions"])),
    shown("a group", lambda here: describe((GROUP, side.GROUP), synonyms=True)),
    shown("a group without a name", lambda here: describe((GROUP, ""))),
    shown("loggers of another broker", lambda here: describe((BROKER_LOGGER, "102"))),
    shown("loggers without a broker", lambda here: describe((BROKER_LOGGER, ""))),
    shown("an unknown logger", lambda here: describe((BROKER_LOGGER, "101"), keys=["nope"])),
    shown("client metrics without a name", lambda here: describe((CLIENT_METRICS, ""))),
    shown("unknown client metrics", lambda here: describe((CLIENT_METRICS, "nope"))),
    shown("no kind", lambda here: describe((7, "x"))),
    shown("kind 0", lambda here: describe((0, "x"))),
    shown("no kind beside a topic", lambda here: describe(MINE, (7, "x"), keys=["retention.ms"])),
    shown("bad ones beside a good one", lambda here: describe(MINE, (TOPIC, "nope"), (BROKER, "102"), keys=["retention.ms"])),
    shown("nothing", lambda here: describe()),
]  # fmt: skip


def replace(*rows: tuple[Row, Own], validate_only: bool = True) -> Any:
    resources = []
    for row, configs in rows:
        made = [A.AlterableConfig(*each) for each in configs.items()]
        resources.append(A.AlterConfigsResource(*row, made))
    return A(resources, validate_only)


def replaced(name: str, request: Any, last_only: bool = False, silent: bool = False) -> Case:
    return one("AlterConfigs", name, request, last_only=last_only, silent=silent)


def replaced_in_earnest(here: Here) -> Generator[Any, Any, None]:
    yield creation(here.name, [[101]], {"retention.ms": "7", "max.message.bytes": "2000"})
    yield led(here.name)
    yield replace(((TOPIC, here.name), {"retention.ms": "8"}), validate_only=False)
    yield replace(((TOPIC, here.name), {"retention.ms": "8"}), validate_only=False)
    yield replace(((TOPIC, here.name), {}), ((TOPIC, "nope"), {}), validate_only=False)


def repeated() -> Any:
    twice = [A.AlterableConfig("retention.ms", "5"), A.AlterableConfig("retention.ms", "6")]
    return A([A.AlterConfigsResource(*MINE, twice)], True)


REPLACED = [
    Case("AlterConfigs", "in earnest", replaced_in_earnest),
    replaced("a topic", lambda here: replace((MINE, RETENTION))),
    replaced("a topic and another", lambda here: replace((MINE, RETENTION), ((TOPIC, side.COMPACT), RETENTION))),
    replaced("a key twice", lambda here: repeated()),
    replaced("a topic twice", lambda here: replace((MINE, RETENTION), (MINE, {})), last_only=True, silent=True),
    replaced("a topic twice beside another", lambda here: replace((MINE, {}), (MINE, {}), ((TOPIC, side.COMPACT), {})), last_only=True, silent=True),
    replaced("no value", lambda here: replace((MINE, {"retention.ms": None}))),
    replaced("no text", lambda here: replace((MINE, {"retention.ms": ""}))),
    replaced("no text for a list", lambda here: replace((MINE, {"cleanup.policy": ""}))),
    replaced("an unknown key", lambda here: replace((MINE, {"nope": "5"}))),
    replaced("a key without a name", lambda here: replace((MINE, {"": "5"}))),
    replaced("a long value", lambda here: replace((MINE, {"leader.replication.throttled.replicas": "0:1," * 9000 + "0:1"})), last_only=True),
    replaced("an unknown topic", lambda here: replace(((TOPIC, "nope"), RETENTION))),
    replaced("an illegal topic", lambda here: replace(((TOPIC, "b@d"), RETENTION))),
    replaced("a topic without a name", lambda here: replace(((TOPIC, ""), RETENTION))),
    replaced("a broker", lambda here: replace((ME, {"message.max.bytes": "3000000"}))),
    replaced("nothing of a broker", lambda here: replace((ME, {}))),
    replaced("a broker's read-only key", lambda here: replace((ME, {"num.partitions": "3"}))),
    replaced("all brokers", lambda here: replace(((BROKER, ""), {"message.max.bytes": "3000000", "min.insync.replicas": "1"}))),
    replaced("all brokers, min ISR left out", lambda here: replace(((BROKER, ""), {"message.max.bytes": "3000000"}))),
    replaced("another broker", lambda here: replace(((BROKER, "102"), {}))),
    replaced("an unknown broker", lambda here: replace(((BROKER, "999"), {}))),
    replaced("a broker without a number", lambda here: replace(((BROKER, "x"), {}))),
    replaced("a group", lambda here: replace(((GROUP, "g"), {"consumer.session.timeout.ms": "7000"}))),
    replaced("a group without a name", lambda here: replace(((GROUP, ""), {"consumer.session.timeout.ms": "7000"}))),
    replaced("a group's unknown key", lambda here: replace(((GROUP, "g"), {"nope": "7000"}))),
    replaced("a group out of range", lambda here: replace(((GROUP, "g"), {"consumer.session.timeout.ms": "1"}))),
    replaced("loggers", lambda here: replace(((BROKER_LOGGER, "101"), {"x": "INFO"}))),
    replaced("no kind", lambda here: replace(((7, "x"), {}))),
    replaced("no kind beside a topic", lambda here: replace(((7, "x"), {}), (MINE, RETENTION))),
    replaced("a bad topic beside a good one", lambda here: replace(((TOPIC, "nope"), {}), (MINE, RETENTION))),
    replaced("a bad broker beside a topic", lambda here: replace(((BROKER, "102"), {}), (MINE, RETENTION))),
    replaced("nothing", lambda here: replace()),
]  # fmt: skip


def change(*rows: tuple[Row, Ops], validate_only: bool = True) -> Any:
    resources = []
    for row, ops in rows:
        made = [INC.AlterableConfig(*each) for each in ops]
        resources.append(INC.AlterConfigsResource(*row, made))
    return INC(resources, validate_only)


def changed(name: str, request: Any, last_only: bool = False) -> Case:
    return one("IncrementalAlterConfigs", name, request, last_only=last_only)


def op(key: str, value: str | None, operation: int = SET) -> Ops:
    return [(key, operation, value)]


def mine(key: str, value: str | None, operation: int = SET) -> Any:
    return change((MINE, op(key, value, operation)))


def of_me(key: str, value: str | None, operation: int = SET) -> Any:
    return change((ME, op(key, value, operation)))


def of_all(key: str, value: str | None, operation: int = SET) -> Any:
    return change(((BROKER, ""), op(key, value, operation)))


def changed_in_earnest(here: Here) -> Generator[Any, Any, None]:
    yield creation(here.name, [[101]], {"retention.ms": "7"})
    yield led(here.name)
    row = (TOPIC, here.name)
    for ops in (
        op("retention.ms", "8"),
        op("retention.ms", "8"),
        op("cleanup.policy", "compact", APPEND),
        op("cleanup.policy", "compact", APPEND),
        op("cleanup.policy", "delete", SUBTRACT),
        op("cleanup.policy", "compact", SUBTRACT),
        op("retention.ms", None, DELETE),
        op("retention.ms", None, DELETE),
    ):
        yield change((row, ops), validate_only=False)


KERBEROS = "sasl.kerberos.min.time.before.relogin"
LISTENER = f"listener.name.client.{KERBEROS}"
CHANGED = [
    Case("IncrementalAlterConfigs", "in earnest", changed_in_earnest),
    changed("a topic", lambda here: mine("retention.ms", "5000000")),
    changed("a topic and another", lambda here: change((MINE, op("retention.ms", "5")), ((TOPIC, side.COMPACT), op("retention.ms", "5")))),
    changed("the value that it has", lambda here: mine("retention.ms", "604800000")),
    changed("no value", lambda here: mine("retention.ms", None)),
    changed("no values", lambda here: change((MINE, op("retention.ms", None) + op("segment.ms", None)))),
    changed("no text", lambda here: mine("retention.ms", "")),
    changed("spaces", lambda here: mine("retention.ms", " 5 ")),
    changed("an underscore", lambda here: mine("retention.ms", "5_000")),
    changed("a plus sign", lambda here: mine("retention.ms", "+5")),
    changed("a fraction", lambda here: mine("retention.ms", "5.0")),
    changed("other digits", lambda here: mine("retention.ms", "\u0665")),
    changed("a TRUE", lambda here: mine("preallocate", "TRUE")),
    changed("a yes", lambda here: mine("preallocate", "yes")),
    changed("a ratio", lambda here: mine("min.cleanable.dirty.ratio", "1e-1")),
    changed("a ratio that is none", lambda here: mine("min.cleanable.dirty.ratio", "nan")),
    changed("a ratio with f", lambda here: mine("min.cleanable.dirty.ratio", "0.5f")),
    changed("a ratio above 1", lambda here: mine("min.cleanable.dirty.ratio", "1.1")),
    changed("a misspelt key", lambda here: mine("retention.mss", "5")),
    changed("a misspelt key, deleted", lambda here: mine("retention.mss", None, DELETE)),
    changed("a misspelt key, appended", lambda here: mine("retention.mss", "5", APPEND)),
    changed("a key without a name", lambda here: mine("", "5")),
    changed("a long value", lambda here: mine("leader.replication.throttled.replicas", "0:1," * 9000 + "0:1"), last_only=True),
    changed("out of range", lambda here: mine("retention.ms", "-5")),
    changed("beyond an int", lambda here: mine("segment.bytes", "2147483648")),
    changed("a deletion with a value", lambda here: mine("retention.ms", "5", DELETE)),
    changed("an append to a number", lambda here: mine("retention.ms", "5", APPEND)),
    changed("an append", lambda here: mine("cleanup.policy", "compact", APPEND)),
    changed("an append of nothing", lambda here: mine("cleanup.policy", "", APPEND)),
    changed("an append of a stranger", lambda here: mine("cleanup.policy", "shred", APPEND)),
    changed("a subtraction", lambda here: mine("cleanup.policy", "delete", SUBTRACT)),
    changed("a subtraction from a number", lambda here: mine("retention.ms", "5", SUBTRACT)),
    changed("a subtraction of no value", lambda here: mine("cleanup.policy", None, SUBTRACT)),
    changed("operation 9", lambda here: mine("retention.ms", "5", 9), last_only=True),
    changed("operation 9 without a value", lambda here: mine("retention.ms", None, 9), last_only=True),
    changed("operation 9 beside a good one", lambda here: change((MINE, op("retention.ms", "5", 9)), ((TOPIC, side.COMPACT), op("retention.ms", "5"))), last_only=True),
    changed("operation 9 of a broker", lambda here: of_me("message.max.bytes", "3000000", 9)),
    changed("a key twice", lambda here: change((MINE, op("retention.ms", "5") + op("retention.ms", "6")))),
    changed("a topic twice", lambda here: change((MINE, op("retention.ms", "5")), (MINE, []))),
    changed("a topic twice beside another", lambda here: change((MINE, []), (MINE, []), ((TOPIC, side.COMPACT), op("retention.ms", "5")))),
    changed("nothing of a topic", lambda here: change((MINE, []))),
    changed("nothing", lambda here: change()),
    changed("an unknown topic", lambda here: change(((TOPIC, "nope"), op("retention.ms", "5")))),
    changed("an unknown topic out of range", lambda here: change(((TOPIC, "nope"), op("retention.ms", "-5")))),
    changed("an illegal topic", lambda here: change(((TOPIC, "b@d"), op("retention.ms", "5")))),
    changed("a topic without a name", lambda here: change(((TOPIC, ""), op("retention.ms", "5")))),
    changed("two that do not fit", lambda here: change((MINE, op("min.compaction.lag.ms", "9") + op("max.compaction.lag.ms", "8")))),
    changed("tiered storage", lambda here: mine("remote.storage.enable", "true")),
    changed("bad ones beside a good one", lambda here: change(((TOPIC, "nope"), []), ((BROKER, "102"), []), ((7, "x"), []), (MINE, op("retention.ms", "5")))),
    changed("a broker", lambda here: of_me("message.max.bytes", "3000000")),
    changed("a broker's read-only key", lambda here: of_me("num.partitions", "3")),
    changed("a broker's unknown key", lambda here: of_me("nope", "3")),
    changed("a broker's unknown key, deleted", lambda here: of_me("nope", None, DELETE)),
    changed("a broker's unknown key, appended", lambda here: of_me("nope", "3", APPEND)),
    changed("a broker out of range", lambda here: of_me("message.max.bytes", "-1")),
    changed("a broker's number, appended", lambda here: of_me("message.max.bytes", "1", APPEND)),
    changed("a broker's list, appended", lambda here: of_me("log.cleanup.policy", "compact", APPEND)),
    changed("a broker's min ISR", lambda here: of_me("min.insync.replicas", "1")),
    changed("a broker's relogin", lambda here: of_me(KERBEROS, "61000")),
    changed("all brokers' relogin", lambda here: of_all(KERBEROS, "61000")),
    changed("a listener's relogin", lambda here: of_me(LISTENER, "61000")),
    changed("a broker's key store", lambda here: of_me("ssl.keystore.type", "JKS")),
    changed("a listener's key store", lambda here: of_me("listener.name.client.ssl.keystore.type", "JKS")),
    changed("another listener's key store", lambda here: of_me("listener.name.nope.ssl.keystore.type", "JKS")),
    changed("a broker's listeners", lambda here: of_me("listener.security.protocol.map", "X:PLAINTEXT")),
    changed("a broker's threads", lambda here: of_me("num.network.threads", "100")),
    changed("a broker's cleaner threads", lambda here: of_me("log.cleaner.threads", "100")),
    changed("a broker's retention", lambda here: of_me("log.retention.hours", "1")),
    changed("all brokers", lambda here: of_all("message.max.bytes", "3000000")),
    changed("all brokers' min ISR", lambda here: of_all("min.insync.replicas", "1")),
    changed("all brokers' min ISR, removed", lambda here: of_all("min.insync.replicas", None, DELETE)),
    changed("all brokers, per broker", lambda here: of_all("advertised.listeners", "CLIENT://x:1")),
    changed("all brokers' unknown key", lambda here: of_all("nope", "3")),
    changed("another broker", lambda here: change(((BROKER, "102"), op("message.max.bytes", "3000000")))),
    changed("the broker +101", lambda here: change(((BROKER, "+101"), op("message.max.bytes", "3000000")))),
    changed("an unknown broker", lambda here: change(((BROKER, "999"), op("message.max.bytes", "3000000")))),
    changed("a broker without a number", lambda here: change(((BROKER, "x"), op("message.max.bytes", "3000000")))),
    changed("a group", lambda here: change(((GROUP, "g"), op("consumer.session.timeout.ms", "7000")))),
    changed("a group without a name", lambda here: change(((GROUP, ""), op("consumer.session.timeout.ms", "7000")))),
    changed("a group's unknown key", lambda here: change(((GROUP, "g"), op("nope", "7000")))),
    changed("a group out of range", lambda here: change(((GROUP, "g"), op("consumer.session.timeout.ms", "1")))),
    changed("a group's number, appended", lambda here: change(((GROUP, "g"), op("consumer.session.timeout.ms", "1", APPEND)))),
    changed("client metrics", lambda here: change(((CLIENT_METRICS, "x"), op("interval.ms", "5000")))),
    changed("client metrics without a name", lambda here: change(((CLIENT_METRICS, ""), op("interval.ms", "5000")))),
    changed("client metrics of an unknown key", lambda here: change(((CLIENT_METRICS, "x"), op("nope", "5000")))),
    changed("a logger that there is not", lambda here: change(((BROKER_LOGGER, "101"), op("nope", "INFO")))),
    changed("another broker's logger", lambda here: change(((BROKER_LOGGER, "102"), op("nope", "INFO")))),
    changed("no broker's logger", lambda here: change(((BROKER_LOGGER, "x"), op("nope", "INFO")))),
    changed("no kind", lambda here: change(((7, "x"), []))),
    changed("no kind beside a topic", lambda here: change(((7, "x"), []), (MINE, op("retention.ms", "5")))),
]  # fmt: skip

LISTED = [
    one("ListConfigResources", "all", lambda here: m.ListConfigResourcesRequest(), everything=True),
    one("ListConfigResources", "topics", lambda here: m.ListConfigResourcesRequest([TOPIC]), everything=True),
    one("ListConfigResources", "brokers", lambda here: m.ListConfigResourcesRequest([BROKER])),
    one("ListConfigResources", "loggers", lambda here: m.ListConfigResourcesRequest([BROKER_LOGGER])),
    one("ListConfigResources", "client metrics", lambda here: m.ListConfigResourcesRequest([CLIENT_METRICS])),
    one("ListConfigResources", "groups", lambda here: m.ListConfigResourcesRequest([GROUP])),
    one("ListConfigResources", "brokers twice", lambda here: m.ListConfigResourcesRequest([BROKER, BROKER])),
    one("ListConfigResources", "no kind", lambda here: m.ListConfigResourcesRequest([TOPIC, 9])),
    one("ListConfigResources", "kind 0", lambda here: m.ListConfigResourcesRequest([0])),
]  # fmt: skip

CASES = [*SHOWN, *REPLACED, *CHANGED, *LISTED]
