"""Of several quotas, the one that counts, and who shares its account."""

from __future__ import annotations

from typing import Any

import pytest

from engine.metadata.image import MetadataImage
from engine.metadata.quota_entities import find
from engine.wire import messages as m

KEY = "producer_byte_rate"
ORDER = (
    {"user": "ANONYMOUS", "client-id": "report"},
    {"user": "ANONYMOUS", "client-id": None},
    {"user": "ANONYMOUS"},
    {"user": None, "client-id": "report"},
    {"user": None, "client-id": None},
    {"user": None},
    {"client-id": "report"},
    {"client-id": None},
)
SHARED_WITH = (
    ("ANONYMOUS", "report"),
    ("ANONYMOUS", "report"),
    ("ANONYMOUS", ""),
    ("ANONYMOUS", "report"),
    ("ANONYMOUS", "report"),
    ("ANONYMOUS", ""),
    ("", "report"),
    ("", "report"),
)


def record(entity: dict[str, str | None], value: float, **more: Any) -> Any:
    parts = [m.ClientQuotaRecord.EntityData(*part) for part in entity.items()]
    return m.ClientQuotaRecord(entity=parts, key=KEY, value=value, **more)


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_most_specific_of_those_that_are_set_counts(first: int) -> None:
    image = MetadataImage()
    for rank in range(first, len(ORDER)):
        image.apply(record(ORDER[rank], 1000 + rank))
    assert find(image.quotas, KEY, "report") == (SHARED_WITH[first], 1000 + first)


def test_another_client_or_user_is_not_meant() -> None:
    image = MetadataImage()
    image.apply(record({"client-id": "other"}, 1))
    image.apply(record({"user": "alice"}, 2))
    assert find(image.quotas, KEY, "report") == (("", "report"), None)


def test_the_last_limit_removed_takes_the_entity_away() -> None:
    image = MetadataImage()
    image.apply(record({"client-id": None}, 1))
    image.apply(record({"client-id": None}, 0, remove=True))
    assert image.quotas == {}
