"""Our schemas against the message definitions inside Kafka's own jars, field by field."""

from __future__ import annotations

import json
import re
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine.wire import schema
from engine.wire.errors import Errors
from kit import jars
from tests.engine.wire.random_messages import every_message

NAMES = [definition.name for definition in every_message()]


@cache
def kafka_definitions() -> dict[str, Any]:
    """Each definition by name, from `message/*.json` and `metadata/*.json` in the jars."""
    if not jars.installed():
        pytest.skip("Kafka's jars are not here; run: make setup")
    found = {}
    for jar in sorted(Path(jars.directory()).glob("kafka-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if re.search(r"(message|metadata)/\w+\.json$", entry):
                    text = archive.read(entry).decode()
                    without_comments = re.sub(r'(?m)^\s*//.*$|//[^"\n]*$', "", text)
                    definition = json.loads(without_comments)
                    found[definition["name"]] = definition
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def versions(text: str) -> schema.Versions:
    return schema.Versions.parse(text)


def kafka_default(field: dict[str, Any], *, is_struct: bool) -> object:
    text = str(field.get("default", ""))
    kind = field["type"]
    if text == "null":
        return None
    if kind.startswith("[]"):
        return []
    if is_struct:
        return None
    if kind == "string":
        return text
    if kind in ("bytes", "records"):
        return b""
    if kind == "uuid":
        return bytes(16)
    if kind == "bool":
        return text == "true"
    if kind == "float64":
        return float(text or 0)
    return int(text or "0", 0)


def kafka_layout(definition: dict[str, Any], version: int) -> list[Any]:
    """What a version looks like on the wire: name, type, null, tag, and so on downwards."""
    shared = {s["name"]: s["fields"] for s in definition.get("commonStructs", [])}
    flexible = version in versions(definition["flexibleVersions"])

    def layout(fields: list[dict[str, Any]]) -> list[Any]:
        out = []
        for f in fields:
            if version not in versions(f.get("versions") or f["taggedVersions"]):
                continue
            tagged = version in versions(f.get("taggedVersions", "none"))
            nullable = version in versions(f.get("nullableVersions", "none"))
            below = f.get("fields") or shared.get(f["type"].removeprefix("[]"))
            compact = flexible and f.get("flexibleVersions") != "none"
            tag = f["tag"] if tagged else None
            below = layout(below) if below else None
            out.append((snake(f["name"]), f["type"], nullable, tag, compact, below))
        return out

    return layout(definition["fields"])


def our_layout(definition: schema.Message, version: int) -> list[Any]:
    flexible = version in definition.flexible

    def layout(fields: list[schema.Field]) -> list[Any]:
        out = []
        for f in fields:
            if version not in f.versions:
                continue
            kind = "[]" * f.is_array + f.type
            tag = f.tag if flexible else None
            compact = flexible and not f.never_flexible
            below = layout(f.struct.fields) if f.struct else None
            out.append((f.name, kind, version in f.nullable, tag, compact, below))
        return out

    return layout(definition.root.fields)


def kafka_fields(definition: dict[str, Any]) -> list[Any]:
    """Every field of any version with its default, and whether it may be dropped."""
    shared = {s["name"]: s["fields"] for s in definition.get("commonStructs", [])}

    def walk(fields: list[dict[str, Any]]) -> list[Any]:
        out = []
        for f in fields:
            below = f.get("fields") or shared.get(f["type"].removeprefix("[]"))
            default = kafka_default(f, is_struct=bool(below))
            out.append((snake(f["name"]), default, f.get("ignorable", False)))
            out += walk(below) if below else []
        return out

    return walk(definition["fields"])


def our_fields(definition: schema.Message) -> list[Any]:
    def walk(fields: list[schema.Field]) -> list[Any]:
        out = []
        for f in fields:
            out.append((f.name, f.default, f.ignorable))
            out += walk(f.struct.fields) if f.struct else []
        return out

    return walk(definition.root.fields)


@pytest.mark.parametrize("name", NAMES)
def test_versions_and_key_are_kafkas(name: str) -> None:
    theirs, ours = kafka_definitions()[name], schema.find(name)
    assert ours.versions == versions(theirs["validVersions"])
    assert ours.flexible == versions(theirs["flexibleVersions"])
    assert ours.api_key == theirs.get("apiKey")
    assert list(ours.listeners) == theirs.get("listeners", [])
    assert ours.latest_is_unstable == theirs.get("latestVersionUnstable", False)


@pytest.mark.parametrize("name", NAMES)
def test_each_version_has_the_layout_of_kafkas(name: str) -> None:
    theirs, ours = kafka_definitions()[name], schema.find(name)
    for version in range(ours.versions.low, ours.versions.high + 1):
        assert our_layout(ours, version) == kafka_layout(theirs, version), f"version {version}"


@pytest.mark.parametrize("name", NAMES)
def test_defaults_and_ignorable_marks_are_kafkas(name: str) -> None:
    assert our_fields(schema.find(name)) == kafka_fields(kafka_definitions()[name])


def test_requests_and_responses_share_their_versions() -> None:
    """The framing takes a response's header from the request's flexible versions."""
    for api in schema.api_files():
        request, response = schema.find(f"{api}Request"), schema.find(f"{api}Response")
        assert request.versions == response.versions
        assert request.flexible == response.flexible
        assert request.api_key == response.api_key


def test_error_codes_have_no_gaps() -> None:
    assert [int(error) for error in Errors] == list(range(-1, 134))
