"""Random histories in which nothing is wrong, and one way each to make something wrong.

A `Plan` is what really happened: logs, what became of each send, and where each reader
went.  `operations` are what the clients noted of it.  Mutations change the one or the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from engine.sim.history import (
    Commit,
    EndTransaction,
    History,
    Operation,
    Poll,
    Process,
    Reached,
    Read,
    Seek,
    Send,
)

TOPIC = "orders"


@dataclass
class Slot:
    """A record in a log; `send` is its place among the plan's sends."""

    offset: int
    value: str
    send: int


@dataclass
class Plan:
    """`readers` has, per name, the ranges of (partition, from, to) that it reads."""

    chance: Random
    sends: list[Send] = field(default_factory=list)
    ends: list[EndTransaction] = field(default_factory=list)
    logs: dict[int, list[Slot]] = field(default_factory=dict)
    log_ends: dict[int, int] = field(default_factory=dict)
    readers: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    read_committed: tuple[str, ...] = ()
    at_end: bool = True

    # -- drawing

    def fill(self, partitions: int, records: int) -> None:
        chance = self.chance
        self.logs = {index: [] for index in range(partitions)}
        self.log_ends = dict.fromkeys(range(partitions), 0)
        number = 0
        while number < records:
            producer, partition = f"producer-{chance.randint(1, 2)}", chance.randrange(partitions)
            outcome = chance.choice(["", "", "", "committed", "aborted", "unknown"])
            transaction = f"t{number}" if outcome else ""
            for _ in range(chance.randint(1, 3)):
                verdict = chance.choice(["acknowledged"] * 6 + ["unknown", "unknown", "refused"])
                if outcome and verdict == "refused":
                    verdict = "acknowledged"
                self._send(number, producer, partition, verdict, transaction)
                number += 1
            if outcome:
                at_us = 1000 * number
                self.ends.append(EndTransaction(at_us, producer, transaction, outcome))
                self.log_ends[partition] += 1  # its marker

    def _send(self, number: int, producer: str, partition: int, verdict: str, inside: str) -> None:
        value = f"v{number}"
        there = verdict == "acknowledged" or (verdict == "unknown" and self.chance.random() < 0.5)
        offset = self.log_ends[partition]
        if there:
            self.logs[partition].append(Slot(offset, value, len(self.sends)))
            self.log_ends[partition] += 1
        reported = offset if verdict == "acknowledged" else -1
        self.sends.append(Send(1000 * number, producer, TOPIC, partition, value, verdict, reported,
                               1000 * number + 500, inside))  # fmt: skip

    def let_read(self) -> None:
        """One reads everything once, one in read_committed, one hops about."""
        whole = [(index, 0, end) for index, end in self.log_ends.items()]
        hops = []
        for _ in range(3):
            index = self.chance.randrange(len(self.logs))
            first = self.chance.randint(0, self.log_ends[index])
            hops.append((index, first, self.chance.randint(first, self.log_ends[index])))
        self.readers = {"reader-1": whole, "reader-2": list(whole), "reader-3": hops}
        self.read_committed = ("reader-2",)

    # -- telling

    def is_visible(self, slot: Slot, reader: str) -> bool:
        inside = self.sends[slot.send].transaction if slot.send >= 0 else ""
        outcome = next((end.outcome for end in self.ends if end.transaction == inside), "")
        if reader not in self.read_committed or outcome in ("", "committed"):
            return True
        return outcome == "unknown" and slot.send % 2 == 0

    def operations(self) -> list[Operation]:
        out: list[Operation] = [*self.sends, *self.ends]
        at_us = 10_000_000
        for reader, ranges in self.readers.items():
            for index, first, end in ranges:
                out.append(Seek(at_us, reader, TOPIC, index, first))
                range_ = [slot for slot in self.logs[index] if first <= slot.offset < end]
                slots = [slot for slot in range_ if self.is_visible(slot, reader)]
                while slots:
                    count = self.chance.randint(1, 4)
                    at_us += 1000
                    reads = tuple(Read(TOPIC, index, s.offset, s.value) for s in slots[:count])
                    out.append(Poll(at_us, reader, reads))
                    slots = slots[count:]
                if self.at_end and reader != "reader-3":
                    out.append(Reached(20_000_000, reader, TOPIC, index, self.log_ends[index]))
        return out + self._processing()

    def _processing(self) -> list[Operation]:
        """Two applications share the partitions; each processes all of one, and commits."""
        out: list[Operation] = []
        for index, log in self.logs.items():
            application, at_us = f"application-{index}", 30_000_000
            for slot in log:
                at_us += 1000
                out.append(Process(at_us, application, TOPIC, index, slot.offset, slot.value))
            out.append(Commit(at_us + 1, application, TOPIC, index, self.log_ends[index]))
        return out

    def history(self, operations: list[Operation] | None = None) -> History:
        reported = self.operations() if operations is None else operations
        return History(tuple(reported), self.read_committed)


def draw(seed: int, records: int = 40) -> Plan:
    plan = Plan(Random(f"history/{seed}"))
    plan.fill(partitions=1 + seed % 2, records=records)
    plan.let_read()
    return plan


# -- what can go wrong in the log, seen by all


def _choose(plan: Plan, fits: Callable[[Slot], bool]) -> tuple[int, Slot] | None:
    found = [(index, s) for index, log in plan.logs.items() for s in log if fits(s)]
    return plan.chance.choice(found) if found else None


def _is_plain(plan: Plan) -> Callable[[Slot], bool]:
    return lambda slot: (plan.sends[slot.send].verdict == "acknowledged"
                         and not plan.sends[slot.send].transaction)  # fmt: skip


def lose(plan: Plan) -> History | None:
    chosen = _choose(plan, _is_plain(plan))
    if chosen is None:
        return None
    plan.logs[chosen[0]].remove(chosen[1])
    return plan.history()


def append_again(plan: Plan) -> History | None:
    chosen = _choose(plan, _is_plain(plan))
    if chosen is None:
        return None
    index, slot = chosen
    plan.logs[index].append(Slot(plan.log_ends[index], slot.value, slot.send))
    plan.log_ends[index] += 1
    plan.let_read()
    return plan.history()


def exchange(plan: Plan) -> History | None:
    """Two records of one producer change places, in the log and in its acknowledgements."""
    pairs = []
    for log in plan.logs.values():
        fit = [s for s in log if _is_plain(plan)(s)]
        by = {s.value: plan.sends[s.send].client for s in fit}
        pairs += [
            (a, b) for a in fit for b in fit if a.offset < b.offset and by[a.value] == by[b.value]
        ]
    if not pairs:
        return None
    one, other = plan.chance.choice(pairs)
    one.value, other.value = other.value, one.value
    one.send, other.send = other.send, one.send
    for slot in (one, other):
        plan.sends[slot.send] = replace(plan.sends[slot.send], offset=slot.offset)
    return plan.history()


def invent(plan: Plan) -> History | None:
    chosen = _choose(plan, lambda s: plan.sends[s.send].verdict == "unknown")
    if chosen is None:
        return None
    chosen[1].value = "nobody sent this"
    return plan.history()


def shift_acknowledgements(plan: Plan) -> History | None:
    chosen = _choose(plan, _is_plain(plan))
    if chosen is None:
        return None
    index, first = chosen
    for slot in plan.logs[index]:
        send = plan.sends[slot.send]
        if slot.offset >= first.offset and send.offset >= 0:
            plan.sends[slot.send] = replace(send, offset=send.offset + 1)
    return plan.history()


def stop_reading_early(plan: Plan) -> History | None:
    """The last records are acknowledged, and no reader ever gets there."""
    index = plan.chance.randrange(len(plan.logs))
    at = plan.log_ends[index]
    chosen = next((s.offset for s in reversed(plan.logs[index]) if _is_plain(plan)(s)), None)
    if chosen is None:
        return None
    plan.at_end = False
    plan.readers = {
        reader: [(i, min(first, chosen), min(end, chosen)) if i == index else (i, first, end)
                 for i, first, end in ranges]
        for reader, ranges in plan.readers.items()
    }  # fmt: skip
    assert chosen < at
    return plan.history()


def read_what_is_acknowledged_elsewhere(plan: Plan) -> History | None:
    """A record is read, and its acknowledgement names an offset that nobody comes to."""
    chosen = _choose(plan, _is_plain(plan))
    if chosen is None:
        return None
    index, slot = chosen
    plan.at_end = False
    plan.readers = {"reader-1": [(i, 0, end) for i, end in plan.log_ends.items()]}
    far = replace(plan.sends[slot.send], offset=plan.log_ends[index] + 5)
    plan.sends[slot.send] = far
    return plan.history()


# -- what can go wrong between the log and one client


def _edit_poll(plan: Plan, fits: Callable[[int, Poll], bool], edit: Callable[[Poll], Poll],
               ) -> History | None:  # fmt: skip
    operations = plan.operations()
    places = [n for n, op in enumerate(operations) if isinstance(op, Poll) and fits(n, op)]
    if not places:
        return None
    place = plan.chance.choice(places)
    poll = operations[place]
    assert isinstance(poll, Poll)
    operations[place] = edit(poll)
    return plan.history(operations)


def skip(plan: Plan) -> History | None:
    """One reader misses a record that the others have."""

    def edit(poll: Poll) -> Poll:
        gone = plan.chance.randrange(len(poll.reads) - 1)
        return replace(poll, reads=poll.reads[:gone] + poll.reads[gone + 1 :])

    plan.readers["reader-4"] = [(index, 0, end) for index, end in plan.log_ends.items()]
    return _edit_poll(plan, lambda _, p: len(p.reads) > 1 and p.client == "reader-4", edit)


def take_an_early_offset_for_the_end(plan: Plan) -> History | None:
    """One reader stops at a record that all others read, and says that this is the end."""
    chosen = _choose(plan, _is_plain(plan))
    if chosen is None:
        return None
    index, slot = chosen
    plan.readers["reader-4"] = [(index, 0, slot.offset)]
    return plan.history([
        replace(op, offset=slot.offset)
        if isinstance(op, Reached) and op.client == "reader-4" else op
        for op in plan.operations()
    ])  # fmt: skip


def read_again(plan: Plan) -> History | None:
    return _edit_poll(plan, lambda _, p: len(p.reads) > 1,
                      lambda p: replace(p, reads=p.reads + p.reads[:1]))  # fmt: skip


def read_the_wrong_way_round(plan: Plan) -> History | None:
    return _edit_poll(plan, lambda _, p: len(p.reads) > 1,
                      lambda p: replace(p, reads=p.reads[::-1]))  # fmt: skip


def read_something_else(plan: Plan) -> History | None:
    """At one offset one reader has another record than the rest: the logs have diverged."""
    plan.sends.append(Send(1, "producer-9", TOPIC, -1, "diverged", "unknown"))

    def edit(poll: Poll) -> Poll:
        return replace(poll, reads=(poll.reads[0]._replace(value="diverged"), *poll.reads[1:]))

    plain = {slot.value for log in plan.logs.values() for slot in log if _is_plain(plan)(slot)}
    return _edit_poll(plan, lambda _, p: p.client == "reader-1" and p.reads[0].value in plain, edit)


def refuse(plan: Plan) -> History | None:
    chosen = _choose(plan, lambda s: not plan.sends[s.send].transaction)
    if chosen is None:
        return None
    place = chosen[1].send
    plan.sends[place] = replace(plan.sends[place], verdict="refused", offset=-1)
    return plan.history()


def abort(plan: Plan) -> History | None:
    """The producer aborts a transaction, and its records stay visible."""
    operations = plan.operations()
    inside = {slot.value: plan.sends[slot.send].transaction
              for log in plan.logs.values() for slot in log}  # fmt: skip
    polls = [op for op in operations if isinstance(op, Poll) and op.client in plan.read_committed]
    seen = [inside[read.value] for poll in polls for read in poll.reads]
    ends = [n for n, op in enumerate(operations)
            if isinstance(op, EndTransaction) and op.outcome == "committed"
            and op.transaction in seen]  # fmt: skip
    if not ends:
        return None
    place = plan.chance.choice(ends)
    operations[place] = replace(operations[place], outcome="aborted")  # type: ignore[arg-type,call-arg]
    return plan.history(operations)


# -- what can go wrong in the applications


def _edit_processing(
    plan: Plan, edit: Callable[[Process], list[Operation]], last: bool = True
) -> History | None:
    """One record's processing goes wrong; it was read, and was certainly sent."""
    operations = plan.operations()
    logs = {index: log if last else log[:-1] for index, log in plan.logs.items()}
    offsets = {(index, s.offset) for index, log in logs.items() for s in log if _is_plain(plan)(s)}
    places = [n for n, op in enumerate(operations)
              if isinstance(op, Process) and (op.partition, op.offset) in offsets]  # fmt: skip
    if not places:
        return None
    place = plan.chance.choice(places)
    done = operations[place]
    assert isinstance(done, Process)
    return plan.history([*operations[:place], *edit(done), *operations[place + 1 :]])


def leave_unprocessed(plan: Plan) -> History | None:
    return _edit_processing(plan, lambda done: [])


def process_again(plan: Plan) -> History | None:
    def edit(done: Process) -> list[Operation]:
        return [done, replace(done, at_us=40_000_000, client="application-9")]

    return _edit_processing(plan, edit)


def process_late(plan: Plan) -> History | None:
    return _edit_processing(
        plan, lambda done: [replace(done, at_us=done.at_us + 50_000_000)], last=False
    )


MUTATIONS: dict[str, tuple[Callable[[Plan], History | None], str]] = {
    "a record vanishes": (lose, "lost"),
    "acknowledgements name other offsets": (shift_acknowledgements, "lost"),
    "one reader has another record at an offset": (read_something_else, "lost"),
    "nobody reads the tail": (stop_reading_early, "unseen"),
    "a record is appended twice": (append_again, "duplicate"),
    "a record is read elsewhere than acknowledged": (
        read_what_is_acknowledged_elsewhere,
        "duplicate",
    ),
    "two records change places": (exchange, "reordered"),
    "a reader misses a record": (skip, "skipped"),
    "a reader takes an early offset for the end": (take_an_early_offset_for_the_end, "skipped"),
    "a reader gets a record again": (read_again, "non-monotonic"),
    "a reader gets a poll backwards": (read_the_wrong_way_round, "non-monotonic"),
    "a record that nobody sent": (invent, "phantom"),
    "a refused record is there": (refuse, "phantom"),
    "an aborted record stays visible": (abort, "aborted-read"),
    "a committed record is not processed": (leave_unprocessed, "unprocessed"),
    "two applications process one record": (process_again, "reprocessed"),
    "a record is processed after later ones": (process_late, "disordered"),
}
