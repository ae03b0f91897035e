"""06-8: every partition led by its preferred replica again, judged on the cluster itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kit.exercises.cluster_log import Context
from kit.exercises.exercise import Exercise, Verdict, right, wrong


def judge_leaders(answer: Any, context: Context) -> Verdict:
    partitions = context.partitions("fleet")
    if len(partitions) != 6:
        return wrong(
            "fleet should have six partitions; run the cell that makes it once more.",
            expected=6,
            seen=len(partitions),
        )
    values = [record.value for record in context.records("fleet")]
    if b"keep me" not in values:
        return wrong(
            "The leaders are where they belong, but this is another topic: the record is gone.",
            expected="the record 'keep me'",
            seen=f"{len(values)} records",
        )
    away = {index: p.leader for index, p in partitions.items() if p.leader != p.replicas[0]}
    if away:
        idle = sorted({p.replicas[0] for p in partitions.values()} - _leaders(partitions))
        message = f"Broker {idle[0]} still leads nothing." if idle else "Some are still away."
        if len(away) < _prefer_101(partitions):
            message = "Some went home. Ask for the others, too: the request names partitions."
        return wrong(
            message,
            expected="each partition led by its first replica",
            seen=", ".join(f"fleet-{index} led by {leader}" for index, leader in away.items()),
        )
    return right("Every partition is led by its preferred replica, and the record is there.")


def _leaders(partitions: Mapping[int, Any]) -> set[int]:
    return {p.leader for p in partitions.values()}


def _prefer_101(partitions: Mapping[int, Any]) -> int:
    """How many partitions prefer broker 101, which was restarted."""
    return sum(p.replicas[0] == 101 for p in partitions.values())


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
        "AdminClient.elect_leaders takes an election type and a list of TopicPartition.",
        "admin.elect_leaders(ElectionType.PREFERRED, partitions).result()",
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
    },
)
