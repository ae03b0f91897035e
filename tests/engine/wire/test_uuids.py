"""Topic ids as Kafka spells them."""

from __future__ import annotations

import random

import pytest

from engine.wire import uuids


def test_the_metadata_topic_has_its_well_known_spelling() -> None:
    assert uuids.to_text(uuids.METADATA_TOPIC) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert uuids.to_text(uuids.ZERO) == "AAAAAAAAAAAAAAAAAAAAAA"


def test_text_and_bytes_go_both_ways() -> None:
    rng = random.Random(7)
    for _ in range(200):
        uuid = rng.randbytes(16)
        assert uuids.from_text(uuids.to_text(uuid)) == uuid


@pytest.mark.parametrize(
    "text", ["", "A", "AAAAAAAAAAAAAAAAAAAAA/", "AAAAAAAAAAAAAAAAAAAAAR", "ä" * 22, "A" * 23]
)
def test_other_text_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is not a topic id: 22 characters"):
        uuids.from_text(text)


def test_fresh_ids_are_version_4_repeatable_and_never_start_with_a_dash() -> None:
    ids = random.Random(1)
    fresh = [uuids.new(ids) for _ in range(2_000)]
    assert len(set(fresh)) == 2_000
    assert {uuid[6] >> 4 for uuid in fresh} == {4}
    assert {uuid[8] >> 6 for uuid in fresh} == {2}
    assert not [uuid for uuid in fresh if uuids.to_text(uuid).startswith("-")]
    assert uuids.new(random.Random(1)) == fresh[0]
