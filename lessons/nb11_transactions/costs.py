"""What transactions cost, measured: by their size, for readers, and for those who wait behind one.

All numbers are ratios or times of this machine, so nothing is concluded from them but by eye.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, Producer

from kit.both.comparison import Comparison
from kit.both.outcomes import Measured, measured
from kit.clusters.interface import Cluster, WaitTimeout
from lessons.nb11_transactions import bank
from lessons.nb11_transactions.bank import ACCOUNTS, PATIENCE_S, TRANSFERS

Seen = Mapping[str, Measured | int | list[int]]
SIZES = {1: 8, 10: 8, 100: 8, 1_000: 8, 10_000: 2, 100_000: 1}
"""Records in a transaction, and how many transactions."""
BATCHES = {1: 8, 10: 8, 100: 8}
"""Transfers that a loop takes at once, and how many rounds it makes."""
HELD_S = (0.0, 0.3, 0.6, 0.9)


def sizes(cluster: Cluster) -> Seen:
    """Records per second by the size of a transaction, as a multiple of size 1, and its time."""
    bank.open_bank(cluster)
    more = {"linger.ms": 5, "queue.buffering.max.messages": 2 * max(SIZES)}
    till = bank.producer_of(cluster, "till-4", **more)
    rates: dict[int, float] = {}
    for size in (1, *SIZES):  # the first round warms up
        began = time.monotonic()
        for _ in range(SIZES[size]):
            till.begin_transaction()
            for number in range(size):
                till.produce(ACCOUNTS, f"Alice -{number}", partition=0)
                till.poll(0)
            till.commit_transaction(PATIENCE_S)
        rates[size] = SIZES[size] * size / (time.monotonic() - began)
    bank.wait_until_stable(cluster)
    return {
        "records and markers in the log": bank.ends(cluster)[1],
        **{f"{n} in each": measured(rates[n] / rates[1], "times") for n in SIZES},
        **{
            f"time of a transaction of {n}": measured(1_000 * n / rates[n], "ms")
            for n in (min(SIZES), max(SIZES))
        },
    }


def curves(outcome: Comparison) -> dict[str, list[tuple[float, float]]]:
    """What `sizes` measured on each side, by the power of ten of a transaction's size."""
    return {
        name: [(power, float(seen[f"{size} in each"].value)) for power, size in enumerate(SIZES)]
        for name, seen in _sides(outcome).items()
    }


def times(outcome: Comparison) -> dict[str, list[tuple[float, float]]]:
    """How long one transaction takes, in ms: its size, by the rate that `sizes` measured."""
    first = f"time of a transaction of {min(SIZES)}"
    return {
        name: [
            (power, float(seen[first].value) * size / float(seen[f"{size} in each"].value))
            for power, size in enumerate(SIZES)
        ]
        for name, seen in _sides(outcome).items()
    }


def _sides(outcome: Comparison) -> dict[str, Mapping[str, Any]]:
    sides = {"engine": outcome.engine, outcome.real_name: outcome.real}
    return {name: seen for name, seen in sides.items() if seen is not None}


def loops(cluster: Cluster) -> Seen:
    """Records per second of a loop that reads, writes and commits, without transactions and with.

    They are multiples of the loop without transactions that takes one transfer at a time.
    """
    all_rounds = [(1, 1), *BATCHES.items()]  # the first one warms up
    count = sum(size * rounds for size, rounds in all_rounds)
    bank.open_bank(cluster, ())
    writer = bank.producer_of(cluster)
    for _ in range(count):
        writer.produce(TRANSFERS, "10", partition=0)
    writer.flush(PATIENCE_S)
    rates = {}
    for partition, where in enumerate(("without a transaction", "in a transaction")):
        name = "loop" if partition else ""
        producer = bank.producer_of(cluster, name, **{"enable.idempotence": True})
        consumer = bank.consumer_of(cluster, f"loop-{partition}")
        bank.assign(consumer, TRANSFERS, 0)
        for size, rounds in all_rounds:
            began = time.monotonic()
            for _ in range(rounds):
                _round(producer, consumer, size, partition, in_transaction=bool(name))
            rates[f"{where}, {size} at a time"] = size * rounds / (time.monotonic() - began)
    bank.wait_until_stable(cluster, ACCOUNTS, 0, 1)
    results = [len(bank.values(cluster, partition)) for partition in (0, 1)]
    first = next(iter(rates.values()))
    return {
        "transfers, and results of each loop": [count, *results],
        **{label: measured(rate / first, "times") for label, rate in rates.items()},
    }


def _round(
    producer: Producer, consumer: Consumer, size: int, partition: int, in_transaction: bool
) -> None:
    """Reads so many transfers, writes a result for each, and commits the group's offset."""
    taken: list[Any] = []
    while len(taken) < size:
        found = consumer.consume(size - len(taken), PATIENCE_S)
        if not found:
            raise WaitTimeout(f"No transfer came within {PATIENCE_S:g} s.")
        taken += [each for each in found if each.error() is None]
    if in_transaction:
        producer.begin_transaction()
    for transfer in taken:
        producer.produce(ACCOUNTS, transfer.value(), partition=partition)
    places = consumer.position(consumer.assignment())
    if in_transaction:
        group = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(places, group, PATIENCE_S)
        producer.commit_transaction(PATIENCE_S)
    else:
        producer.flush(PATIENCE_S)
        consumer.commit(offsets=places, asynchronous=False)


def reading(cluster: Cluster) -> Seen:
    """How long reading takes with read_committed, as a multiple of read_uncommitted."""
    bank.open_bank(cluster)
    till = bank.producer_of(cluster, "till-5", **{"linger.ms": 5})
    for number in range(20):
        till.begin_transaction()
        for _ in range(200):
            till.produce(ACCOUNTS, "Alice -10", partition=0)
        till.flush(PATIENCE_S)  # an abort drops what was not sent
        (till.abort_transaction if number % 10 == 9 else till.commit_transaction)(PATIENCE_S)
    bank.wait_until_stable(cluster)
    took: dict[str, list[float]] = {level: [] for level in bank.LEVELS}
    count: dict[str, int] = {}
    for level in bank.LEVELS * 12:  # other work on the machine only ever adds time
        began = time.monotonic()
        count[level] = len(bank.read(cluster, 0, level))
        took[level].append(time.monotonic() - began)
    first, second = (min(took[level]) for level in bank.LEVELS)
    return {
        **{f"{level}, records": count[level] for level in bank.LEVELS},
        "time for read_committed, by the other": measured(second / first, "times"),
    }


def waiting(cluster: Cluster) -> Seen:
    """How long a plain record waits for its reader behind a transaction that is held open."""
    bank.open_bank(cluster)
    slow = bank.producer_of(cluster, "slow")
    seen: dict[str, Measured | int] = {}
    for number, held_s in enumerate(HELD_S, start=1):
        slow.begin_transaction()
        bank.booked(slow, ACCOUNTS, "held", 0)
        written = time.monotonic()
        bank.write(cluster, ACCOUNTS, [f"plain {number}"])
        time.sleep(held_s)
        slow.commit_transaction(PATIENCE_S)
        bank.wait_for_marker(cluster, number)
        waited = time.monotonic() - written
        seen[f"held open for {held_s:g} s"] = measured(waited, "s")
    seen["records that were read in the end"] = len(bank.values(cluster))
    slow.begin_transaction()
    bank.booked(slow, ACCOUNTS, "held", 0)
    bank.write(cluster, ACCOUNTS, ["behind"])
    for level in bank.LEVELS:
        there = "behind" in bank.values(cluster, 0, level)
        seen[f"read behind an open transaction, {level}"] = there
    slow.abort_transaction(PATIENCE_S)
    return seen
