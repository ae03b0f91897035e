"""A history sorted by partition: what each consumer read, and where it would have seen a gap.

A consumer's reads of one partition fall into *runs*: from one seek to the next it goes
forward and leaves nothing out, so a run says something about every offset that it passed.
That is what makes a missing record provable: if no reader went past its place, an unseen record
may just be further on.

    seek 0   reads 0 1 2 4 5          the run covers 0..5, and misses 3
    seek 9   reads 9 10               the run covers 9..10, and knows nothing of 6..8

Offsets may have gaps for a good reason (markers of transactions, compaction), so a gap
alone proves nothing; another read or a promise must name a record in it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from engine.sim.history.operations import (
    ABORTED,
    ACKNOWLEDGED,
    COMMITTED,
    REFUSED,
    UNKNOWN,
    Commit,
    EndTransaction,
    History,
    Place,
    Poll,
    Process,
    Reached,
    Read,
    Seek,
    Send,
)


class Sight(NamedTuple):
    """One record as one consumer read it."""

    at_us: int
    client: str
    read: Read

    def as_poll(self) -> Poll:
        return Poll(self.at_us, self.client, (self.read,))


class Seen(NamedTuple):
    """One value at one offset: the first that was seen of it, and the last, by time."""

    first: Sight
    last: Sight

    @property
    def read(self) -> Read:
        return self.first.read


@dataclass(eq=False)
class Run:
    """What one consumer read of one partition from one seek to the next."""

    client: str
    begun: Seek | None = None
    sights: list[Sight] = field(default_factory=list)
    reached: Reached | None = None

    @cached_property
    def by_offset(self) -> list[Sight]:
        """Each offset once, ascending."""
        return sorted({sight.read.offset: sight for sight in reversed(self.sights)}.values(),
                      key=lambda sight: sight.read.offset)  # fmt: skip

    @property
    def start(self) -> int:
        """The first offset that this run covers."""
        if self.begun is not None and self.begun.offset >= 0:
            return self.begun.offset
        first = self.by_offset[0].read.offset if self.sights else -1
        return first if first >= 0 or self.reached is None else self.reached.offset

    @property
    def end(self) -> int:
        """The first offset that it no longer covers."""
        last = self.by_offset[-1].read.offset + 1 if self.sights else self.start
        return max(last, self.reached.offset) if self.reached is not None else last

    @property
    def reached_us(self) -> int:
        return self.reached.at_us if self.reached is not None else -1

    @property
    def ends(self) -> tuple[Poll | Seek | Reached, ...]:
        """What proves where this run begins and ends."""
        if self.reached is None or self.reached.offset == self.start:
            return (self.reached,) if self.reached is not None else ()
        if self.begun is not None and self.begun.offset >= 0:
            return self.begun, self.reached
        return self.by_offset[0].as_poll(), self.reached

    def around(self, offset: int) -> tuple[Poll | Seek | Reached, ...]:
        """What proves that this run went past `offset`: the steps before and after."""
        place = bisect_right(self.by_offset, offset, key=lambda sight: sight.read.offset)
        before: tuple[Poll | Seek | Reached, ...] = ()
        if place > 0:
            before = (self.by_offset[place - 1].as_poll(),)
        elif self.begun is not None:
            before = (self.begun,)
        if place < len(self.by_offset):
            return *before, self.by_offset[place].as_poll()
        return (*before, self.reached) if self.reached is not None else before


@dataclass
class PartitionEvidence:
    """Everything that consumers saw and did of one partition; `reached` is the highest end."""

    place: Place
    seen: dict[int, dict[str, Seen]] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    reached: Reached | None = None
    processed: dict[int, list[Process]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)

    @cached_property
    def settled(self) -> dict[int, Seen]:
        """One record per offset, ascending: of several, the one that was seen last."""
        return {
            offset: max(self.seen[offset].values(), key=lambda seen: seen.last)
            for offset in sorted(self.seen)
        }

    @cached_property
    def _coverage(self) -> tuple[list[int], list[Run]]:
        """Starts of runs, and for each the run that reaches farthest of those begun so far."""
        runs = sorted((run for run in self.runs if run.end > run.start), key=lambda r: r.start)
        farthest: list[Run] = []
        for run in runs:
            farthest.append(run if not farthest or run.end > farthest[-1].end else farthest[-1])
        return [run.start for run in runs], farthest

    def passed(self, offset: int) -> Run | None:
        """A run that went past this offset, if there is one."""
        starts, farthest = self._coverage
        place = bisect_right(starts, offset)
        if place and farthest[place - 1].end > offset:
            return farthest[place - 1]
        return None

    @cached_property
    def whole(self) -> Run | None:
        """The latest run from offset 0 to the end, if there is one: it saw all that is there."""
        end = self.reached.offset if self.reached is not None else -1
        runs = [run for run in self.runs if run.start == 0 and run.reached is not None
                and run.reached.offset == end]  # fmt: skip
        return max(runs, key=lambda run: run.reached_us, default=None)


def _highest(known: Reached | None, new: Reached) -> Reached:
    return max(known or new, new, key=lambda each: (each.offset, each.at_us, each.client))


class Evidence:
    """A history's sends by value, transactions by name, and consumers' runs by partition."""

    def __init__(self, history: History) -> None:
        self.read_committed = dict.fromkeys(history.read_committed)
        self.sends: list[Send] = []
        self.by_value: dict[tuple[str, str], list[Send]] = {}
        self.ends: dict[tuple[str, str], EndTransaction] = {}
        self.partitions: dict[Place, PartitionEvidence] = {}
        current: dict[tuple[str, Place], Run] = {}
        for each in history.operations:
            match each:
                case Send():
                    self.sends.append(each)
                    self.by_value.setdefault((each.topic, each.value), []).append(each)
                case Poll():
                    for read in each.reads:
                        self._read(current, Sight(each.at_us, each.client, read))
                case Seek():
                    self._run(current, each.client, (each.topic, each.partition), each)
                case Reached():
                    place = (each.topic, each.partition)
                    run = current.get((each.client, place))
                    run = run or self._run(current, each.client, place)
                    run.reached = _highest(run.reached, each)
                    partition = self.partition(place)
                    partition.reached = _highest(partition.reached, each)
                case EndTransaction():
                    self.ends[each.client, each.transaction] = each
                case Process():
                    done = self.partition((each.topic, each.partition)).processed
                    done.setdefault(each.offset, []).append(each)
                case Commit():
                    self.partition((each.topic, each.partition)).commits.append(each)

    def partition(self, place: Place) -> PartitionEvidence:
        if place not in self.partitions:
            self.partitions[place] = PartitionEvidence(place)
        return self.partitions[place]

    def _run(
        self, current: dict[tuple[str, Place], Run], client: str, place: Place,
        begun: Seek | None = None,
    ) -> Run:  # fmt: skip
        run = current[client, place] = Run(client, begun)
        self.partition(place).runs.append(run)
        return run

    def _read(self, current: dict[tuple[str, Place], Run], sight: Sight) -> None:
        read = sight.read
        place = (read.topic, read.partition)
        run = current.get((sight.client, place)) or self._run(current, sight.client, place)
        run.sights.append(sight)
        values = self.partitions[place].seen.setdefault(read.offset, {})
        first, last = values.get(read.value, (sight, sight))
        values[read.value] = Seen(min(first, sight), max(last, sight))

    # -- what was sent

    def candidates(self, read: Read) -> list[Send]:
        """The sends of this value to this partition, also those that were refused."""
        sends = self.by_value.get((read.topic, read.value), ())
        return [send for send in sends if send.partition in (-1, read.partition)]

    def sources(self, read: Read) -> list[Send]:
        """The sends that this record may come from."""
        return [send for send in self.candidates(read) if send.verdict != REFUSED]

    def outcome(self, send: Send) -> str:
        """A send's verdict, or its transaction's outcome if that decides."""
        if not send.transaction or send.verdict == REFUSED:
            return send.verdict
        end = self.ends.get((send.client, send.transaction))
        outcome = end.outcome if end is not None else UNKNOWN
        return send.verdict if outcome == COMMITTED else outcome

    def is_promised(self, send: Send) -> bool:
        return send.verdict == ACKNOWLEDGED and self.outcome(send) == ACKNOWLEDGED

    def proof(self, *sends: Send) -> tuple[Send | EndTransaction, ...]:
        """Sends, and the commits that make promises of them."""
        promised = [s for s in sends if s.transaction and self.is_promised(s)]
        return (*sends, *(self.ends[send.client, send.transaction] for send in promised))

    def may_be_hidden(self, read: Read) -> bool:
        """Whether a read_committed consumer may rightly not see it."""
        return any(
            send.transaction and self.outcome(send) in (ABORTED, UNKNOWN)
            for send in self.candidates(read)
        )
