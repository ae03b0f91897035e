"""Random messages and batches through Kafka's own generated classes, byte by byte.

One JVM runs `KafkaClasses.java`.  It reads what we wrote, says in JSON what it understood,
and writes it again: both must be what we meant.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.records import batch, compression
from engine.wire import codec, schema, uuids
from kit import jars
from tests.engine.wire.random_messages import every_message, random_message

SEEDS = 4
Ask = Callable[[str], str]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Ask]:
    """Asks Kafka's classes one line and gives their answer."""
    try:
        command = [jars.java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-cp", jars.classpath(), str(Path(__file__).with_name("KafkaClasses.java"))]
    except jars.JarsMissing as missing:
        pytest.skip(str(missing))
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )

    def ask(line: str) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline().rstrip("\n")

    yield ask
    process.communicate()


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[0].upper() + name[1:]).lower()


def understood(node: Any, f: schema.Field) -> Any:
    """A value of Kafka's JSON as we hold it."""
    if node is None:
        return None
    if isinstance(node, list):
        return [understood(each, f) for each in node]
    if f.struct is not None:
        return structure(node, f.struct)
    if f.type == "uuid":
        return uuids.from_text(node)
    return base64.b64decode(node) if f.type in ("bytes", "records") else node


def structure(node: dict[str, Any], s: schema.Struct) -> dict[str, Any]:
    """The fields that do not have their default, as Kafka leaves some of those out."""
    by_name = {f.name: f for f in s.fields if f.type != "records"}  # never in its JSON
    values = {snake(name): v for name, v in node.items() if snake(name) in by_name}
    values = {name: understood(v, by_name[name]) for name, v in values.items()}
    return {name: value for name, value in values.items() if value != by_name[name].default}


def meant(message: Any, s: schema.Struct) -> dict[str, Any]:
    def plain(value: Any, f: schema.Field) -> Any:
        if isinstance(value, list):
            return [plain(each, f) for each in value]
        return meant(value, f.struct) if f.struct and value is not None else value

    fields = [f for f in s.fields if f.type != "records"]
    values = {f.name: (plain(getattr(message, f.name), f), f.default) for f in fields}
    return {name: value for name, (value, default) in values.items() if value != default}


@pytest.mark.parametrize("definition", every_message(), ids=lambda d: d.name)
def test_kafka_reads_what_we_write_and_writes_the_same(
    kafka: Ask, definition: schema.Message
) -> None:
    for version in range(definition.versions.low, definition.versions.high + 1):
        for seed in range(SEEDS):
            message = random_message(definition.name, version, seed)
            ours = codec.encode(message, version).hex()
            answer = kafka(f"message {definition.name} {version} {ours}")
            theirs, _, text = answer.partition(" ")
            assert theirs == ours, f"v{version} seed {seed}: {answer[:300]}"
            root = definition.root
            assert structure(json.loads(text), root) == meant(message, root)


@pytest.mark.parametrize("name", compression.NAMES)
def test_kafka_reads_our_batches(kafka: Ask, name: str) -> None:
    codec_number = compression.NAMES.index(name)
    records = [
        batch.Record(0, 1_000, b"k", b"v" * 100_000),
        batch.Record(0, 999, None, b"", (("näme", b"x"), ("none", None))),
        batch.Record(0, 2_000_000_000_000, b"", None),
        *(batch.Record(0, 1_000 + i, None, bytes([i]) * i) for i in range(200)),
    ]
    first = batch.encode(records, compression=codec_number, base_offset=40)
    both = first + batch.encode(records[:1], compression=codec_number, base_offset=243)
    shown = [
        [str(r.offset), str(r.timestamp), *(hex_or_null(v) for v in (r.key, r.value))]
        + [part for n, v in r.headers for part in (n, hex_or_null(v))]
        for r in batch.decode_all(both)
    ]
    assert [line.split(",") for line in kafka(f"batches {both.hex()}").split(";")] == shown


def hex_or_null(value: bytes | None) -> str:
    return "null" if value is None else value.hex()


@pytest.mark.parametrize("name", compression.NAMES)
def test_we_read_kafkas_batches(kafka: Ask, name: str) -> None:
    values = [b"a", b"", b"long" * 30_000, *(bytes([i]) * 300 for i in range(100))]
    answer = kafka(f"encode {name} " + " ".join(value.hex() for value in values))
    theirs = bytes.fromhex(answer)
    header = batch.validate(theirs, 0)
    assert compression.NAMES[header.compression] == name
    expected = [
        batch.Record(i, 1_000 + i, None, value, (("n", None),) if i % 2 else ())
        for i, value in enumerate(values)
    ]
    assert batch.decode(theirs) == expected


@pytest.mark.parametrize("name", compression.NAMES[:4])
def test_our_batches_are_kafkas_byte_for_byte_up_to_the_compressor(kafka: Ask, name: str) -> None:
    """Small values, so that different compressors have no choice to make."""
    theirs = bytes.fromhex(kafka(f"encode {name} 61 62"))
    records = [
        batch.Record(0, 1_000, None, b"a"),
        batch.Record(0, 1_001, None, b"b", (("n", None),)),
    ]
    number = compression.NAMES.index(name)
    ours = batch.encode(records, compression=number)
    if name == "gzip":  # its header names the operating system
        assert batch.decode(ours) == batch.decode(theirs)
    else:
        assert ours == theirs
