"""The transactional sink asks a coordinator that is not ready again, and no other refusal."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from labs.crash import sinks


class Group:
    """A consumer that is refused with these codes, and then answered."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)

    def committed(self, partitions: list[TopicPartition], _: float) -> list[TopicPartition]:
        if self.codes:
            raise KafkaException(KafkaError(self.codes.pop(0)))
        return [TopicPartition(partitions[0].topic, 0, 2)]


def test_a_coordinator_on_its_way_is_asked_again() -> None:
    group = Group(KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
    assert sinks._committed(group, "copy") == 2  # type: ignore[arg-type]
    assert not group.codes


def test_another_refusal_ends_the_micro_batch() -> None:
    with pytest.raises(KafkaException):
        sinks._committed(Group(KafkaError.GROUP_AUTHORIZATION_FAILED), "copy")  # type: ignore[arg-type]
