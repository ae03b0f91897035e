"""The end of a schedule with transactions: all are over, each is there as a whole or not at all.

    hanging     no transaction is open once all is well again, its timeout and the coordinator's
                scan have passed: in the coordinator, in a log, or in a group's pending offsets
    whole       the records of one transaction are all committed or all aborted; committed if the
                producer's commit has returned; aborted if no commit was ever asked for
    read        the reader with read_committed got every committed record once, and no other
    offsets     a group's offset is that of the last committed transaction with one

A record that the cleaner may have removed need not be there, nor one that was in a topic that is
deleted.  A group's offset from before the last broker heard of the deletion may be there or not,
and the reader, which keeps its position, may have passed by what is in the new topic.  After an
unclean election nothing is promised, so nothing is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.records import batch
from engine.sim.campaign.tills import (
    PAYMENTS,
    READER,
    TillSetup,
    close_waiting,
    remakers_of,
    tills_of,
)
from engine.sim.clients.consumer import Consumer
from engine.sim.history.operations import Poll, Seek
from engine.sim.invariants.invariants import Violation
from engine.sim.invariants.ledger import COMMITTED
from engine.sim.world.world import World

CALM_S = 60.0
READ_BYTES = 1 << 20
OVER = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")


@dataclass
class Seen:
    """One transaction: what its producer asked and heard, and the states of its records."""

    asked: bool = False
    verdict: str = "unknown"
    records: int = 0
    group: str = ""
    offset: int = -1
    states: list[str] = field(default_factory=list)
    values: dict[str, None] = field(default_factory=dict)

    @property
    def is_committed(self) -> bool:
        return self.verdict == COMMITTED or COMMITTED in self.states


def judge(world: World, setup: TillSetup) -> list[str]:
    """Raises Violation for the first transaction that breaks a promise.

    Returns the tills whose producers waited for a partition that is gone.
    """
    assert world.invariants is not None
    assert world.invariants.transactions is not None
    if world.invariants.transactions.losses:
        return []
    waiting = _wait(world)
    sales = _told(world)
    there = _records(world)
    for of, value, state in there.values():
        seen = sales.setdefault(of, Seen())
        seen.states.append(state)
        seen.values[value] = None
    for name, sale in sales.items():
        _check_whole(world, name, sale, setup)
    _check_read(world, there)
    _check_offsets(world, sales)
    return waiting


def _wait(world: World) -> list[str]:
    """Until no transaction is open and the reader has read all."""
    waiting: list[str] = []
    if not world.run(until=lambda w: not _unfinished(w), for_s=CALM_S):
        waiting = close_waiting(world)
        world.run(until=lambda w: not _unfinished(w), for_s=CALM_S if waiting else 0)
    if left := _unfinished(world):
        raise Violation(f"hanging: {left}, after {CALM_S:.0f} s of calm")
    return waiting


def _unfinished(world: World) -> str:
    """What is not over yet; empty if all is."""
    for name in tills_of(world):
        if not world.client(name).over:
            return f"{name} is {world.client(name).state.value}"
    for name, shown in world.snapshot()["transactions"].items():
        if shown["state"] not in OVER or shown["pending"]:
            return f"the coordinator has {name} as {shown['state']}"
    assert world.invariants is not None
    assert world.invariants.transactions is not None
    for name in remakers_of(world):
        if not world.client(name).over:
            return f"{name} has not made {PAYMENTS} again"
    topics = [topic.name for topic in world.image().topics.values()]
    for name in [f"{topic}-{index}" for topic in topics for index in world.partitions(topic)]:
        ledger = world.invariants.ledger(name)
        if ledger is None:
            return f"{name} has no leader"
        if ledger.open:
            first = next(iter(ledger.open.values()))
            return (
                f"in {name} a transaction of producer {first.producer_id} is open from "
                f"{first.offset} on"
            )
    reader: Consumer = world.client(READER)
    if not reader.topics or reader.topics[-1].topic_id != _topic_id(world):
        return f"{READER} does not know {PAYMENTS}"
    for index in world.partitions(PAYMENTS):
        leader, position = world.leader(PAYMENTS, index), reader.positions[index]
        if position.offset != world.replica(leader, PAYMENTS, index).log.log_end_offset:
            return f"{READER} has not read all of {PAYMENTS}-{index}"
    return ""


def _topic_id(world: World) -> bytes:
    return world.image().topic_ids[PAYMENTS]


def _told(world: World) -> dict[str, Seen]:
    """What the producers asked and heard, by transaction."""
    found: dict[str, Seen] = {}
    for _, _, line in world.cluster.trace:
        if line.kind not in ("commits", "concluded"):
            continue
        fields = dict(line.fields)
        seen = found.setdefault(fields["sale"], Seen())
        if line.kind == "commits":
            seen.asked, seen.group, seen.offset = True, fields["group"], fields["offset"]
        else:
            seen.verdict, seen.records = fields["verdict"], fields["records"]
    return found


def _records(world: World) -> dict[tuple[int, int], tuple[str, str, str]]:
    """By partition and offset: transaction, value and state of what the leaders' logs hold."""
    assert world.invariants is not None
    found: dict[tuple[int, int], tuple[str, str, str]] = {}
    for index in world.partitions(PAYMENTS):
        log = world.replica(world.leader(PAYMENTS, index), PAYMENTS, index).log
        ledger = world.invariants.ledger(f"{PAYMENTS}-{index}")
        assert ledger is not None
        position = log.log_start_offset
        while position < log.log_end_offset:
            data = log.read(position, READ_BYTES)
            for header, start in batch.iterate(data):
                position = header.next_offset
                for record in [] if header.is_control else batch.decode(data, start):
                    value = (record.value or b"").decode()
                    sale, state = value.rpartition("/")[0], ledger.state_of(record.offset)
                    found[index, record.offset] = (sale, value, state)
    return found


def _check_whole(world: World, name: str, sale: Seen, setup: TillSetup) -> None:
    states = list(dict.fromkeys(sale.states))
    if len(states) > 1:
        raise Violation(f"whole: of transaction {name} there are records {' and '.join(states)}")
    if COMMITTED in states and not sale.asked:
        raise Violation(f"whole: transaction {name} is committed, and no commit was asked for")
    if sale.verdict != COMMITTED:
        return
    if states not in ([COMMITTED], []):
        raise Violation(f"whole: transaction {name} was committed, and its records are {states[0]}")
    if setup.compacted:
        return
    assert world.invariants is not None
    assert world.invariants.transactions is not None
    written, topic_id = world.invariants.transactions.written, _topic_id(world)
    values = [f"{name}/{number}" for number in range(sale.records)]
    lost = [each for each in values if each not in sale.values]
    if left := [each for each in lost if not written.before(topic_id, each)]:
        raise Violation(
            f"whole: transaction {name} was committed with {sale.records} records, and there is no "
            f"{left[0]}"
        )
    if len(sale.states) + len(lost) != sale.records:
        raise Violation(f"whole: of transaction {name} a record is there twice")


def _check_read(world: World, there: dict[tuple[int, int], tuple[str, str, str]]) -> None:
    reader: Consumer = world.client(READER)
    last = reader.topics[-1]
    polls = [each for each in reader.operations[last.since :] if isinstance(each, Poll)]
    resets = [each for each in reader.operations[last.since :] if isinstance(each, Seek)]
    from_start = dict.fromkeys(each.partition for each in resets)
    passed = last.positions if len(reader.topics) > 1 else dict.fromkeys(last.positions, 0)
    reads = [(each.partition, each.offset) for poll in polls for each in poll.reads]
    if len(reads) != len(dict.fromkeys(reads)):
        raise Violation(f"read: {READER} was given a record twice")
    known = dict.fromkeys(reads)
    for place, (_, value, state) in there.items():
        if place not in known and place[0] not in from_start and place[1] < passed[place[0]]:
            continue
        if (state == COMMITTED) != (place in known):
            was = "was read" if place in known else "was not read"
            raise Violation(
                f"read: {value!r} at offset {place[1]} of {PAYMENTS}-{place[0]} is {state}, and "
                f"{was} with read_committed"
            )


def _check_offsets(world: World, sales: dict[str, Seen]) -> None:
    assert world.invariants is not None
    assert world.invariants.transactions is not None
    groups = dict.fromkeys(sale.group for sale in sales.values() if sale.offset >= 0)
    for group in groups:
        asked = [sale for sale in sales.values() if sale.group == group and sale.offset >= 0]
        last = max((sale.offset for sale in asked if sale.is_committed), default=-1)
        maybe = [sale.offset for sale in asked if not sale.states and sale.offset > last]
        shard = world.invariants.transactions.groups.shard(group)
        if shard is None:
            raise Violation(f"offsets: {group} has no coordinator")
        if waiting := shard.offsets.pending_of(group):
            raise Violation(f"hanging: {group} has pending offsets of {waiting}")
        committed = shard.offsets.of(group).get((PAYMENTS, 0))
        found = -1 if committed is None else committed.offset
        if last <= world.invariants.transactions.removed_us:
            maybe += [-1, *(sale.offset for sale in asked if sale.is_committed or not sale.states)]
        if found not in (last, *maybe):
            raise Violation(
                f"offsets: {group} has {found}, and the last committed transaction had {last}"
            )
