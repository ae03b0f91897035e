"""What a run of notebook 00 shows decides which prediction is right, on any engine."""

from __future__ import annotations

import pytest

from tests.lessons.verdicts import engines_run, seen_by, settled

A_TOPIC_NEVER_GROWS = """
from engine.__main__ import main
from engine.api import metadata

whole = metadata._topic

def as_created(topic, alive, version):
    answer = whole(topic, alive, version)
    answer.partitions = [each for each in answer.partitions if each.partition_index < 3]
    return answer

metadata._topic = as_created
main()
"""


@pytest.mark.heavy
@pytest.mark.timeout(120)
@pytest.mark.usefixtures("own_engines")
def test_no_key_moves_where_clients_never_hear_of_a_new_partition(monkeypatch) -> None:
    engines_run(A_TOPIC_NEVER_GROWS, monkeypatch)
    assert settled("00-6", seen_by("00", "same-key")) == "a"


@pytest.mark.parametrize(
    ("read", "seconds", "leader", "letter"),
    [
        ("hello", 0.1, 101, "a"),
        ("nothing", 20.0, -1, "b"),
        ("nothing", 20.0, 102, "c"),
        ("hello", 3.2, 102, "d"),
        ("nothing", 1.0, -1, ""),
    ],
)
def test_when_the_record_was_read_decides(read, seconds, leader, letter) -> None:
    seen = {"killed": 101, "read": read, "seconds": seconds, "leader now": leader}
    assert settled("00-1", seen) == letter


@pytest.mark.parametrize(("answer", "letter"), [("offset 1", "a"), ("_MSG_TIMED_OUT", "b")])
def test_the_answer_to_the_second_record_decides(answer, letter) -> None:
    assert settled("00-5", {"answer after": answer}) == letter


@pytest.mark.parametrize(
    ("before", "after", "letter"), [(40, 40, "a"), (40, 29, "b"), (40, 0, "d")]
)
def test_the_share_of_keys_that_stay_decides(before, after, letter) -> None:
    assert settled("00-6", {"keys": before, "same partition, topic grown": after}) == letter
