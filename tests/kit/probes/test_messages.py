"""One message, one meaning: the words that all drawings use."""

from __future__ import annotations

import pytest

from engine.wire import messages as m
from kit.probes import messages, requests

TOPIC, ID = "orders", bytes(range(16))


@pytest.mark.parametrize(
    ("timestamp", "says"),
    [
        (requests.LATEST, "ListOffsets: latest"),
        (requests.EARLIEST, "ListOffsets: earliest"),
        (1_000, "ListOffsets: timestamp 1000"),
    ],
)
def test_list_offsets_says_which_offset_it_asks_for(timestamp: int, says: str) -> None:
    (heard,) = messages.read(requests.listing(TOPIC, timestamp), TOPIC, ID)
    assert (heard.kind, heard.brief) == ("list", says)


def test_a_write_is_answered_with_its_values_if_they_are_known() -> None:
    records = requests.one_batch(b"A")
    asked = list(messages.read(requests.producing(ID, records=records), TOPIC, ID))
    assert [(each.brief, each.values) for each in asked] == [("produce A (acks=1)", ("A",))]
    part = m.ProduceResponse.PartitionProduceResponse(index=0, base_offset=3)
    answer = m.ProduceResponse([m.ProduceResponse.TopicProduceResponse("", ID, [part])])
    (known,) = messages.read(answer, TOPIC, ID, asked)
    assert (known.brief, known.offset, known.acks) == ("A is at 3", 3, "1")
    (unknown,) = messages.read(answer, TOPIC, ID)
    assert unknown.brief == "acknowledged, offset 3"


def test_every_partition_of_the_topic_is_read_and_no_other_topic() -> None:
    asked = requests.fetching(ID, 7, partitions=(0, 1))
    read = list(messages.read(asked, TOPIC, ID))
    assert [(each.partition, each.brief) for each in read] == [
        (0, "fetch from 7"),
        (1, "fetch from 7"),
    ]
    assert list(messages.read(asked, "payments", bytes(16))) == []
    assert messages.first(asked, "payments", bytes(16)) is None
