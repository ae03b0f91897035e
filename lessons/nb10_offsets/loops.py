"""Consumer loops for the crash test: five ways to commit, under the same crashes."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kit.both.outcomes import measured
from kit.clusters.interface import Cluster
from kit.crashes.crash_test import crash_test

AUTO = {"enable.auto.commit": True}
STORED = AUTO | {"enable.auto.offset.store": False}
Seen = Mapping[str, Any]


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


def grid(cluster: Cluster) -> Seen:
    """What crashes do to each way: whether records can be lost, and how many are repeated."""
    found = {}
    for label, loop, settings in WAYS:
        test = crash_test(loop, cluster, settings=settings, situations=())
        repeats = max((len(each.repeated) for each in test.trials), default=0)
        found[label] = {
            "loses": test.lost,
            "most repeats of one crash": measured(repeats, "records"),
        }
    return found
