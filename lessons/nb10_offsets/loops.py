"""Consumer loops for the crash test: five ways to commit, under the same crashes."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

from confluent_kafka import OFFSET_STORED, TopicPartition

from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.crashes.crash_test import crash_test
from kit.crashes.evidence import Evidence
from kit.tables import Table
from lessons.nb10_offsets.reading import TOPIC, Reader, numbered, write

AUTO = {"enable.auto.commit": True}
STORED = AUTO | {"enable.auto.offset.store": False}
Seen = Mapping[str, Any]
Worst = dict[str, Evidence]
"""A trial by the name of its cluster."""


def commits_first(consumer: Any, topic: str, process: Any) -> None:
    consumer.subscribe([topic])
    while True:
        messages = consumer.consume(4, timeout=1.0)
        if messages:
            consumer.commit(asynchronous=False)
        for message in messages:
            process(message)


def commits_afterwards(consumer: Any, topic: str, process: Any) -> None:
    consumer.subscribe([topic])
    while True:
        messages = consumer.consume(4, timeout=1.0)
        for message in messages:
            process(message)
        if messages:
            consumer.commit(asynchronous=False)


def commits_each(consumer: Any, topic: str, process: Any) -> None:
    consumer.subscribe([topic])
    while True:
        for message in consumer.consume(4, timeout=1.0):
            process(message)
            consumer.commit(message, asynchronous=False)


def stores_what_is_done(consumer: Any, topic: str, process: Any) -> None:
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        process(message)
        consumer.store_offsets(message)


def hands_over(consumer: Any, topic: str, process: Any) -> None:
    pool = ThreadPoolExecutor(max_workers=1)
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1.0)
        if message is None or message.error():
            continue
        pool.submit(process, message)


WAYS: tuple[tuple[str, Any, Mapping[str, Any]], ...] = (
    ("commit, then work", commits_first, {}),
    ("work, then commit", commits_afterwards, {}),
    ("work, then commit, record by record", commits_each, {}),
    ("auto-commit of what is stored after the work", stores_what_is_done, STORED),
    ("auto-commit, work in another thread", hands_over, AUTO),
)


def grid(cluster: Cluster, worst: Worst) -> Seen:
    """What crashes do to each way: whether records can be lost, how many, and how many again.

    `worst` gets the last way's worst crash, by side.
    """
    found: dict[str, dict[str, Any]] = {}
    for label, loop, settings in WAYS:
        test = crash_test(loop, cluster, settings=settings, situations=())
        repeats = max((len(each.repeated) for each in test.trials), default=0)
        losses = max((len(each.lost) for each in test.trials), default=0)
        found[label] = {
            "loses": test.lost,
            "most repeats of one crash": measured(repeats, "records"),
        }
        if test.lost:
            found[label]["most losses of one crash"] = measured(losses, "records")
    crashed = [each for each in test.trials if each.crash is not None]
    if crashed:
        worst[cluster.name] = max(crashed, key=lambda each: len(each.lost))
    return found


def skipped(worst: Worst) -> Table:
    """What a crash of the last way skipped: the finished work, the committed offset, the gap."""
    rows = []
    for side, trial in sorted(worst.items()):
        assert trial.crash is not None
        done = [offset for _, offset in trial.done_by(trial.before(trial.crash))]
        lost = [offset for _, offset in trial.lost]
        rows.append([side, _listed(done), str(trial.committed(0)), _listed(lost)])
    return Table(
        f"The worst crash of: {WAYS[-1][0]}",
        ("side", "finished before the crash", "committed offset", "skipped"),
        rows,
    )


def _listed(offsets: list[int]) -> str:
    return " ".join(map(str, offsets)) or "none"


def restarts(cluster: Cluster) -> Seen:
    """What is lost and repeated after the same end, for two settings of the restarted reader."""
    cluster.create_topic(TOPIC, assignment={0: [101, 102, 103]})
    write(cluster, TOPIC, numbered(10))
    found = {}
    for group, reset in product(("the same", "a new"), ("earliest", "latest")):
        name = f"{group}-{reset}".replace(" ", "-")
        with Reader(cluster, {"group.id": name}, partitions=[0]) as first:
            first.read(6)
            first.commit(4)
        own = {"group.id": name if group == "the same" else f"{name}-2", "auto.offset.reset": reset}
        place = TopicPartition(TOPIC, 0, OFFSET_STORED)
        with Reader(cluster, own, partitions=[place]) as second:
            second.rest()
        never = {*range(10)} - {*first.offsets, *second.offsets}
        again = {*first.offsets} & {*second.offsets}
        found[f"{group} group.id, {reset}"] = [len(never), len(again)]
    return {"records lost, and repeated": found}
