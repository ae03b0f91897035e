"""06-8: every partition led by its preferred replica again, judged on the cluster itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, right, wrong

RESTARTED = 101


def judge_leaders(answer: Any, context: Context) -> Verdict:
    partitions = context.set_up("fleet", 6)
    epochs = context.leader_epochs("fleet")
    values = [record.value for record in context.records("fleet")]
    if b"keep me" not in values:
        return wrong(
            "This fleet is another topic: the record of the set-up cell is gone. Move the leaders "
            "of the topic that is there.",
            expected="the record 'keep me'",
            seen=f"{len(values)} records",
        )
    home = [index for index, p in partitions.items() if p.replicas[0] == RESTARTED]
    if not any(epochs.values()):
        return wrong(
            "This fleet is another topic: none of its partitions has ever changed its leader. "
            "Run the set-up cell again, and move the leaders of its topic.",
            expected="leader epochs above 0: a broker was restarted, and an election followed",
            seen=f"leader epochs {sorted(epochs.values())}",
        )
    away = {index: p.leader for index, p in partitions.items() if p.leader != p.replicas[0]}
    if away:
        return wrong(
            _still_away(away, home),
            expected="each partition led by its first replica",
            seen=", ".join(f"fleet-{index} led by {leader}" for index, leader in away.items()),
        )
    return right("Every partition is led by its preferred replica, and the record is there.")


def _still_away(away: Mapping[int, int], home: list[int]) -> str:
    if set(home) <= set(away):
        return (
            f"No leader has moved: {RESTARTED} still leads nothing. Either the stub is still "
            "there, or you asked for an election that a partition with a leader does not need."
        )
    moved = [f"fleet-{index}" for index in home if index not in away]
    return (
        f"{', '.join(moved)} moved; {len(away)} of the six did not. An election is held for the "
        "partitions that the request names."
    )


ELECT = """
from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient

admin = AdminClient({"bootstrap.servers": eng.bootstrap})
partitions = [TopicPartition("fleet", index) for index in range(6)]
"""


EXERCISE = Exercise(
    "06-8",
    "Bring the leaders home",
    (
        "There is an election that prefers the first replica.",
        "The AdminClient has a method for elections. It wants the type of the election and the "
        "partitions; the two names that the stub imports are for these.",
        "Ask the admin client for an election of the preferred type, over all six partitions in "
        "the list. What it returns is a future: wait for its result.",
    ),
    judge_leaders,
    {
        "the other election": ELECT
        + "admin.elect_leaders(ElectionType.UNCLEAN, partitions).result()",
        "only some of them": ELECT + "here = eng.snapshot()['topics']['fleet']['partitions']\n"
        "away = [p for p in partitions"
        " if here[p.partition]['leader'] != here[p.partition]['replicas'][0]]\n"
        "admin.elect_leaders(ElectionType.PREFERRED, away[:1]).result()",
        "a new topic": "eng.create_topic('fleet', partitions=6, replicas=3)",
        "a new topic with the record": "eng.create_topic('fleet', partitions=6, replicas=3)\n"
        "clients.send(eng, 'fleet', 'keep me')",
    },
    minutes=8,
)
