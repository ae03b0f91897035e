"""The fidelity table: the page against the code, the code against facts, facts against Kafka."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from engine import api
from engine.metadata.features import SUPPORTED
from engine.settings.definitions import table
from engine.settings.topic_config import SYNONYMS
from kit import fidelity, jars
from kit.client_suites import SUITES, Suite

ROOT = Path(__file__).resolve().parents[2]
TELEMETRY = {"GetTelemetrySubscriptions", "PushTelemetry"}
"""Advertised only by a broker with a metrics reporter that takes clients' telemetry (KIP-714)."""

CHANGES = {"read-only": "ro", "per-broker": "broker", "cluster-wide": "cluster"}


@cache
def kafka_says() -> list[list[str]]:
    """Kafka's own classes on APIs, features and configs."""
    try:
        command = [jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-cp", jars.classpath(), str(Path(__file__).with_name("KafkaFacts.java"))]
    except jars.JarsMissing as missing:
        pytest.skip(str(missing))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def facts(kind: str) -> list[list[str]]:
    return [columns[1:] for columns in kafka_says() if columns[0] == kind]


def test_the_page_is_fresh() -> None:
    fresh = fidelity.page() == fidelity.PAGE.read_text("utf-8")
    assert fresh, "docs/fidelity.md is behind the code; run: kafkalab fidelity --write"


def test_the_page_has_a_row_for_everything() -> None:
    page = fidelity.page()
    for name, (key, _, _) in fidelity.advertised()["apis"].items():
        assert f"| {key} | {name} |" in page
        _, low, high = fidelity.advertised()["apis"][name]
        for version in range(low, high + 1):
            assert f"| {key} | {name} | {version} | " in page
    for resource in ("broker", "topic", "group"):
        assert all(f"| {name} |" in page for name in table(resource))


def test_what_any_module_leaves_out_is_on_the_page() -> None:
    rest = fidelity.page().partition("## In the engine's other modules")[2]
    for module, words in (
        (
            "control/controller",
            "no metadata transactions, no NoOpRecord",
        ),  # mid-line
        ("broker/broker", "of the Envelope (KIP-590)"),  # of a method
        ("cluster/clock", "a node has one clock"),
    ):
        row = next(line for line in rest.splitlines() if f"`engine/{module}.py`" in line)
        assert words in row
    assert "share coordinators" in fidelity.left_out("FindCoordinator")


def test_we_offer_only_what_kafka_offers_in_the_same_versions() -> None:
    theirs = fidelity.advertised()["apis"]
    for name, ours in api.APIS.items():
        assert [ours.key, ours.low, ours.high] == theirs[name]


def test_our_feature_levels_are_kafkas() -> None:
    theirs = fidelity.advertised()["features"]
    for name, (low, high) in SUPPORTED.items():
        assert theirs[name][0] <= low <= high <= theirs[name][1]


def test_every_offered_api_has_its_module() -> None:
    assert [name for name in api.APIS if not fidelity.modules_of(name)] == []


@pytest.mark.parametrize("name", api.APIS)
def test_an_apis_prologue_names_it_and_says_what_is_left_out_where_the_page_finds_it(name) -> None:
    handlers = [p for p in fidelity.modules_of(name) if "\ndef handle(" in p.read_text("utf-8")]
    assert len(handlers) == 1, f"{name} has no module with `handle`, or more than one."
    place = handlers[0].relative_to(ROOT)
    prologue = ast.get_docstring(ast.parse(handlers[0].read_text("utf-8"))) or ""
    start = f"{name} (key {api.APIS[name].key}): "
    first = prologue.partition("\n")[0]
    assert first.startswith(start), f"{place} does not begin with {start!r} and what the API is for"
    assert first[-1:] in (".", "?"), f"{place}: its first line is no whole sentence."
    said = fidelity.NOTE.findall(prologue)
    marks = re.findall(r"(?im)\b(?:left out|simplified)(?=:)|^(?:left out|simplified)\b", prologue)
    assert len(marks) == len(said), (
        f"{place}: docs/fidelity.md takes up what stands behind “Left out: ” or “Simplified: ”, "
        "at the start of a sentence and with a colon."
    )
    assert all(text.strip() for _, text in said), f"{place} says “Left out” and not what."


@pytest.mark.parametrize("resource", ["broker", "topic", "group"])
def test_implemented_means_that_the_engine_reads_it(resource: str) -> None:
    reads = fidelity.read_by_the_engine()[resource]
    implemented = {c.name for c in table(resource).values() if c.status == "implemented"}
    hint = f"change the status in engine/settings/{resource}.table, then: kafkalab fidelity --write"
    assert reads.certain - implemented == set(), f"read, but not marked implemented; {hint}"
    assert implemented - reads.possible == set(), f"marked implemented, but not read; {hint}"


def test_a_refused_config_says_why() -> None:
    for resource in ("broker", "topic", "group"):
        for config in table(resource).values():
            assert config.status in ("implemented", "accepted", "refused"), config.name
            assert config.note or config.status != "refused", config.name


@pytest.mark.parametrize("suite", SUITES, ids=lambda each: each.name)
def test_nearly_all_of_a_client_suite_passes_and_each_other_test_is_named(suite: Suite) -> None:
    assert suite.on_engine >= 0.95 * suite.on_kafka
    assert len(suite.failing) == suite.on_kafka - suite.on_engine
    page = fidelity.page()
    assert all(test in page and why in page for test, why in suite.failing.items())


@pytest.mark.real
def test_kafka_has_the_apis_that_the_facts_say() -> None:
    kafka = {name: [int(number) for number in rest] for name, *rest in facts("api")}
    assert {n: each for n, each in kafka.items() if n not in TELEMETRY} == fidelity.advertised()[
        "apis"
    ]


@pytest.mark.real
def test_kafka_has_the_features_that_the_facts_say() -> None:
    kafka = {name: [int(low), int(high)] for name, low, high in facts("feature")}
    ours = {name: levels[:2] for name, levels in fidelity.advertised()["features"].items()}
    assert {name: ours[name] for name in kafka} == kafka


@pytest.mark.real
@pytest.mark.parametrize("resource", ["broker", "topic", "group"])
def test_kafka_has_the_configs_that_our_tables_have(resource: str) -> None:
    kafka = {name: rest for of, name, *rest in facts("config") if of == resource}
    ours = table(resource)
    assert set(ours) == set(kafka)
    for name, (kind, default, internal, change, _) in kafka.items():
        assert ours[name].type == kind, name
        assert ("~" if ours[name].default is None else ours[name].default) == default, name
        assert ours[name].is_hidden == (internal == "true"), name
        if resource == "broker" and internal == "false":
            assert ours[name].change == CHANGES[change], name


@pytest.mark.real
def test_kafka_accepts_the_ranges_that_our_tables_accept() -> None:
    for resource, name, *_, validator in facts("config"):
        ours = table(resource)[name].valid
        if validator.startswith("[") and validator.endswith(",...]"):
            assert ours == f"{validator[1:-5]}+", name
        elif "...," in validator and " or " not in validator:
            assert ours == validator[1:-1].replace(",...,", ".."), name


@pytest.mark.real
def test_topic_configs_default_to_brokers_of_that_name_in_kafka() -> None:
    broker = {name for of, name, *_ in facts("config") if of == "broker"}
    assert all(set(synonyms) <= broker for synonyms in SYNONYMS.values())
