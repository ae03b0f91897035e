"""Random messages through two independent codecs in Python: kafka-python and kio.

Each reads what we wrote and writes it again; the bytes must be the same.
"""

from __future__ import annotations

import importlib
import io
import re
import uuid
from typing import Any

import pytest
from kafka.protocol import admin, consumer, metadata, producer
from kio.serial import entity_reader, entity_writer

from engine.wire import codec, schema
from tests.engine.wire.random_messages import every_message, random_message

SEEDS = 3
KAFKA_PYTHON = {
    name: getattr(module, name)
    for module in (admin, consumer, metadata, producer)
    for name in dir(module)
    if name.endswith(("Request", "Response"))
}
SHARED_WITH_KAFKA_PYTHON = [d for d in every_message() if d.name in KAFKA_PYTHON]
# kio has no stored records, and no headers of this form.
SHARED_WITH_KIO = [
    definition
    for definition in every_message()
    if re.sub("(Request|Response)$", "", definition.name) in schema.api_files()
]


def same(theirs: Any, ours: Any) -> bool:
    """Whether an object of kafka-python's and one of ours hold the same values."""
    if isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(same, theirs, ours))
    if isinstance(theirs, uuid.UUID):
        return theirs.bytes == ours
    fields = [name for name in getattr(ours, "__slots__", ()) if hasattr(theirs, name)]
    fields = [name for name in fields if not name.endswith("_operations")]  # there a set of bits
    if fields and theirs is not None:
        return all(same(getattr(theirs, name), getattr(ours, name)) for name in fields)
    return theirs == ours


@pytest.mark.parametrize("definition", SHARED_WITH_KAFKA_PYTHON, ids=lambda d: d.name)
def test_kafka_python_agrees(definition: schema.Message) -> None:
    theirs = KAFKA_PYTHON[definition.name]
    for version in range(definition.versions.low, theirs.max_version + 1):
        for seed in range(SEEDS):
            message = random_message(definition.name, version, seed)
            if definition.name == "ApiVersionsResponse":
                message.error_code = 0  # with an error it reads version 0, whatever was asked
            body = codec.encode(message, version)
            understood = theirs.decode(body, version=version)
            understood._header = None
            assert bytes(understood.encode(version=version)) == body, f"v{version} seed {seed}"
            if version == definition.versions.high:
                assert same(understood, message), f"v{version} seed {seed}"


@pytest.mark.parametrize("definition", SHARED_WITH_KIO, ids=lambda d: d.name)
def test_kio_agrees(definition: schema.Message) -> None:
    api, kind = re.fullmatch(r"(\w+)(Request|Response)", definition.name).groups()
    folder = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", api).lower()
    for version in range(definition.versions.low, definition.versions.high + 1):
        module = importlib.import_module(f"kio.schema.{folder}.v{version}.{kind.lower()}")
        entity = getattr(module, definition.name)
        for seed in range(SEEDS):
            body = codec.encode(random_message(definition.name, version, seed), version)
            understood, end = entity_reader(entity)(body, 0)
            again = io.BytesIO()
            entity_writer(entity)(again, understood)
            assert end == len(body)
            assert again.getvalue() == body, f"v{version} seed {seed}"
