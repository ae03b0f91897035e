"""The coordinator's assignors beside Kafka's own, on 500 memberships each, equal in all.

Kafka takes members and topics from hash maps.  Here both get them in one order.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.coordinators.consumer.assignors.subscription import Target
from engine.coordinators.consumer.target import ASSIGNORS
from kit import jars
from tests.engine.coordinators.consumer.memberships import Stage, histories

COUNT = 500


def javas(name: str, stages: list[Stage]) -> list[str]:
    source = str(Path(__file__).with_name("KafkaGroupAssignors.java"))
    try:
        command = [jars.java(), "-Xmx256m", "-Dorg.apache.logging.log4j.level=OFF", "-cp"]
        command += [jars.classpath(), source]
    except jars.JarsMissing as missing:
        pytest.skip(str(missing))
    text = "".join(line(name, *stage) + "\n" for stage in stages)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def line(name: str, members: object, topics: dict[bytes, int], alike: bool) -> str:
    assert isinstance(members, dict)
    words = [name, "HOMOGENEOUS" if alike else "HETEROGENEOUS"]
    words.append(" ".join(f"{each.hex()}={count}" for each, count in topics.items()))
    for member_id, each in members.items():
        wanted = ",".join(topic.hex() for topic in each.topics) or "~"
        words.append("|".join((member_id, wanted, each.instance_id or "~", written(each.target))))
    return "\t".join(words)


def written(target: object) -> str:
    assert isinstance(target, dict)
    return ";".join(
        f"{topic.hex()}:{'.'.join(map(str, partitions))}"
        for topic, partitions in sorted(target.items())
        if partitions
    ) or "~"  # fmt: skip


def answer(members: object, target: Target) -> str:
    assert isinstance(members, dict)
    return " ".join(f"{each}={written(target.get(each, {}))}" for each in members)


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
def test_a_target_is_kafkas(name: str) -> None:
    assign = ASSIGNORS[name]
    stages = list(histories(assign, COUNT))
    assert len(stages) == COUNT
    assert 100 < sum(alike for _, _, alike in stages) < 400
    expected = javas(name, stages)
    assert len(expected) == COUNT
    for stage, kafkas in zip(stages, expected, strict=True):
        assert answer(stage[0], assign(*stage)) == kafkas, line(name, *stage)
