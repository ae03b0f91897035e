"""Our assignors beside the Java client's, on 500 memberships each, a hundred groups' histories.

Range and round robin depend on nothing but their input: equal.  The sticky ones also depend on the
order of the members, which in Java is that of a hash map.  In that order ours are equal, too.
One choice Java leaves to the hash codes of partitions: which of several earlier moves to reverse.
Where that matters, this must hold:

    equally balanced    the same sizes; with mixed subscriptions the same sum of differences
    equally sticky      as many partitions stay with a member that remembers them

In a few memberships of 500 Java gives a partition back to a former owner that no longer wants the
topic.  Ours does not (MixedSubscriptions._better_owner).
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from engine.client.consumer.assignors.choices import ASSIGNORS, Assignor
from engine.client.consumer.assignors.memberships import Assignment, Members, Place, Topics
from kit import jars
from tests.engine.client.consumer.memberships import Stage, had, histories, java_order

COUNT = 500
STICKY = ("sticky", "cooperative-sticky")
FEW = COUNT // 100
"""How many of 500 may differ from Java's for each of the two reasons."""


@cache
def stages(name: str) -> list[Stage]:
    copied = []
    for topics, members in histories(ASSIGNORS[name], COUNT):
        frozen = {topic: list(racks) for topic, racks in topics.items()}
        copied.append((frozen, java_order(members)))
    return copied


@cache
def javas(name: str) -> list[Assignment | None]:
    """What Kafka's assignor answers; None where it failed."""
    source = str(Path(__file__).with_name("KafkaAssignors.java"))
    try:
        command = [jars.java(), "-Xmx256m", "-Dorg.apache.logging.log4j.level=OFF", "-cp"]
        command += [jars.classpath(), source]
    except jars.JarsMissing as missing:
        pytest.skip(str(missing))
    text = "".join(line(name, *stage) + "\n" for stage in stages(name))
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    assert len(answers) == COUNT
    return [None if each.startswith("error") else parsed(each) for each in answers]


def line(name: str, topics: Topics, members: Members) -> str:
    words = [name]
    words.append(" ".join(
        f"{topic}=" + ";".join(",".join(racks) or "~" for racks in topics[topic])
        for topic in topics
    ))  # fmt: skip
    for member, each in members.items():
        owned = ",".join(f"{topic}:{index}" for topic, index in each.owned) or "~"
        note = "~" if each.user_data is None else each.user_data.hex()
        words.append("/".join((
            member, ",".join(each.topics), owned, str(each.generation),
            each.instance_id or "~", each.rack or "~", note,
        )))  # fmt: skip
    return "\t".join(words)


def parsed(answer: str) -> Assignment:
    shares: Assignment = {}
    for word in answer.split(" "):
        member, _, share = word.partition("=")
        shares[member] = [(p.split(":")[0], int(p.split(":")[1])) for p in share.split(",") if p]
    return shares


def as_sets(shares: Assignment) -> dict[str, list[Place]]:
    return {member: sorted(share) for member, share in shares.items()}


def unevenness(shares: Assignment, members: Members) -> object:
    sizes = sorted(len(share) for share in shares.values())
    if len({frozenset(each.topics) for each in members.values()}) == 1:
        return sizes
    return sum(abs(a - b) for a in sizes for b in sizes)


def kept(shares: Assignment, remembered: Mapping[str, tuple[Place, ...]]) -> int:
    return sum(place in remembered[member] for member in shares for place in shares[member])


@pytest.mark.real
@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_the_assignment_equals_kafkas(name: str) -> None:
    assignor = ASSIGNORS[name]
    for (topics, members), java in zip(stages(name), javas(name), strict=True):
        assert java is not None
        assert as_sets(assignor.assign(topics, members)) == as_sets(java), line(
            name, topics, members
        )


@pytest.mark.real
@pytest.mark.parametrize("name", STICKY)
def test_the_sticky_assignment_equals_kafkas_in_its_order_of_members(name: str) -> None:
    assignor: Assignor = ASSIGNORS[name]
    elsewhere = unwanted = 0
    for (topics, members), java in zip(stages(name), javas(name), strict=True):
        ours = assignor.assign(topics, members)
        assert java is not None
        if any(place[0] not in members[m].topics for m in members for place in java[m]):
            unwanted += 1
        elif as_sets(ours) != as_sets(java):
            elsewhere += 1
            remembered = had(assignor, members)
            case = line(name, topics, members)
            assert unevenness(ours, members) == unevenness(java, members), case
            assert kept(ours, remembered) == kept(java, remembered), case
    assert elsewhere <= FEW
    assert unwanted <= FEW
